"""What was typed: its kind, its phrases, and queries that are no queries."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cost import cpu_below

from outcrop.index.query import (
    MAX_PHRASE_QUERY_WORDS,
    MAX_QUERY_CHARS,
    MAX_QUOTED,
    Symbol,
    read_query,
    read_symbols,
)
from outcrop.records import QueryType


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("useState", "exact"),
        ('"JWT token"', "exact"),
        ("“JWT token”", "exact"),
        ("ECONNREFUSED", "exact"),
        ("TS-999", "exact"),
        ("E1101", "exact"),
        ("snake_case", "exact"),
        ("MAX_ROWS", "exact"),
        ("_private", "exact"),
        ("__init__", "exact"),
        ("os.path.join", "exact"),
        ("std::vector", "exact"),
        ("PascalCase", "exact"),
        ("HTTPServer", "exact"),
        ("0xDEADBEEF", "exact"),
        ("setup.cfg", "exact"),
        ("./src/main.rs", "exact"),
        ("connect()", "exact"),
        ("How does authentication work?", "semantic"),
        ("how does authentication work", "semantic"),
        ("rotating the signing keys", "semantic"),
        ("authentication?", "semantic"),
        ("Wie funktioniert das?", "semantic"),
        ("人工智能是什么", "semantic"),
        ("things to do, e.g. in winter", "semantic"),
        ("React hooks", "mixed"),
        ("authentication", "mixed"),
        ("password reset flow", "mixed"),
        ("where in the whole code base do we call useState for the form", "mixed"),
    ],
)
def test_the_kind_of_a_query_is_seen(text: str, kind: QueryType) -> None:
    assert read_query(text).kind == kind


@pytest.mark.parametrize("kind", ["exact", "semantic", "mixed"])
@pytest.mark.parametrize("text", ["useState", '"JWT token"', "How does it work?", "React hooks", ""])
def test_a_forced_kind_wins(text: str, kind: QueryType) -> None:
    assert read_query(text, kind).kind == kind


@pytest.mark.parametrize(
    ("text", "phrases", "plain"),
    [
        ('"JWT token" expiry', ("JWT token",), "JWT token  expiry"),
        ('a "b c" d “e f”', ("b c", "e f"), "a  b c  d  e f"),
        ('"one', (), '"one'),
        ('""', (), '""'),
        ('"?!"', (), '"?!"'),
        ("it's", (), "it's"),
        ('"  spaced  "', ("spaced",), "spaced"),
    ],
)
def test_quoted_phrases_are_taken_out_of_their_quotes(text: str, phrases: tuple[str, ...], plain: str) -> None:
    query = read_query(text)
    assert (query.phrases, query.text) == (phrases, plain)


@pytest.mark.parametrize(
    "text",
    [
        'where is "connection pool" used?',
        '"one phrase" "another phrase"',
        '"a phrase\nover two lines"',
        '(see "the manual")',
        " ".join(["word"] * MAX_PHRASE_QUERY_WORDS) + ' "a phrase"',
    ],
)
def test_a_phrase_of_a_short_query_must_occur(text: str) -> None:
    query = read_query(text)
    assert query.phrases
    assert query.kind == "exact"
    assert query.quoted == ()


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        (" ".join(["word"] * (MAX_PHRASE_QUERY_WORDS + 1)) + ' "a phrase"', ("a phrase",)),
        ('It fails.\nThe log says "connection refused".', ("connection refused",)),
        ('{"name": "the pool", "size": 4}', ("name", "the pool", "size")),
        ('<div class="two boxes">', ("two boxes",)),
        ('a 5" disk or a 3" disk', ("disk or a 3",)),
        ('call("first name")', ("first name",)),
        ('["one two","three four"]', ("one two", "three four")),
    ],
)
def test_quotation_marks_in_a_pasted_text_are_part_of_the_text(text: str, quoted: tuple[str, ...]) -> None:
    query = read_query(text)
    assert query.phrases == ()
    assert query.quoted == quoted
    assert query.kind == query.loose_kind == read_query(text.replace('"', " ")).kind


def test_a_relaxed_query_requires_no_phrase_and_is_read_as_without_its_marks() -> None:
    query = read_query('how does "token rotation" work').relax()
    assert (query.phrases, query.quoted, query.kind) == ((), ("token rotation",), "semantic")
    assert read_query('"token rotation"', "exact").relax().kind == "exact"


def test_a_pasted_file_keeps_a_bounded_number_of_phrases() -> None:
    text = "\n".join(f'key{i} = "value number {i}"' for i in range(500))
    assert len(read_query(text).quoted) == MAX_QUOTED


@pytest.mark.parametrize("text", ["", " ", "a", " x ", "7", "?", "!!", "👍", "\n\t", '""', "ก"])
def test_empty_and_one_character_queries_are_empty(text: str) -> None:
    assert read_query(text).is_empty


@pytest.mark.parametrize("text", ["go", "漢", "가", "あ", "C#", '"a b"'])
def test_short_queries_that_mean_something_are_not_empty(text: str) -> None:
    assert not read_query(text).is_empty


def test_a_pasted_document_is_bounded() -> None:
    query = read_query("The quick brown fox. " * 50_000)
    assert len(query.text) <= MAX_QUERY_CHARS
    assert query.kind == "semantic"


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=300) | st.text(alphabet='aA_9.-"“”?() :>漢\ud800', max_size=80))
def test_any_text_is_a_query(text: str) -> None:
    query = read_query(text)
    assert query.kind in ("exact", "semantic", "mixed")
    query.text.encode("utf-8")  # what is broken in the encoding goes no further
    assert all(phrase.strip() == phrase and phrase for phrase in query.phrases)


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "a",
            "A",
            "aA",
            "Aa",
            "AA",
            "a_",
            "_",
            "a.",
            "a-",
            "a/",
            "./",
            "a::",
            "a->",
            "1",
            "a1",
            "-",
            ".",
            "0x",
        ),
        *("?", "? ", " ", '"', "“", "”", '"a', "“a", "(", "a(", "é", "漢", "aé", "Aé", "a.a-", "\n", "how "),
    ],
)
@pytest.mark.parametrize("end", ["", "_", "!", "é", " x"])
def test_reading_a_hostile_query_takes_no_time(unit: str, end: str) -> None:
    text = (unit * (MAX_QUERY_CHARS // len(unit)))[: MAX_QUERY_CHARS - len(end)] + end
    with cpu_below(5):  # a quadratic scan takes many times that
        read_query("a" + text[1:])
        read_query(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("API", "exact"),
        ("JSON schema", "exact"),
        ("What is an API?", "semantic"),
        ("DNA methylation in the aging brain", "semantic"),
        ("why does ECONNREFUSED happen", "exact"),
        ("where is getUserName defined?", "exact"),
    ],
)
def test_a_short_acronym_is_a_name_by_itself_and_a_word_in_a_sentence(text: str, kind: str) -> None:
    assert read_query(text).kind == kind


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("authentication", [Symbol("authentication")]),
        ("Pool.acquire", [Symbol("acquire", "Pool")]),
        ("std::chrono::seconds", [Symbol("seconds", "chrono")]),
        ("how does connect() work", [Symbol("connect")]),
        ("what does `open` return", [Symbol("open")]),
        ("what does `open return", []),
        ("where is max_rows set and where is HTTPServer", [Symbol("max_rows"), Symbol("HTTPServer")]),
        ("max_rows or max_rows", [Symbol("max_rows")]),
        ("rotating the signing keys", []),
        ("", []),
    ],
)
def test_names_of_code_are_seen_in_a_query(text: str, symbols: list[Symbol]) -> None:
    assert list(read_symbols(text)) == symbols


def test_a_pasted_listing_is_about_a_few_of_its_names() -> None:
    assert [symbol.name for symbol in read_symbols(" ".join(f"name_{i}" for i in range(90)))] == [
        f"name_{i}" for i in range(12)
    ]


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        *(("Pool", True), ("pool()", True), ("Pool.acquire", True), ("std::vector", True), ("pool_open", True)),
        *(("the Pool", False), ("Pool acquire", False), ("how does Pool.acquire wait", False), ("3", False)),
        *(("", False), ("`Pool` and `acquire`", False)),
    ],
)
def test_a_query_that_is_a_name_and_nothing_else(text: str, alone: bool) -> None:
    assert read_query(text).is_name is alone
