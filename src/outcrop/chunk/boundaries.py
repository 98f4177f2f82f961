"""Where a text may be cut: kinds of boundary, each of which finds its own places, and sections by headings.

A boundary is an offset between two parts; whitespace on either side belongs to neither. Every search stays within the
window it is given, which keeps cutting linear.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Protocol

from outcrop.records import Heading
from outcrop.system.dataclass import dataclass
from outcrop.system.limits import timed

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
    """Whether a cut inside the text would split a base from its marks, a joined emoji, a flag or a surrogate pair."""
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


_ROOT = -1


class Outline:
    """The headings of one document. A section runs from its heading's line to the next heading; the text before
    the first heading is a section without a path, number -1."""

    def __init__(self, text: str, headings: tuple[Heading, ...]) -> None:
        self._text = text
        ordered = sorted((h for h in headings if 0 <= h.start < len(text)), key=lambda h: h.start)
        self.starts = [heading.start for heading in ordered]
        self._parents: list[int] = []
        self._paths: list[tuple[str, ...]] = []
        above: list[int] = []
        for number, heading in enumerate(ordered):
            while above and ordered[above[-1]].level >= heading.level:
                above.pop()
            parent = above[-1] if above else _ROOT
            title = heading.title.strip()
            self._parents.append(parent)
            self._paths.append(self._path_of(parent) + ((title,) if title else ()))
            above.append(number)

    def path(self, start: int, end: int) -> tuple[str, ...]:
        """The titles, top level first, of the section that most of `text[start:end]` lies in."""
        first, last = bisect_right(self.starts, start) - 1, bisect_left(self.starts, end) - 1
        if first >= last:
            return self._path_of(first)
        walls = [start, *self.starts[first + 1 : last + 1], end]
        shares = [stop - begin for begin, stop in pairwise(walls)]
        return self._path_of(first + shares.index(max(shares)))

    def regions(
        self, start: int, end: int, *, size: Callable[[int, int], int], limit: int, minimum: int
    ) -> list[tuple[int, int]]:
        """The sections of `text[start:end]`, small ones joined with what follows them under the same parent.

        A group below `minimum` characters takes in the next section if both fit into the limit; a group of bare
        headings takes it in whatever its size, and the cutter cuts the result. A small last section of its parent joins
        the group before.
        """
        first = bisect_right(self.starts, start) - 1
        walls = [start, *self.starts[first + 1 : bisect_left(self.starts, end)], end]
        last = first + len(walls) - 2
        groups: list[tuple[int, int, int]] = []  # first section, start, end
        for number, (begin, stop) in timed(enumerate(pairwise(walls), start=first)):
            if groups:
                head, group_start, _ = groups[-1]
                fits = size(group_start, stop) <= limit
                small = begin - group_start < minimum and (fits or self._is_bare(head, group_start, begin))
                ends_parent = number == last or not self._belongs(number + 1, number)
                closing = fits and ends_parent and stop - begin < minimum
                if (small or closing) and self._belongs(number, head):
                    groups[-1] = (head, group_start, stop)
                    continue
            groups.append((number, begin, stop))
        return [(begin, stop) for _, begin, stop in groups]

    def _belongs(self, number: int, head: int) -> bool:
        """Whether a section is a later sibling of the group's first one, or below one of the group."""
        parent = self._parents[number]
        return parent >= head or parent == (self._parents[head] if head >= 0 else _ROOT)

    def _path_of(self, number: int) -> tuple[str, ...]:
        return self._paths[number] if number >= 0 else ()

    def _is_bare(self, head: int, start: int, end: int) -> bool:
        """Whether a group is only headings: one line of words per section, not counting underlines."""
        if head < 0 or self.starts[head] != start:
            return False
        lines = sum(1 for line in self._text[start:end].split("\n") if any(map(str.isalnum, line)))
        return lines <= bisect_left(self.starts, end) - head
