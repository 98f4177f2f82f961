"""What a score means: the chance of code by its file, that of prose by its match and its lead, and none that rises."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rank.seen import candidates, kinds

from outcrop.rank.chance import LISTED, chance_of_answer, describe_hits, describe_list, score_hits, settle
from outcrop.rank.fusion import best_totals, file_shares
from outcrop.rank.signals import learnt_weights
from outcrop.records import QueryType
from outcrop.records.candidates import Candidates, Floats


def floats(values: list[float]) -> Floats:
    return np.array(values, np.float32)


def rows(total: list[float], file: list[int], *, code: bool = True, kind: QueryType = "semantic") -> Candidates:
    """Candidates that are ranked: `total` is also how well each matches."""
    return Candidates(
        chunk_id=np.arange(len(total)),
        fused=floats(total),
        final=floats(total),
        order=np.argsort(-floats(total), kind="stable"),
        file=np.array(file, np.intp),
        code=np.full(len(total), code),
        kind=kind,
    )


def score(total: list[float], file: list[int], *, words: int = 5, code: bool = True) -> list[float]:
    return [float(one) for one in score_hits(rows(total, file, code=code), words).score]


def prose(total: list[float], *, words: int = 5) -> list[float]:
    return score(total, list(range(len(total))), words=words, code=False)


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


def test_prose_that_matches_better_than_all_others_scores_high_and_low_among_equals() -> None:
    alone, among = prose([0.9, 0.4, 0.4, 0.3]), prose([0.9] * 12)
    assert alone[0] > 0.5
    assert among[0] < 0.3
    assert alone[0] > alone[1] >= alone[3]


def test_what_leads_a_list_of_poor_matches_scores_low() -> None:
    assert prose([0.15, 0.05, 0.04])[0] < 0.2 < prose([0.8, 0.7, 0.69])[0]


def test_a_text_that_is_alone_in_its_index_is_not_right_for_that() -> None:
    (well,), (poorly,) = prose([0.9]), prose([0.1])
    assert well > 0.6
    assert poorly < 0.15


def test_files_behind_the_ten_best_change_no_score() -> None:
    best = [1.0 - place / 20 for place in range(LISTED)]
    few, many = prose(best), prose(best + [0.5] * 300)
    assert many[:LISTED] == pytest.approx(few)


def test_of_what_a_filter_leaves_no_score_falls() -> None:
    whole, left = prose([0.9, 0.8, 0.7, 0.6]), prose([0.8, 0.7])
    assert left[0] > whole[1]
    assert left[1] >= whole[2]


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


def test_every_column_of_a_hit_in_prose_has_its_weight() -> None:
    assert {*describe_hits(rows([0.5, 0.4], [0, 1]), 3), "offset"} == learnt_weights().prose.keys()


def test_what_may_not_be_returned_takes_nothing_from_what_may() -> None:
    found = rows([0.5, 0.9], [0, 1], code=False)
    assert score_hits(replace(found, order=np.array([0])), 3).score[0] > score_hits(found, 3).score[0]


@given(
    st.lists(st.floats(0, 2, width=32), min_size=1, max_size=30),
    st.lists(st.booleans(), min_size=30, max_size=30),
    st.integers(1, 60),
    kinds,
)
def test_a_score_is_a_chance_whatever_came_up(
    total: list[float], code: list[bool], words: int, kind: QueryType
) -> None:
    found = replace(
        rows(total, [place // 2 for place in range(len(total))], kind=kind), code=np.array(code[: len(total)])
    )
    scored = score_hits(found, words).score
    assert ((scored > 0) & (scored < 1)).all()


def test_where_the_answer_is_probably_not_here_no_hit_scores_more_than_that_chance() -> None:
    seen = replace(rows([0.9, 0.5], [0, 1]), score=floats([0.8, 0.05]), order=np.array([0, 1]))
    assert settle(seen, 0.1).score.tolist() == pytest.approx([0.1, 0.05])
    for answerable in (None, 0.5):
        assert settle(seen, answerable).score.tolist() == pytest.approx([0.8, 0.05])
