"""Fused scores to a 0–1 scale that reads as a chance: how often a hit with such a score was right.

Over eight labelled sets the share of right hits rises with the fused score along nearly the same curve, whatever
the query: mean over the sets .09 at .15, .17 at .28, .23 at .33, .43 at .43, .55 at .53, .83 at .65. The logistic
curve below runs through these; `benchmarks/quality.py` prints the table again for the scores as returned.
"""

from __future__ import annotations

import math
from typing import Final

from outcrop.records import QueryType

MIDPOINT: Final[dict[QueryType, float]] = {"exact": 0.35, "mixed": 0.42, "semantic": 0.47}
"""The labelled sets ask questions. A name that stands once in a chunk of mean length reaches 0.45 of the score its
query allows, and that is as right as it can be: so the values for exact and mixed queries, which are judgement."""
STEEPNESS: Final = 8.0


def calibrate(fused: float, kind: QueryType = "semantic") -> float:
    """The score people see. It keeps the order of hits."""
    return 1 / (1 + math.exp(-STEEPNESS * (fused - MIDPOINT[kind])))
