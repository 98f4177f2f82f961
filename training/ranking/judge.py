"""How good an order is on repositories that nothing was learnt from, and what a score should say of a hit."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np

from outcrop.rank.fusion import SHARPNESS, best_totals, file_shares
from training.ranking.fit import FEWEST, Doubles, Places, Score, Weights, score_by, sum_totals
from training.ranking.records import PASSAGE_KINDS, Case

HELD_OUT: Final = 3
"""One source in so many judges."""
BEST: Final = 10
PASSAGES: Final = 5
CHANCE: Final = ("OF_SHARE", "OF_DISTANCE", "OF_WORDS", "OF_TYPE exact", "OF_TYPE mixed", "OFFSET")
"""The constants of rank/fusion.py that are fitted."""


def split_cases(cases: Sequence[Case]) -> tuple[list[Case], list[Case]]:
    """Those to learn from, and those of a third of the sources, to judge by."""
    judges = set(sorted({case.source for case in cases})[::HELD_OUT])
    return [case for case in cases if case.source not in judges], [
        case for case in cases if case.source in judges
    ]


def measure(cases: Sequence[Case], score: Score) -> dict[str, tuple[float, float]]:
    """By kind of question NDCG@10 of files and how often a right passage is among five; NaN where files answer."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for case in cases:
        order = np.argsort(-score(case), kind="stable")[:BEST]
        among = float(case.right[order[:PASSAGES]].any()) if case.kind in PASSAGE_KINDS else math.nan
        found[case.kind].append((measure_gain(case, order.tolist()), among))
    return {kind: tuple(np.mean(values, axis=0).tolist()) for kind, values in sorted(found.items())}


def measure_gain(case: Case, order: Sequence[int]) -> float:
    """NDCG of right files, each counted where it first comes."""
    seen: set[int] = set()
    gain = 0.0
    for place, row in enumerate(order):
        if case.right_file[row] and int(case.file[row]) not in seen:
            seen.add(int(case.file[row]))
            gain += 1 / math.log2(place + 2)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(case.answers, BEST)))


def fit_chance(cases: Sequence[Case], weights: Weights) -> Doubles:
    """The constants of CHANCE: a logistic fit to whether the best hits in code lie in a right file."""
    counts = Counter(case.kind for case in cases)
    rows, right, weight = [np.zeros((0, len(CHANCE) - 1))], [np.zeros(0)], [np.zeros(0)]
    for case in cases:
        order, odds = describe_best(case, weights)
        rows.append(odds)
        right.append(case.right_file[order].astype(float))
        weight.append(np.full(len(order), 1 / max(counts[case.kind], FEWEST)))
    return fit_logistic(np.vstack(rows), np.concatenate(right), np.concatenate(weight))


def describe_best(case: Case, weights: Weights) -> tuple[Places, Doubles]:
    """The best ten hits that are code, and what their chance follows from, in the order of CHANCE."""
    total = sum_totals(case, weights)
    order = np.argsort(-score_by(weights)(case), kind="stable")[:BEST]
    order = order[case.code[order]]
    share = np.clip(file_shares(case.file, total)[order], 1e-4, 1 - 1e-4)
    below = SHARPNESS * (total - best_totals(case.file, total)[case.file])[order]
    asked = (math.log1p(case.words), float(case.type == "exact"), float(case.type == "mixed"))
    return order, np.column_stack(
        [np.log(share / (1 - share)), below, *(np.full(len(order), one) for one in asked)]
    )


def fit_logistic(rows: Doubles, right: Doubles, weight: Doubles, pull: float = 1e-4) -> Doubles:
    """Coefficients and offset of a logistic curve, by Newton's method, on columns of unit spread."""
    if not len(rows):
        return np.zeros(rows.shape[1] + 1)
    spread = np.where(rows.std(0) > 1e-6, rows.std(0), 1)
    scaled = np.column_stack([(rows - rows.mean(0)) / spread, np.ones(len(rows))])
    weight = weight / weight.sum()
    found = np.zeros(scaled.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-scaled @ found))
        slopes = scaled.T @ ((chance - right) * weight) + pull * found
        bend = (scaled * (weight * chance * (1 - chance))[:, None]).T @ scaled + pull * np.eye(len(found))
        found -= np.linalg.solve(bend, slopes)
    own = found[:-1] / spread
    return np.append(own, found[-1] - own @ rows.mean(0))


def measure_error(cases: Sequence[Case], weights: Weights, constants: Doubles, bins: int = 10) -> float:
    """Expected calibration error of the best hits in code."""
    best = [(case, *describe_best(case, weights)) for case in cases]
    right = np.concatenate([np.zeros(0), *(case.right_file[order] for case, order, _ in best)])
    odds = np.concatenate([np.zeros(0), *(rows @ constants[:-1] + constants[-1] for *_, rows in best)])
    chance = 1 / (1 + np.exp(-odds))
    place = np.minimum((chance * bins).astype(int), bins - 1)
    gaps = np.abs(np.bincount(place, chance - right, bins))
    return float(gaps.sum() / max(len(right), 1))
