"""Metrics against values worked out by hand."""

from __future__ import annotations

import math

import pytest

from outcrop.evals.run import first_rank, mean, ndcg_at, percentile, recall_at, reciprocal_rank, top_1

# Two expected documents, found at ranks 2 and 4.
GAINS = [0.0, 1.0, 0.0, 1.0, 0.0]
GRADES = [1.0, 1.0]


def test_top_1_is_whether_the_first_is_right() -> None:
    assert top_1(GAINS) == 0
    assert top_1([1.0, 0.0]) == 1
    assert top_1([]) == 0


def test_recall_counts_the_expected_within_k() -> None:
    assert recall_at(GAINS, GRADES, 1) == 0
    assert recall_at(GAINS, GRADES, 3) == 0.5
    assert recall_at(GAINS, GRADES, 4) == 1
    assert recall_at(GAINS, [1.0, 1.0, 1.0, 1.0], 10) == 0.5
    assert recall_at([], [], 3) == 0


def test_reciprocal_rank_is_that_of_the_first_right_one() -> None:
    assert first_rank(GAINS) == 2
    assert reciprocal_rank(GAINS) == 0.5
    assert first_rank([0.0]) is None
    assert reciprocal_rank([0.0]) == 0


def test_ndcg_discounts_by_the_logarithm_of_the_rank() -> None:
    earned = 1 / math.log2(3) + 1 / math.log2(5)  # ranks 2 and 4
    ideal = 1 / math.log2(2) + 1 / math.log2(3)  # ranks 1 and 2
    assert ndcg_at(GAINS, GRADES, 10) == pytest.approx(earned / ideal)
    assert ndcg_at(GAINS, GRADES, 10) == pytest.approx(0.6509, abs=1e-4)
    assert ndcg_at(GAINS, GRADES, 3) == pytest.approx((1 / math.log2(3)) / ideal)
    assert ndcg_at([1.0, 1.0], GRADES, 10) == 1
    assert ndcg_at([], GRADES, 10) == 0


def test_ndcg_knows_that_a_better_document_belongs_first() -> None:
    # Grades 2 and 1 in the wrong order: (1 + 2 / 1.585) / (2 + 1 / 1.585) = 2.2619 / 2.6309
    assert ndcg_at([1.0, 2.0], [2.0, 1.0], 10) == pytest.approx(2.2619 / 2.6309, abs=1e-4)


def test_percentile_is_a_value_that_occurred() -> None:
    assert percentile([3.0, 1.0, 2.0, 4.0], 0.5) == 2
    assert percentile(list(map(float, range(1, 101))), 0.95) == 95
    assert percentile([7.0], 0.95) == 7
    assert percentile([], 0.5) == 0
    assert mean([]) == 0
