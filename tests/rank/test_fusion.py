"""Scores on their way: fused, blended with a reranker's, shown."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcrop.rank.fusion import (
    BLEND,
    RRF_K,
    RRF_SHARE,
    SEMANTIC_SHARE,
    SHARPNESS,
    add_opinion,
    blend_of,
    dense_weight,
    file_shares,
    fuse_ranks,
    fuse_scores,
    meaning_share,
    rerank_scores,
)
from outcrop.records import MeaningShare, QueryType, Trust

unit_floats = st.floats(0, 1, width=32)
some = st.lists(unit_floats, min_size=1, max_size=20)


def floats(values: list[float]) -> np.ndarray:
    return np.array(values, np.float32)


PROSE = np.zeros(3, np.bool_)


def test_meaning_weighs_more_the_less_exact_a_query_is_and_nothing_without_trust() -> None:
    weights = [dense_weight(kind, 1.0) for kind in ("exact", "mixed", "semantic")]
    assert weights == sorted(weights)
    assert weights == pytest.approx(list(SEMANTIC_SHARE.values()))
    for kind in SEMANTIC_SHARE:
        assert dense_weight(kind, 0.0) == 0
        steps = [dense_weight(kind, trust / 10) for trust in range(11)]
        assert steps == sorted(steps)


@pytest.mark.parametrize("kind", SEMANTIC_SHARE)
def test_half_the_trust_is_half_the_odds(kind: QueryType) -> None:
    full, half = dense_weight(kind, 1.0), dense_weight(kind, 0.5)
    assert half / (1 - half) == pytest.approx(0.5 * full / (1 - full))


def test_far_down_both_lists_is_worth_half() -> None:
    assert fuse_ranks(np.array([62], np.int32), np.array([62], np.int32)).fused.tolist() == [0.5]


def test_code_and_prose_are_weighed_by_the_models_trust_in_each() -> None:
    lexical, cosine, code = floats([1, 1]), floats([0, 0]), np.array([True, False])
    fused = fuse_scores(lexical, cosine, code, "mixed", Trust(prose=1.0, code=0.0)).fused
    assert fused.tolist() == pytest.approx([1.0, 0.4])
    assert fused.dtype == np.float32


@given(some, some, st.sampled_from(list(SEMANTIC_SHARE)), unit_floats)
def test_a_fused_score_lies_between_those_of_the_legs(
    lexical: list[float], cosine: list[float], kind: QueryType, trust: float
) -> None:
    size = min(len(lexical), len(cosine))
    a, b = floats(lexical[:size]), floats(cosine[:size])
    fused = fuse_scores(a, b, np.zeros(size, np.bool_), kind, Trust(trust, trust)).fused
    assert (fused >= np.minimum(a, b) - 1e-6).all()
    assert (fused <= np.maximum(a, b) + 1e-6).all()


def test_a_vector_that_points_away_counts_as_none() -> None:
    args = (np.zeros(2, np.bool_), "semantic", Trust())
    assert fuse_scores(floats([0, 0]), floats([-0.9, 0]), *args).fused.tolist() == [0, 0]  # type: ignore[arg-type]


def test_ranks_fuse_by_their_reciprocals() -> None:
    fused = fuse_ranks(np.array([1, 1, 0, 2, 0], np.int32), np.array([1, 0, 1, 2, 0], np.int32)).fused
    assert fused.tolist() == pytest.approx([1, 0.5, 0.5, (RRF_K + 1) / (RRF_K + 2), 0])
    assert fused.dtype == np.float32
    assert len(fuse_ranks(np.zeros(0, np.int32), np.zeros(0, np.int32)).fused) == 0


def test_a_reranker_moves_scores_within_their_range() -> None:
    first = floats([0.9, 0.5, 0.3])
    blended = rerank_scores(first, floats([-50, 10, 200]), PROSE)
    assert blended.dtype == np.float32
    assert first.min() <= blended.min()
    assert blended.max() <= first.max()
    expected = (1 - BLEND.prose) * first + BLEND.prose * (floats([0, 60 / 250, 1]) * 0.6 + 0.3)
    assert blended.tolist() == pytest.approx(expected.tolist())
    assert np.argsort(-rerank_scores(first, first * 7 + 3, PROSE)).tolist() == [0, 1, 2]


def test_what_a_reranker_says_in_log_odds_is_added_by_its_worth() -> None:
    first, worth = floats([0.9, 0.5, 0.3]), Trust(prose=0.6, code=0.2)
    code = np.array([True, False, True])
    added = add_opinion(first, floats([2, -1, 3]), code, worth, "semantic")
    raised = floats([0.9 + 0.2 * 2 / SHARPNESS, 0.5 - 0.6 / SHARPNESS, 0.3 + 0.2 * 3 / SHARPNESS])
    assert (added - raised).tolist() == pytest.approx([added[0] - raised[0]] * 3, abs=1e-6), "all moved alike"
    assert added.min() == pytest.approx(first.min()), "none falls behind what was not asked about"
    half = add_opinion(first, floats([2, -1, 3]), code, worth, "exact")
    assert half[0] - half[1] - 0.4 == pytest.approx((added[0] - added[1] - 0.4) / 2, abs=1e-6)
    nothing = add_opinion(first, floats([2, -1, 3]), code, Trust(0.0, 0.0), "mixed")
    assert nothing.tolist() == pytest.approx(first.tolist())
    assert added.dtype == np.float32


def test_a_reranker_may_tell_its_own_weight() -> None:
    class Own:
        blend = Trust(0.25, 0.5)

    class Wild:
        blend = Trust(7, -1)

    assert blend_of(Own()) == Trust(0.25, 0.5)
    assert (blend_of(Wild()), blend_of(object())) == (Trust(1.0, 0.0), BLEND)
    first, second = floats([0.9, 0.5, 0.3]), floats([0, 1, 2])
    assert rerank_scores(first, second, PROSE, Trust(0.0, 1.0)).tolist() == first.tolist()
    assert np.argsort(-rerank_scores(first, second, PROSE, Trust(1.0, 0.0))).tolist() == [2, 1, 0]
    code = np.array([False, False, True])
    assert rerank_scores(first, second, code, Trust(0.0, 1.0)).tolist() == pytest.approx([0.9, 0.5, 0.9])


@pytest.mark.parametrize("second", [[1, 1, 1], [1, float("nan"), 2], [1, float("inf"), 2]])
def test_a_reranker_that_tells_nothing_changes_nothing(second: list[float]) -> None:
    first = floats([0.9, 0.5, 0.3])
    assert rerank_scores(first, floats(second), PROSE).tolist() == first.tolist()
    assert rerank_scores(first[:1], floats(second[:1]), PROSE[:1]).tolist() == first[:1].tolist()
    assert len(rerank_scores(first[:0], first[:0], PROSE[:0])) == 0


def test_a_reranker_may_swap_two() -> None:
    first, second = rerank_scores(
        floats([0.9, 0.5]), floats([0, 1]), np.zeros(2, np.bool_), Trust(1, 1)
    ).tolist()
    assert first < second


def test_a_balance_says_how_much_meaning_weighs_whatever_the_model() -> None:
    lexical, cosine, code = floats([1, 0]), floats([0, 1]), np.array([True, False])
    legs = fuse_scores(lexical, cosine, code, "exact", Trust(prose=0.1, code=0.0), balance=0.8)
    assert legs.fused.tolist() == pytest.approx([0.2, 0.8])
    assert legs.words.tolist() == pytest.approx([0.2, 0])
    assert legs.meaning.tolist() == pytest.approx([0, 0.8])
    ranks = fuse_ranks(np.array([1, 0], np.int32), np.array([0, 1], np.int32), balance=0.8)
    assert ranks.fused.tolist() == pytest.approx([0.2, 0.8])
    assert ranks.fused.dtype == legs.fused.dtype == np.float32


def test_how_much_meaning_weighs_follows_from_the_mode_then_the_balance_then_the_fusion_then_the_model() -> (
    None
):
    trust = Trust(prose=1.0, code=0.5)
    by_meaning = meaning_share("mixed", trust, mode="semantic", fusion="rrf", balance=0.3)
    by_words = meaning_share("mixed", trust, mode="keyword", fusion="rrf", balance=0.3)
    assert (by_meaning, by_words) == (MeaningShare(1.0, 1.0), MeaningShare(0.0, 0.0))
    balanced = meaning_share("mixed", trust, mode="hybrid", fusion="rrf", balance=0.3)
    assert balanced == MeaningShare(0.3, 0.3)
    by_rank = meaning_share("mixed", trust, mode="hybrid", fusion="rrf", balance=None)
    assert by_rank == MeaningShare(RRF_SHARE, RRF_SHARE)
    by_score = meaning_share("mixed", trust, mode="hybrid", fusion="weighted", balance=None)
    assert by_score == MeaningShare(dense_weight("mixed", 1.0), dense_weight("mixed", 0.5))


def test_the_shares_of_files_depend_on_the_differences_of_their_totals_however_large_these_are() -> None:
    files = np.array([0, 1], np.intp)
    large, small = file_shares(files, floats([200, 199.5])), file_shares(files, floats([0.5, 0]))
    assert large.tolist() == pytest.approx(small.tolist())
