"""All signals together: the weights that ship, what they sum up to, and further passages of one file."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rank.seen import KINDS, NAN, SCORES, candidates, floats, kinds, prose, unit_floats, worth

from outcrop.rank.fusion import SHARPNESS
from outcrop.rank.signals import (
    REPEAT,
    ROLES,
    SIGNALS,
    WEIGHTS,
    apply_signals,
    learnt_weights,
    match,
    repeats,
)
from outcrop.records import QueryType
from outcrop.records.candidates import Candidates


def test_every_column_has_a_weight_for_every_type_of_query_and_no_weight_is_for_nothing() -> None:
    seen = candidates([0.5, 0.4], code=[True, False])
    made = [*match(seen), *(name for signal in SIGNALS.values() for name in signal(seen))]
    weights = learnt_weights().columns
    assert set(made) == set(weights)
    assert all(set(by_kind) == set(KINDS) for by_kind in weights.values())
    assert all(math.isfinite(weight) for by_kind in weights.values() for weight in by_kind.values())


@pytest.mark.parametrize("kind", KINDS)
def test_weights_have_the_sign_of_their_reason(kind: QueryType) -> None:
    lifts = (
        *("match, code", "match, prose", "words of the file", "rare words of the file", "rank by words"),
        *("rank by meaning", "definition", "quoted", "coherence", "lead", "guide", "links"),
    )
    lowers = ("header", "test", "example", "docs", "generated", "vendored", "minified")
    assert [name for name in lifts if worth(name, kind) <= 0] == []
    assert [name for name in lowers if worth(name, kind) >= 0] == []


def test_weights_are_read_with_the_first_search_and_so_are_small() -> None:
    assert WEIGHTS.stat().st_size < 100_000


@given(unit_floats, unit_floats, kinds)
def test_a_sum_of_columns_is_linear(one: float, other: float, kind: QueryType) -> None:
    weights = learnt_weights()
    columns = {"definition": floats([one, 0]), "links": floats([0, other])}
    expected = [one * worth("definition", kind), other * worth("links", kind)]
    assert weights.sum(columns, kind, 2).tolist() == pytest.approx(expected, abs=1e-6)
    assert weights.sum({}, kind, 2).tolist() == [0, 0]


# ------------------------------------------------------------------ further passages of a file


def test_a_sure_file_keeps_its_further_passages_and_an_unsure_one_does_not() -> None:
    seen = candidates([0.1] * 4, file=[7, 7, 7, 2])
    sure = repeats(seen, floats([3.0, 2.9, 2.8, 0.5]))
    assert sure.tolist() == pytest.approx([0, 0, 0, 0], abs=1e-6)
    unsure = repeats(seen, floats([3.0, 2.9, 2.8, 3.0]))
    assert unsure.tolist() == pytest.approx([0, -REPEAT / 2, -REPEAT, 0])
    unlikely = repeats(seen, floats([1.0, 0.9, 0.8, 3.0]))
    assert unlikely.tolist() == pytest.approx([0, -REPEAT, -2 * REPEAT, 0], abs=1e-5)


def test_passages_of_prose_are_answers_of_their_own() -> None:
    seen = prose([0.5] * 3, file=[0, 0, 1])
    assert repeats(seen, floats([0.9, 0.8, 0.9])).tolist() == [0, 0, 0]
    beside = replace(seen, code=np.array([False, False, True]))
    assert repeats(beside, floats([0.9, 0.8, 0.9])).tolist() == [0, 0, 0]


@given(st.lists(st.floats(-1, 3, width=32), max_size=40), st.data())
def test_repeats_are_what_taking_the_best_one_by_one_gives(values: list[float], data: st.DataObject) -> None:
    count = len(values)
    file = data.draw(st.lists(st.integers(0, 5), min_size=count, max_size=count))
    code_files = data.draw(st.sets(st.integers(0, 5)))
    seen = candidates([0.0] * count, file=file, code=[number in code_files for number in file])
    lost = repeats(seen, floats(values))
    assert lost.dtype == np.float32
    best = {
        number: max(value for value, at in zip(values, file, strict=True) if at == number) for number in file
    }
    odds = {number: math.exp(SHARPNESS * value) for number, value in best.items()}
    taken: dict[int, int] = {}
    for i in sorted(range(count), key=lambda i: -values[i]):
        before = taken.get(file[i], 0)
        taken[file[i]] = before + 1
        others = 1 - odds[file[i]] / sum(odds.values())
        expected = -REPEAT * before * others if file[i] in code_files else 0
        assert lost[i] == pytest.approx(expected, abs=1e-5)


# ------------------------------------------------------------------ all of them together


@st.composite
def anything(draw: st.DrawFn) -> Candidates:
    count = draw(st.integers(0, 20))

    def some(elements: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(elements, min_size=count, max_size=count))

    beside = unit_floats | st.just(NAN)
    words, meaning = floats(some(unit_floats)) / 2, floats(some(unit_floats)) / 2
    return candidates(
        (words + meaning).tolist(),
        words=words,
        meaning=meaning,
        kind=draw(kinds),
        before=some(beside),
        after=some(beside),
        code=some(st.booleans()),
        file=some(st.integers(0, 4)),
        role=some(st.sampled_from(["", *ROLES])),
        header=some(st.booleans()),
        lexical_rank=some(st.integers(0, 200)),
        dense_rank=some(st.integers(0, 200)),
        **{name: some(unit_floats) for name in SCORES},
        asked=draw(st.frozensets(st.sampled_from(ROLES))),
        wants_guide=draw(st.booleans()),
    )


@given(anything())
def test_words_meaning_and_all_boosts_sum_up_to_a_finite_score(seen: Candidates) -> None:
    ranked = apply_signals(seen)
    assert ranked.final.dtype == np.float32
    assert np.isfinite(ranked.final).all()
    assert list(ranked.boosts) == [*SIGNALS, "repeats"]
    total = ranked.words + ranked.meaning
    np.testing.assert_allclose(total, ranked.fused, atol=1e-5)
    for added in ranked.boosts.values():
        assert added.dtype == np.float32
        total = total + added
    np.testing.assert_allclose(total, ranked.final, atol=1e-4)


@given(st.lists(unit_floats, min_size=1, max_size=20), kinds, st.data())
def test_prose_is_moved_by_its_neighbours_and_its_role_only(
    fused: list[float], kind: QueryType, data: st.DataObject
) -> None:
    count = len(fused)
    roles = data.draw(st.lists(st.sampled_from(["", "docs"]), min_size=count, max_size=count))
    of_code: dict[str, Any] = {
        "linked": [1.0] * count,
        "file_words": [1.0] * count,
        "file_rare_words": [1.0] * count,
        "lexical_rank": [1] * count,
        "dense_rank": [1] * count,
        "wants_guide": True,
    }
    seen = prose(fused, kind=kind, role=roles, file=[0] * count, before=[0.5] * count, **of_code)
    ranked = apply_signals(seen)
    silent = {*SIGNALS, "repeats"} - {"neighbours", "role"}
    assert not any(ranked.boosts[name].any() for name in silent)
    around = seen.fused + SIGNALS["neighbours"](seen)["match, prose"]
    lost = [worth("docs", kind) * seen.best if role else 0.0 for role in roles]
    np.testing.assert_allclose(ranked.final, worth("match, prose", kind) * around + lost, atol=1e-5)


def test_no_candidates_have_no_scores() -> None:
    ranked = apply_signals(candidates([]))
    assert len(ranked.final) == 0
    assert all(len(added) == 0 for added in ranked.boosts.values())


@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_that_is_left_out_of_the_table_moves_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = candidates(
        *([0.5, 0.4, 0.3],),
        **{one: [0.0, 1.0, 0.5] for one in SCORES},
        code=[True, True, False],
        role=["", "test", ""],
        header=[False, True, False],
        before=[NAN, NAN, 0.9],
        lexical_rank=[2, 1, 3],
        wants_guide=True,
    )
    if name in ("stretch", "labels"):
        around, called = floats([0.0, 0.0, 0.9]), floats([0.0, 0.0, 1.0])
        seen = replace(seen, around=around, labels=called, kind="semantic")
    whole = apply_signals(seen)
    assert whole.boosts[name].any()
    monkeypatch.delitem(SIGNALS, name)
    left = apply_signals(seen)
    assert name not in left.boosts
    np.testing.assert_allclose(left.final, whole.final - whole.boosts[name], atol=1e-5)
