"""Weights: moved by what questions say, left where they were by silence."""

from __future__ import annotations

import math

import numpy as np
import pytest
from training.ranking.fit import FROZEN, PRIOR, fit_weights, hand_set, pose, score_by, slope
from training.ranking.judge import fit_logistic, measure, measure_gain, split_cases
from training.ranking.records import TYPES, Case

from outcrop.rank.signals import learnt_weights

NAMES = list(PRIOR)


def case(
    column: str, *, kind: str = "commit", seed: int = 0, source: str = "a", right_is_high: bool = True
) -> Case:
    """Six files of two chunks of code; the right one has the highest, or the lowest, entry in a column."""
    rng = np.random.default_rng(seed)
    columns = np.zeros((12, len(NAMES)), np.float32)
    columns[:, NAMES.index("match, code")] = rng.random(12)
    columns[:, NAMES.index(column)] += rng.random(12)
    file = np.repeat(np.arange(6), 2)
    row = int(np.argmax(columns[:, NAMES.index(column)] * (1 if right_is_high else -1)))
    right = np.arange(12) == row
    fused = columns[:, NAMES.index("match, code")]
    return Case(
        source, kind, "mixed", 4, 1, columns, fused, file, np.ones(12, np.bool_), file == file[row], right
    )


def test_every_column_has_a_prior() -> None:
    assert PRIOR.keys() == learnt_weights().columns.keys()
    assert set(FROZEN) < PRIOR.keys()


@pytest.mark.parametrize("kind", ["commit", "doc"])
@pytest.mark.parametrize("right_is_high", [True, False])
def test_a_weight_moves_where_the_answers_are(kind: str, right_is_high: bool) -> None:
    cases = [case("links", kind=kind, seed=seed, right_is_high=right_is_high) for seed in range(40)]
    learnt = fit_weights(cases)
    for type_ in TYPES:
        moved = learnt[type_][NAMES.index("links")] - PRIOR["links"]
        assert moved > 0.02 if right_is_high else moved < -0.02
    assert measure(cases, score_by(learnt))[kind][0] > measure(cases, score_by(hand_set()))[kind][0]


def test_without_data_the_weights_stay_as_they_were_set() -> None:
    assert all((weights == list(PRIOR.values())).all() for weights in fit_weights([]).values())
    learnt = fit_weights([case("links", seed=seed) for seed in range(10)])
    for name in ("guide", "test", "coherence"):  # columns that are nowhere anything but 0
        assert learnt["mixed"][NAMES.index(name)] == pytest.approx(PRIOR[name])


def test_frozen_columns_keep_their_weight() -> None:
    cases = [case("file name", seed=seed) for seed in range(40)]
    place = NAMES.index("file name")
    assert fit_weights(cases)["mixed"][place] == pytest.approx(PRIOR["file name"])
    assert fit_weights(cases, frozen=())["mixed"][place] > PRIOR["file name"] + 0.02


def test_the_slope_is_the_derivative_of_the_loss() -> None:
    problem = pose([case("links", kind="doc", seed=seed) for seed in range(3)])
    assert problem is not None
    scores = np.random.default_rng(1).random(len(problem.columns))

    def loss(scores: np.ndarray) -> float:
        best = np.maximum.reduceat(scores, problem.file_at)
        total = 0.0
        for number, weight in enumerate(problem.weight):
            odds = np.exp(best[problem.question == number])
            total -= weight * math.log(odds[problem.right_file[problem.question == number]].sum() / odds.sum())
        for number in np.flatnonzero(problem.within).tolist():
            odds = np.exp(scores[problem.file == number])
            right = problem.right[problem.file == number]
            total -= problem.within[number] * math.log(odds[right].sum() / odds.sum())
        return total

    steps = np.eye(len(scores)) * 1e-6
    assert slope(problem, scores) == pytest.approx(
        [(loss(scores + step) - loss(scores - step)) / 2e-6 for step in steps], abs=1e-6
    )


def test_a_third_of_the_sources_judges() -> None:
    learn_from, judges = split_cases([case("links", source=source) for source in "abcdef"])
    assert ([one.source for one in judges], len(learn_from)) == (["a", "d"], 4)


def test_a_file_counts_where_it_first_comes() -> None:
    one = case("links")
    right, wrong = np.flatnonzero(one.right_file).tolist(), np.flatnonzero(~one.right_file).tolist()
    assert measure_gain(one, [*right, *wrong]) == 1.0
    assert measure_gain(one, [wrong[0], *right]) == pytest.approx(1 / math.log2(3))
    assert measure_gain(one, wrong) == 0.0


def test_the_logistic_fit_finds_the_curve_again() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(2, 3, (20_000, 2))
    right = (rng.random(len(rows)) < 1 / (1 + np.exp(-(rows @ [0.8, -0.3] + 0.5)))).astype(float)
    assert fit_logistic(rows, right, np.ones(len(rows))) == pytest.approx([0.8, -0.3, 0.5], abs=0.08)
    assert not fit_logistic(np.zeros((0, 2)), np.zeros(0), np.zeros(0)).any()
