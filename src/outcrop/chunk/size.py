"""How large a stretch of text is, in quarters of a token, without running a tokenizer.

Most scripts take about four characters per token, so a character weighs one quarter. Scripts written without spaces
between words (Chinese, Japanese, Thai …), Hangul and emoji take about one token per character: four quarters. A ruler
answers sizes and distances in constant or logarithmic time after one pass over the text.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from outcrop.system.arrays import NDArray
from outcrop.text.scripts import DENSE

QUARTERS = 4
"""Quarters in a token; also what one character of a wide script weighs."""

_ASTRAL = 0xFFFF
"""The last entry of the table stands for everything beyond the basic plane: emoji and rare ideographs, all wide."""


def _weight_table() -> NDArray[np.uint8]:
    table = np.ones(_ASTRAL + 1, dtype=np.uint8)
    for first, last in DENSE:
        table[min(first, _ASTRAL) : last + 1] = QUARTERS
    return table


_WEIGHTS = _weight_table()


class Ruler(Protocol):
    """Measures stretches of one text; sizes are in quarters of a token."""

    @property
    def widest(self) -> int:
        """The most that one character of this text weighs."""

    def size(self, start: int, end: int) -> int:
        """What `text[start:end]` weighs."""

    def reach(self, start: int, size: int) -> int:
        """The last offset that can end a stretch from `start` of at most this size; may pass the text's end."""

    def reach_back(self, end: int, size: int) -> int:
        """The first offset that can begin a stretch to `end` of at most this size; may be negative."""


class EvenRuler:
    """For a text whose characters all weigh one quarter: sizes are lengths."""

    widest = 1

    def size(self, start: int, end: int) -> int:
        """What `text[start:end]` weighs."""
        return end - start

    def reach(self, start: int, size: int) -> int:
        """The last offset that can end a stretch from `start` of at most this size."""
        return start + size

    def reach_back(self, end: int, size: int) -> int:
        """The first offset that can begin a stretch to `end` of at most this size."""
        return end - size


class MixedRuler:
    """For a text with wide characters: running totals, searched by bisection."""

    widest = QUARTERS

    def __init__(self, weights: NDArray[np.uint8]) -> None:
        self._totals = np.zeros(len(weights) + 1, dtype=np.int64)
        np.cumsum(weights, out=self._totals[1:])

    def size(self, start: int, end: int) -> int:
        """What `text[start:end]` weighs."""
        return int(self._totals[end] - self._totals[start])

    def reach(self, start: int, size: int) -> int:
        """The last offset that can end a stretch from `start` of at most this size."""
        return int(self._totals.searchsorted(self._totals[start] + size, "right")) - 1

    def reach_back(self, end: int, size: int) -> int:
        """The first offset that can begin a stretch to `end` of at most this size."""
        return int(self._totals.searchsorted(self._totals[end] - size, "left"))


def measure(text: str) -> Ruler:
    """The ruler for a text: the cheap one unless it holds wide characters."""
    if text.isascii():
        return EvenRuler()
    weights = _weigh(text)
    return MixedRuler(weights) if weights.max() > 1 else EvenRuler()


def measure_tokens(text: str) -> int:
    """The size of a text in tokens: four characters each, or one in scripts without spaces."""
    return to_tokens(len(text) if text.isascii() else int(_weigh(text).sum()))


def to_tokens(size: int) -> int:
    """Quarters to whole tokens, rounded up."""
    return -(-size // QUARTERS)


def _weigh(text: str) -> NDArray[np.uint8]:
    # surrogatepass: a lone surrogate in badly decoded text is a character like any other here
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    weights: NDArray[np.uint8] = _WEIGHTS[np.minimum(codes, _ASTRAL)]
    return weights
