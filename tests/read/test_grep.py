"""Lines that match a pattern: the same as ripgrep's own on the same files, as the files are now."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import outcrop
from outcrop.config import load_config
from outcrop.engine import Engine
from outcrop.engine.reading import SIGNATURES
from outcrop.errors import Cancelled, NotFound, QueryError
from outcrop.index import trigrams
from outcrop.index.trigrams import Signatures
from outcrop.read import grep, printed, ripgrep
from outcrop.read.ripgrep import command_of, find_ripgrep
from outcrop.records import Filter, GrepOptions, MatchedFile
from outcrop.system.limits import wanted_while

NAMES = ("a.py", "b.md", "deep/c.txt", "deep/er/d.rs")


@dataclass(frozen=True)
class Tree:
    engine: Engine
    folder: Path

    def sign(self) -> int:
        return grep.sign_files(self.engine._store, Signatures(self.engine.config.beside(SIGNATURES)))

    def ours(self, pattern: str, options: GrepOptions) -> set[tuple[str, int, str]]:
        files = list(self.engine.grep(pattern, options, masked=False))
        assert [file.document.uri for file in files] == sorted(file.document.uri for file in files)
        return {
            (file.document.uri, line.number, line.text) for file in files for line in file.lines if line.matched
        }

    def theirs(self, pattern: str, options: GrepOptions) -> set[tuple[str, int, str]]:
        """What ripgrep finds when it walks the folder by itself."""
        flags = ["-F"] * options.literal + ["-i"] * options.ignore_case + ["-w"] * options.whole_words
        asked = [find_ripgrep(), "--no-config", "--json", "-uu", *flags, "-e", pattern, str(self.folder)]
        done = subprocess.run(asked, capture_output=True, check=False)
        assert done.returncode in (0, 1), done.stderr
        found = set()
        for row in done.stdout.splitlines():
            message = json.loads(row)
            if message["type"] == "match":
                data = message["data"]
                text = data["lines"].get("text")
                if text is None:
                    text = base64.b64decode(data["lines"]["bytes"]).decode("utf-8", "replace")
                found.add((data["path"]["text"], data["line_number"], text.removesuffix("\n")))
        return found


@pytest.fixture(scope="module", autouse=True)
def few_are_enough() -> Iterator[None]:
    """Signatures also of a few files, and of those that were just written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grep, "MIN_FILES", 1)
        patch.setattr(trigrams, "SETTLED_NS", -1_000_000_000)
        yield


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tree]:
    root = tmp_path_factory.mktemp("grep").resolve()
    folder = root / "tree"
    for name in NAMES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"the first text of {name}\n")
    with Engine(load_config({"db": root / "index.db"}, {"HOME": str(root)})) as engine:
        engine.add(folder)
        yield Tree(engine, folder)


WORDS = st.sampled_from("foo Foo foobar foo_bar bar naïve ſtraße STRASSE K k λόγος 日本語 x1 ١٢".split())
JOINTS = st.sampled_from([" ", "", "_", "-", ".", "(", "\t", "\r", "\u200b", "é", "\u0301", "\\", "*"])
LINES = st.lists(st.tuples(WORDS, JOINTS), max_size=6).map(lambda parts: "".join(a + b for a, b in parts))
CONTENTS = st.builds(
    lambda lines, end, last, coding, broken: (
        (("\ufeff" if coding in ("utf-8", "utf-16-le") and broken else "") + end.join(lines) + last).encode(
            coding
        )
        + (b"foo \xff\xfe bar" if broken and coding == "utf-8" else b"")
    ),
    st.lists(LINES, max_size=8),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
    st.sampled_from(["\n", ""]),
    st.sampled_from(["utf-8", "utf-8", "utf-8", "utf-16"]),
    st.booleans(),
)
ATOMS = st.sampled_from(
    r"foo o bar \w \d \s \b \B . [^a] [a-fx_] \. \( ^ $ k ß é \p{L} \p{Greek} (?:foo|bar) (bar) \x41 [[:alpha:]]"
    r" 日 [\w&&[^o]] _ foo_bar (?i:foo) [\]x]".split()
)
QUANTIFIED = st.tuples(ATOMS, st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{0,2}", "*?"])).map(
    lambda pair: pair[0] if pair[0] in ("^", "$", r"\b", r"\B") else "".join(pair)
)
PATTERNS = st.lists(st.lists(QUANTIFIED, min_size=1, max_size=4).map("".join), min_size=1, max_size=2).map(
    "|".join
)
OPTIONS = st.builds(GrepOptions, ignore_case=st.booleans(), whole_words=st.booleans())


