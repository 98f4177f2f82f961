"""Tables on a page: by the lines drawn around their cells, else by what stands below each other row after row."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final

from outcrop.parse.layout.letters import Box, Piece
from outcrop.text.cells import is_value, is_year

NEAR: Final = 3.0
"""Points within which lines touch and edges are flush."""
MAX_CROSSED: Final = 400
"""Lines drawn in one direction that are looked at for tables."""
LEAST_ROWS: Final = 3
APART: Final = 2.4
"""Rows further apart than so many heights of a line are not of one table."""
CROSSED: Final = 0.15
"""Share of the rows that may cross the gap between two columns: headings over several of them."""
FILLED: Final = 0.6
VALUED: Final = 0.5
"""Share of the rows that hold a number, where columns need no other sign than that."""
MAX_CELL: Final = 200
"""Characters of a cell in one line."""
LONG: Final = 7.0
"""A line so many times longer than high is prose, not a cell. None of these is measured."""
_LEADER: Final = re.compile(r"(?:\. ?){4,}|_{4,}|…{2,}")
_MARK: Final = re.compile(r"[\W_]{1,2}|o|\(?[0-9ivxa-zA-Z]{1,3}[.)]")
_SIGN: Final = re.compile(r"[($€£¥]{1,2}|US\$")
_TAIL: Final = re.compile(r"\)?%|\)")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells, where they stand, and which pieces of the page they are made of."""

    rows: list[list[str]]
    top: float
    pieces: frozenset[int]

    @property
    def lines(self) -> list[str]:
        """A line a row, with bars between the cells."""
        return [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in self.rows]


def find_tables(pieces: Sequence[Piece], across: Sequence[Box], down: Sequence[Box]) -> list[Table]:
    """The tables of a page."""
    found = _ruled(pieces, across, down) if len(across) > 2 and len(down) > 2 else []
    taken = frozenset().union(*(table.pieces for table in found))
    return found + _aligned(pieces, taken)


# ------------------------------------------------------------------ by lines that are drawn


def _ruled(pieces: Sequence[Piece], across: Sequence[Box], down: Sequence[Box]) -> list[Table]:
    tables: list[Table] = []
    for rows, columns in _grids(across[:MAX_CROSSED], down[:MAX_CROSSED]):
        if len(rows) < 3 or len(columns) < 3:  # a frame
            continue
        within = [
            at
            for at, piece in enumerate(pieces)
            if rows[0] < piece.middle < rows[-1] and columns[0] - NEAR < piece.left < columns[-1]
        ]
        if any(not table.pieces.isdisjoint(within) for table in tables):
            continue
        cells = _fill(pieces, within, rows, columns)
        if sum(sum(map(bool, row)) > 1 for row in cells) >= 2:
            tables.append(Table(_tidy(cells), rows[0], frozenset(within)))
    return tables


def _grids(across: Sequence[Box], down: Sequence[Box]) -> list[tuple[list[float], list[float]]]:
    """The heights and the sides of lines that touch each other, largest grid first."""
    group = list(range(len(across) + len(down)))

    def root(at: int) -> int:
        while group[at] != at:
            group[at] = group[group[at]]
            at = group[at]
        return at

    for one, (left, y, right, _) in enumerate(across):
        for other, (x, top, _, bottom) in enumerate(down, len(across)):
            if left - NEAR <= x <= right + NEAR and top - NEAR <= y <= bottom + NEAR:
                group[root(one)] = root(other)
    grids: dict[int, tuple[list[float], list[float]]] = {}
    for at, (x, y, _, _) in enumerate((*across, *down)):
        grid = grids.setdefault(root(at), ([], []))
        grid[at >= len(across)].append(y if at < len(across) else x)
    made = [(_distinct(rows), _distinct(columns)) for rows, columns in grids.values()]
    return sorted(made, key=lambda grid: -len(grid[0]) * len(grid[1]))


def _distinct(places: list[float]) -> list[float]:
    kept: list[float] = []
    for place in sorted(places):
        if not kept or place - kept[-1] > NEAR:
            kept.append(place)
    return kept


