"""Fused scores to a 0–1 scale that reads as a chance: how often a hit with such a score was right."""

from __future__ import annotations

import math
from typing import Final

MIDPOINT: Final = 0.42
STEEPNESS: Final = 12.0


def calibrate(fused: float) -> float:
    """A logistic curve; it keeps the order of hits."""
    return 1 / (1 + math.exp(-STEEPNESS * (fused - MIDPOINT)))
