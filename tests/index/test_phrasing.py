"""Pairs of words: what they rule out is not there, and of phrases of common words they rule out nearly all."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.index.rows import TERMS, feed_row, segment_of_texts

import outcrop
from outcrop.index import candidates as module
from outcrop.index.merging import merge_segments
from outcrop.index.packed import load_segment, save_segment
from outcrop.index.phrasing import mark_pairs, may_hold
from outcrop.index.segment import PAIR_BYTES
from outcrop.records import Text
from outcrop.text.phrases import holds_phrase, phrase_words

COMMON = "if the name is not in this file then use a new one for it and so on".split()

writing = st.lists(
    st.sampled_from(
        ["the", "The", "café", "cafe\u0301", "東京", "tower", "foo_bar", "x.y", "don't", "\ud800", "½"]
    ),
    max_size=30,
).map(" ".join)


def jumbled(count: int, seed: int = 5) -> list[str]:
    """Texts of the same words, each in an order of its own."""
    chosen = random.Random(seed)
    return [" ".join(chosen.sample(COMMON, len(COMMON))) for _ in range(count)]


@given(st.lists(writing, max_size=4), st.data())
def test_a_row_may_hold_whatever_it_holds(texts: list[str], data: st.DataObject) -> None:
    pairs = mark_pairs([feed_row(i, text) for i, text in enumerate(texts)])
    assert pairs.shape == (PAIR_BYTES, len(texts))
    for row, text in enumerate(texts):
        start = data.draw(st.integers(0, len(text)))
        words = phrase_words(text[start : data.draw(st.integers(start, len(text)))])
        if holds_phrase(text, words):
            assert may_hold(pairs, words)[row], words


def test_a_pair_does_not_reach_from_one_text_into_the_next() -> None:
    pairs = mark_pairs(
        [feed_row(1, "red green"), feed_row(2, "blue"), feed_row(3, ""), feed_row(4, "white red")]
    )
    assert may_hold(pairs, ["red", "green"]).tolist() == [True, False, False, False]
    assert not may_hold(pairs, ["green", "blue"]).any()
    assert not may_hold(pairs, ["blue", "white"]).any()
    assert may_hold(pairs, ["blue"]).all(), "one word is no pair: the terms tell"


def test_the_order_of_a_pair_counts() -> None:
    pairs = mark_pairs([feed_row(1, "green red"), feed_row(2, "red green")])
    assert may_hold(pairs, ["red", "green"]).tolist() == [False, True]


def test_of_texts_with_the_words_elsewhere_few_are_left() -> None:
    texts = jumbled(2000)
    pairs = mark_pairs([feed_row(i, text) for i, text in enumerate(texts)])
    words = ["not", "in", "this", "file"]
    left = may_hold(pairs, words)
    assert all(left[row] for row, text in enumerate(texts) if holds_phrase(text, words))
    assert left.sum() < 20, "of 2 000"


def test_merged_and_saved_they_are_the_same(tmp_path: Path) -> None:
    texts = jumbled(300)
    parts = [segment_of_texts(texts[:100], TERMS), segment_of_texts(texts[100:], TERMS, first_id=101)]
    gone = [np.arange(len(part)) % 3 == 0 for part in parts]
    merged = merge_segments(parts, gone)
    alive = [text for i, text in enumerate(texts) if (i if i < 100 else i - 100) % 3]
    expected = mark_pairs([feed_row(i, text) for i, text in enumerate(alive)])
    assert np.array_equal(merged.pairs, expected)
    save_segment(merged, tmp_path / "segment")
    assert np.array_equal(load_segment(tmp_path / "segment", len(merged)).pairs, expected)


def test_a_search_for_a_phrase_reads_only_texts_that_may_hold_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    monkeypatch.setattr(module, "READ_PHRASES", 5)
    with outcrop.open(tmp_path / "i.db") as kb:
        folder = tmp_path / "notes"
        folder.mkdir()
        for number, text in enumerate(jumbled(200)):
            (folder / f"{number}.txt").write_text(text, "utf-8")
        (folder / "it.txt").write_text("Look: the one for this name, and then not so.", "utf-8")
        kb.add(folder)
        match = kb._store.match_phrase

        def counted(phrase: str, among: np.ndarray[tuple[int], np.dtype[np.int64]] | None = None) -> object:
            assert among is not None
            read.extend(among.tolist())
            return match(phrase, among)

        monkeypatch.setattr(kb._store, "match_phrase", counted)
        assert [hit.document.path for hit in kb.search('"the one for this name"').hits] == ["it.txt"]
    assert len(read) < 5


def test_of_a_phrase_whose_words_stand_everywhere_the_likeliest_texts_are_read_and_the_rest_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    monkeypatch.setattr(module, "READ_PHRASES", 4)
    monkeypatch.setattr(module, "MAX_READ_PHRASES", 10)
    monkeypatch.setattr(
        "outcrop.index.phrasing.may_hold", lambda pairs, words: np.ones(pairs.shape[1], np.bool_)
    )
    with outcrop.open(tmp_path / "i.db") as kb:
        kb.add_texts(Text(f"Chalk lies over slate, slate over chalk {i}.", id=f"{i}") for i in range(60))
        kb.add_texts([Text("Chalk slate, chalk slate, chalk slate.", id="short")])
        match = kb._store.match_phrase

        def counted(phrase: str, among: np.ndarray[tuple[int], np.dtype[np.int64]] | None = None) -> object:
            assert among is not None
            read.extend(among.tolist())
            return match(phrase, among)

        monkeypatch.setattr(kb._store, "match_phrase", counted)
        some = kb.search('"chalk slate"')
        assert [hit.document.uri for hit in some.hits] == ["short"], "it has both words most often"
        assert len(read) == len(set(read)) == 10
        assert "51 more passages have all words of the phrase and were not read" in some.detail
        none = kb.search('"over lies"')
        assert none.unmatched_phrases == ("over lies",)
        assert none.detail.startswith("no passage that was read holds")
        assert "50 more passages" in none.detail
