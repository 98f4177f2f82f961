"""The cells of tables as they stand in a text, line by line, and numbers with marks between their thousands.

A row is a line with bars between its cells, as Markdown has them and as the parsers of other formats write them, or a
line of a CSV file. A line of dashes under a header is no row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from outcrop.text.pattern import pattern

BAR: Final = "|"
DELIMITERS: Final = ",;\t|"
MAX_CELL_CHARS: Final = 200
"""A longer cell is a text."""

VALUED_SHARE: Final = 0.3
"""Of the rows of a table, how many hold a value where it is one of values: headers and subheadings do not."""

_VALUE: Final = pattern(r"[\s$€£¥(+\-–—]*+\d[\d.,'’\s\u00a0\u202f]*+(?:[%)\s]|[€$£¥])*+")
_YEAR: Final = pattern(r"(?:FY\s?)?(?:19|20)\d\d")
_RULE: Final = pattern(r"[\s|:+=\-]*")
_ASIDE: Final = pattern(r"\([^()]*\)|\[[^\[\]]*\]")
_GROUPED: Final = re.compile(r"(?<![\w.,'’])\d{1,3}(?:([,.'’\u00a0\u2009\u202f])\d{3})(?:\1\d{3})*(?![\w'’])")
_MAYBE_GROUPED: Final = re.compile(r"\d[,.'’\u00a0\u2009\u202f]\d{3}")


def is_row(line: str) -> bool:
    """Whether a line is a row of a table with bars between its cells."""
    line = line.strip()
    return line.count(BAR) > 1 if line.startswith(BAR) else f" {BAR} " in line


def is_rule(line: str) -> bool:
    """Whether a row only separates the header from what it stands above."""
    return "-" in line and _RULE.fullmatch(line) is not None


def cells_of_row(line: str) -> list[str]:
    """The cells of a row, empty ones included."""
    line = line.strip()
    line = line[1:] if line.startswith(BAR) else line
    line = line[:-1] if line.endswith(BAR) and not line.endswith("\\|") else line
    return [cell.strip() for cell in line.split(BAR)]


def find_delimiter(line: str) -> str:
    """What stands between the values of a line of CSV."""
    return max(DELIMITERS, key=line.count)


def read_csv_rows(lines: Sequence[str]) -> Iterator[list[str]]:
    """The values of lines of CSV, of which the first may be the rest of one; what is no CSV gives none."""
    if not lines:
        return
    import csv  # a search that meets no table does without

    rows = csv.reader(lines, delimiter=find_delimiter(lines[0]))
    while True:
        try:
            yield [value.strip() for value in next(rows)]
        except StopIteration:
            return
        except csv.Error:  # a value that is too long, a NUL: the other rows can still be read
            continue


def find_cells(text: str, kind: str = "") -> Iterator[str]:
    """The cells of tables of values in a text that are neither empty nor texts of their own. A table without numbers (a
    list of commands with what they do) is text in columns."""
    for rows in _find_tables(text, kind):
        of_values = sum(any(map(is_value, row)) for row in rows)
        if of_values >= VALUED_SHARE * len(rows):
            yield from (cell for row in rows for cell in row if cell and len(cell) <= MAX_CELL_CHARS)


def _find_tables(text: str, kind: str) -> Iterator[list[list[str]]]:
    """The rows of each table, cell by cell."""
    if kind == "csv":
        yield list(read_csv_rows(text.splitlines()))
    elif BAR in text:
        rows: list[list[str]] = []
        for line in text.split("\n"):
            if is_row(line):
                if not is_rule(line):
                    rows.append(cells_of_row(line))
            elif rows:
                yield rows
                rows = []
        yield rows


def is_value(cell: str) -> bool:
    """Whether a cell is a number, with what stands around one: $ 1,234.5, (12), 4.00 %. A year is a name."""
    return len(cell) <= MAX_CELL_CHARS and not is_year(cell) and _VALUE.fullmatch(cell) is not None


def is_year(cell: str) -> bool:
    """Whether a cell is a year."""
    return _YEAR.fullmatch(cell) is not None


def without_asides(cell: str) -> str:
    """A cell without what stands in brackets: the unit of `Revenue (in millions)`, the note of `Sensors (1)`."""
    return _ASIDE.sub(" ", cell) if "(" in cell or "[" in cell else cell


def join_thousands(text: str) -> list[str]:
    """The numbers of a text that are written with marks between the thousands, without them: 1,234,567 is 1234567."""
    if _MAYBE_GROUPED.search(text) is None:  # most texts
        return []
    return ["".join(filter(str.isdigit, found.group())) for found in _GROUPED.finditer(text)]
