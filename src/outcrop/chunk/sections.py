"""Sections of a document by its headings: which one an offset lies in, its path, and which ones to group."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import pairwise

from outcrop.records import Heading
from outcrop.system.deadline import timed

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
        return parent >= head or parent == self._parent_of(head)

    def _parent_of(self, number: int) -> int:
        return self._parents[number] if number >= 0 else _ROOT

    def _path_of(self, number: int) -> tuple[str, ...]:
        return self._paths[number] if number >= 0 else ()

    def _is_bare(self, head: int, start: int, end: int) -> bool:
        """Whether a group is only headings: one line of words per section, not counting underlines."""
        if head < 0 or self.starts[head] != start:
            return False
        lines = sum(1 for line in self._text[start:end].split("\n") if any(map(str.isalnum, line)))
        return lines <= bisect_left(self.starts, end) - head
