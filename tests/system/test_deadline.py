"""The time that one file may take holds for every format, every stage and every way in."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.test_engine import CountingEmbedder

import outcrop
from outcrop.chunk.strategies import ChunkOptions, chunk_document
from outcrop.config import load_config
from outcrop.errors import ParseError
from outcrop.mask import mask_document, mask_secrets
from outcrop.parse import markdown, title
from outcrop.parse.entry import parse
from outcrop.parse.formats import FORMATS, TextFormat
from outcrop.parse.limits import ParseLimits
from outcrop.parse.markdown import find_headings
from outcrop.records import Document, SourceFile
from outcrop.system.limits import check_time, limit_time, restart_limit, timed
from outcrop.text import terms
from outcrop.write import readers
from outcrop.write.prepare import Job, Recipe, Unreadable, prepare_file

NO_TIME = 1e-9
TOO_LONG = "took longer than 1e-09 s to read; split it or raise parse_timeout_s"
TEXT_FORMATS = [form for form in FORMATS if isinstance(form, TextFormat)]
SAMPLE = "# Title\n\na: [1, 2]\n\n= b =\n"


def test_a_limit_holds_until_its_block_ends_and_an_inner_one_does_not_lengthen_it() -> None:
    check_time()
    with limit_time(NO_TIME), limit_time(60.0), pytest.raises(ParseError, match="1e-09 s"):
        check_time()
    check_time()
    with limit_time(NO_TIME), pytest.raises(ParseError):
        list(timed([1]))
    assert list(timed([1, 2])) == [1, 2]


def test_a_limit_is_of_one_thread_and_begins_again_after_waiting() -> None:
    raised = []

    def other() -> None:
        try:
            check_time()
        except ParseError as error:
            raised.append(error)

    with limit_time(NO_TIME):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert raised == []
    with limit_time(3600.0):
        restart_limit()
        check_time()


@pytest.mark.parametrize("form", TEXT_FORMATS, ids=lambda form: form.extensions[0])
def test_every_text_format_is_held_to_it(form: TextFormat) -> None:
    with pytest.raises(ParseError, match="split it or raise parse_timeout_s"):
        parse(SAMPLE.encode(), path=f"x{form.extensions[0]}", limits=ParseLimits(NO_TIME, 2**30))


@pytest.mark.parametrize("name", ["x.md", "x.rst", "x.json", "x.jsonl", "x.yaml", "x.toml"])
def test_readers_of_text_look_at_the_clock_themselves(name: str) -> None:
    form = next(form for form in TEXT_FORMATS if Path(name).suffix in form.extensions)
    text = '{"a": 1}' if "json" in name else SAMPLE
    with limit_time(NO_TIME), pytest.raises(ParseError):
        form.read(text, name)


def test_masking_and_chunking_are_held_to_it() -> None:
    document = Document(text="words and more words. " * 500, kind="text", title="x")
    with limit_time(NO_TIME), pytest.raises(ParseError):
        mask_document(document)
    for strategy in ("auto", "prose", "headings", "recursive"):
        with limit_time(NO_TIME), pytest.raises(ParseError):
            chunk_document(document, ChunkOptions(strategy))
    assert mask_secrets("nothing") == ("nothing", 0)


def open_index(folder: Path, **settings: object) -> outcrop.Engine:
    config = load_config({"db": folder / "i.db", "parse_timeout_s": NO_TIME, **settings}, environ={})
    return outcrop.Engine(config, embedder=CountingEmbedder())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "files"
    root.mkdir()
    for form in FORMATS:
        if isinstance(form, TextFormat) or form.kind == "html":
            (root / f"x{form.extensions[0]}").write_text(SAMPLE * 20, "utf-8")
    return root


@pytest.mark.parametrize("count", [0, 1])
def test_a_file_over_time_is_a_line_in_the_report_whoever_reads_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(readers, "usable_cores", lambda: 2)
    monkeypatch.setattr(readers, "WORTH_BYTES", 1)
    with open_index(tmp_path, readers=count) as kb:
        report = kb.add(folder)
        assert report.added == 0
        assert {failure.path for failure in report.failed} == {path.name for path in folder.iterdir()}
        assert {failure.reason for failure in report.failed} == {TOO_LONG}


def test_texts_over_time_fail_alone_and_a_single_one_raises(tmp_path: Path) -> None:
    with open_index(tmp_path) as kb:
        report = kb.add_texts([outcrop.Text(SAMPLE, "a.md"), outcrop.Text(SAMPLE)])
        assert [failure.reason for failure in report.failed] == [TOO_LONG, TOO_LONG]
        with pytest.raises(ParseError, match="parse_timeout_s"):
            kb.add(text=SAMPLE, id="a.md")


def test_what_a_cluster_does_with_a_file_is_held_to_it(tmp_path: Path) -> None:
    """Tasks of a cluster, like readers, call `prepare_file`."""
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" * 1000, "utf-8")
    file = SourceFile(str(path), path.name, "file", str(tmp_path), 1, path.stat().st_size)
    recipe = Recipe(ChunkOptions(), ParseLimits(NO_TIME, 2**30), 1_000_000, "notes")
    assert prepare_file(Job(file, None), recipe) == Unreadable(file, TOO_LONG)


# ------------------------------------------------------------------ what was slow


def test_blank_lines_are_passed_over_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = Mock(wraps=title.cut_title)
    monkeypatch.setattr(title, "cut_title", cut)
    assert title.first_line("\n" * 1_000_000 + "words\n") == "words"
    assert title.first_line("-\n" * 500_000) == ""
    assert cut.call_count == 1
    scan = Mock(wraps=markdown._Scanner.scan_line)
    monkeypatch.setattr(markdown._Scanner, "scan_line", lambda *args: scan(*args))  # noqa: PLW0108  a Mock is no method
    assert [heading.start for heading in find_headings("a\n" + "\n" * 1_000_000 + "# b\n")] == [1_000_002]
    assert scan.call_count < 10


def test_a_title_is_looked_for_near_the_first_words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = Mock(wraps=title.cut_title)
    monkeypatch.setattr(title, "cut_title", cut)
    assert title.first_line(".. a::\n" * 500_000 + "words") == ""
    assert cut.call_count < 10_000


_BLOCKS = st.sampled_from(
    "# h|- a|-|  # in|> # q|```|<div>|<!--|-->|t\n==|1. x|   # y|    # z".replace("|", "\n|").split("|")
)


@given(st.lists(st.tuples(_BLOCKS, st.integers(0, 6)), max_size=12))
def test_more_than_two_blank_lines_mean_no_more_than_two(blocks: list[tuple[str, int]]) -> None:
    text = "".join(block + "\n" * blank for block, blank in blocks)
    short = re.sub(r"\n{4,}", "\n\n\n", text)
    found = [(heading.level, heading.title) for heading in find_headings(text)]
    assert found == [(heading.level, heading.title) for heading in find_headings(short)]


def test_characters_of_scripts_without_spaces_are_numbered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    number = Mock(wraps=terms.term_number)
    monkeypatch.setattr(terms, "term_number", number)
    analyser = terms.Terms()
    for length in (1000, 1001):
        assert len(analyser.of("検索エンジン文書" * length)) == 2 * 8 * length - 1
    assert number.call_count <= 16


def test_numbers_give_the_terms_they_always_gave() -> None:
    analyser = terms.Terms()
    assert list(analyser.of("12345")) == [terms.term_number("12345")]
    assert list(analyser.of("9" * 100)) == [terms.term_number("9" * 64)]
    assert list(analyser.of("4.50")) == [terms.term_number(word) for word in ("4", "50", "4.50")]
