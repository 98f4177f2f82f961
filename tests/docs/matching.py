"""Whether an output has the shape that a page shows."""

from __future__ import annotations

import re
from collections.abc import Sequence

ANY = "…"
"""In a line: any text. A line by itself: any lines."""
_VARIES = re.compile(
    r"…"
    r"|\d{4}-\d\d-\d\d \d\d:\d\d"  # when it was indexed
    r"|\d+(?:\.\d+)? (?:ms|s|B|KB|MB)\b"  # how long it took, how large it is
    r"|\d+\.\d+"  # scores
)


def matches(shown: Sequence[str], printed: Sequence[str]) -> bool:
    """Whether what was printed is what is shown, but for what varies: times, sizes, scores, and all that `…` hides."""
    return _match([line.rstrip() for line in _trim(shown)], [line.rstrip() for line in _trim(printed)])


def _trim(lines: Sequence[str]) -> Sequence[str]:
    """Without blank lines at either end."""
    full = [number for number, line in enumerate(lines) if line.strip()]
    return lines[full[0] : full[-1] + 1] if full else ()


def _match(shown: Sequence[str], printed: Sequence[str]) -> bool:
    if not shown:
        return not printed
    if shown[0].strip() == ANY:
        return any(_match(shown[1:], printed[skipped:]) for skipped in range(len(printed) + 1))
    return bool(printed) and _fits(shown[0], printed[0]) and _match(shown[1:], printed[1:])


def _fits(shown: str, printed: str) -> bool:
    pattern, last = "", 0
    for varies in _VARIES.finditer(shown):
        pattern += re.escape(shown[last : varies.start()])
        pattern += ".*" if varies.group() == ANY else _like(varies.group())
        last = varies.end()
    return re.fullmatch(pattern + re.escape(shown[last:]), printed) is not None


def _like(text: str) -> str:
    """A pattern for what may stand in place of a date, a time, a size or a score."""
    if "-" in text:
        return r"\d{4}-\d\d-\d\d \d\d:\d\d"
    if text.endswith("B"):
        return r"\d+(?:\.\d+)? (?:B|KB|MB)"
    return r"\d+(?:\.\d+)? m?s" if text.endswith("s") else r"\d+\.\d+"
