"""Fits what columns are worth: weights set by hand, moved as far as the questions insist.

Each question is a choice among the files that came up, a file standing for its best chunk, and where its answer is a
passage, a choice among the chunks of the right file: two softmaxes, whose log-likelihood is maximised. Every type of
query has its own weights, drawn towards shared ones, which are drawn towards those set by hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from outcrop.rank.fusion import SHARPNESS
from outcrop.rank.signals import repeats
from outcrop.records import QueryType
from outcrop.records.candidates import Candidates
from training.ranking.records import PASSAGE_KINDS, TYPES, Case, Flags, Floats

PRIOR: Final[dict[str, float]] = {
    **{"match, code": 1.0, "match, prose": 1.0, "prose": 0.0, "lead": 0.5, "definition": 1.0, "quoted": 0.5},
    **{"file name": 0.3, "folder name": 0.05, "links": 0.1, "header": -0.2375, "coherence": 0.3, "guide": 0.7},
    **{"test": -0.48, "example": -0.4, "compat": -0.32, "docs": -0.16, "generated": -0.56, "vendored": -0.56},
    **{"minified": -0.72, "lock": -0.72, "benchmark": -0.16, "changelog": -0.16},
    **{
        "project name": 1.3,
        "rare words of the file": 0.0,
        "words of the file": 0.0,
        "rank by words": 0.0,
        "rank by meaning": 0.0,
    },
}
"""Every column with the weight that was set by hand."""
FROZEN: Final = (
    *("definition", "file name", "folder name", "project name", "coherence"),
    *("guide", "compat", "docs", "lock", "benchmark", "changelog"),
)
"""Columns that keep the weight set by hand. Freezing definition, file name and coherence lifts held-out questions for a
file from .665 to .681 NDCG@10 and costs the other kinds .000 to .006. For guide and the roles the questions say too
little: of 14 570, the answer of 55 is in a guide that is wanted, and of 1 to 34 in a file of each of these roles."""
PULL: Final = 1.0
TYPE_PULL: Final = 4 * PULL
"""How strongly weights are drawn towards the prior, in standard deviations of the column, and those of a type towards
the shared ones. .003 to 3 were tried. Held-out questions prefer .03, where prose weighs three times as much as code and
passes it wherever both match well; 1 keeps the orders that the engine's own tests demand."""
WITHIN: Final = 0.5
"""What a choice of passage counts beside one of file."""
FEWEST: Final = 150
"""Every kind of question counts the same, but for those of which there are fewer."""
KEPT: Final = 80
"""Best candidates of a question by the legs, and by the prior, that are learnt from, beside those of right files.
Chosen without `repeats` they are of fewer files, and the right passage is among five for .597 of doc comments, not
.612."""
STEPS: Final = 120
RATE: Final = 0.06

Weights = Mapping[QueryType, NDArray[np.float64]]
"""For each type of query the weights of the columns, in the order of PRIOR."""
Score = Callable[[Case], Floats]
Doubles = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Problem:
    """The rows of all questions, those of a file together, those of a type (between two `bounds`) too.

    `file` and `question` number the file of a row and the question of a file; `file_at` and `question_at` are the
    first row of a file and the first file of a question. `weight` is that of a question, `within` that of the choice
    among the chunks of a file.
    """

    columns: Floats
    bounds: Places
    file: Places
    file_at: Places
    question: Places
    question_at: Places
    right: Flags
    right_file: Flags
    weight: Doubles
    within: Doubles


def hand_set() -> Weights:
    """The prior for each type."""
    return {kind: np.array(list(PRIOR.values())) for kind in TYPES}


def sum_totals(case: Case, weights: Weights) -> Floats:
    """The total of each candidate before repeats."""
    return (case.columns @ weights[case.type]).astype(np.float32)


def score_by(weights: Weights) -> Score:
    """The final score as the engine has it."""

    def score(case: Case) -> Floats:
        total = sum_totals(case, weights)
        rows = Candidates(chunk_id=np.arange(len(total)), file=case.file, code=case.code)
        return total + repeats(rows, total)

    return score