@given(
    contents=st.tuples(*[CONTENTS] * len(NAMES)), pattern=PATTERNS, options=OPTIONS, edit=st.none() | CONTENTS
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_lines_are_those_that_ripgrep_finds(
    tree: Tree, contents: tuple[bytes, ...], pattern: str, options: GrepOptions, edit: bytes | None
) -> None:
    for name, content in zip(NAMES, contents, strict=True):
        (tree.folder / name).write_bytes(content)
    assert tree.sign() == len(NAMES)
    if edit is not None:
        (tree.folder / NAMES[0]).write_bytes(edit)
    assert tree.ours(pattern, options) == tree.theirs(pattern, options)


@given(contents=st.tuples(*[CONTENTS] * len(NAMES)), literal=LINES.filter(bool), ignore_case=st.booleans())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_literal_is_taken_as_it_stands(
    tree: Tree, contents: tuple[bytes, ...], literal: str, ignore_case: bool
) -> None:
    for name, content in zip(NAMES, contents, strict=True):
        (tree.folder / name).write_bytes(content)
    tree.sign()
    options = GrepOptions(literal=True, ignore_case=ignore_case)
    assert tree.ours(literal, options) == tree.theirs(literal, options)


FORMS = ("", "numbers", "names", "counts")


def as_text(files: list[MatchedFile], form: str, *, grouped: bool) -> bytes:
    """Records of lines in the form in which ripgrep prints them."""
    printed: list[str] = []
    for file in files:
        path = file.document.uri
        if form in ("names", "counts"):
            printed.append(path if form == "names" else f"{path}:{file.count}")
            continue
        last = -1
        for line in file.lines:
            if grouped and printed and line.number != last + 1:
                printed.append("--")
            joint, last = ":" if line.matched else "-", line.number
            number = f"{line.number}{joint}" if form else ""
            printed.append(f"{path}{joint}{number}{line.text}")
    return "".join(f"{line}\n" for line in printed).encode()


@given(
    contents=st.tuples(
        *[CONTENTS | st.just(b"foo\nfoo bar\n\0\n") | st.just(b"x\n" * 9 + b"foo\n" * 9)] * len(NAMES)
    ),
    pattern=PATTERNS,
    form=st.sampled_from(FORMS),
    context=st.sampled_from([0, 1, 3]),
    apart=st.booleans(),
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_printed_are_the_same_lines(
    tree: Tree, contents: tuple[bytes, ...], pattern: str, form: str, context: int, apart: bool
) -> None:
    for name, content in zip(NAMES, contents, strict=True):
        (tree.folder / name).write_bytes(content)
    options = GrepOptions(before=context, after=context)
    wanted = as_text(list(tree.engine.grep(pattern, options, masked=False)), form, grouped=context > 0)
    if form in ("names", "counts"):
        options = GrepOptions(max_per_file=1 if form == "names" else None)
    with pytest.MonkeyPatch.context() as patch:
        if apart:  # each file in a process of its own, a few bytes at a time
            patch.setattr(ripgrep, "_split", lambda files: iter([[file] for file in files]))
            patch.setattr(printed, "_PIECE", 7)
        shown = tree.engine.grep(pattern, options, masked=False).printed(
            str, form == "numbers", form == "names", form == "counts", ()
        )
        assert b"".join(shown).replace(b"\0", b"").decode("utf-8", "replace").encode() == wanted


def test_a_binary_file_leaves_no_line_even_if_its_nul_comes_late(tree: Tree) -> None:
    for name, content in zip(
        NAMES, (b"foo\n", b"foo\n" * 60_000 + b"\0\nfoo\n", b"foo\0", b"foo\n"), strict=True
    ):
        (tree.folder / name).write_bytes(content)
    a, d = (str(tree.folder / NAMES[0]), str(tree.folder / NAMES[3]))
    for form, wanted in (
        ("numbers", f"{a}:1:foo\n--\n{d}:1:foo\n"),
        ("counts", f"{a}:1\n{d}:1\n"),
    ):
        options = GrepOptions(after=int(form == "numbers"))
        shown = tree.engine.grep("foo", options, masked=False).printed(
            str, form == "numbers", False, form == "counts", ()
        )
        assert b"".join(shown).replace(b"\0", b"").decode() == wanted


def test_a_line_that_reads_like_a_word_of_ripgreps_is_a_line(tree: Tree) -> None:
    said = f'{tree.folder / NAMES[1]}: binary file matches (found "\\0" byte around offset 5)'
    for name in NAMES:
        (tree.folder / name).write_text(f"{said}\n")
    shown = tree.engine.grep("binary file", masked=False).printed(str, False, False, False, ())
    assert b"".join(shown).replace(b"\0", b"").decode() == "".join(
        f"{tree.folder / name}:{said}\n" for name in NAMES
    )


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Tree]:
    folder = tmp_path.resolve() / "tree"
    folder.mkdir()
    (folder / "pool.py").write_text("def acquire():\n    return connection\n\n\ndef release():\n    pass\n")
    (folder / "notes.md").write_text("# Pool\n\nacquire takes a connection\n")
    with Engine(load_config({"db": tmp_path / "index.db"}, {"HOME": str(tmp_path)})) as engine:
        engine.add(folder)
        yield Tree(engine, folder)


def found_in(tree: Tree, pattern: str, options: GrepOptions | None = None) -> list[str]:
    return [file.document.path for file in tree.engine.grep(pattern, options or GrepOptions())]


def test_a_changed_file_is_read_again_and_one_that_is_gone_is_not_shown(small: Tree) -> None:
    assert found_in(small, "acquire") == ["notes.md", "pool.py"]
    (small.folder / "pool.py").write_text("def borrow(): ...\n")
    (small.folder / "notes.md").unlink()
    assert found_in(small, "acquire") == []
    assert found_in(small, "borrow") == ["pool.py"]


def test_context_lines_and_spans_are_told_apart(small: Tree) -> None:
    (file,) = small.engine.grep("release", GrepOptions(before=1, after=1))
    assert [(line.number, line.matched, line.spans) for line in file.lines] == [
        (4, False, ()),
        (5, True, ((4, 11),)),
        (6, False, ()),
    ]
    assert file.count == 1


def test_an_index_on_postgres_gives_the_same_lines(small: Tree, postgres_url: str, tmp_path: Path) -> None:
    with outcrop.open(postgres_url, data_dir=tmp_path) as engine:
        engine.add(small.folder)
        (small.folder / "pool.py").write_text("def borrow(): acquire()\n")
        for options in (
            GrepOptions(before=1),
            GrepOptions(where=Filter(paths=("*.md",))),
            GrepOptions(without=("*.md",)),
            GrepOptions(below=(str(small.folder / "pool.py"),)),
            GrepOptions(below=(str(small.folder),), ignore_case=True),
        ):
            there, here = (index.grep("acquire", options) for index in (engine, small.engine))
            shown = [(file.document.path, file.lines) for file in there]
            assert shown == [(file.document.path, file.lines) for file in here]
            assert shown
        printed = engine.grep("acquire", masked=False).printed(str, True, False, False, ())
        assert b"".join(printed).count(b"acquire") == 2
        ranked = engine.rank_files("acquire.*connection", engine.grep("acquire"))
        assert {file.document.path for file in ranked} == {"notes.md", "pool.py"}


def test_folders_globs_and_filters_narrow(small: Tree) -> None:
    other = small.folder.parent / "other"
    other.mkdir()
    (other / "more.py").write_text("acquire\n")
    small.engine.add(other)
    assert found_in(small, "acquire", GrepOptions(below=(str(other),))) == ["more.py"]
    assert found_in(small, "acquire", GrepOptions(below=(str(small.folder / "pool.py"),))) == ["pool.py"]
    assert found_in(small, "acquire", GrepOptions(where=Filter(paths=("*.md",)))) == ["notes.md"]
    assert found_in(small, "acquire", GrepOptions(without=("*.md",))) == ["more.py", "pool.py"]
    assert found_in(small, "acquire", GrepOptions(where=Filter(collections=("other",)))) == ["more.py"]
    with pytest.raises(NotFound):
        found_in(small, "acquire", GrepOptions(where=Filter(collections=("nowhere",))))


@pytest.mark.parametrize("pattern", ["", "(", "a{", "[", r"(?<=a)b", r"\1", "a\nb", "x" * 5000, "a\0", r"\n"])
def test_a_pattern_that_ripgrep_refuses_is_refused(small: Tree, pattern: str) -> None:
    with pytest.raises(QueryError):
        small.engine.grep(pattern)


def test_a_refusal_names_no_option_that_only_ripgrep_has(small: Tree) -> None:
    with pytest.raises(QueryError, match=r"(?s)look-around.*syntax is that of Rust") as refused:
        small.engine.grep("(?=x)")
    assert "pcre2" not in str(refused.value).lower()


def test_no_link_no_binary_and_no_text_under_a_files_name_is_read(small: Tree, tmp_path: Path) -> None:
    secret = tmp_path / "outside.txt"
    secret.write_text("acquire the treasure\n")
    small.engine.add(text="# A text that is no file", id=str(secret))
    (small.folder / "pool.py").unlink()
    (small.folder / "pool.py").symlink_to(secret)
    (small.folder / "notes.md").write_bytes(b"acquire\n\0\n")
    assert found_in(small, "acquire") == []


def test_a_secret_is_masked_and_cannot_be_found_by_trying(small: Tree) -> None:
    key = "ghp_" + "k3J9xQ2mZ7vB1nL5cT8rW4yU6pA0sD2fG3hE"
    (small.folder / "pool.py").write_text(f'acquire = 1\ntoken = "{key}"  # acquire\n')
    (file,) = [file for file in small.engine.grep("acquire") if file.document.path == "pool.py"]
    assert [line.number for line in file.lines] == [1, 2]
    assert key not in file.lines[1].text
    assert found_in(small, key[6:20]) == []
    (shown,) = small.engine.grep(key, masked=False)
    assert key in shown.lines[0].text


def test_a_file_that_cannot_be_read_is_a_problem_and_the_rest_is_searched(small: Tree) -> None:
    (small.folder / "big.md").write_text("acquire\n")
    small.engine.sync()
    (small.folder / "big.md").write_text("acquire\n" * 5_000_000)
    matches = small.engine.grep("acquire")
    assert [file.document.path for file in matches] == ["notes.md", "pool.py"]
    assert "big.md: has grown past the limit" in matches.problems[0]


def test_a_pattern_that_makes_others_take_forever_takes_linear_time(small: Tree) -> None:
    (small.folder / "pool.py").write_text("a" * 100_000 + "b\n")
    assert found_in(small, r"^(a|a)*(a*)*c$") == []


def test_work_ends_when_nobody_waits_even_while_ripgrep_is_silent(small: Tree) -> None:
    pipe = small.folder / "pipe"
    os.mkfifo(pipe)  # opening it takes as long as nobody writes to it
    asked = 0

    def leave() -> None:
        nonlocal asked
        asked += 1
        if asked > 2:  # by then it runs
            raise Cancelled("the client has left")

    with TemporaryFile() as complaints, wanted_while(leave), pytest.raises(Cancelled):
        list(grep._read(command_of("acquire", GrepOptions()), [str(pipe)], complaints))


def test_ranking_brings_the_best_files_first(small: Tree) -> None:
    for number in range(5):
        (small.folder / f"a{number}.md").write_text(f"# Lunch {number}\n\nsoup, and acquire in passing\n")
    small.engine.sync()
    ranked = small.engine.rank_files("acquire.*connection|acquire", small.engine.grep("acquire"))
    assert len(ranked) == 7
    assert ranked[0].document.path in ("notes.md", "pool.py")
