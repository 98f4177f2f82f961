"""Which sources an answer cites: `[1]`, `[1][3]`, `[1, 3]`, `[2-4]`, outside of code."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

_MAX_CITED: Final = 200
"""An answer that cites more than this is noise."""
_WIDEST_RANGE: Final = 20
"""`[2-4]` cites three; `[1-2024]` is a date."""
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_TICKED: Final = re.compile(r"``[^\n]*?``|`[^`\n]*`")
_CITED: Final = re.compile(r"[\[【]\s*(\d{1,4}(?:\s*[,;–-]\s*\d{1,4}){0,19})\s*[\]】]")
_NUMBER: Final = re.compile(r"(\d+)(?:\s*[–-]\s*(\d+))?")


def read_citations(answer: str, numbers: Collection[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The numbers an answer cites, in order and once each: those that exist, and those that do not."""
    found: dict[int, None] = {}
    for match in _CITED.finditer(_without_code(answer)):
        for part in _NUMBER.finditer(match[1]):
            first, last = int(part[1]), int(part[2] or part[1])
            spread = range(first, last + 1) if first <= last < first + _WIDEST_RANGE else (first, last)
            found.update(dict.fromkeys(spread))
        if len(found) > _MAX_CITED:
            break
    cited = list(found)[:_MAX_CITED]
    known = frozenset(numbers)
    return tuple(n for n in cited if n in known), tuple(n for n in cited if n not in known)


def _without_code(answer: str) -> str:
    """`items[1]` in code is no citation."""
    kept, fence = [], ""
    for line in answer.splitlines():
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence:
            kept.append(_TICKED.sub(" ", line))
    return "\n".join(kept)
