"""Both legs together: ranks, ties, neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.index.rows import TERMS, feed_row, view_of

from outcrop.index.bm25 import weigh_terms
from outcrop.index.candidates import find_candidates
from outcrop.index.columns import build_segment
from outcrop.index.segment import Segment, View
from outcrop.records import Vector
from outcrop.records.candidates import COLUMNS, Candidates


def axis(i: int) -> NDArray[np.float16]:
    """The unit vector along one axis."""
    vector = np.zeros(8, np.float16)
    vector[i] = 1
    return vector


def segment(*rows: tuple[int, str, NDArray[np.float16] | None], first_id: int = 1) -> Segment:
    """Rows of (document id, text, vector)."""
    feed = [
        feed_row(first_id + i, text, document_id=document, vector=vector)
        for i, (document, text, vector) in enumerate(rows)
    ]
    return build_segment(feed, TERMS, 8, 0.0)


def find(view: View, query: str | None, vector: Vector | None = None, pool: int = 200) -> Candidates:
    masks = tuple(~gone if gone.any() else None for gone in view.deleted)
    words = None if query is None else weigh_terms(query, TERMS, view.segments)
    return find_candidates(view, masks, words, vector, pool)


def by_rank(found: Candidates, ranks: NDArray[np.int32]) -> list[int]:
    """Chunk ids of a leg's list, best first."""
    listed = np.flatnonzero(ranks)
    assert sorted(ranks[listed]) == list(range(1, len(listed) + 1))
    return [int(found.chunk_id[i]) for i in sorted(listed, key=lambda i: int(ranks[i]))]


def test_ranks_count_from_one_in_each_leg_over_all_segments() -> None:
    view = view_of(
        segment((1, "amber stone wall", axis(0)), (2, "chert", axis(1) + 2 * axis(0))),
        segment((3, "amber amber", axis(1)), (4, "amber stone", None), first_id=10),
    )
    found = find(view, "amber", axis(0).astype(np.float32))
    assert by_rank(found, found.lexical_rank) == [10, 11, 1]
    assert by_rank(found, found.dense_rank) == [1, 2]
    assert found.chunk_id.tolist() == [1, 2, 10, 11]
    assert found.cosine.tolist() == pytest.approx([1, 2 / 5**0.5, 0, 0], abs=0.01)
    assert (found.lexical > 0).tolist() == [True, False, True, True]


@pytest.mark.parametrize("pool", [1, 3, 7, 30])
def test_among_equals_older_chunks_come_first_wherever_they_lie(pool: int) -> None:
    rows = [(i, "amber", axis(0)) for i in range(30)]
    splits = [(30,), (1, 29), (10, 10, 10), (29, 1)]
    for split in splits:
        segments, start = [], 0
        for size in split:
            segments.append(segment(*rows[start : start + size], first_id=start + 1))
            start += size
        found = find(view_of(*segments), "amber", axis(0).astype(np.float32), pool)
        assert by_rank(found, found.lexical_rank) == list(range(1, pool + 1))
        assert by_rank(found, found.dense_rank) == list(range(1, pool + 1))


def test_the_pool_holds_the_best_of_all_segments() -> None:
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 30, 90)
    rows = [(i, "amber " * int(n) + "stone " * int(30 - n), None) for i, n in enumerate(counts)]
    view = view_of(segment(*rows[:50]), segment(*rows[50:], first_id=51))
    found = find(view, "amber", pool=20)
    best = sorted(range(90), key=lambda i: (-counts[i], i))[:20]
    assert by_rank(found, found.lexical_rank) == [i + 1 for i in best]


def test_neighbours_come_along_and_know_their_scores() -> None:
    texts = ["x", "x", "amber one", "x", "x", "x"]
    view = view_of(segment(*((1, text, axis(i)) for i, text in enumerate(texts)), (2, "x", None)))
    found = find(view, "amber")
    assert found.chunk_id.tolist() == [1, 2, 3, 4, 5], "two rows on either side"
    assert found.candidate.tolist() == [False, True, True, True, False]
    scores = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(found.neighbour(scores, -1), [np.nan, 0, 1, 2, 3])
    np.testing.assert_array_equal(found.neighbour(scores, +1), [1, 2, 3, 4, np.nan])


