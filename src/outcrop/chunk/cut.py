"""Cut one region of a text into pieces at the best boundaries.

Given a limit and a minimum, pieces are filled to the limit while much text is left and balanced over the last
few, paragraphs stay whole where they fit, and the kinds of boundary are tried in the order they are given.
Each cut looks at a window of a few limits at most, and each advances by a share of the limit: linear time.

Sizes are in quarters of a token, without running a tokenizer: most scripts take about four characters per token, those
without spaces between words (Chinese, Japanese, Thai …), Hangul and emoji about one token per character. A ruler
answers sizes and distances in constant or logarithmic time after one pass over the text.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from outcrop.chunk.boundaries import (
    BLANK_LINE,
    LINE,
    SENTENCE,
    SPACE,
    Boundary,
    nearest,
    splits_character,
    whole_character,
)
from outcrop.system.arrays import NDArray
from outcrop.system.dataclass import dataclass
from outcrop.system.limits import check_time, timed
from outcrop.text.cells import is_row
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


class Ruler:
    """Measures stretches of one text in quarters of a token. Here all its characters weigh one: sizes are lengths."""

    widest = 1
    """The most that one character of this text weighs."""

    def size(self, start: int, end: int) -> int:
        """What `text[start:end]` weighs."""
        return end - start

    def reach(self, start: int, size: int) -> int:
        """The last offset that can end a stretch from `start` of at most this size; may pass the text's end."""
        return start + size

    def reach_back(self, end: int, size: int) -> int:
        """The first offset that can begin a stretch to `end` of at most this size; may be negative."""
        return end - size


class MixedRuler(Ruler):
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
        return Ruler()
    weights = _weigh(text)
    return MixedRuler(weights) if weights.max() > 1 else Ruler()


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


_BALANCED_PARTS = 4
"""Balance the last four pieces of a region. Balancing over more would let an edit at the end of a long text
move every cut before it, and every chunk would be embedded again."""

_MIN_FILL = 0.25
"""A strong boundary is taken from a quarter of the limit on: a paragraph that long stands on its own rather
than cause the next one to be cut in two."""

_SECOND_FILL = 0.5
"""Weaker boundaries are plentiful: taken only from half of the even share on, so that pieces stay similar."""

_TAB_COLUMNS = 4

_LONGEST_HEADING = 300
"""A longer line is not a heading worth keeping with its text."""

_UNDERLINES = string.whitespace + "=-~^*+#_"
"""What may surround a heading's words, on its line or the next."""

