"""Secrets joined to a telling name by something other than an assignment: in markup, in prose, in a table's column.

`<add key="…" value="…"/>`, cells of a table, `NAME value`, "the password for staging is …", a line and the one below.
This is weak evidence, so the value must leave no doubt: see `is_plainly_secret`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from typing import Final

from outcrop.mask import randomness
from outcrop.mask.assignments import Name, may_be_uuid
from outcrop.system.limits import timed

Span = tuple[int, int]

# The rest of a name and what may close it: quotes, brackets, bold.
_NAME_END: Final = re.compile(rb"[\w.-]{0,24}+\\{0,2}+[\"'`\]*]{0,4}+")
# A second attribute, member or key that holds the value for the first, possibly on another line.
_ATTRIBUTE: Final = (
    rb"\s{0,40}+[,;]?\s{0,40}+\\{0,2}+[\"']?(?:value|val|content|text|default)\\{0,2}+[\"']?"
    rb"\s{0,4}+[=:]\s{0,4}+"
)
# The tags between two cells or two elements.
_TAGS: Final = rb"(?:\s{0,40}+</?[a-z][^<>\n]{0,120}+>){1,6}+\s{0,40}+"
# Whitespace, an arrow, a dash, a cell border. Characters outside Latin-1 appear as `?`.
_SIGN: Final = rb"[ \t]{0,40}+(?:[|,;?\t]|[-=]{1,3}>|-{1,2})[ \t]{0,40}+|[ \t]{1,60}+"
# "for the staging database is now:"
_SAID: Final = (
    rb"(?:[ \t]{1,4}+[\w@./'-]{1,30}+){0,6}?(?:[ \t]{1,4}+(?:is|was|are|be|to|ist|war|lautet|est|es)(?![\w-])"
    rb"(?:[ \t]{1,4}+(?:now|still|just|set|to|jetzt))?[ \t]{0,4}+:?"
    rb"|(?<=[ \t][\w@./'-]{3})[ \t]{0,4}+(?::|=|\?|[-=]{1,3}>))[ \t]{0,8}+"
)
# The value is below the name, as in forms and office documents.
_BELOW: Final = re.compile(rb"[ \t]{0,8}+[:=|>\\?-]{0,3}+[ \t]{0,8}+\n{1,2}+[ \t>|]{0,40}+")
_JOINTS: Final = (re.compile(_ATTRIBUTE), re.compile(_TAGS), _BELOW, re.compile(_SAID), re.compile(_SIGN))
_LINE_END: Final = re.compile(r"[\"'`*.)|]{0,3}[ \t]{0,8}(?:\r?\n|\Z)")

_LONGEST: Final = 4096
_PACKED: Final = "base64:"
"""Laravel's keys begin with this."""
_VALUE: Final = re.compile(
    rf"\\{{0,2}}+[\"'`“‘«(\[*]{{0,3}}+([^\s\"'`“”‘’«»<>|,;\\]{{8,{_LONGEST}}}+)(?![^\s\"'`“”‘’«»<>|,;\\])"
)


def find_joined(text: str, data: bytes, names: Sequence[Name]) -> Iterator[Span]:
    """Secret values joined to a telling name otherwise; `data` is the text in lower case, a byte per character."""
    for name in timed(names):
        closed = _NAME_END.match(data, name.end)
        span = _find_value(text, data, closed.end() if closed else name.end, name.is_password)
        if span is None:
            continue
        if randomness.is_uuid(text[slice(*span)]) and not may_be_uuid(name.before, text[name.start : name.end]):
            continue
        yield span


def _find_value(text: str, data: bytes, at: int, is_password: bool) -> Span | None:
    """The secret joined to the name that ends here; each way of joining is tried once."""
    is_secret = randomness.is_plainly_password if is_password else randomness.is_plainly_secret
    for joint in _JOINTS:
        joined = joint.match(data, at)
        found = _VALUE.match(text, joined.end()) if joined else None
        if found is None:
            continue
        value = found[1].rstrip(".:)]}*")
        start, value = found.end(1) - len(found[1].removeprefix(_PACKED)), value.removeprefix(_PACKED)
        if randomness.MASK * 4 in value or value[:2] in ("0x", "0X") or not is_secret(value):
            continue
        if joint is _BELOW and not _LINE_END.match(text, start + len(value)):
            continue
        if not randomness.is_expression(value) or randomness.looks_generated(value):
            return start, start + len(value)
    return None


