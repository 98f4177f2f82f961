"""What moves a candidate after fusion, each signal by its reason.

What a signal is worth is learnt and may be learnt again, so nothing here depends on the value of a weight: tests look
at signs, at order and at sums, or read the weights that ship.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.rank.seen import KINDS, NAN, candidates, floats, prose, worth

from outcrop.rank.signals import (
    LONE_NEIGHBOUR,
    NEIGHBOUR_WEIGHT,
    RANK_SCALE,
    ROLES,
    SIGNALS,
    apply_signals,
    match,
)
from outcrop.records.candidates import Candidates


def column(signal: str, seen: Candidates, name: str = "") -> list[float]:
    """One column of a signal: the one called like it, or the one that is named."""
    values: list[float] = SIGNALS[signal](seen)[name or signal].tolist()
    assert len(values) == len(seen)
    return values


def moved(signal: str, seen: Candidates) -> list[float]:
    """What one signal adds to each candidate."""
    added = apply_signals(seen).boosts[signal]
    assert added.dtype == np.float32
    assert added.shape == seen.fused.shape
    values: list[float] = added.tolist()
    return values


def test_every_signal_is_tested_here_by_its_reason() -> None:
    tested = {
        "neighbours": test_a_good_stretch_of_text_is_good_around_the_hit_too_and_a_stray_word_match_is_not,
        "stretch": test_a_page_that_holds_all_of_a_question_answers_it_though_no_passage_has_every_word,
        "labels": test_words_that_name_a_row_of_a_table_ask_for_that_table,
        "covered": test_a_file_that_holds_all_words_between_its_passages_is_better_than_one_that_holds_a_few,
        "standing": test_to_be_among_the_first_of_a_leg_says_more_than_a_score,
        "definition": test_who_asks_for_a_name_asks_first_where_it_is_declared,
        "quoted": test_what_a_longer_text_quotes_stands_word_for_word_where_it_comes_from,
        "file name": test_people_name_a_file_after_what_it_is_about,
        "folder name": test_and_its_folder_more_loosely,
        "project name": test_who_names_a_project_wants_its_files,
        "coherence": test_a_file_with_several_good_chunks_is_about_the_question_and_one_with_a_single_one_mentions_it,
        "prose": test_prose_that_leads_all_code_is_lifted_by_its_lead,
        "guide": test_who_wants_to_use_a_program_is_answered_by_its_documentation,
        "links": test_what_the_best_hits_call_inherit_or_import_belongs_to_the_answer_too,
        "role": test_a_question_about_a_program_is_seldom_one_about_its_tests_examples_or_generated_files,
        "header": test_imports_and_licences_name_everything_and_explain_nothing,
    }
    assert list(tested) == list(SIGNALS)
    assert all(signal.__doc__ for signal in SIGNALS.values())


def test_code_and_prose_are_measured_on_two_scales() -> None:
    seen = candidates([0.5, 0.4], code=[True, False])
    assert {name: values.tolist() for name, values in match(seen).items()} == {
        "match, code": [pytest.approx(0.5), 0],
        "match, prose": [0, pytest.approx(0.4)],
    }
    ranked = apply_signals(replace(seen, words=floats([0.3, 0.0]), meaning=floats([0.2, 0.4])))
    scale = [worth("match, code"), worth("match, prose")]
    assert ranked.fused.tolist() == pytest.approx([scale[0] * 0.5, scale[1] * 0.4])
    assert ranked.words.tolist() == pytest.approx([scale[0] * 0.3, 0])
    assert ranked.meaning.tolist() == pytest.approx([scale[0] * 0.2, scale[1] * 0.4])


def test_a_good_stretch_of_text_is_good_around_the_hit_too_and_a_stray_word_match_is_not() -> None:
    seen = prose([0.5] * 5, kind="semantic", before=[0.9, 0.5, 0.0, NAN, NAN], after=[0.9, 0.5, 0.0, NAN, 0.5])
    added = moved("neighbours", seen)
    assert added[0] > added[1] == pytest.approx(0, abs=1e-7)
    assert added[1] > added[4] > added[3] > added[2]
    weight = NEIGHBOUR_WEIGHT["semantic"]
    alone = (0.5 + 2 * weight * LONE_NEIGHBOUR * 0.5) / (1 + 2 * weight) - 0.5
    assert added[3] == pytest.approx(worth("match, prose", "semantic") * alone, abs=1e-6)


def test_a_page_that_holds_all_of_a_question_answers_it_though_no_passage_has_every_word() -> None:
    seen = prose([0.5] * 3, kind="semantic", around=[0.9, 0.5, 0.2])
    added = moved("stretch", seen)
    assert added[0] > added[1] == pytest.approx(0, abs=1e-7)
    assert added[2] < 0
    assert moved("stretch", replace(seen, kind="exact")) == [0, 0, 0], "a name stands where it stands"
    assert moved("stretch", replace(seen, around=floats([]), labels=floats([]))) == [0, 0, 0], (
        "a search by meaning alone has none"
    )
    assert moved("stretch", replace(seen, code=np.array([True] * 3))) == [0, 0, 0]


def test_words_that_name_a_row_of_a_table_ask_for_that_table() -> None:
    seen = prose([0.5] * 3, kind="semantic", around=[0.5, 0.5, 0.1], labels=[1.0, 0.0, 1.0])
    added = moved("labels", seen)
    assert added[0] > added[2] > added[1] == 0, "the page has to hold the rest of the question too"
    assert moved("labels", replace(seen, labels=floats([]))) == [0, 0, 0]
    assert moved("labels", replace(seen, code=np.array([True] * 3))) == [0, 0, 0]


def test_a_name_is_worth_the_same_whatever_stands_around_it() -> None:
    assert moved("neighbours", prose([0.5, 0.5], kind="exact", before=[0.0, 0.9], after=[0.0, 0.9])) == [0, 0]


def test_code_is_worth_the_same_whatever_stands_around_it() -> None:
    seen = candidates([0.5, 0.5], kind="semantic", before=[0.0, 0.9], after=[0.9, NAN], code=[True, False])
    added = moved("neighbours", seen)
    assert added[0] == 0 < added[1]


def test_a_file_that_holds_all_words_between_its_passages_is_better_than_one_that_holds_a_few() -> None:
    seen = candidates([0.5] * 3, file_words=[1.0, 0.5, 0.5], file_rare_words=[1.0, 0.7, 0.3])
    added = moved("covered", seen)
    assert added[0] > added[1] > added[2] > 0, "and of as many words the rare ones say more"
    beside = replace(seen, code=np.array([True, False, True]))
    assert moved("covered", beside) == [added[0], 0, added[2]], "this is about files of code"


def test_to_be_among_the_first_of_a_leg_says_more_than_a_score() -> None:
    seen = candidates([0.5] * 4, lexical_rank=[1, 2, 10, 0], dense_rank=[0, 10, 1, 0])
    by_words = column("standing", seen, "rank by words")
    assert by_words == pytest.approx([RANK_SCALE / (RANK_SCALE + 1), RANK_SCALE / (RANK_SCALE + 2), 0.5, 0])
    assert column("standing", seen, "rank by meaning") == pytest.approx([0, 0.5, by_words[0], 0])
    assert moved("standing", seen)[3] == 0, "neither leg lists it"
    weaker = replace(seen, fused=floats([0.25] * 4))
    assert moved("standing", weaker) == moved("standing", seen)
    assert moved("standing", prose([0.5], lexical_rank=[1], dense_rank=[1])) == [0]


def test_who_asks_for_a_name_asks_first_where_it_is_declared() -> None:
    seen = candidates([0.8, 0.3, 0.1], defines=[0.0, 1.0, 0.5], kind="exact")
    assert column("definition", seen) == pytest.approx([0, 0.8, 0.4])
    assert apply_signals(seen).final.argmax() == 1, "the declaration passes the place that uses the name most"


def test_what_a_longer_text_quotes_stands_word_for_word_where_it_comes_from() -> None:
    seen = candidates([0.4, 0.4, 0.2], quoted=[1.0, 0.0, 0.5], code=[True, False, False])
    assert column("quoted", seen) == pytest.approx([0.4, 0, 0.2]), "prose quotes too"


def test_people_name_a_file_after_what_it_is_about() -> None:
    seen = candidates([0.8, 0.7, 0.7], stem=[0.0, 1.0, 0.5])
    assert column("file name", seen) == pytest.approx([0, 0.8, 0.4])
    assert worth("file name", "semantic") > 0, "a question; of names the declaration tells more"


def test_and_its_folder_more_loosely() -> None:
    seen = candidates([0.8, 0.7], stem=[0.0, 1.0], folder=[0.0, 1.0])
    assert column("folder name", seen) == pytest.approx([0, 0.8])
    assert all(worth("folder name", kind) < worth("definition", kind) for kind in KINDS)
    assert worth("folder name", "semantic") < worth("file name", "semantic")


def test_who_names_a_project_wants_its_files() -> None:
    seen = candidates([0.8, 0.6], project=[0.0, 0.5], code=[True, False])
    assert moved("project name", seen) == [0, pytest.approx(0.4 * worth("project name"))]
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
    negative = moved("coherence", candidates([0.5, -3.0], file=[0, 0]))
    assert negative == pytest.approx([pair[2]] * 2), "no chunk makes its file worse"


def test_prose_that_leads_all_code_is_lifted_by_its_lead() -> None:
    seen = candidates([0.5, 0.6, 0.45, 0.2], code=[True, False, False, True])
    assert column("prose", seen) == [0, 1, 1, 0]
    assert column("prose", seen, "lead") == pytest.approx([0, 0.1, 0.1, 0])
    behind = candidates([0.7, 0.6, 0.45, 0.2], code=[True, False, False, True])
    assert column("prose", behind, "lead") == [0, 0, 0, 0]
    assert moved("prose", seen)[1] > moved("prose", behind)[1]
    assert moved("prose", seen)[0] == moved("prose", behind)[0] == 0


def test_code_alone_and_prose_alone_lead_nobody() -> None:
    assert moved("prose", candidates([0.5, 0.6])) == [0, 0]
    assert moved("prose", prose([0.5, 0.6])) == [0, 0]


def test_who_wants_to_use_a_program_is_answered_by_its_documentation() -> None:
    asked = candidates([0.8, 0.5, 0.4], code=[True, False, True], wants_guide=True)
    assert column("guide", asked) == pytest.approx([0, 0.8, 0])
    assert moved("guide", replace(asked, wants_guide=False)) == [0, 0, 0]
    assert moved("guide", prose([0.8, 0.5], wants_guide=True)) == [0, 0]


def test_what_the_best_hits_call_inherit_or_import_belongs_to_the_answer_too() -> None:
    added = moved("links", candidates([0.8, 0.7, 0.7], linked=[0.0, 1.0, 0.5]))
    assert 0 == added[0] < added[2] < added[1]
    beside = candidates([0.8, 0.4, 0.2], linked=[1.0, 1.0, 0.0], code=[False, True, True])
    assert column("links", beside) == pytest.approx([0, 0.8, 0]), "code is linked, prose is not"


def test_a_question_about_a_program_is_seldom_one_about_its_tests_examples_or_generated_files() -> None:
    roles = ["", *ROLES]
    made = SIGNALS["role"](candidates([0.5] * len(roles), role=roles))
    assert list(made) == list(ROLES)
    for place, name in enumerate(roles):
        expected = [0.5 if other == name else 0 for other in ROLES]
        assert [float(made[other][place]) for other in ROLES] == expected
    final = apply_signals(candidates([0.5] * 3, role=["", "test", "minified"], file_words=[1.0] * 3)).final
    assert final[0] > final[1] > final[2]


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
    seen = candidates([0.8, 0.5], header=[False, True])
    assert column("header", seen) == pytest.approx([0, 0.8])
    assert moved("header", seen)[1] < 0