_SOLID = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Cutter:
    """Cuts the regions of one text. Sizes are in the ruler's unit, the minimum in characters. `kept` are blocks, in
    order, that stay whole if they fit into a piece; `headings` are offsets of lines that belong to what follows. A
    first line indented by `indent` columns or more keeps its indentation."""

    text: str
    ruler: Ruler
    limit: int
    minimum: int
    boundaries: tuple[Boundary, ...]
    kept: Sequence[tuple[int, int]] = ()
    headings: Sequence[int] = ()
    indent: int = 4

    def cut(self, start: int, end: int) -> list[tuple[int, int]]:
        """The pieces of `text[start:end]`, in order; between them lies whitespace only."""
        text = self.text
        end = start + len(text[start:end].rstrip())
        pieces: list[tuple[int, int]] = []
        at = self._begin(start, end)
        while at < end:
            check_time()
            stop = end if self.ruler.size(at, end) <= self.limit else self._choose(at, end)
            pieces.append((at, at + len(text[at:stop].rstrip())))
            at = self._begin(stop, end)
        return self._join_small(pieces) if len(pieces) > 1 else pieces

    def _begin(self, at: int, end: int) -> int:
        """Where the piece after `at` starts: its first solid character, or its line if indented."""
        found = _SOLID.search(self.text, at, end)
        if found is None:
            return end
        solid = found.start()
        if solid == 0 or self.text[solid - 1] not in " \t":
            return solid
        line = max(self.text.rfind("\n", at, solid) + 1, at)
        indent = self.text[line:solid]
        if line and self.text[line - 1] != "\n":
            return solid
        columns = len(indent) + (_TAB_COLUMNS - 1) * indent.count("\t")
        fits = len(indent) * self.ruler.widest * 8 <= self.limit
        return line if columns >= self.indent and fits and not indent.strip(" \t") else solid

    def _choose(self, at: int, end: int) -> int:
        """Where to cut `text[at:end]`, which is larger than the limit."""
        low, high = self._window(at, end)
        share = self._even_share(at, end)
        quarter = max(low, min(high, self.ruler.reach(at, int(self.limit * _MIN_FILL))))
        horizon = min(end, self.ruler.reach(at, self.limit * _BALANCED_PARTS))
        for boundary in self.boundaries:
            start = quarter
            if not boundary.strong:
                start = max(low, min(high, self.ruler.reach(at, int(share * _SECOND_FILL))))
            place = nearest(boundary, self.text, start, high, self.ruler.reach(at, share))
            if place is not None:
                return self._spare_blocks(at, place, low, high, boundary.within_line)
            # none within reach: divide the stretch up to the next one evenly instead of leaving a small remainder
            beyond = boundary.first(self.text, high + 1, horizon)
            if beyond is not None:
                horizon = beyond
                share = self._even_share(at, beyond)
        place = min(max(self.ruler.reach(at, share), low), high)
        return self._spare_blocks(at, whole_character(self.text, low, place), low, high, True)

    def _window(self, at: int, end: int) -> tuple[int, int]:
        """The first and last offset to cut at so that neither this piece nor the last is under the minimum."""
        text = self.text
        found = _SOLID.search(text, at, end)
        solid = (found.start() if found else at) + 1
        reach = min(self.ruler.reach(at, self.limit), end - 1)
        low, high = max(solid, at + self.minimum), min(reach, end - self.minimum)
        if text[low - 1].isspace():  # a piece cut inside this gap would end before it, below the minimum
            found = _SOLID.search(text, low, high + 1)
            low = found.start() + 1 if found else high + 1
        if high == end - self.minimum and high > low and text[high].isspace():  # the next would start after it
            high = low + len(text[low:high].rstrip()) - 1
        return (low, high) if low <= high else (solid, max(solid, reach))

    def _even_share(self, at: int, end: int) -> int:
        """The size to aim at: an even share where few pieces are left, else the limit."""
        size = self.ruler.size(at, end)
        parts = -(-size // self.limit)
        return -(-size // parts) if parts <= _BALANCED_PARTS else self.limit

    def _spare_blocks(self, at: int, place: int, low: int, high: int, within_line: bool) -> int:
        """`place`, moved off a block or a table row that would fit whole, and off the end of a heading."""
        block = self._block_around(place)
        if block is None and within_line:
            block = self._row_around(at, place)
        if block is not None and self.ruler.size(*block) <= self.limit:
            edges = [edge for edge in block if low <= edge <= high]
            place = min(edges, key=lambda edge: abs(edge - place), default=place)
        index = bisect_left(self.headings, place) - 1
        if index >= 0 and low <= self.headings[index] and place - self.headings[index] <= _LONGEST_HEADING:
            heading = self.headings[index]
            if "\n" not in self.text[heading:place].strip(_UNDERLINES) and self._block_around(heading) is None:
                return heading
        return place

    def _block_around(self, place: int) -> tuple[int, int] | None:
        index = bisect_right(self.kept, (place, -1)) - 1
        return self.kept[index] if index >= 0 and place < self.kept[index][1] else None

    def _row_around(self, at: int, place: int) -> tuple[int, int] | None:
        line = max(self.text.rfind("\n", at, place) + 1, at)
        row_end = self.text.find("\n", place, place + self.limit + 1)
        if row_end < 0 and len(self.text) <= place + self.limit:
            row_end = len(self.text)
        return (line, row_end) if row_end >= 0 and is_row(self.text[line:row_end]) else None

    def _join_small(self, pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Join pieces that a very wide gap left below the minimum to a neighbour, where both fit."""
        joined = pieces[:1]
        for start, end in pieces[1:]:
            before, before_end = joined[-1]
            small = end - start < self.minimum or before_end - before < self.minimum
            if small and self.ruler.size(before, end) <= self.limit:
                joined[-1] = (before, end)
            else:
                joined.append((start, end))
        return joined


def overlap_starts(cutter: Cutter, pieces: Sequence[tuple[int, int]], overlap: int) -> list[int]:
    """Where each piece starts once it repeats the end of the one before. It repeats at most `overlap`, including the
    gap between them: whole sentences where they are short enough, else whole lines or words, and never all of the piece
    before."""
    starts = [pieces[0][0]] if pieces else []
    for (before, before_end), (start, _) in timed(pairwise(pieces)):
        earliest = max(cutter.ruler.reach_back(start, overlap), before + 1)
        starts.append(_overlap_start(cutter.text, earliest, before_end) if earliest < before_end else start)
    return starts


def _overlap_start(text: str, earliest: int, stop: int) -> int:
    sentences = (boundary.first(text, earliest, stop - 1) for boundary in (BLANK_LINE, SENTENCE))
    places = [min((place for place in sentences if place is not None), default=None)]
    places += [boundary.first(text, earliest, stop - 1) for boundary in (LINE, SPACE) if places == [None]]
    for place in places:
        found = None if place is None else _SOLID.search(text, place, stop)
        if found is not None:
            return found.start()
    while earliest < stop - 1 and (text[earliest].isspace() or splits_character(text, earliest)):
        earliest += 1
    return earliest
