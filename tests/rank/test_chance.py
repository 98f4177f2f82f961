"""What a score means: the chance of code by its file, that of prose by its match, and none that rises."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rank.seen import candidates, kinds
from tests.rank.seen import prose as prose_rows

from outcrop.rank.fusion import MIDPOINT, best_totals, describe_list, file_shares, score_candidates, settle
from outcrop.rank.signals import apply_signals, chance_of_answer, learnt_weights
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
    return [float(one) for one in score_candidates(rows(total, file), floats(total), floats(total), words)]


def prose(match: float, kind: QueryType = "semantic") -> float:
    (one,) = score_candidates(
        rows([match], [0], code=False, kind=kind), floats([match]), floats([match]), 3
    ).tolist()
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
    several = score_candidates(rows(total.tolist(), [0, 1, 2], code=False), total, total, 3)
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


def listed(total: list[float], **known: Any) -> Candidates:
    return replace(
        candidates(total, cosine=total, **known),
        final=floats(total),
        order=np.argsort(-floats(total), kind="stable"),
    )


def test_an_answer_is_likelier_the_better_the_best_matches_and_the_further_it_is_ahead() -> None:
    ahead, among = listed([1.0, 0.3, 0.3, 0.2]), listed([1.0, 0.98, 0.97, 0.96])
    weak = listed([0.2, 0.18, 0.17, 0.16])
    chances = [chance_of_answer(one, 6) for one in (ahead, among, weak)]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] > 0.5 > chances[2]


@given(st.lists(st.floats(0, 2, width=32), min_size=1, max_size=12), st.integers(1, 40), kinds)
def test_the_chance_of_an_answer_is_one_and_does_not_depend_on_where_rows_stand(
    total: list[float], words: int, kind: QueryType
) -> None:
    chance = chance_of_answer(listed(total, kind=kind), words)
    assert 0 < chance < 1
    assert chance_of_answer(listed(sorted(total), kind=kind), words) == pytest.approx(chance)


def test_every_column_of_a_list_has_its_weight() -> None:
    columns = describe_list(listed([0.5, 0.4]), 3)
    assert {*columns, "offset"} == learnt_weights().answer.keys()


@pytest.mark.parametrize("other", [0.2, 0.9])
def test_prose_scores_the_same_whatever_code_is_there_too(other: float) -> None:
    alone = apply_signals(prose_rows([0.6])).score[0]
    beside = apply_signals(candidates([0.6, other], code=[False, True])).score[0]
    assert beside == pytest.approx(alone, abs=1e-6)


def test_where_the_answer_is_probably_not_here_no_hit_scores_more_than_that_chance() -> None:
    seen = replace(rows([0.9, 0.5], [0, 1]), score=floats([0.8, 0.05]), order=np.array([0, 1]))
    assert settle(seen, 0.1).score.tolist() == pytest.approx([0.1, 0.05])
    for answerable in (None, 0.5):
        assert settle(seen, answerable).score.tolist() == pytest.approx([0.8, 0.05])
