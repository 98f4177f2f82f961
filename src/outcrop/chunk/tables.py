"""What the rows of a table need to be understood: its header and its caption, for each chunk that has neither.

A long table is cut between rows. The chunks after the first begin with numbers that say nothing by themselves, so the
header is put at the end of their headings, after the caption where there is one: there it is embedded, searched, shown
and packed, while the text of the chunk stays what the document says.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from outcrop.system.dataclass import dataclass
from outcrop.system.limits import check_time
from outcrop.text.cells import BAR, cells_of_row, is_row, is_rule, is_value, read_csv_rows

MAX_CONTEXT_CHARS: Final = 300
"""A header of more columns is cut: it would weigh more than the rows (not measured)."""
MAX_CAPTION_CHARS: Final = 160
MAX_HEADER_ROWS: Final = 3
"""Years below a line that spans them, units below those: deeper headers are rare."""
LEAST_ROWS: Final = 2
_HEADER_CHARS: Final = 16_384
"""Of a CSV file, in which the header is looked for."""
_CAPTION: Final = re.compile(r"(?i)(?:table|tab\.|tabelle|tableau|tabla|tabella|schedule|exhibit)\b")
_MARKS: Final = "#*_: \t"


@dataclass(frozen=True, slots=True)
class Table:
    """Where a table stands, where its first row after the header does, and its header and caption in one line each."""

    start: int
    body: int
    end: int
    header: str
    caption: str


class Tables:
    """The tables of one document. `headings` are offsets of its headings, `fences` of blocks of code, in order."""

    def __init__(
        self, text: str, kind: str, headings: Sequence[int], fences: Sequence[tuple[int, int]]
    ) -> None:
        self._headings = headings
        self._tables = list(_read_csv(text) if kind == "csv" else _read_bars(text, headings, fences))
        self._starts = [table.start for table in self._tables]

    def context(self, start: int, end: int) -> tuple[str, ...]:
        """What `text[start:end]` lacks of the table it begins in; nothing where it begins a table or holds a heading,
        under which it is then shown."""
        at = bisect_right(self._starts, start) - 1
        if at < 0 or self._tables[at].end <= start:
            return ()
        if bisect_left(self._headings, end) > bisect_right(self._headings, start):
            return ()
        table = self._tables[at]
        header = table.header if start >= table.body else ""
        return tuple(part[:MAX_CONTEXT_CHARS].rstrip() for part in (table.caption, header) if part)


def _read_csv(text: str) -> Iterator[Table]:
    """A file of values is one table, if its first line is a header."""
    first = next(read_csv_rows(text[:_HEADER_CHARS].splitlines()), [])
    body = text.find("\n") + 1
    if body and len(first) > 1 and _may_be_header(first):
        yield Table(0, body, len(text), f" {BAR} ".join(first), "")


def _read_bars(text: str, headings: Sequence[int], fences: Sequence[tuple[int, int]]) -> Iterator[Table]:
    """Tables with bars between the cells: runs of rows, no line between them. One that goes on after an empty line, as
    on the next page, has the caption of its beginning, and its header where it has none and as many columns."""
    if BAR not in text:
        return
    at = 0
    before: Table | None = None
    width = 0
    while (bar := text.find(BAR, at)) >= 0:
        start = text.rfind("\n", at, bar) + 1 or at
        rows = list(_rows_from(text, start))
        at = rows[-1][1] + 1 if rows else text.find("\n", bar) + 1
        if not at:
            return
        fence = bisect_right(fences, (start, len(text))) - 1
        is_code = fence >= 0 and start < fences[fence][1]
        if len(rows) >= LEAST_ROWS and not is_code:
            found = _as_table(text, rows, headings)
            if before and not text[before.end : start].strip():
                same = len(cells_of_row(rows[0][2])) == width
                found = replace(
                    found, header=found.header or (before.header if same else ""), caption=before.caption
                )
            before, width = found, len(cells_of_row(rows[-1][2]))
            yield found


def _rows_from(text: str, start: int) -> Iterator[tuple[int, int, str]]:
    """(start, end, line) of the rows from a line on, up to the first line that is none."""
    while True:
        check_time()
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start:end]
        if not (is_row(line) or (BAR in line and is_rule(line))):
            return
        yield start, end, line
        if end == len(text):
            return
        start = end + 1


def _as_table(text: str, rows: Sequence[tuple[int, int, str]], headings: Sequence[int]) -> Table:
    start, end = rows[0][0], rows[-1][1]
    caption = _find_caption(text, start, headings)
    above = next((place for place, (_, _, line) in enumerate(rows) if not is_rule(line)), len(rows))
    lines = [line for _, _, line in rows[above : above + MAX_HEADER_ROWS + 2]]  # a frame has a rule above
    count = _count_header(lines) if lines else 0
    named = [cells_of_row(line) for line in lines[:count] if not is_rule(line)]
    if not named:  # also where rules stand above each other, as in a drawing
        return Table(start, start, end, "", caption)
    body = rows[above + count][0] if above + count < len(rows) else end
    return Table(start, body, end, _join_columns(named), caption)


def _count_header(lines: Sequence[str]) -> int:
    """How many of the first lines are the header: one that stands above a rule or holds no values, and those below it
    that name nothing in the first column."""
    first = cells_of_row(lines[0])
    ruled = len(lines) > 1 and is_rule(lines[1])
    if not ruled and not _may_be_header(first):
        return 0
    count = 2 if ruled else 1
    for line in lines[count : count + MAX_HEADER_ROWS - 1]:
        cells = cells_of_row(line)
        if is_rule(line) or not (len(cells) > 1 and not cells[0] and _may_be_header(cells)):
            break
        count += 1
    return count


def _may_be_header(cells: Sequence[str]) -> bool:
    """Whether cells are names of columns: none is a value, but for years."""
    filled = [cell for cell in cells if cell]
    return bool(filled) and not any(map(is_value, filled))


def _join_columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows of a header as one: what stands below each other belongs together."""
    width = max(map(len, rows))
    columns = (
        " ".join(dict.fromkeys(row[place] for row in rows if place < len(row) and row[place]))
        for place in range(width)
    )
    return f" {BAR} ".join(filter(None, columns))


def _find_caption(text: str, start: int, headings: Sequence[int]) -> str:
    """The line before a table, if it is short and no sentence; a heading is in the path already."""
    before = text[:start].rstrip() if start < 4096 else text[start - 4096 : start].rstrip()
    if start == 0 or not before:
        return ""
    line = before[before.rfind("\n") + 1 :]
    offset = start - len(text[max(start - 4096, 0) : start]) + len(before) - len(line)
    place = bisect_left(headings, offset)
    if len(line) > MAX_CAPTION_CHARS or (place < len(headings) and headings[place] == offset):
        return ""
    said = line.strip(_MARKS)
    ends = line.rstrip().endswith((".", "!", "?", ";"))
    return said if _CAPTION.match(said) or (said and not ends and not said.startswith(("```", "~~~"))) else ""
