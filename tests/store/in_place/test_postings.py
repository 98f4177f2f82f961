"""The lexical leg over postings from a store."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from outcrop.records.derived import TermRows
from outcrop.store.postgres.in_place import postings as choosing
from outcrop.store.postgres.in_place.postings import best_places, choose_terms, keep_best, score_postings


def postings(seed: int, ids: int, count: int) -> TermRows:
    rng = np.random.default_rng(seed)
    held = np.sort(rng.choice(ids, count, replace=False)).astype(np.int64) + 1000
    frequencies = rng.integers(1, 9, count).astype(np.uint8)
    return TermRows(held, frequencies, (20 + held % 30).astype(np.uint16))


def test_scores_are_the_same_in_a_table_and_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {1: postings(1, 500, 40), 2: postings(2, 500, 200), 3: postings(3, 500, 7)}
    weights = {2: 0.4, 1: 1.5, 9: 4.0, 3: 2.5}
    ids, scores = score_postings(found, weights, 12.0, 31.0)
    assert ids.tolist() == sorted({id_ for part in found.values() for id_ in part.chunk_ids.tolist()})
    monkeypatch.setattr(choosing, "MAX_SPAN", 0)
    again, same = score_postings(found, weights, 12.0, 31.0)
    np.testing.assert_array_equal(ids, again)
    np.testing.assert_array_equal(scores, same)
    nothing = TermRows(ids[:0], np.zeros(0, np.uint8), np.zeros(0, np.uint16))
    assert len(score_postings({9: nothing}, weights, 12.0, 31.0)[0]) == 0


def test_common_terms_are_left_out_while_rarer_ones_bring_up_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {1: 900, 2: 5, 3: 60, 4: 61}
    assert choose_terms(counts, 10) == [2, 3, 4, 1]
    monkeypatch.setattr(choosing, "MAX_POSTINGS", 100)
    assert choose_terms(counts, 10) == [2, 3]
    assert choose_terms(counts, 66) == [2, 3, 4]
    assert choose_terms({1: 900}, 10) == [1]
    assert choose_terms({}, 10) == []


@given(
    st.lists(st.integers(0, 6), max_size=80),
    st.sets(st.integers(0, 79)),
    st.integers(1, 30),
)
def test_the_best_that_pass_are_kept_and_of_equal_ones_the_older(
    grades: list[int], allowed: set[int], count: int
) -> None:
    ids, scores = np.arange(len(grades)) * 3, np.array(grades, np.float32)
    order = sorted(range(len(grades)), key=lambda place: (-grades[place], place))
    assert best_places(scores, count).tolist() == order[:count]
    assert keep_best(ids, scores, count).tolist() == [3 * place for place in order[:count]]
    asked: list[int] = []

    def passing(some: NDArray[np.int64]) -> NDArray[np.int64]:
        assert (np.diff(some) > 0).all()
        asked.extend(some.tolist())
        return some[[int(id_) // 3 in allowed for id_ in some]]

    kept = keep_best(ids, scores, count, passing)
    assert kept.tolist() == [3 * place for place in order if place in allowed][:count]
    assert len(asked) == len(set(asked)), "nobody is asked about twice"
