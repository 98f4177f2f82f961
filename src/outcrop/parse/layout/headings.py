"""Headings and the title of a document by the size and weight of its letters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import compress, pairwise
from typing import Final

from outcrop.parse.layout.order import Line

LARGER: Final = 1.12
"""A line that is so many times as large as the text is a heading,"""
ABOVE: Final = 0.5
"""or a bold one with so many heights of empty space above it."""
MAX_HEADING: Final = 150
MAX_LINES: Final = 3
"""Of one heading."""
SHARE: Final = 0.3
"""Where more of the text looks like headings, size says nothing there. None of these is measured."""
LEVELS: Final = 4
STEP: Final = 1.05
TITLE_LARGER: Final = 1.25
TITLE_LINES: Final = 4
TITLE_SHARE: Final = 0.9
"""Lines of a title are as large as this share of the largest,"""
TITLE_LETTERS: Final = 6
"""`NAME` above a manual page names nothing."""
TITLE_WITHIN: Final = 8
"""and it begins among so many lines,"""
COVER_LINES: Final = 25
"""but anywhere on a page of no more than these."""
_LETTERS: Final = re.compile(r"[^\W\d_]{2}")
_ENDS: Final = (".", ",", ";", "…")
_LEADER: Final = re.compile(r"(?:\. ?){4,}")


def body_size(pages: Sequence[Sequence[Line]]) -> float:
    """The size of most of the text of a document."""
    sizes: Counter[float] = Counter()
    for lines in pages:
        for line in lines:
            sizes[_size(line)] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def find_headings(pages: Sequence[Sequence[Line]]) -> Iterator[tuple[int, int, int, str]]:
    """(page, line, level, title) of each heading, in order; of one that wraps its first line."""
    body = body_size(pages)
    marked = [[_is_heading(lines, at, body) for at in range(len(lines))] for lines in pages]
    large = [line for lines, marks in zip(pages, marked, strict=True) for line in compress(lines, marks)]
    whole = sum(len(line.text) for lines in pages for line in lines)
    if not body or sum(len(line.text) for line in large) > SHARE * whole:
        return
    steps: list[float] = []  # sizes that are apart, the largest first
    for size in sorted(set(map(_size, large)), reverse=True):
        if size > LARGER * body and (not steps or size < steps[-1] / STEP):
            steps.append(size)
    for page, (lines, marks) in enumerate(zip(pages, marked, strict=True)):
        end = 0
        for at, line in enumerate(lines):
            if at < end or not marks[at]:
                continue
            end = at + 1
            while end < min(len(lines), at + MAX_LINES) and marks[end] and _is_same(lines[end - 1], lines[end]):
                end += 1
            size = _size(line)
            level = 1 + sum(step > STEP * size for step in steps) if size > LARGER * body else 1 + len(steps)
            yield page, at, min(level, LEVELS), " ".join(each.text for each in lines[at:end])


def _size(line: Line) -> float:
    return round(line.size * 2) / 2


def _is_heading(lines: Sequence[Line], at: int, body: float) -> bool:
    line = lines[at]
    text = line.text
    if line.cells or line.font.fixed or len(text) > MAX_HEADING or text.endswith(_ENDS) or _LEADER.search(text):
        return False
    if not _LETTERS.search(text) or text[0].islower():
        return False
    if line.size > LARGER * body:
        return True
    if not line.font.bold or line.size < 0.9 * body:
        return False
    before = lines[at - 1] if at else None
    after = lines[at + 1] if at + 1 < len(lines) else None
    apart = before is None or before.bottom > line.top or line.top - before.bottom >= ABOVE * line.height
    return apart and (after is None or not after.font.bold)


def _is_same(line: Line, after: Line) -> bool:
    """Whether a heading goes on in the next line."""
    return (
        _size(line) == _size(after)
        and line.font == after.font
        and 0 <= after.top - line.top < 1.8 * line.height
    )


def find_title(pages: Sequence[Sequence[Line]]) -> str:
    """What the first page with text says largest, near its top or on a cover; empty where nothing there stands out."""
    body = body_size(pages)
    first = next((lines for lines in pages if lines), ())
    near = first if len(first) <= COVER_LINES else first[:TITLE_WITHIN]
    large = [at for at, line in enumerate(near) if line.size > TITLE_LARGER * body and _may_be_title(line)]
    if not large:
        return ""
    largest = max(near[at].size for at in large)
    start = next(at for at in large if near[at].size >= TITLE_SHARE * largest)
    chosen = [near[start].text]
    for before, line in pairwise(near[start : start + TITLE_LINES]):
        if not (_may_be_title(line) and line.size >= TITLE_SHARE * before.size and _is_near(before, line)):
            break
        chosen.append(line.text)
    title = " ".join(chosen)
    return title if sum(map(str.isalpha, title)) >= TITLE_LETTERS else ""


def _may_be_title(line: Line) -> bool:
    return not line.cells and len(line.text) <= MAX_HEADING and _LETTERS.search(line.text) is not None


def _is_near(line: Line, after: Line) -> bool:
    return 0 <= after.top - line.top < 2 * line.height