# ------------------------------------------------------------------ columns

_LONGEST_HEADER: Final = 4096
"""Most characters of a table's first line; a longer one is data."""

# What may follow the telling word in its header cell, and what may come before it.
_CELL_END: Final = re.compile(
    rb"(?:[_. -]?(?:value|base|plain|text|\d))?s?[\"'`*]{0,3}[ \t]{0,40}+(?=[,;\t|\r\n]|\Z)"
)
_CELL_BEGIN: Final = re.compile(r"[\s\"'`*]*[\w. -]{0,60}")
_LINE: Final = re.compile(r"([^\n]*+)(?:\n|\Z)")
_RULE: Final = re.compile(r"[\s|:+=-]*")
_CELLS: Final = {
    delimiter: re.compile(rf'[ ]*"(?:[^"]|"")*+"[ ]*(?={re.escape(delimiter)}|\Z)|[^{re.escape(delimiter)}]*+')
    for delimiter in "|\t;,"
}


def find_in_columns(text: str, data: bytes, names: Sequence[Name]) -> Iterator[Span]:
    """Find secret values under a telling header; `data` is the text in lower case, one byte per character."""
    ends = [(name, closed.end()) for name in names if (closed := _CELL_END.match(data, name.end))]
    done = 0
    for place, (name, _) in enumerate(timed(ends)):
        if name.start < done:
            continue
        start = max(text.rfind("\n", done, name.start) + 1, done)
        end = text.find("\n", name.start)
        if end < 0 or end - start > _LONGEST_HEADER:
            continue
        inside = takewhile(lambda item: item[0].start < end, islice(ends, place, None))  # noqa: B023  used at once
        columns, delimiter, width = _telling_columns(
            text[start:end], [(n, e - start, n.start - start) for n, e in inside]
        )
        done = end
        if columns:
            spans, done = _read_rows(text, end + 1, columns, delimiter, width)
            yield from spans


def _telling_columns(header: str, names: list[tuple[Name, int, int]]) -> tuple[dict[int, bool], str, int]:
    """The columns of this header that hold secrets, and whether these are passwords; the delimiter; the number of
    cells. Each name comes with the end of its cell and the start of its word, as offsets into the header."""
    delimiter = next((one for one in _CELLS if one in header), "")
    cells = _cells(header, delimiter) if delimiter else []
    if sum(1 for begin, end in cells if header[begin:end].strip()) < 2:  # a list, not a table
        return {}, "", 0
    columns = {}
    for name, end, start in names:
        number = next((n for n, cell in enumerate(cells) if cell[0] <= start < cell[1]), None)
        if (
            number is not None
            and end >= cells[number][1]
            and _CELL_BEGIN.fullmatch(header, cells[number][0], start)
        ):
            columns[number] = name.is_password
    return columns, delimiter, len(cells)


def _read_rows(
    text: str, at: int, columns: dict[int, bool], delimiter: str, width: int
) -> tuple[list[Span], int]:
    """Secrets in these columns of the rows that begin here, and where the table ends."""
    spans: list[Span] = []
    rows = 0
    for line in timed(_LINE.finditer(text, at)):
        row = line[1]
        cells = _cells(row, delimiter) if row else []
        if len(cells) != width:
            if rows or line.start() > at + _LONGEST_HEADER or not _RULE.fullmatch(row):
                return spans, line.start()
            continue
        rows += 1
        for number, is_password in columns.items():
            begin, end = cells[number]
            span = _secret_in(row[begin:end], is_password)
            if span is not None:
                spans.append((line.start() + begin + span[0], line.start() + begin + span[1]))
    return spans, len(text)


def _cells(row: str, delimiter: str) -> list[Span]:
    """The spans of a row's cells."""
    cells: list[Span] = []
    at = 0
    pattern = _CELLS[delimiter]
    while True:
        found = pattern.match(row, at)
        end = found.end() if found else len(row)
        cells.append((at, end))
        if end >= len(row):
            return cells
        at = end + 1


def _secret_in(cell: str, is_password: bool) -> Span | None:
    value = cell.strip(" \t\"'`*").removeprefix("base64:")
    if len(value) < 8 or randomness.MASK * 4 in value or " " in value:
        return None
    if randomness.is_expression(value) and not randomness.looks_generated(value):
        return None
    if not (randomness.is_plainly_password(value) if is_password else randomness.is_plainly_secret(value)):
        return None
    start = cell.index(value)
    return start, start + len(value)
