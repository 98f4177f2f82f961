"""Versions, dates and periods in other words: `0.19.0` is also `v0.19.0`, `2014-07-21` is the 21st of July, `Q3` the
third quarter. A question names them in one form, a heading in another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from outcrop.text.pattern import pattern

_VERSION: Final = pattern(r"(?<![\w.-])(v?)(\d{1,6}(?:\.\d{1,6}){1,3})(?![\w-]|\.\d)", re.IGNORECASE)
_MONTHS: Final = "january february march april may june july august september october november december".split()
_MONTH: Final = "|".join(f"{month[:3]}(?:{month[3:]})?" if month[3:] else month for month in _MONTHS)
_DATE: Final = pattern(
    rf"(?<![\w-])(?:(?P<iso>(?P<y1>(?:19|20)\d\d)-(?P<m1>0\d|1[0-2])-(?P<d1>[0-3]\d))"
    rf"|(?P<d2>\d{{1,2}})(?:st|nd|rd|th|\.)?\s++(?:of\s++)?(?P<n2>{_MONTH})\.?,?\s++(?P<y2>(?:19|20)\d\d)"
    rf"|(?P<n3>{_MONTH})\.?\s++(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?,?\s++(?P<y3>(?:19|20)\d\d))(?!\w)",
    re.IGNORECASE,
)
_QUARTERS: Final = ("first", "second", "third", "fourth")
_QUARTER: Final = pattern(rf"\bQ([1-4])\b|\b({'|'.join(_QUARTERS)})\s++quarter\b", re.IGNORECASE)
_FISCAL: Final = pattern(
    r"\bFY\s?'?((?:19|20)?\d\d)\b|\b(?:fiscal|financial)(?:\s++year)?\s++((?:19|20)\d\d)\b", re.IGNORECASE
)
SAME: Final = 1.0
"""What another form counts that is the same thing."""
PART: Final = 0.5
"""What a word counts that is part of another form, or a version with or without its last zero (not measured)."""


def other_forms(text: str) -> Iterator[tuple[str, str, float]]:
    """What a text names by number: as it stands there, a word that another would use, and what that counts."""
    for match in _VERSION.finditer(text):
        number, given = match[2], match[0]
        yield given, number if match[1] else f"v{number}", SAME
        bare = number.removesuffix(".0")
        other = bare if bare != number and "." in bare else f"{number}.0" if number.count(".") == 1 else ""
        if other:
            yield given, other, PART
            yield given, f"v{other}", PART
    for match in _DATE.finditer(text):
        year, month, day = _read_date(match)
        if not match["iso"]:
            yield match[0], f"{year}-{month:02}-{day:02}", SAME
        elif 1 <= month <= 12:
            yield match[0], _MONTHS[month - 1], PART
    for match in _QUARTER.finditer(text):
        quarter = int(match[1]) if match[1] else _QUARTERS.index(match[2].lower()) + 1
        yield from (
            (match[0], word, PART)
            for word in ((_QUARTERS[quarter - 1], "quarter") if match[1] else (f"q{quarter}",))
        )
    for match in _FISCAL.finditer(text):
        year = match[1] or match[2]
        full = year if len(year) == 4 else f"20{year}"
        for word in (full, "fiscal") if match[1] else (f"fy{full}", f"fy{full[2:]}"):
            yield match[0], word, PART


def _read_date(match: re.Match[str]) -> tuple[str, int, int]:
    if match["iso"]:
        return match["y1"], int(match["m1"]), int(match["d1"])
    name, day, year = (
        (match["n2"], match["d2"], match["y2"]) if match["n2"] else (match["n3"], match["d3"], match["y3"])
    )
    month = next(at for at, known in enumerate(_MONTHS, 1) if known.startswith(name[:3].lower()))
    return year, month, int(day)
