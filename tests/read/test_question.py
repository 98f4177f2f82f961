"""A pasted text becomes a few short queries: what states the problem counts, forms and machines do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cost import cpu_below
from tests.read.traces import CHAINED, JAVA, PYTHON, TRACES

import outcrop
from outcrop.read.question import MAX_WORDS, WEIGHTS, as_query, read_question, read_text

REPORT = """[Bug]: Uploads of empty files are refused

<!-- Thanks for filing an issue! Tests and examples help us. -->
### Prerequisites
- [x] I have read the usage guide and how to report
### Courier version
4.2.0
### Describe the bug
Since the last release `check_size` refuses a file of zero bytes, see https://example.org/how-to/usage and
![a screenshot of the terminal](https://example.org/shot.png) for what it [looks like](https://example.org/x).
- OS: Ubuntu 22.04
- Python version: 3.12
### Steps to reproduce
```python
from courier import Client
Client().upload("empty.bin")
```
It prints
```
upload: invalid size 0 for empty.bin
```
### Environment
```
courier 4.2.0, openssl 3.0.2
```
kernel of the cluster is old
"""


def clauses_of(text: str) -> dict[str, str]:
    return {clause.name: clause.text for clause in read_question(text)}


@pytest.mark.parametrize(
    "typed",
    [
        "how does the pool evict a connection when there are more than twelve of them in this place?",
        "ConnectionPool\nacquire",
        "def acquire(self):\n    return self._free.pop()\n\ndef release(self, connection):\n    self._free.append(c)\n"
        "    return None\n\ndef close(self) -> None:\n    self._free.clear()\n",
    ],
    ids=["one line", "few words", "nothing but code"],
)
def test_what_was_typed_and_pasted_code_have_no_clauses(typed: str) -> None:
    assert read_question(typed) == ()


def test_a_report_is_read_for_what_states_the_problem() -> None:
    clauses = clauses_of(REPORT)
    assert clauses["title"] == "Uploads of empty files are refused"
    assert clauses["problem"].startswith(
        "[Bug]: Uploads of empty files are refused Since the last release check_size"
    )
    assert clauses["problem"].endswith("for what it [looks like] . It prints")
    assert clauses["errors"] == "upload: invalid size 0 for empty.bin"
    assert clauses["names"] == "check_size"
    assert clauses["code"].startswith("from courier import Client")


@pytest.mark.parametrize(
    ("what", "word"),
    [
        ("a comment of the form", "Thanks"),
        ("a box to tick", "guide"),
        ("a heading of the form", "Describe"),
        ("the answer to one about versions", "4.2.0"),
        ("an address", "example.org"),
        ("an image", "screenshot"),
        ("a line about the machine", "Ubuntu"),
        ("a version", "3.12"),
        ("a dump under a heading about the machine", "openssl"),
        ("what is said there", "kernel"),
    ],
)
def test_forms_and_machines_are_left_out(what: str, word: str) -> None:
    assert word not in " ".join(clauses_of(REPORT).values()), what


def test_a_report_told_under_such_a_heading_is_not_lost() -> None:
    text = "Uploads stop\n\n**Additional context**\nA file of zero bytes is refused since the release, others are not."
    assert "zero bytes" in clauses_of(text)["problem"]


def test_the_first_line_that_says_something_is_the_title() -> None:
    assert clauses_of("Hi there,\n\nUploads of empty files stop\nsince the last release we installed here.")[
        "title"
    ] == ("Uploads of empty files stop")


def test_words_before_a_trace_that_say_nothing_are_not_asked() -> None:
    assert set(clauses_of("It fails:\n" + JAVA)) == {"errors", "places"}


@pytest.mark.parametrize("fenced", [False, True])
@pytest.mark.parametrize("language", TRACES)
def test_a_trace_is_read_as_its_error_and_its_places(language: str, fenced: bool) -> None:
    trace, frames, error = TRACES[language]
    clauses = clauses_of("The pool gives nothing\n" + (f"```\n{trace}\n```" if fenced else trace))
    assert error in clauses["errors"]
    assert frames[0].rpartition(":")[0].split("/")[-1] in clauses["places"]
    assert "0x" not in " ".join(clauses.values())


def test_the_frames_of_a_library_are_no_places() -> None:
    assert clauses_of(PYTHON)["places"] == "acquire src/pool.py src/main.py"


def test_the_last_error_comes_first_then_what_began_it() -> None:
    assert clauses_of(CHAINED)["errors"].startswith("ConfigMissing set a host KeyError")


def test_of_a_pasted_log_the_errors_are_asked() -> None:
    text = (
        "The worker stops every night\n2024-05-01 10:00:00,123 INFO starting up\n"
        "2024-05-01 10:00:01,456 ERROR upload failed: quota exceeded"
    )
    assert clauses_of(text)["errors"] == "upload failed: quota exceeded"


@pytest.mark.parametrize(
    "sentence",
    [
        "there is a bug in src/Foo.php:42",
        "#1 priority is the pool",
        "ValueError is raised when I call `foo_bar`",
        "at first it works (most of the time)",
        "from time to time: nothing",
        "import cycles are breaking the build",
        "class members that break: which?",
        "@maria what does the pool do",
        "What I would like to see here is:",
    ],
)
def test_a_sentence_that_looks_a_little_like_something_else_stays_prose(sentence: str) -> None:
    assert read_text(f"A title\n{sentence}").prose == ["A title", sentence]


def test_only_the_title_says_what_kind_of_file_is_asked_for() -> None:
    query = as_query(read_question(REPORT), None)
    assert {clause.title for clause in (query, *query.also)} == {"Uploads of empty files are refused"}
    assert [clause.weight for clause in (query, *query.also)] == [
        WEIGHTS[name] for name in WEIGHTS if name != "places"
    ]


def test_no_phrase_is_required() -> None:
    query = as_query(
        read_question('It says "no connection free"\nand then it "waits for ever", as far as I can see it'),
        None,
    )
    assert not any(clause.phrases for clause in (query, *query.also))
    assert query.quoted == ("no connection free", "waits for ever")


def test_clauses_are_bounded_however_long_the_text_is() -> None:
    text = (
        "The pool is empty\n```\n"
        + "call(this, code)\n" * 200
        + "```\n"
        + "words and more words here\n" * 20_000
    )
    clauses = clauses_of(text)
    assert len(clauses["problem"].split()) == MAX_WORDS["problem"]
    assert len(clauses["code"].split()) == MAX_WORDS["code"]


JUNK = {
    "hashes": "# " + "#" * 1_000_000,
    "headings": "# #" * 300_000,
    "stars": "**" * 500_000,
    "fields": ("a " * 400 + ": x\n") * 1_200,
    "boxes": "- [ ] [" * 140_000,
    "links": "[a](" * 250_000,
    "tags": "<a " * 300_000,
    "comments": "<!--" * 250_000,
    "failures": ("error " * 160 + "\n") * 1_000,
    "fences": "```\nerror: a b c\n" * 60_000,
    "prefixes": "[a] " * 250_000,
}


@pytest.mark.parametrize("name", JUNK)
def test_a_megabyte_of_junk_takes_no_time(name: str) -> None:
    with cpu_below(5):
        read_question("a b c d e f g h i j k l m n\n" + JUNK[name])
        read_question(JUNK[name] + "\na b c d e f g h i j k l m n")


# ------------------------------------------------------------------ asked of an index

FILES = {
    "src/upload.py": "def check_size(size):\n    '''Refuse uploads that are too large.'''\n    return size > 0\n",
    "src/login.py": "def login(user):\n    '''Let a user in by a password.'''\n    return session(user)\n",
    ".github/ISSUE_TEMPLATE/bug.md": "Describe the bug\n\nSteps to reproduce\n\nEnvironment: OS, version, browser\n"
    "Uploads, logins: how to, usage guide, examples of a report\n",
    "docs/guide.md": "# Usage guide\n\nHow to report, how to install, usage of versions, prerequisites, environment.\n",
}


@pytest.fixture
def kb(tmp_path: Path) -> outcrop.Engine:
    for name, text in FILES.items():
        file = tmp_path / "tree" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    engine = outcrop.open(tmp_path / "index.db")
    engine.add(tmp_path / "tree")
    return engine


def test_a_report_finds_the_code_and_not_the_form_it_was_written_in(kb: outcrop.Engine) -> None:
    answer = kb.search(REPORT)
    assert answer.hits[0].document.path == "src/upload.py"
    assert answer.query == REPORT
    assert answer.question == read_question(REPORT)
    assert "clauses" in {boost.name for boost in answer.hits[0].why.boosts}


def test_a_typed_query_is_answered_as_ever(kb: outcrop.Engine) -> None:
    answer = kb.search("uploads of empty files")
    assert answer.question == ()
    assert "clauses" not in {boost.name for hit in answer.hits for boost in hit.why.boosts}


def test_a_cutoff_is_a_share_of_the_best_score_of_all_clauses(kb: outcrop.Engine) -> None:
    assert len(kb.search(REPORT, cutoff=0.99).hits) == 1 < len(kb.search(REPORT).hits)