def _fill(
    pieces: Sequence[Piece], within: Sequence[int], rows: Sequence[float], columns: Sequence[float]
) -> list[list[str]]:
    """The words in each cell of a grid. Where columns are ruled but rows are not, lines beside numbers are the rows."""
    inside: list[list[Piece]] = [[] for _ in rows[1:]]
    for at in within:
        inside[bisect_right(rows, pieces[at].middle) - 1].append(pieces[at])
    cells = []
    for row in inside:
        lines = _visual_rows(row)
        parted = [_part(line, columns) for line in lines]
        if len(lines) > 2 and sum(any(map(is_value, line[1:])) for line in parted) > VALUED * len(lines):
            cells += parted
        elif row:
            cells.append(_part(row, columns))
    return cells


def _part(row: Sequence[Piece], columns: Sequence[float]) -> list[str]:
    cells: list[list[str]] = [[] for _ in columns[1:]]
    for piece in row:
        for word, start in zip(piece.text.split(" "), piece.starts, strict=True):
            cells[min(max(bisect_right(columns, start + 1) - 1, 0), len(cells) - 1)].append(word)
    return [" ".join(words) for words in cells]


# ------------------------------------------------------------------ by what stands below each other


def _visual_rows(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Pieces beside each other, from left to right, row by row."""
    rows: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda piece: piece.middle):
        if rows and piece.middle - rows[-1][0].middle < min(piece.height, rows[-1][0].height) / 2:
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [sorted(row, key=lambda piece: piece.left) for row in rows]


def _aligned(pieces: Sequence[Piece], taken: frozenset[int]) -> list[Table]:
    places = {id(piece): at for at, piece in enumerate(pieces)}
    rows = _visual_rows([piece for at, piece in enumerate(pieces) if at not in taken])
    tables = []
    for run in _runs(rows, places):
        table = _as_table(run)
        if table is not None:
            numbers = frozenset(places[id(piece)] for row in run for piece in row)
            tables.append(Table(table, run[0][0].top, numbers))
    return tables


def _runs(rows: Sequence[list[Piece]], places: dict[int, int]) -> list[list[list[Piece]]]:
    """Rows of several pieces that the page writes one after the other, with single ones between them."""
    runs: list[list[list[Piece]]] = []
    run: list[list[Piece]] = []
    kept = 0
    for row in rows:
        near = not run or row[0].middle - run[-1][0].middle <= APART * max(row[0].height, run[-1][0].height)
        is_row = len(row) > 1 and _is_written_so(row, places)
        if run and (not near or (len(row) > 1 and not is_row) or (len(run) - kept >= 2 and not is_row)):
            runs.append(run[:kept])
            run, kept = [], 0
        if is_row or run:
            run.append(row)
            kept = len(run) if is_row else kept
    runs.append(run[:kept])
    return [run for run in runs if sum(len(row) > 1 for row in run) >= LEAST_ROWS]


def _is_written_so(row: Sequence[Piece], places: dict[int, int]) -> bool:
    """Whether the page writes the pieces of a row one after the other: those of two columns of prose it does not."""
    numbers = [places[id(piece)] for piece in row]
    if max(numbers) - min(numbers) != len(row) - 1 or all(piece.font.fixed for piece in row):
        return False  # code and what programs print keep their lines
    return not any(_LEADER.search(piece.text) for piece in row)


def _as_table(run: Sequence[list[Piece]]) -> list[list[str]] | None:
    """The cells of a run of rows; None where they are no table."""
    full = [row for row in run if len(row) > 1]
    columns = _columns(full)
    if len(columns) < 2:
        return None
    cells = [_assign(row, columns) for row in full]
    if any(len(cell) > MAX_CELL for row in cells for cell in row):
        return None
    values = sum(any(is_value(cell) or is_year(cell) for cell in row[1:]) for row in cells)
    if values < VALUED * len(cells) and not _is_text_table(full, columns, cells):
        return None
    return _tidy(_with_single(run, columns))


def _columns(rows: Sequence[Sequence[Piece]]) -> list[tuple[float, float]]:
    """From where to where each column reaches: between them hardly any row has anything."""
    edges = sorted({edge for row in rows for piece in row for edge in (piece.left, piece.right)})
    starts = sorted(piece.left for row in rows for piece in row)
    ends = sorted(piece.right for row in rows for piece in row)
    least = 0.4 * median(piece.height for row in rows for piece in row)
    allowed = int(CROSSED * len(rows))
    gaps: list[tuple[float, float]] = []
    for left, right in pairwise(edges):
        covered = bisect_right(starts, left) - bisect_right(ends, left)
        if covered <= allowed:
            if gaps and gaps[-1][1] == left:
                gaps[-1] = (gaps[-1][0], right)
            else:
                gaps.append((left, right))
    wide = [
        (left, right) for left, right in gaps if right - left >= least and left > edges[0] and right < edges[-1]
    ]
    sides = [edges[0], *(side for gap in wide for side in gap), edges[-1]]
    return list(zip(sides[::2], sides[1::2], strict=True))


def _assign(row: Sequence[Piece], columns: Sequence[tuple[float, float]]) -> list[str]:
    cells: list[list[str]] = [[] for _ in columns]
    for piece in row:
        cells[_column_of(piece, columns)].append(piece.text)
    return [" ".join(words) for words in cells]


def _column_of(piece: Piece, columns: Sequence[tuple[float, float]]) -> int:
    shared = [min(piece.right, right) - max(piece.left, left) for left, right in columns]
    return shared.index(max(shared))


def _is_text_table(
    rows: Sequence[Sequence[Piece]], columns: Sequence[tuple[float, float]], cells: Sequence[Sequence[str]]
) -> bool:
    """Whether columns without numbers are those of a table: flush, filled, and not prose beside prose or beside the
    numbers of a list."""
    if sum(all(row) for row in cells) < FILLED * len(cells):
        return False
    if sum(_MARK.fullmatch(row[0]) is not None for row in cells if row[0]) > len(cells) / 2:
        return False
    lefts: list[list[float]] = [[] for _ in columns]
    longs = []
    for row in rows:
        for piece in row:
            lefts[_column_of(piece, columns)].append(piece.left)
        longs.append(sum(piece.right - piece.left > LONG * piece.height for piece in row) > 1)
    if sum(longs) > len(rows) / 2:
        return False
    flush = [sum(abs(left - median(own)) <= NEAR for left in own) >= FILLED * len(own) for own in lefts if own]
    return all(flush)


def _with_single(run: Sequence[list[Piece]], columns: Sequence[tuple[float, float]]) -> list[list[str]]:
    """All rows of a table: a line by itself goes on the cell above it, or begins a row where it stands first."""
    cells: list[list[str]] = []
    for row in run:
        column = _column_of(row[0], columns)
        made = _assign(row, columns)
        before = cells[-1] if cells else None
        if len(row) == 1 and column > 0 and before is not None and before[column]:
            before[column] = f"{before[column]} {row[0].text}"
        elif before is not None and _goes_on(before, made):
            cells[-1] = [f"{before[0]} {made[0]}", *made[1:]]
        else:
            cells.append(made)
    return cells


def _goes_on(before: Sequence[str], row: Sequence[str]) -> bool:
    """Whether a row ends the name that the line above it began."""
    return bool(before[0]) and not any(before[1:]) and row[0][:1].islower() and not before[0].endswith(":")


def _tidy(cells: list[list[str]]) -> list[list[str]]:
    """Signs of money, brackets and per cent with the number they belong to; columns without anything left out."""
    rows = []
    for row in cells:
        tidy = list(row)
        for at in range(len(tidy) - 1):
            if _SIGN.fullmatch(tidy[at]) and tidy[at + 1]:
                tidy[at], tidy[at + 1] = "", f"{tidy[at]} {tidy[at + 1]}"
        for at in range(len(tidy) - 1, 0, -1):
            if _TAIL.fullmatch(tidy[at]) and tidy[at - 1]:
                tidy[at], tidy[at - 1] = "", f"{tidy[at - 1]}{tidy[at]}"
        rows.append(tidy)
    used = [at for at in range(len(cells[0])) if any(row[at] for row in rows)]
    return [[row[at] for at in used] for row in rows if any(row)]
