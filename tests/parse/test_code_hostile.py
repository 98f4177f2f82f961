"""No file, whatever it holds, crashes a grammar or keeps it busy: it becomes plain text instead."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest
import tree_sitter
import tree_sitter_python
from tests.cost import cpu_below

from outcrop.parse.code import LANGUAGES, Language, guard, read_code
from outcrop.parse.code.guard import TooHard, check_source, parse_within
from outcrop.parse.code.languages import grammar_of

SIGNS = "abc(){}[]<>\"'`#/\\*+-=:;,. \n\t$@!%&|~^?01"
WORDS = 'if else do end def class fn let in where ( ) { } = -> :: ; \n x 1 "s" import type case begin'.split(
    " "
)

HOSTILE: dict[str, Callable[[], str]] = {
    "100 000 open brackets": lambda: "(" * 100_000,
    "100 000 open brackets of all kinds": lambda: "([{<" * 25_000,
    "50 000 pairs of brackets": lambda: "(" * 50_000 + ")" * 50_000,
    "5 000 open blocks on lines of their own": lambda: "if x {\n" * 5_000,
    "a line of 1 MB": lambda: "a = 1; " * 150_000,
    "a word of 1 MB": lambda: "x" * 1_000_000,
    "100 000 quotes": lambda: '"' * 100_001,
    "a chain of 200 000 names": lambda: "a." * 200_000,
    "30 000 operators on lines of their own": lambda: "-\n" * 30_000,
    "a chain over 20 000 lines": lambda: "a.\n" * 20_000,
    "10 000 open elements": lambda: "<div>\n" * 10_000,
    "random bytes": lambda: random.Random(1).randbytes(200_000).decode("utf-8", "replace"),
    "random bytes without control characters": lambda: random.Random(2).randbytes(200_000).decode("latin-1"),
    "random signs": lambda: "".join(random.Random(3).choices(SIGNS, k=200_000)),
    "random words": lambda: " ".join(random.Random(4).choices(WORDS, k=8_000)),
    "zeros": lambda: "\0" * 200_000,
}

LIMIT_S = 15.0
"""Of this thread's CPU time: a file may take the guard's limit, a second parse and the query that follows."""


def name_for(language: Language) -> str:
    return language.names[0] if language.names else f"file{language.extensions[0]}"


@pytest.fixture(scope="module")
def hostile() -> dict[str, str]:
    return {title: make() for title, make in HOSTILE.items()}


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_a_hostile_file_is_read_within_seconds(language: Language, hostile: dict[str, str]) -> None:
    grammar_of(language)
    for title, text in hostile.items():
        with cpu_below(LIMIT_S):
            document = read_code(text, name_for(language))
        assert document.text == text
        for item in document.outline.declarations if document.outline is not None else ():
            assert 0 <= item.start <= item.at <= item.body <= item.end <= len(text), title


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_an_empty_file_and_a_file_of_one_character_have_an_outline(language: Language) -> None:
    for text in ("", "\n", "x", "\ufeff", "é"):
        outline = read_code(text, name_for(language)).outline
        assert outline is not None
        assert outline.language == language.name


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"[" * 2_000 + b"]" * 2_000, "deep"),
        (b"\x01\x02" * 100 + b"abc", "not text"),
        ("\ufffd".encode() * 100 + b"abc" * 100, "not text"),
        (b"let a = 1;" * 2_000 + b"\nlet b = 2\n", "long lines"),
        (b"+-*/ " * 4_000 + b"\n", "punctuation"),
    ],
)
def test_text_that_nobody_wrote_as_source_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(TooHard, match=reason):
        check_source(data)


def test_source_with_one_long_line_is_still_source() -> None:
    check_source(b"def run():\n    return 1\n" * 1_000 + b"DATA = '" + b"ab" * 6_000 + b"'\n")


def test_parsing_stops_at_its_time_limit_and_the_parser_still_works_afterwards() -> None:
    language = next(item for item in LANGUAGES if item.name == "cpp")
    parser = grammar_of(language).parser()
    with pytest.raises(TooHard, match="too long"):
        parse_within(parser, b">AAA b<" * 60_000)  # minutes of error recovery, if it is let
    tree = parse_within(parser, b"int run() {}\n")
    assert tree.root_node.end_byte == 13
    assert not tree.root_node.has_error


def test_a_file_that_is_refused_is_plain_text() -> None:
    document = read_code("{" * 5_000, "a.json.js")
    assert document.outline is None
    assert document.kind == "code"


MANY = b"def f(a, b):\n    return [x + 1 for x in range(a * b)]\n" * 3_000


def test_a_parser_stopped_by_the_clock_resumes_while_it_has_cpu_time_left() -> None:
    """On a busy machine the clock runs while others have the processor: that must not change what is read."""
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_python.language()))
    guard.limit_time(parser, 0.001)
    tree = guard.parse_within(parser, MANY)
    assert tree.root_node.child_count == 3_000
    assert not tree.root_node.has_error


def test_a_query_stopped_by_the_clock_is_run_again_with_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    grammar = tree_sitter.Language(tree_sitter_python.language())
    root = tree_sitter.Parser(grammar).parse(MANY).root_node
    cursor = tree_sitter.QueryCursor(tree_sitter.Query(grammar, "(identifier) @name"))
    whole = len(guard.match_within(cursor, root))
    monkeypatch.setattr(guard, "TIME_LIMIT_S", 0.002)
    guard.limit_time(cursor, 0.002)
    assert len(guard.match_within(cursor, root)) < whole  # all of that time was its own
    monkeypatch.setattr(guard, "TIME_LIMIT_S", 1.2)
    # Of 1.2 s by the clock it had none: as if something else had run all the while.
    ticks = itertools.count(0.0, 1.3)
    clocks = SimpleNamespace(monotonic=lambda: next(ticks), thread_time=time.thread_time)
    monkeypatch.setattr(guard, "time", clocks)
    assert len(guard.match_within(cursor, root)) == whole
