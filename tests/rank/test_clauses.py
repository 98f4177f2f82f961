"""Several queries made of one text give one order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from outcrop.rank.clauses import fuse_clauses
from outcrop.records.candidates import Candidates


def found(scores: dict[tuple[int, int], float], **more: float) -> Candidates:
    """What one clause found: (document, chunk) → score, best first."""
    final = np.array(list(scores.values()), np.float32)
    return Candidates(
        document_id=np.array([document for document, _ in scores], np.int64),
        chunk_id=np.array([chunk for _, chunk in scores], np.int64),
        fused=final,
        final=final,
        boosts={name: np.full(len(final), value, np.float32) for name, value in more.items()},
        order=np.argsort(-final, kind="stable"),
    )


def order_of(candidates: Candidates) -> list[int]:
    return list(map(int, candidates.chunk_id[candidates.order]))


def test_scores_are_means_by_weight() -> None:
    fused = fuse_clauses([found({(1, 10): 0.8, (2, 20): 0.6}), found({(2, 20): 0.6})], [1.0, 3.0])
    assert order_of(fused) == [20, 10]
    assert fused.final[fused.order].tolist() == pytest.approx([0.6, 0.2])


def test_clauses_that_find_different_places_in_a_file_agree_on_the_file() -> None:
    one, other = found({(1, 10): 0.5, (2, 20): 0.6}), found({(1, 11): 0.5, (3, 30): 0.6})
    fused = fuse_clauses([one, other], [1.0, 1.0])
    assert order_of(fused) == [10, 20, 30, 11]
    assert fused.final[fused.order].tolist() == pytest.approx([0.5, 0.3, 0.3, 0.25])


def test_a_row_is_described_by_the_clause_that_speaks_for_it_most() -> None:
    fused = fuse_clauses([found({(1, 10): 0.2}, stem=0.1), found({(1, 10): 0.9}, links=0.3)], [1.0, 1.0])
    assert {name: column.tolist() for name, column in fused.boosts.items()} == {
        "stem": [0.0],
        "links": pytest.approx([0.3]),
        "clauses": pytest.approx([0.55 - 0.9]),
    }


def test_a_row_that_no_clause_would_return_is_left_out() -> None:
    one = found({(1, 10): 0.8, (2, 20): 0.6})
    fused = fuse_clauses([one, replace(one, order=np.array([0]))], [1.0, 1.0])
    assert order_of(fused) == [10, 20]
    assert fused.final[fused.order].tolist() == pytest.approx([0.8, 0.3])


def test_the_cutoff_is_a_share_of_the_best() -> None:
    one = found({(1, 10): 0.8, (2, 20): 0.3})
    assert order_of(fuse_clauses([one, one], [1.0, 1.0], cutoff=0.5)) == [10]


def test_clauses_that_find_nothing_take_no_part_but_lower_the_score() -> None:
    nothing = found({})
    assert len(fuse_clauses([nothing, nothing], [1.0, 1.0]).order) == 0
    assert fuse_clauses([nothing, found({(1, 10): 0.8})], [1.0, 1.0]).final.tolist() == pytest.approx([0.4])


@pytest.mark.parametrize("turned", [False, True])
def test_what_only_one_clause_knows_of_its_rows_is_nothing_of_those_of_another(turned: bool) -> None:
    """A clause that finds nothing but code knows no stretches of prose, and another one does."""
    prose = replace(found({(1, 10): 0.8, (2, 20): 0.6}), around=np.array([0.5, 0.4], np.float32))
    code = found({(3, 30): 0.7, (2, 20): 0.1})
    fused = fuse_clauses([code, prose] if turned else [prose, code], [1.0, 1.0])
    assert order_of(fused) == [10, 20, 30]
    assert len(fused.around) == len(fused)
    assert dict(zip(fused.chunk_id.tolist(), fused.around.tolist(), strict=True)) == {
        10: pytest.approx(0.5),
        20: pytest.approx(0.4),
        30: 0.0,
    }
