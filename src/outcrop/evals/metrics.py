"""How good a ranking is. Plain functions over gains: what each rank earned, best rank first, 0 for a wrong document.

`grades` are the gains of a perfect ranking, in any order: one for each expected document.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def top_1(gains: Sequence[float]) -> float:
    """1 when the first document is a right one."""
    return float(bool(gains) and gains[0] > 0)


def recall_at(gains: Sequence[float], grades: Sequence[float], k: int) -> float:
    """The share of the expected documents that is among the first k."""
    return sum(gain > 0 for gain in gains[:k]) / len(grades) if grades else 0.0


def first_rank(gains: Sequence[float]) -> int | None:
    """Where the first right document stands, counted from 1."""
    return next((rank for rank, gain in enumerate(gains, 1) if gain > 0), None)


def reciprocal_rank(gains: Sequence[float]) -> float:
    """One over the rank of the first right document; 0 when there is none. Its mean over queries is the MRR."""
    rank = first_rank(gains)
    return 0.0 if rank is None else 1 / rank


def ndcg_at(gains: Sequence[float], grades: Sequence[float], k: int) -> float:
    """Discounted gain of the first k against that of a perfect ranking; gains count as they are, not as powers."""
    ideal = _discounted(sorted(grades, reverse=True)[:k])
    return _discounted(gains[:k]) / ideal if ideal else 0.0


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def mean(values: Sequence[float]) -> float:
    """The average; 0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed; 0 of nothing."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0