def pose(cases: Sequence[Case]) -> Problem | None:
    """The problem that cases pose; None if none of them has a right answer among its candidates."""
    counts = Counter(case.kind for case in cases)
    cases = sorted((case for case in cases if case.right_file.any()), key=lambda case: TYPES.index(case.type))
    if not cases:
        return None
    rows = [_choose_rows(case) for case in cases]
    picked = list(zip(cases, rows, strict=True))
    sizes = [len(row) for row in rows]
    of_row = np.repeat(np.arange(len(cases)), sizes)
    file = np.concatenate([case.file[row] for case, row in picked])
    is_new = np.concatenate(([True], (np.diff(of_row) != 0) | (np.diff(file) != 0)))
    file_at = np.flatnonzero(is_new)
    question = of_row[file_at]
    right = [
        case.right[row] if case.kind in PASSAGE_KINDS else np.zeros(len(row), np.bool_) for case, row in picked
    ]
    weight = np.array([1 / max(counts[case.kind], FEWEST) for case in cases])
    weight /= weight.sum()
    joined = np.concatenate(right)
    types = np.repeat([TYPES.index(case.type) for case in cases], sizes)
    return Problem(
        np.concatenate([case.columns[row] for case, row in picked]),
        np.searchsorted(types, np.arange(len(TYPES) + 1)),
        np.cumsum(is_new) - 1,
        file_at,
        question,
        np.concatenate(([0], np.flatnonzero(np.diff(question)) + 1)),
        joined,
        np.concatenate([case.right_file[row] for case, row in picked])[file_at],
        weight,
        np.logical_or.reduceat(joined, file_at) * weight[question] * WITHIN,
    )


def _choose_rows(case: Case) -> Places:
    """The rows that are learnt from, those of a file together."""
    kept = case.right_file.copy()
    for score in (case.fused, score_by(hand_set())(case)):
        kept[np.argsort(-score, kind="stable")[:KEPT]] = True
    rows = np.flatnonzero(kept)
    return rows[np.argsort(case.file[rows], kind="stable")]


def slope(problem: Problem, scores: Doubles) -> Doubles:
    """How fast the loss grows with the score of each row."""
    best = np.maximum.reduceat(scores, problem.file_at)
    is_best = scores == best[problem.file]
    of_file = _softmax_slope(best, problem.question, problem.question_at, problem.right_file)
    of_file *= problem.weight[problem.question] / np.add.reduceat(is_best.astype(float), problem.file_at)
    of_row = _softmax_slope(scores, problem.file, problem.file_at, problem.right)
    return np.where(is_best, of_file[problem.file], 0) + of_row * problem.within[problem.file]


def _softmax_slope(scores: Doubles, group: Places, starts: Places, right: Flags) -> Doubles:
    """The derivative of −log of what softmax gives to the right ones of each group."""
    odds = np.exp(scores - np.maximum.reduceat(scores, starts)[group])
    hoped = odds * right
    slopes: Doubles = odds / np.add.reduceat(odds, starts)[group]
    slopes -= hoped / np.maximum(np.add.reduceat(hoped, starts), 1e-30)[group]
    return slopes


def fit_weights(cases: Sequence[Case], frozen: Collection[str] = FROZEN) -> Weights:
    """The most likely weights: Adam on how far they deviate from the prior, shared and for each type."""
    problem = pose(cases)
    if problem is None:
        return hand_set()
    spread = problem.columns.std(0).astype(np.float64) + 1e-6
    scaled = (problem.columns / spread).astype(np.float32)
    start = SHARPNESS * np.array(list(PRIOR.values())) * spread
    moves = np.array([name not in frozen for name in PRIOR])
    parts = [slice(*problem.bounds[place : place + 2]) for place in range(len(TYPES))]
    shift = np.zeros((1 + len(TYPES), len(PRIOR)))
    mean, square = np.zeros_like(shift), np.zeros_like(shift)
    for step in range(1, STEPS + 1):
        weights = [(start + shift[0] + own).astype(np.float32) for own in shift[1:]]
        scores = np.concatenate([scaled[part] @ own for part, own in zip(parts, weights, strict=True)])
        slopes = slope(problem, scores.astype(np.float64)).astype(np.float32)
        by_type = np.array([scaled[part].T @ slopes[part] for part in parts], np.float64)
        gradient = np.vstack([by_type.sum(0) + PULL * shift[0], by_type + TYPE_PULL * shift[1:]]) * moves
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient**2
        rate = RATE if step < 0.7 * STEPS else 0.2 * RATE
        shift -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return {
        kind: (start + shift[0] + own) / spread / SHARPNESS for kind, own in zip(TYPES, shift[1:], strict=True)
    }
