"""What moves a candidate after fusion: each signal by its reason, and all of them together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from outcrop.rank import signals
from outcrop.rank.signals import (
    GUIDE_WEIGHT,
    LONE_NEIGHBOUR,
    NEIGHBOUR_WEIGHT,
    QUOTED_WEIGHT,
    REPEAT_SHARE,
    ROLE_SHARE,
    SIGNALS,
    apply_signals,
)
from outcrop.records import QueryType
from outcrop.records.candidates import Candidates, Floats

NAN = float("nan")
unit_floats = st.floats(0, 1, width=32)


def floats(values: list[float]) -> Floats:
    return np.array(values, np.float32)


def candidates(fused: list[float], **known: Any) -> Candidates:
    """Candidates of code in files of their own, of which nothing is known but what is given."""
    count = len(fused)
    fields: dict[str, Any] = {
        "kind": "mixed",
        "before": [NAN] * count,
        "after": [NAN] * count,
        "code": [True] * count,
        "file": list(range(count)),
        "role": [""] * count,
        "header": [False] * count,
        "stem": [0.0] * count,
        "folder": [0.0] * count,
        "defines": [0.0] * count,
        "linked": [0.0] * count,
        "project": [0.0] * count,
        "quoted": [0.0] * count,
        "asked": frozenset(),
        "wants_guide": False,
        **known,
    }
    types: dict[str, type] = {"code": np.bool_, "file": np.intp, "role": np.str_, "header": np.bool_}
    plain = ("kind", "asked", "wants_guide")
    arrays = {
        name: value if name in plain else np.array(value, types.get(name, np.float32))
        for name, value in fields.items()
    }
    return Candidates(fused=floats(fused), **arrays)


def moved(signal: str, seen: Candidates, score: Floats | None = None) -> list[float]:
    """What one signal adds to each candidate."""
    before = seen.fused if score is None else score
    added = SIGNALS[signal](seen, before.copy())
    assert added.dtype == np.float32
    assert added.shape == before.shape
    values: list[float] = added.tolist()
    return values


def prose(fused: list[float], **known: Any) -> Candidates:
    return candidates(fused, code=[False] * len(fused), **known)


def test_every_signal_is_tested_here_by_its_reason() -> None:
    tested = {
        "neighbours": test_a_good_stretch_of_text_is_good_around_the_hit_too_and_a_stray_word_match_is_not,
        "definition": test_who_asks_for_a_name_asks_first_where_it_is_declared,
        "quoted": test_what_a_longer_text_quotes_stands_word_for_word_where_it_comes_from,
        "file name": test_people_name_a_file_after_what_it_is_about,
        "folder name": test_and_its_folder_more_loosely,
        "project name": test_who_names_a_project_wants_its_files,
        "coherence": test_a_file_with_several_good_chunks_is_about_the_question_and_one_with_a_single_one_mentions_it,
        "lead": test_where_a_passage_leads_all_code_its_lead_is_counted_once_more_against_the_others,
        "guide": test_who_wants_to_use_a_program_is_answered_by_its_documentation,
        "links": test_what_the_best_hits_call_inherit_or_import_belongs_to_the_answer_too,
        "role": test_a_question_about_a_program_is_seldom_one_about_its_tests_examples_or_generated_files,
        "header": test_imports_and_licences_name_everything_and_explain_nothing,
        "saturation": test_ten_places_in_one_file_are_one_answer,
    }
    assert list(tested) == list(SIGNALS), "in the order in which they run"
    assert all(signal.__doc__ for signal in SIGNALS.values())


def test_a_good_stretch_of_text_is_good_around_the_hit_too_and_a_stray_word_match_is_not() -> None:
    seen = prose([0.5] * 5, kind="semantic", before=[0.9, 0.5, 0.0, NAN, NAN], after=[0.9, 0.5, 0.0, NAN, 0.5])
    added = moved("neighbours", seen)
    assert added[0] > added[1] == pytest.approx(0, abs=1e-7)
    assert added[1] > added[4] > added[3] > added[2]
    weight = NEIGHBOUR_WEIGHT["semantic"]
    alone = (0.5 + 2 * weight * LONE_NEIGHBOUR * 0.5) / (1 + 2 * weight) - 0.5
    assert added[3] == pytest.approx(alone, abs=1e-6)


def test_a_name_is_worth_the_same_whatever_stands_around_it() -> None:
    assert moved("neighbours", prose([0.5, 0.5], kind="exact", before=[0.0, 0.9], after=[0.0, 0.9])) == [0, 0]


def test_code_is_worth_the_same_whatever_stands_around_it() -> None:
    seen = candidates([0.5, 0.5], kind="semantic", before=[0.0, 0.9], after=[0.9, NAN], code=[True, False])
    added = moved("neighbours", seen)
    assert added[0] == 0 < added[1]


def test_who_asks_for_a_name_asks_first_where_it_is_declared() -> None:
    seen = candidates([0.8, 0.3, 0.1], defines=[0.0, 1.0, 0.5])
    added = moved("definition", seen)
    assert added == pytest.approx([0, 0.8, 0.4])
    final = seen.fused + added
    assert final.argmax() == 1, "the declaration passes the place that uses the name most"


def test_what_a_longer_text_quotes_stands_word_for_word_where_it_comes_from() -> None:
    seen = candidates([0.4, 0.4, 0.2], quoted=[1.0, 0.0, 0.5], code=[True, False, False])
    added = moved("quoted", seen)
    assert added[0] == pytest.approx(0.4 * QUOTED_WEIGHT)
    assert added[1] == 0
    assert added[2] == pytest.approx(0.2 * QUOTED_WEIGHT)


def test_people_name_a_file_after_what_it_is_about() -> None:
    added = moved("file name", candidates([0.8, 0.7, 0.7], stem=[0.0, 1.0, 0.5]))
    assert added[0] == 0
    assert added[1] == pytest.approx(2 * added[2]) == pytest.approx(signals.STEM_WEIGHT * 0.8)


def test_and_its_folder_more_loosely() -> None:
    seen = candidates([0.8, 0.7], stem=[0.0, 1.0], folder=[0.0, 1.0])
    added = moved("folder name", seen)
    assert 0 == added[0] < added[1] < moved("file name", seen)[1]


def test_who_names_a_project_wants_its_files() -> None:
    seen = candidates([0.8, 0.6], project=[0.0, 0.5], code=[True, False])
    assert moved("project name", seen) == [0, pytest.approx(0.4)]
    assert moved("project name", candidates([0.8, 0.6])) == [0, 0]


def test_a_file_with_several_good_chunks_is_about_the_question_and_one_with_a_single_one_mentions_it() -> None:
    several = moved("coherence", candidates([0.6, 0.6, 0.6, 0.6], file=[0, 0, 0, 1]))
    assert several[0] == several[1] == several[2] > several[3] > 0
    poor = moved("coherence", candidates([0.6] + [0.1] * 9, file=[0] + [1] * 9))
    assert poor[0] > poor[1], "many poor chunks do not make a good file"
    mixed = moved("coherence", candidates([0.6, 0.6, 0.6], file=[0, 1, 1], code=[True, False, False]))
    assert mixed[1] == mixed[2] == 0 < mixed[0]
    assert mixed[0] == moved("coherence", candidates([0.6]))[0], "whatever documents are beside it"
    assert moved("coherence", candidates([0.0, -0.5], file=[0, 0])) == [0, 0]


def test_a_file_is_as_good_as_the_root_of_the_sum_of_squares_of_its_chunks() -> None:
    pair = moved("coherence", candidates([0.3, 0.4, 0.5, 0.25], file=[0, 0, 1, 2]))
    assert pair[0] == pair[1] == pytest.approx(pair[2])
    assert pair[3] == pytest.approx(pair[2] / 2)
    weak = moved("coherence", candidates([0.03, 0.04, 0.05, 0.025], file=[0, 0, 1, 2]))
    assert weak == pytest.approx([value / 10 for value in pair]), "whatever a query's best score is"
    assert moved("coherence", candidates([0.5, -3.0], file=[0, 0])) == pytest.approx([pair[2]] * 2), (
        "none is bad"
    )


def test_where_a_passage_leads_all_code_its_lead_is_counted_once_more_against_the_others() -> None:
    seen = candidates([0.5, 0.6, 0.45, 0.2], code=[True, False, False, True])
    credited = seen.fused + floats([0.3, 0.0, 0.0, 0.3])
    behind = 0.5 / 0.6
    final = credited + floats(moved("lead", seen, credited))
    assert final.tolist() == pytest.approx([behind * 0.8, 0.6, behind * 0.45, behind * 0.5], abs=1e-6)
    assert moved("lead", candidates([0.5, 0.6])) == [0, 0]
    assert moved("lead", prose([0.5, 0.6])) == [0, 0]
    assert moved("lead", candidates([0.6, 0.6, 0.5], code=[True, False, False])) == [0, 0, 0]


def test_each_passage_that_leads_all_code_has_its_own_lead_and_the_best_of_them_keeps_its_score() -> None:
    seen = candidates([0.4, 0.5, 0.75], code=[True, False, False])
    credited = seen.fused + floats([0.9, 0.0, 0.0])
    added = moved("lead", seen, credited)
    assert added[2] == 0, "to the last bit: an explanation would tell of it"
    behind = 0.4 / 0.75
    assert (credited + floats(added)).tolist() == pytest.approx([behind * 1.3, behind * 0.5 * 0.5 / 0.4, 0.75])


def test_a_passage_without_a_score_leads_nobody() -> None:
    seen = candidates([0.6, 0.5], code=[False, True])
    assert moved("lead", seen, floats([0.0, 0.5])) == [0, 0]


def test_a_lead_is_never_more_than_it_was_before_the_credits() -> None:
    seen = candidates([0.05, 0.8], code=[True, False])
    credited = seen.fused + floats([0.5, 0.0])
    final = credited + floats(moved("lead", seen, credited))
    assert final.tolist() == pytest.approx([0.55 * 0.8 / (0.55 + 0.75), 0.8], abs=1e-6)
    assert moved("lead", seen) == pytest.approx([0, 0], abs=1e-6)


def test_a_lead_is_one_over_code_that_does_the_work() -> None:
    seen = candidates([0.7, 0.6, 0.5], code=[True, False, True], role=["test", "", ""])
    added = moved("lead", seen, seen.fused + floats([0.3, 0, 0.3]))
    assert added[1] == pytest.approx(0, abs=1e-6)
    assert added[0] < 0 > added[2]
    asked = replace(seen, asked=frozenset({"test"}))
    assert moved("lead", asked, seen.fused + floats([0.3, 0, 0.3])) == [0, 0, 0]


def test_what_leads_and_what_follows_keep_the_order_that_lifting_the_first_would_give() -> None:
    seen = candidates([0.35, 0.52, 0.76, 0.59], code=[True, True, False, False])
    credited = seen.fused + floats([0.39, 0.16, 0.0, 0.0])
    final = credited + floats(moved("lead", seen, credited))
    lifted = [0.74, 0.68, 0.76 * 0.76 / 0.52, 0.59 * 0.59 / 0.52]
    capped = min(lifted[2], 0.74 + 0.76 - 0.52)
    assert np.argsort(final).tolist() == np.argsort([*lifted[:2], capped, lifted[3]]).tolist()
    assert final.max() == pytest.approx(0.76)


def test_the_declaration_of_a_name_that_is_asked_for_does_not_lift_what_mentions_it() -> None:
    seen = candidates([0.5, 0.6], code=[True, False], defines=[1.0, 0.0])
    score = seen.fused + floats([0.6, 0.0])
    assert moved("lead", seen, score) == [0, 0]


def test_who_wants_to_use_a_program_is_answered_by_its_documentation() -> None:
    asked = candidates([0.8, 0.5, 0.4], code=[True, False, True], wants_guide=True)
    assert moved("guide", asked) == pytest.approx([0, GUIDE_WEIGHT * 0.8, 0])
    assert moved("guide", replace(asked, wants_guide=False)) == pytest.approx([0, 0, 0])
    assert moved("guide", prose([0.8, 0.5], wants_guide=True)) == pytest.approx([0, 0])


def test_what_the_best_hits_call_inherit_or_import_belongs_to_the_answer_too() -> None:
    added = moved("links", candidates([0.8, 0.7, 0.7], linked=[0.0, 1.0, 0.5]))
    assert 0 == added[0] < added[2] < added[1] <= 0.2
    beside = candidates([0.8, 0.4, 0.2], linked=[0.0, 1.0, 0.0], code=[False, True, True])
    assert moved("links", beside) == pytest.approx([0, signals.LINK_WEIGHT * 0.4, 0]), "of code, not of prose"


def test_a_question_about_a_program_is_seldom_one_about_its_tests_examples_or_generated_files() -> None:
    roles = ["", *ROLE_SHARE]
    seen = candidates([0.5] * len(roles), role=roles)
    score = floats([0.9 - i / 50 for i in range(len(roles))])
    left = score + moved("role", seen, score)
    assert left.tolist() == pytest.approx(
        [0.9, *(s * r for s, r in zip(score[1:], ROLE_SHARE.values(), strict=True))]
    )
    assert (left[1:] < left[0]).all()


def test_a_changelog_stands_behind_what_explains_unless_it_is_asked_for() -> None:
    seen = prose([0.24, 0.23], role=["changelog", ""])
    final = apply_signals(seen).final
    assert final[0] < final[1]
    asked = apply_signals(replace(seen, asked=frozenset({"changelog"}))).final
    assert asked[0] > asked[1]


def test_who_asks_for_tests_gets_them_whole() -> None:
    seen = candidates([0.5] * 3, role=["test", "example", "test"], asked=frozenset({"test"}))
    added = moved("role", seen)
    assert added[0] == added[2] == 0 > added[1]


def test_imports_and_licences_name_everything_and_explain_nothing() -> None:
    seen = candidates([0.5, 0.5], header=[True, False])
    added = moved("header", seen, floats([0.8, 0.8]))
    assert added == pytest.approx([(signals.HEADER_SHARE - 1) * 0.8, 0])


def test_ten_places_in_one_file_are_one_answer() -> None:
    score = floats([0.9, 0.8, 0.7, 0.6, 0.5])
    seen = candidates([0.1] * 5, file=[7, 7, 2, 7, 2])
    left = score + moved("saturation", seen, score)
    half = REPEAT_SHARE
    assert left.tolist() == pytest.approx([0.9, half * 0.8, 0.7, half**2 * 0.6, half * 0.5])


scores = st.lists(st.floats(-1, 3, width=32), max_size=40)


@given(scores, st.data())
def test_saturation_is_what_taking_the_best_one_by_one_gives(values: list[float], data: st.DataObject) -> None:
    count = len(values)
    file = data.draw(st.lists(st.integers(0, 5), min_size=count, max_size=count))
    code_files = data.draw(st.sets(st.integers(0, 5)))
    seen = candidates([0.0] * count, file=file, code=[number in code_files for number in file])
    added = moved("saturation", seen, floats(values))
    taken: dict[int, int] = {}
    for i in sorted(range(count), key=lambda i: -values[i]):
        before = taken.get(file[i], 0)
        taken[file[i]] = before + 1
        whole = file[i] not in code_files or values[i] <= 0
        expected = 0 if whole else (REPEAT_SHARE**before - 1) * values[i]
        assert added[i] == pytest.approx(expected, abs=1e-6)


@st.composite
def anything(draw: st.DrawFn) -> Candidates:
    count = draw(st.integers(0, 20))

    def some(elements: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(elements, min_size=count, max_size=count))

    beside = unit_floats | st.just(NAN)
    return candidates(
        some(unit_floats),
        kind=draw(st.sampled_from(sorted(NEIGHBOUR_WEIGHT))),
        before=some(beside),
        after=some(beside),
        code=some(st.booleans()),
        file=some(st.integers(0, 4)),
        role=some(st.sampled_from(["", *ROLE_SHARE])),
        header=some(st.booleans()),
        stem=some(unit_floats),
        folder=some(unit_floats),
        defines=some(unit_floats),
        linked=some(unit_floats),
        asked=draw(st.frozensets(st.sampled_from(list(ROLE_SHARE)))),
    )


@given(anything())
def test_signals_keep_scores_in_their_range(seen: Candidates) -> None:
    ranked = apply_signals(seen)
    final, boosts = ranked.final, ranked.boosts
    assert final.dtype == np.float32
    assert np.isfinite(final).all()
    weights = ("DEFINITION_WEIGHT", "STEM_WEIGHT", "FOLDER_WEIGHT", "COHERENCE_WEIGHT", "LINK_WEIGHT")
    most = 1 + sum(getattr(signals, name) for name in weights)
    assert ((final >= -1e-6) & (final <= most + 1e-5)).all()
    assert list(boosts) == list(SIGNALS)
    total = seen.fused + sum((added for added in boosts.values()), np.zeros_like(seen.fused))
    np.testing.assert_allclose(total, final, atol=1e-5)


@given(st.lists(unit_floats, min_size=1, max_size=20), st.sampled_from(sorted(NEIGHBOUR_WEIGHT)), st.data())
def test_prose_is_moved_by_its_neighbours_and_its_role_only(
    fused: list[float], kind: QueryType, data: st.DataObject
) -> None:
    count = len(fused)
    roles = data.draw(st.lists(st.sampled_from(["", "docs"]), min_size=count, max_size=count))
    seen = prose(fused, kind=kind, role=roles, file=[0] * count, before=[0.5] * count)
    ranked = apply_signals(seen)
    final, boosts = ranked.final, ranked.boosts
    silent = set(SIGNALS) - {"neighbours", "role"}
    assert not any(boosts[name].any() for name in silent)
    around = seen.fused + SIGNALS["neighbours"](seen, seen.fused)
    share: NDArray[np.float32] = floats([ROLE_SHARE.get(role, 1.0) for role in roles])
    np.testing.assert_allclose(final, around * share, atol=1e-6)


def test_no_candidates_have_no_scores() -> None:
    ranked = apply_signals(candidates([]))
    assert len(ranked.final) == 0
    assert all(len(added) == 0 for added in ranked.boosts.values())


def test_signals_see_the_score_that_those_before_them_made() -> None:
    seen = candidates([0.5, 0.4], defines=[0.0, 1.0], role=["", "test"])
    ranked = apply_signals(seen)
    final, boosts = ranked.final, ranked.boosts
    so_far = 0.4 + sum(float(boosts[name][1]) for name in list(SIGNALS)[: list(SIGNALS).index("role")])
    assert boosts["role"][1] == pytest.approx((ROLE_SHARE["test"] - 1) * so_far)
    assert final[1] == pytest.approx(ROLE_SHARE["test"] * so_far)
