"""Where a text may be cut: kinds of boundary, each of which finds its own places.

A boundary is an offset between two parts; whitespace on either side belongs to neither. Every search stays within the
window it is given, which keeps cutting linear.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from outcrop.system.deadline import timed

_LOOKAHEAD = 80
"""How far past a window a pattern may look to decide on a place inside it."""

_STEP = 128
"""How far back to search first: words and lines are nearly always closer, sentences often."""


class Boundary(Protocol):
    """One kind of place to cut at. Ranges are inclusive at both ends."""

    @property
    def strong(self) -> bool:
        """Whether both sides stand on their own: entries, sections, paragraphs."""

    @property
    def within_line(self) -> bool:
        """Whether it can lie in the middle of a line."""

    def first(self, text: str, start: int, stop: int) -> int | None:
        """The first boundary from `start` to `stop`."""

    def last(self, text: str, start: int, stop: int) -> int | None:
        """The last boundary from `start` to `stop`."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """Boundaries where a regular expression's matches end. It starts with a literal or a character class,
    so that the search skips ahead instead of trying every offset."""

    regex: re.Pattern[str]
    strong: bool = False
    within_line: bool = False

    def first(self, text: str, start: int, stop: int) -> int | None:
        """The first boundary from `start` to `stop`."""
        found = self.regex.search(text, max(start - 1, 0), stop + _LOOKAHEAD)
        return found.end() if found is not None and start <= found.end() <= stop else None

    def last(self, text: str, start: int, stop: int) -> int | None:
        """The last boundary from `start` to `stop`, searched in growing steps from the right."""
        step = _STEP
        while stop >= start:
            low = max(start, stop - step)
            best = None
            for found in self.regex.finditer(text, max(low - 1, 0), stop + _LOOKAHEAD):
                if found.end() > stop:
                    break
                best = found.end()
            if best is not None and best >= start:
                return best
            stop = low - 1
            step *= 4
        return None


@dataclass(frozen=True, slots=True)
class Offsets:
    """Boundaries known in advance, in order: headings, keys, fences."""

    offsets: Sequence[int]
    strong: bool = True
    within_line: bool = False

    def first(self, text: str, start: int, stop: int) -> int | None:  # noqa: ARG002 - the protocol's signature
        """The first boundary from `start` to `stop`."""
        at = bisect_left(self.offsets, start)
        return self.offsets[at] if at < len(self.offsets) and self.offsets[at] <= stop else None

    def last(self, text: str, start: int, stop: int) -> int | None:  # noqa: ARG002 - the protocol's signature
        """The last boundary from `start` to `stop`."""
        at = bisect_right(self.offsets, stop) - 1
        return self.offsets[at] if at >= 0 and self.offsets[at] >= start else None


def nearest(boundary: Boundary, text: str, start: int, stop: int, ideal: int) -> int | None:
    """The boundary from `start` to `stop` closest to `ideal`, the earlier of two equally close."""
    ideal = min(max(ideal, start), stop)
    after = boundary.first(text, ideal, stop)
    if after == ideal:
        return after
    before = boundary.last(text, start if after is None else max(start, 2 * ideal - after), ideal - 1)
    return after if before is None else before


BLANK_LINE = Pattern(re.compile(r"\n(?=[^\S\n]*\n)"), strong=True)

BLOCK_LINE = Pattern(
    # A line end that also ends a thought: after closing punctuation, or before a list item, a row, a quote.
    re.compile(
        r"\n(?:(?<=[.!?:;…。！？।؟]\n)|(?<=[.!?:;…。！？।؟]\r\n)|(?=[ \t]*(?:[-*+•>|]|\d{1,3}[.)])[ \t]))"
    )
)

LINE = Pattern(re.compile(r"\n"))

SENTENCE = Pattern(
    # A full stop after a lone letter or digit ("e.g.", "J. Doe", "1.") does not end a sentence. Full stops of scripts
    # written without spaces end one anywhere, all others only before whitespace.
    re.compile(
        r"[。！？｡．။༎](?:[”’」』）】》〉]*)"
        r"|[.!?…؟۔।॥։።](?<![^\w]\w\.)[\"'”’»)\]*_]*(?=\s)"
    ),
    within_line=True,
)

SPACE = Pattern(re.compile(r"\s"), within_line=True)

RULE = Pattern(re.compile(r"\n[^\S\n]*\n(?=[ ]{0,3}(?:-{3,}|\*{3,}|_{3,})[ \t]*\n)"), strong=True)
"""A horizontal rule; the blank line before it tells it from an underlined heading."""

HEADING_LINE = Pattern(re.compile(r"\n(?=#{1,6}[ \t])"), strong=True)
"""A Markdown heading, for text that came without parsed headings."""

_FENCE = re.compile(r"(`{3,}|~{3,})([^\n]*)")


def find_fences(text: str) -> list[tuple[int, int]]:
    """Closed fenced code blocks, from the start of the opening line to the end of the closing one."""
    if "```" not in text and "~~~" not in text:
        return []
    blocks: list[tuple[int, int]] = []
    opened: tuple[int, str] | None = None
    for found in timed(_FENCE.finditer(text)):
        line = text.rfind("\n", 0, found.start()) + 1
        if text[line : found.start()].strip():
            continue
        marker, rest = found.groups()
        if opened is None:
            # an info string with a backtick is inline code, not a fence
            if marker[0] == "~" or "`" not in rest:
                opened = (line, marker)
        elif marker.startswith(opened[1]) and not rest.strip():
            blocks.append((opened[0], found.end()))
            opened = None
    return blocks


_JOINER = "\u200d"
_LONGEST_CLUSTER = 32
"""Give up on keeping a cluster whole past this many characters: only hostile text has longer ones."""
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
"""Two of them make a flag; which two is decided by counting from the start of a run."""
_LONGEST_FLAGS = 4096
"""How far back a run is counted: room for every existing flag eight times over."""


def whole_character(text: str, floor: int, at: int) -> int:
    """`at`, moved left as far as `floor` so that a hard cut splits no visible character."""
    for place in range(at, max(floor, at - _LONGEST_CLUSTER) - 1, -1):
        if not splits_character(text, place):
            return place
    return at


def splits_character(text: str, at: int) -> bool:
    """Whether a cut at `at`, inside the text, would separate a base from its marks, a joined emoji, a flag or a
    surrogate pair."""
    left, right = text[at - 1], text[at]
    if right < "\u0300":
        return False
    if _JOINER in (left, right) or unicodedata.category(right)[0] == "M":
        return True
    if "\U0001f3fb" <= right <= "\U0001f3ff":  # skin tones
        return True
    if "\ud800" <= left <= "\udbff" and "\udc00" <= right <= "\udfff":  # a surrogate pair left split
        return True
    if left in _FLAG_LETTERS and right in _FLAG_LETTERS:
        before = text[max(0, at - _LONGEST_FLAGS) : at]
        return (len(before) - len(before.rstrip(_FLAG_LETTERS))) % 2 == 1
    return False
