"""reStructuredText: the text as is, and its sections by their adornments."""

from __future__ import annotations

import re
from itertools import repeat

from outcrop.parse.limits import MAX_HEADINGS
from outcrop.parse.title import cut_title, file_stem, first_line
from outcrop.records import Document, Heading
from outcrop.system.limits import timed

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1+[ \t]*")
_ROLE = re.compile(r"(?::[\w:.+-]{1,40}:)?(`{1,2})([^`]+)\1_{0,2}")
_LINK_TARGET = re.compile(r"\s*<[^<>]*>$")
_STRONG = re.compile(r"\*{1,2}([^*]+)\*{1,2}")
_SHORT_ADORNMENT = 4  # docutils accepts an underline shorter than its title only from this length


def read_rst(text: str, path: str) -> Document:
    """A reStructuredText file; each style of adornment gets its level when first used."""
    headings = tuple(find_sections(text))
    title = headings[0].title if headings else first_line(text) or file_stem(path)
    return Document(text=text, kind="rst", title=cut_title(title), headings=headings)


def find_sections(text: str) -> list[Heading]:
    """The section titles of a text, in order."""
    lines = text.split("\n")
    starts = _line_starts(lines)
    levels: dict[tuple[str, bool], int] = {}
    headings: list[Heading] = []
    number = 0
    for _ in timed(repeat(None)):
        if number >= len(lines) - 1 or len(headings) >= MAX_HEADINGS:
            break
        found = _section_at(lines, number) if lines[number] else None
        if found is None:
            number += 1
            continue
        style, title, size = found
        level = levels.setdefault(style, len(levels) + 1)
        headings.append(Heading(level, title, starts[number]))
        number += size
    return headings


def _section_at(lines: list[str], number: int) -> tuple[tuple[str, bool], str, int] | None:
    """Style, title and number of lines of the section title that starts at this line, if one does."""
    line = lines[number]
    if not line.strip() or (number and lines[number - 1].strip()):
        return None
    mark = _adornment(line)
    if mark:
        if number + 2 >= len(lines):
            return None
        title, under = lines[number + 1].strip(), lines[number + 2]
        if title and not _adornment(title) and _adornment(under) == mark and _fits(under, title):
            return (mark, True), _strip_markup(title), 3
        return None
    under = lines[number + 1]
    mark = _adornment(under)
    if mark and not line[0].isspace() and _fits(under, line):
        return (mark, False), _strip_markup(line), 2
    return None


def _adornment(line: str) -> str:
    """The character a line repeats, when it is an adornment."""
    return line[0] if line and _ADORNMENT.fullmatch(line) else ""


def _fits(adornment: str, title: str) -> bool:
    length = len(adornment.rstrip())
    return length >= len(title.strip()) or length >= _SHORT_ADORNMENT


def _line_starts(lines: list[str]) -> list[int]:
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _strip_markup(title: str) -> str:
    title = " ".join(title[:500].split())
    title = _ROLE.sub(lambda match: _LINK_TARGET.sub("", match[2]), title)
    return _STRONG.sub(r"\1", title).strip()
