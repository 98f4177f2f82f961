"""The lines of a page as people read them: its tables row by row, its columns one after the other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Final, NamedTuple

from outcrop.parse.layout.letters import HYPHENS, PLAIN, Box, Font, Piece
from outcrop.parse.layout.tables import LONG, find_tables

COLUMN_PIECES: Final = 6
"""A column has at least as many lines."""
SPANNING: Final = 0.3
"""At most this share of the lines may cross the gap between columns: headings, figures."""
SWITCHES: Final = 0.4
"""Where the page changes sides at least so often a line, it writes across its columns; else its own order is kept,
which knows more than places do. None of these is measured."""
MAX_DEPTH: Final = 3


class Line(NamedTuple):
    """A line of the text of a page and where it stands; `cells` says that it is the row of a table."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    size: float = 0.0
    font: Font = PLAIN
    cells: bool = False

    @property
    def height(self) -> float:
        """From its top to its bottom."""
        return self.bottom - self.top


def arrange(pieces: Sequence[Piece], across: Sequence[Box] = (), down: Sequence[Box] = ()) -> list[Line]:
    """The lines of a page, from its pieces and the lines that are drawn on it."""
    tables = find_tables(pieces, across, down)
    taken: dict[int, int] = {at: number for number, table in enumerate(tables) for at in table.pieces}
    free = [at for at in range(len(pieces)) if at not in taken]
    order = _in_columns(pieces, free)
    if order is None:  # the order of the page, each table where its first piece is
        order = list(range(len(pieces)))
    else:
        places: dict[int, float] = {at: place for place, at in enumerate(order)}
        for number, table in enumerate(tables, 1):
            above = max((places[at] for at in free if pieces[at].middle < table.top), default=-1)
            places[min(table.pieces)] = above + number / (len(tables) + 1)
        order = sorted(places, key=lambda at: places[at])
    lines: list[Line] = []
    written: set[int] = set()
    row: list[int] = []
    for at in order:
        number = taken.get(at, -1)
        if row and (number >= 0 or pieces[at].line != pieces[row[-1]].line or at != row[-1] + 1):
            lines.append(_as_line([pieces[each] for each in row], goes_on=at == row[-1] + 1 and number < 0))
            row = []
        if number < 0:
            row.append(at)
        elif number not in written:
            written.add(number)
            box = _around([pieces[each] for each in tables[number].pieces])
            lines += (Line(line, *box, cells=True) for line in tables[number].lines)
    if row:
        lines.append(_as_line([pieces[each] for each in row], goes_on=False))
    return lines


def _around(pieces: Sequence[Piece]) -> Box:
    return (
        min(piece.left for piece in pieces),
        min(piece.top for piece in pieces),
        max(piece.right for piece in pieces),
        max(piece.bottom for piece in pieces),
    )


def _as_line(row: Sequence[Piece], *, goes_on: bool) -> Line:
    text = " ".join(piece.text for piece in row)
    if not goes_on and text.endswith(tuple(HYPHENS)):
        text = f"{text[:-1]}-"
    fonts = {piece.font for piece in row}
    return Line(
        text, *_around(row), min(piece.size for piece in row), fonts.pop() if len(fonts) == 1 else PLAIN
    )


def _in_columns(pieces: Sequence[Piece], free: Sequence[int]) -> list[int] | None:
    """The pieces column by column; None where the page has none, or writes them so itself."""
    gutter = _find_gutter([pieces[at] for at in free])
    if gutter is None:
        return None
    sides = [pieces[at].left >= gutter for at in free if not pieces[at].left < gutter < pieces[at].right]
    switches = sum(one != other for one, other in pairwise(sides))
    if switches < SWITCHES * min(sum(sides), len(sides) - sum(sides)):
        return None
    return _by_columns(pieces, free, gutter, 0)


def _by_columns(pieces: Sequence[Piece], own: Sequence[int], gutter: float | None, depth: int) -> list[int]:
    if gutter is None:
        return sorted(own, key=lambda at: (round(pieces[at].middle / 3), pieces[at].left))
    across = sorted(
        (at for at in own if pieces[at].left < gutter < pieces[at].right), key=lambda at: pieces[at].middle
    )
    crossing = set(across)
    rest = [at for at in own if at not in crossing]
    bounds = [pieces[at].middle for at in across]
    bands: list[tuple[list[int], list[int]]] = [([], []) for _ in range(len(across) + 1)]
    for at in rest:
        bands[bisect_right(bounds, pieces[at].middle)][pieces[at].left >= gutter].append(at)
    order: list[int] = []
    for number, band in enumerate(bands):
        for column in band:
            inner = _find_gutter([pieces[at] for at in column]) if depth < MAX_DEPTH else None
            order += _by_columns(pieces, column, inner, depth + 1)
        order += across[number : number + 1]
    return order


def _find_gutter(pieces: Sequence[Piece]) -> float | None:
    """An x between two columns of prose, crossed by the fewest pieces; None where there is none."""
    if len(pieces) < 2 * COLUMN_PIECES:
        return None
    starts, ends = sorted(piece.left for piece in pieces), sorted(piece.right for piece in pieces)
    best: tuple[int, float, float] | None = None
    for left in sorted(set(ends)):
        after = bisect_right(starts, left)
        if after == len(starts):
            break
        x = (left + starts[after]) / 2
        crossing = after - bisect_right(ends, x)
        within = min(len(ends) - after, bisect_right(ends, x))
        if crossing <= SPANNING * len(pieces) and within >= COLUMN_PIECES:
            found = (crossing, left - starts[after], x)
            best = found if best is None else min(best, found)
    if best is None:
        return None
    x = best[2]
    columns = [piece for piece in pieces if piece.right <= x], [piece for piece in pieces if piece.left >= x]
    return x if all(map(_is_prose, columns)) else None


def _is_prose(pieces: Sequence[Piece]) -> bool:
    return median((piece.right - piece.left) / max(piece.height, 1.0) for piece in pieces) >= LONG