def test_two_candidates_side_by_side_are_each_others_neighbours() -> None:
    view = view_of(segment((1, "amber", None), (1, "amber chert", None), (2, "amber", None)))
    found = find(view, "amber")
    scores = np.array([1, 2, 3], np.float32)
    np.testing.assert_array_equal(found.neighbour(scores, +1), [2, np.nan, np.nan])
    np.testing.assert_array_equal(found.neighbour(scores, -1), [np.nan, 1, np.nan])


def test_neighbours_are_never_of_another_document_or_removed() -> None:
    made = segment((1, "x", None), (2, "amber", None), (2, "x", None), (2, "x", None), (3, "x", None))
    gone = np.array([False, False, True, False, False])
    found = find(view_of(made, deleted=[gone]), "amber")
    assert found.chunk_id.tolist() == [2]
    assert np.isnan(found.neighbour(found.lexical, +1)).all()
    assert np.isnan(found.neighbour(found.lexical, -1)).all()


def test_removed_rows_are_in_no_list() -> None:
    made = segment(*((i, "amber", axis(0)) for i in range(6)))
    gone = np.array([True, False, True, False, False, True])
    found = find(view_of(made, deleted=[gone]), "amber", axis(0).astype(np.float32))
    assert found.chunk_id.tolist() == [2, 4, 5]


def test_a_neighbour_that_a_mask_rules_out_is_no_candidate() -> None:
    view = view_of(segment((1, "x", axis(0)), (1, "amber", axis(0)), (1, "x", axis(0))))
    mask = np.array([False, True, False])
    words = weigh_terms("amber", TERMS, view.segments)
    found = find_candidates(view, (mask,), words, axis(0).astype(np.float32))
    assert found.chunk_id[found.candidate].tolist() == [2]
    assert len(found) == 3


@pytest.mark.parametrize("vector", [None, np.zeros(8, np.float32), np.full(8, np.nan, np.float32)])
def test_without_a_usable_vector_words_alone_decide(vector: Vector | None) -> None:
    view = view_of(segment((1, "amber", axis(0)), (2, "chert", axis(1))))
    found = find(view, "amber", vector)
    assert found.chunk_id.tolist() == [1]
    assert not found.dense_rank.any()
    assert not found.cosine.any()


def test_without_words_meaning_alone_decides() -> None:
    view = view_of(segment((1, "amber", axis(0)), (2, "chert", axis(1))))
    found = find(view, None, axis(1).astype(np.float32))
    assert found.chunk_id.tolist() == [2]
    assert not found.lexical.any()


def test_what_nobody_finds_is_an_empty_list_of_the_right_types() -> None:
    view = view_of(segment((1, "amber", axis(0))))
    some, none = find(view, "amber"), find(view, "chert")
    assert len(none) == 0
    for name in COLUMNS:
        assert getattr(some, name).dtype == getattr(none, name).dtype, name
    assert len(none.neighbour(none.lexical, 1)) == 0


def test_rows_asked_for_by_name_are_candidates_though_no_leg_lists_them() -> None:
    view = view_of(
        segment((1, "amber", axis(0)), (2, "chert", axis(1)), (2, "flint", None)),
        segment((3, "gneiss", axis(2)), (3, "slate", None), first_id=10),
    )
    words = weigh_terms("amber", TERMS, view.segments)
    more = {(0, 1): 0.5, (1, 0): 1.0, (0, 0): 0.1}
    found = find_candidates(view, (None, None), words, axis(0).astype(np.float32), 200, more)
    assert found.chunk_id.tolist() == [1, 2, 3, 10, 11]
    assert found.candidate.all(), "what stands beside them too"
    assert by_rank(found, found.lexical_rank) == by_rank(found, found.dense_rank) == [1]
    assert len(find_candidates(view, (None, None), None, None, 200, [(1, 1)])) == 2
    assert len(find_candidates(view, (None, None), None, None)) == 0
