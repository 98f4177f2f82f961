"""What the score of a hit means: the chance that it answers the query, 0 to 1.

For code it follows from how surely its file is the one that is meant, of all files that came up; for prose, from how
well the passage matches. Scores never rise from one hit to the next.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np

from outcrop.records import QueryType
from outcrop.records.candidates import Candidates, Floats
from outcrop.system.arrays import NDArray

SHARPNESS: Final = 8.0
"""How sharply the chance of a file follows from the best total of its chunks: the weights were learnt on this scale."""

OF_SHARE: Final = 0.799
OF_DISTANCE: Final = 0.141
OF_WORDS: Final = 0.414
OF_TYPE: Final[dict[QueryType, float]] = {"exact": 0.398, "mixed": -0.263, "semantic": 0.0}
OFFSET: Final = -1.001
"""Log-odds that a hit in code is right: by its file's share, its distance from the file's best chunk, how many words
were asked (log), the type of query. Fitted to the ten best hits of 10 000 questions (`python -m training.ranking`).
Expected calibration error on held-out repositories .03 to .04 by kind of question; on the 21 repositories of
`benchmarks.code` .07 and on cosqa .02 (.33 and .58 with one curve for prose and code)."""

MIDPOINT: Final[dict[QueryType, float]] = {"exact": 0.35, "mixed": 0.42, "semantic": 0.47}
"""The labelled sets ask questions. A name that stands once in a chunk of mean length reaches 0.45 of the score its
query allows, and that is as right as it can be: hence the values for exact and mixed queries (not measured)."""
STEEPNESS: Final = 8.0
"""Of prose: over eight labelled sets the share of right hits rises with the match along nearly the same curve, whatever
the query: mean over the sets .09 at .15, .17 at .28, .23 at .33, .43 at .43, .55 at .53, .83 at .65. The logistic
curve runs through these; `benchmarks/quality.py` prints the table again for the scores as returned."""


def file_shares(file: NDArray[np.intp], total: Floats) -> NDArray[np.float64]:
    """For each candidate the chance of its file, if one of all files here is the right one."""
    best = best_totals(file, total)
    odds = np.exp(SHARPNESS * (best - best.max(initial=-np.inf)))
    shares: NDArray[np.float64] = odds / odds.sum()
    return shares[file]


def best_totals(file: NDArray[np.intp], total: Floats) -> NDArray[np.float64]:
    """The best total of each file."""
    best = np.full(int(file.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(best, file, total.astype(np.float64))
    return best


def score_candidates(candidates: Candidates, total: Floats, prose_scale: float, words: int) -> Floats:
    """The score of each candidate by itself, from its total before repeats. `prose_scale` is what a match of prose was
    multiplied by there, `words` how many words were asked."""
    if not len(total):
        return total
    below = total - best_totals(candidates.file, total)[candidates.file]
    share = np.clip(file_shares(candidates.file, total), 1e-4, 1 - 1e-4)
    odds = OF_SHARE * np.log(share / (1 - share)) + OF_DISTANCE * SHARPNESS * below
    odds += OF_WORDS * math.log1p(words) + OF_TYPE[candidates.kind] + OFFSET
    prose = STEEPNESS * (total / prose_scale - MIDPOINT[candidates.kind])
    return (1 / (1 + np.exp(-np.where(candidates.code, odds, prose)))).astype(np.float32)


def settle(candidates: Candidates) -> Candidates:
    """The candidates with scores that never rise along their order: a stretch that would is given its mean."""
    blocks: list[tuple[float, int]] = []
    for score in candidates.score[candidates.order].tolist():
        mean, size = score, 1
        while blocks and blocks[-1][0] < mean:
            before, count = blocks.pop()
            mean, size = (mean * size + before * count) / (size + count), size + count
        blocks.append((mean, size))
    settled = candidates.score.copy()
    settled[candidates.order] = np.repeat([mean for mean, _ in blocks], [size for _, size in blocks])
    return replace(candidates, score=settled)
