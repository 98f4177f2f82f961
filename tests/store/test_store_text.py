"""The text of a document comes back exactly, however it was cut."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.store.builders import make_write, put

from outcrop.records.meta import stated_date
from outcrop.store.rows import join_headings, split_headings
from outcrop.store.sqlite.store import SqliteStore, open_sqlite

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@pytest.fixture(scope="module")
def shared() -> Iterator[SqliteStore]:
    with tempfile.TemporaryDirectory() as folder:
        store = open_sqlite(Path(folder) / "index.db")
        yield store
        store.close()


@st.composite
def cut_texts(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    text = draw(TEXT)
    ends = st.integers(0, len(text))
    spans = draw(st.lists(st.tuples(ends, ends).map(lambda pair: (min(pair), max(pair))), max_size=6))
    return text, sorted(spans)


@settings(max_examples=60, deadline=None)
@given(cut_texts())
def test_the_text_is_rebuilt_from_chunks_that_leave_gaps_or_overlap(
    shared: SqliteStore, cut: tuple[str, list[tuple[int, int]]]
) -> None:
    text, spans = cut
    (id_,) = put(shared, make_write("a", text, spans=spans))
    assert shared.text(id_) == text
    assert [chunk.text for chunk in shared.chunks_of(id_)] == [text[start:end] for start, end in spans]
    assert list(shared.check()) == []


@given(st.lists(st.text(st.characters(exclude_characters="\x1f"))).map(tuple))
def test_a_heading_path_survives(path: tuple[str, ...]) -> None:
    assert split_headings(join_headings(path)) == path


@settings(deadline=None)
@given(st.text(max_size=40))
def test_any_phrase_can_be_asked_for(shared: SqliteStore, phrase: str) -> None:
    if phrase.encode("utf-8", "ignore").decode() == phrase:
        shared.match_phrase(phrase)


@pytest.mark.parametrize(
    ("date", "seconds"),
    [
        ("1970-01-02", 86400),
        (" 1970-01-02T01:00:00Z ", 90000),
        ("1970-01-01T01:00+01:00", 0),
        ("0001-01-01T00:00+14:00", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_a_stated_date_is_read_when_it_is_one(date: str, seconds: float | None) -> None:
    got = stated_date({"date": date})
    assert got == seconds or (date.startswith("0001") and got is not None and got < 0)
    assert stated_date({}) is None
