"""What a score means: the chance of code by its file, that of prose by its match, and none that rises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcrop.rank.fusion import MIDPOINT, best_totals, file_shares, score_candidates, settle
from outcrop.records import QueryType
from outcrop.records.candidates import Candidates, Floats


def floats(values: list[float]) -> Floats:
    return np.array(values, np.float32)


def rows(total: list[float], file: list[int], *, code: bool = True, kind: QueryType = "semantic") -> Candidates:
    return Candidates(
        chunk_id=np.arange(len(total)),
        final=floats(total),
        file=np.array(file, np.intp),
        code=np.full(len(total), code),
        kind=kind,
    )


def score(total: list[float], file: list[int], *, words: int = 5) -> list[float]:
    return [float(one) for one in score_candidates(rows(total, file), floats(total), 1.0, words)]


def prose(match: float, kind: QueryType = "semantic") -> float:
    (one,) = score_candidates(rows([match], [0], code=False, kind=kind), floats([match]), 1.0, 3).tolist()
    return float(one)


def test_shares_of_files_add_up_to_one_and_follow_their_best_chunk() -> None:
    file, total = np.array([0, 0, 1, 2]), floats([0.9, 0.2, 0.6, 0.6])
    shares = file_shares(file, total)
    assert shares[0] == shares[1] > shares[2] == shares[3]
    assert shares[[0, 2, 3]].sum() == pytest.approx(1)
    assert best_totals(file, total).tolist() == pytest.approx([0.9, 0.6, 0.6])


def test_code_scores_high_where_its_file_stands_alone_and_low_among_equals() -> None:
    alone = score([1.5, 0.6, 0.5], [0, 1, 2])
    among = score([1.5, 1.45, 1.4], [0, 1, 2])
    assert alone[0] > 0.75
    assert among[0] < 0.6
    assert alone[0] > alone[1] > alone[2]


def test_the_same_distance_between_files_is_the_same_score_wherever_the_totals_lie() -> None:
    assert score([1.5, 0.9], [0, 1]) == pytest.approx(score([0.9, 0.3], [0, 1]), abs=1e-5)


def test_a_further_chunk_of_a_file_scores_less_than_its_best() -> None:
    best, further, _ = score([1.2, 0.7, 0.6], [0, 0, 1])
    assert best > further


def test_a_question_of_more_words_is_answered_more_surely() -> None:
    assert score([1.0, 0.9], [0, 1], words=12)[0] > score([1.0, 0.9], [0, 1], words=2)[0]


@pytest.mark.parametrize(
    ("match", "right"), [(0.15, 0.09), (0.28, 0.17), (0.33, 0.23), (0.43, 0.43), (0.53, 0.55), (0.65, 0.83)]
)
def test_the_score_of_prose_is_how_often_such_passages_were_right(match: float, right: float) -> None:
    assert prose(match) == pytest.approx(right, abs=0.08), "as measured over eight labelled sets"


def test_a_name_found_once_in_a_chunk_of_mean_length_is_shown_as_right() -> None:
    assert prose(0.45, "exact") > 0.6
    assert prose(0.45, "mixed") > 0.5


def test_the_middle_of_the_scale_is_even_odds_for_each_type_of_query() -> None:
    assert all(prose(middle, kind) == pytest.approx(0.5) for kind, middle in MIDPOINT.items())


def test_the_score_of_prose_does_not_depend_on_what_else_came_up() -> None:
    total = floats([0.5, 0.45, 0.4])
    several = score_candidates(rows(total.tolist(), [0, 1, 2], code=False), total, 1.0, 3)
    assert several[0] == pytest.approx(prose(0.5))


def test_no_candidates_have_no_scores() -> None:
    assert score([], []) == []
    assert len(settle(rows([], [])).score) == 0


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=40))
def test_settled_scores_never_rise_and_keep_their_sum(values: list[float]) -> None:
    found = Candidates(
        chunk_id=np.arange(len(values)), score=floats(values), order=np.arange(len(values), dtype=np.intp)
    )
    settled = settle(found).score
    assert (np.diff(settled) <= 1e-6).all()
    assert settled.sum() == pytest.approx(floats(values).sum(), abs=1e-3)
    if sorted(values, reverse=True) == values:
        assert settled.tolist() == pytest.approx(values)


def test_only_what_is_in_order_is_settled() -> None:
    found = Candidates(chunk_id=np.arange(3), score=floats([0.2, 0.9, 0.4]), order=np.array([0, 2], np.intp))
    assert settle(found).score.tolist() == pytest.approx([0.3, 0.9, 0.3])
