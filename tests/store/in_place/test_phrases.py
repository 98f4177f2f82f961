"""Phrases in a store that is searched in place: few texts are read, and what was not read is told."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.index.searched import SearchedSqlite
from tests.store.builders import make_write, put

from outcrop.index import candidates
from outcrop.index.query import read_query
from outcrop.index.seam import Matches
from outcrop.records import Filter
from outcrop.store.postgres.in_place import phrases
from outcrop.store.postgres.in_place.derive import SearchDeriver
from outcrop.store.postgres.in_place.search import DatabaseSearch
from outcrop.text.languages import known_languages
from outcrop.text.terms import PIECED, Terms, language_term

TERMS = Terms()


class Counting(SearchedSqlite):
    """A store that notes which texts it reads for a phrase, and whose words it counts."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "index.db", SearchDeriver(TERMS, 0.5))
        self.read: list[int] = []
        self.counted: list[int] = []

    def match_phrase(
        self, phrase: str, among: np.ndarray[tuple[int], np.dtype[np.int64]] | None = None
    ) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        assert among is not None
        self.read += among.tolist()
        return super().match_phrase(phrase, among)

    def term_counts(self, terms: object) -> dict[int, int]:
        asked: list[int] = list(terms)  # type: ignore[call-overload]
        self.counted += asked
        return super().term_counts(asked)


def find(index: DatabaseSearch, text: str, where: Filter = Filter()) -> Matches:  # noqa: B008 - frozen
    with index.snapshot(index.refresh()) as view:
        return index.find(view, read_query(text), where, "keyword", None, 50)


def texts(store: Counting, seen: Matches) -> list[str]:
    return [chunk.text for chunk in store.chunks(seen.found.chunk_id[seen.found.candidate].tolist())]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search reads ten texts at most, four at first."""
    for module in (candidates, phrases):
        monkeypatch.setattr(module, "READ_PHRASES", 4)
    monkeypatch.setattr(phrases, "MAX_READ_PHRASES", 10)


@pytest.mark.usefixtures("few")
def test_of_a_phrase_of_common_words_the_likeliest_texts_are_read_and_the_rest_is_told(tmp_path: Path) -> None:
    with closing(Counting(tmp_path)) as store:
        for number in range(60):
            put(store, make_write(f"{number}.md", f"Chalk lies over slate, slate over chalk {number}."))
        put(store, make_write("short.md", "Chalk slate, chalk slate, chalk slate."))
        index = DatabaseSearch(store, TERMS, 0.5, None)
        some = find(index, '"chalk slate"')
        assert texts(store, some) == ["Chalk slate, chalk slate, chalk slate."], "it has both words most often"
        assert (len(store.read), len(set(store.read)), some.unread) == (10, 10, 51)
        none = find(index, '"over lies"')
        assert (texts(store, none), none.unread) == ([], 50)


@pytest.mark.usefixtures("few")
def test_texts_that_a_filter_rules_out_are_not_read(tmp_path: Path) -> None:
    with closing(Counting(tmp_path)) as store:
        for number in range(30):
            put(store, make_write(f"a/{number}.md", f"Chalk slate, chalk slate {number}."))
        put(store, make_write("b/one.md", "Over chalk and clay lies chalk slate, thick."))
        index = DatabaseSearch(store, TERMS, 0.5, None)
        seen = find(index, '"chalk slate"', Filter(paths=("b/**",)))
        assert texts(store, seen) == ["Over chalk and clay lies chalk slate, thick."]
        assert (len(store.read), seen.unread) == (1, 0)


def test_two_phrases_are_held_by_the_same_chunk(tmp_path: Path) -> None:
    with closing(Counting(tmp_path)) as store:
        put(store, make_write("a.md", "red chalk, green slate"), make_write("b.md", "red chalk, slate green"))
        index = DatabaseSearch(store, TERMS, 0.5, None)
        assert texts(store, find(index, '"red chalk" "green slate"')) == ["red chalk, green slate"]


def test_words_that_tell_languages_are_counted_once_until_something_is_written(tmp_path: Path) -> None:
    with closing(Counting(tmp_path)) as store:
        put(
            store, make_write("a.md", "Der Vertrag ist ohne Frist gekündigt worden, weil sie es nicht wollten.")
        )
        index = DatabaseSearch(store, TERMS, 0.5, None)
        find(index, "Vertrag Frist")
        first, store.counted = store.counted, []
        find(index, "Vertrag Frist")
        again, store.counted = store.counted, []
        told = {PIECED, *map(language_term, known_languages())}
        assert told <= set(first)
        assert again
        assert told.isdisjoint(again), "the words of the query alone"
        put(store, make_write("b.md", "Plain words."))
        find(index, "Vertrag Frist")
        assert sorted(store.counted) == sorted(first)
