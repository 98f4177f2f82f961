"""What pages repeat at their upper and lower edge: running headers, footers, page numbers.

They are no part of the text, except where they stand first, so that they can be found.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from outcrop.parse.layout.headings import LARGER, body_size
from outcrop.parse.layout.order import Line

EDGE: Final = 0.13
"""Of the height of a page: what is above or below may be repeated."""
EDGE_LINES: Final = 3
LEAST_PAGES: Final = 3
"""Pages that must hold a line at the same height,"""
DENSE: Final = 0.3
"""and the share of those between the first and the last of them: the header of a chapter may be on every other page."""
SAME: Final = 4.0
"""Points by which the height of a line may differ from page to page. None of these is measured."""
MAX_LINE: Final = 200
_NUMBER: Final = re.compile(r"\d+")
_ROMAN: Final = re.compile(r"\W*[ivxlc]{1,8}\W*", re.IGNORECASE)
_ENDS: Final = re.compile(r"^\W*(\d{1,5})\b|\b(\d{1,5})\W*$")
_PAGE: Final = re.compile(r"(?i)\W*(?:page|seite|pagina|página|p\.|s\.)?\W*#(?:\s*(?:of|von|de|/)\s*#)?\W*")

Place = tuple[int, int]


def find_running(pages: Sequence[Sequence[Line]], heights: Sequence[float]) -> set[Place]:
    """The lines to leave out, as numbers of page and line. No page loses all it has."""
    largest = LARGER * body_size(pages)
    edges = [(page, at) for page, lines in enumerate(pages) for at in sorted(_at_edges(lines, heights[page]))]
    small = [(page, at) for page, at in edges if pages[page][at].size <= largest]  # `Chapter 3` is a heading
    found = _repeated(pages, edges, largest) | _numbered(pages, small)
    for page, lines in enumerate(pages):
        mine = {(page, at) for at in range(len(lines))}
        if mine and mine <= found:
            found -= mine
    return found


def _at_edges(lines: Sequence[Line], height: float) -> set[int]:
    plain = [at for at, line in enumerate(lines) if not line.cells and len(line.text) <= MAX_LINE]
    upper = [at for at in plain if lines[at].bottom < EDGE * height]
    lower = [at for at in plain if lines[at].top > (1 - EDGE) * height]
    upper.sort(key=lambda at: lines[at].top)
    lower.sort(key=lambda at: -lines[at].top)
    return {*upper[:EDGE_LINES], *lower[:EDGE_LINES]}


def _repeated(pages: Sequence[Sequence[Line]], edges: Sequence[Place], largest: float) -> set[Place]:
    groups: dict[str, list[Place]] = defaultdict(list)
    for page, at in edges:
        line = pages[page][at]
        text = line.text.casefold()
        groups[_NUMBER.sub("#", text) if line.size <= largest else text].append((page, at))
    found: set[Place] = set()
    for shape, places in groups.items():
        tops = Counter(round(pages[page][at].top / SAME) for page, at in places)
        usual = tops.most_common(1)[0][0]
        same = [(page, at) for page, at in places if abs(pages[page][at].top / SAME - usual) <= 1]
        numbers = {page for page, _ in same}
        if len(numbers) >= LEAST_PAGES and len(numbers) >= DENSE * (max(numbers) - min(numbers) + 1):
            found.update(same if _PAGE.fullmatch(shape) else same[1:])
    return found


def _numbered(pages: Sequence[Sequence[Line]], edges: Sequence[Place]) -> set[Place]:
    """Lines that begin or end with the number of their page, whatever else they say: the section, page after page."""
    offsets: dict[int, list[Place]] = defaultdict(list)
    romans: list[Place] = []
    for page, at in edges:
        text = pages[page][at].text
        for match in _ENDS.finditer(text):
            offsets[int(match[1] or match[2]) - page].append((page, at))
        if _ROMAN.fullmatch(text):
            romans.append((page, at))
    best = max(offsets.values(), key=lambda places: len({page for page, _ in places}), default=[])
    numbers = {page for page, _ in best}
    if len(numbers) < LEAST_PAGES or len(numbers) < DENSE * len(pages):
        return set()
    usual = Counter(round(pages[page][at].top / SAME) for page, at in best).most_common(1)[0][0]
    return {(page, at) for page, at in (*best, *romans) if abs(pages[page][at].top / SAME - usual) <= 1}
