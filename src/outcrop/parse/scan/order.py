"""Lines in the order in which people read them: column by column, and row by row where there are none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Final

from outcrop.parse.scan.finding import Strip
from outcrop.parse.scan.letters import Word
from outcrop.records import ScanLine, ScanWord
from outcrop.system.dataclass import dataclass

COLUMN_LINES: Final = 4
"""A column has at least as many lines,"""
COLUMN_LENGTH: Final = 7.0
"""and half of them are as many times longer than high: what is shorter are the cells of a table."""
SPANNING: Final = 0.3
"""At most this share of the lines may cross the gap between columns: headings, and the lines above a title."""
PARAGRAPH: Final = 1.4
"""A distance so many times the usual one between lines begins a block. None of these is measured."""
MAX_DEPTH: Final = 4


@dataclass(frozen=True, slots=True)
class Line:
    """A strip of the page and its words."""

    strip: Strip
    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class _Box:
    """A line on the page set upright."""

    left: float
    right: float
    middle: float
    height: float
    line: Line


def arrange(lines: Sequence[Line], size: tuple[int, int], turned: int) -> list[ScanLine]:
    """Lines of a page of this size in pixels, in order. The page was turned so many times by a quarter, against the
    clock: boxes are those of the page as it was."""
    if not lines:
        return []
    angle = median(line.strip.angle for line in lines)
    boxes = [_upright(line, angle) for line in lines]
    arranged = []
    for rows in _blocks(boxes, 0):
        usual = median(_distances(rows)) if len(rows) > 1 else 0.0
        starts = [True, *(distance > PARAGRAPH * usual for distance in _distances(rows))]
        for row, starts_block in zip(rows, starts, strict=True):
            words = [word for box in row for word in _words_of(box.line, size, turned)]
            arranged.append(ScanLine(tuple(words), starts_block))
    return arranged


def _upright(line: Line, angle: float) -> _Box:
    strip = line.strip
    cos, sin = math.cos(angle), math.sin(angle)
    x, y = strip.x * cos + strip.y * sin, strip.y * cos - strip.x * sin
    return _Box(x - strip.length / 2, x + strip.length / 2, y, strip.height, line)


Rows = list[list[_Box]]


def _blocks(boxes: list[_Box], depth: int) -> list[Rows]:
    """Columns and what stands between them, each as rows."""
    gutter = _find_gutter(boxes) if depth < MAX_DEPTH else None
    if gutter is None:
        return [_rows(boxes)] if boxes else []
    blocks: list[Rows] = []
    across = sorted((box for box in boxes if box.left < gutter < box.right), key=lambda box: box.middle)
    rest = [box for box in boxes if not box.left < gutter < box.right]
    for box in (*across, None):
        band = rest if box is None else [other for other in rest if other.middle < box.middle]
        for column in ([b for b in band if b.right <= gutter], [b for b in band if b.left >= gutter]):
            blocks += _blocks(column, depth + 1)
        rest = [other for other in rest if other not in band] if band else rest
        if box is not None:
            if blocks and not band and len(blocks[-1][-1]) == 1 and blocks[-1][-1][0] in across:
                blocks[-1].append([box])
            else:
                blocks.append([[box]])
    return blocks


def _find_gutter(boxes: Sequence[_Box]) -> float | None:
    """An x between two columns of prose, crossed by the fewest lines; None where there is none."""
    if len(boxes) < 2 * COLUMN_LINES:
        return None
    best: tuple[int, float, float] | None = None
    edges = sorted({box.right for box in boxes})
    starts = sorted(box.left for box in boxes)
    for edge in edges:
        begin = next((start for start in starts if start > edge), None)
        if begin is None:
            break
        x = (edge + begin) / 2
        left = [box for box in boxes if box.right <= x]
        right = [box for box in boxes if box.left >= x]
        crossing = len(boxes) - len(left) - len(right)
        if crossing <= SPANNING * len(boxes) and _is_column(left) and _is_column(right):
            found = (crossing, -(begin - edge), x)
            best = found if best is None else min(best, found)
    return None if best is None else best[2]


def _is_column(boxes: Sequence[_Box]) -> bool:
    if len(boxes) < COLUMN_LINES:
        return False
    return median((box.right - box.left) / box.height for box in boxes) >= COLUMN_LENGTH


def _rows(boxes: Sequence[_Box]) -> Rows:
    """Boxes beside each other as one row, from left to right."""
    rows: Rows = []
    for box in sorted(boxes, key=lambda box: box.middle):
        if rows and box.middle - rows[-1][0].middle < min(box.height, rows[-1][0].height) / 2:
            rows[-1].append(box)
        else:
            rows.append([box])
    return [sorted(row, key=lambda box: box.left) for row in rows]


def _distances(rows: Rows) -> list[float]:
    return [below[0].middle - above[0].middle for above, below in pairwise(rows)]


def _words_of(line: Line, size: tuple[int, int], turned: int) -> list[ScanWord]:
    """The words of a line with their boxes on the page."""
    strip = line.strip
    cos, sin = math.cos(strip.angle), math.sin(strip.angle)
    words = []
    for word in line.words:
        at = strip.length * ((word.start + word.end) / 2 - 0.5)
        half, high = strip.length * (word.end - word.start) / 2, strip.height / 2
        x, y = strip.x + cos * at, strip.y + sin * at
        wide = abs(cos) * half + abs(sin) * high
        tall = abs(sin) * half + abs(cos) * high
        box = ((x - wide) / size[0], (y - tall) / size[1], (x + wide) / size[0], (y + tall) / size[1])
        for _ in range(turned):
            box = (1 - box[3], box[0], 1 - box[1], box[2])
        left, top, right, bottom = (round(min(1.0, max(0.0, side)), 5) for side in box)
        words.append(ScanWord(word.text, left, top, right - left, bottom - top))
    return words
