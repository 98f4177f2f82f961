"""What stands around a turn of a conversation: the words that it is meant by are often in the turn before it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from outcrop.records import Heading

TURNS_AROUND: Final = 2
MAX_AROUND_CHARS: Final = 200
"""Turns before and after that a turn is searched with, and how much of each. On the half of `benchmarks.dialogue` that
is for choosing, recall@10 was .60 without any, .72 with one (200 characters), .74, .78 and .78 with two (100, 200 and
400) and .79 with three; a right turn was first for .29, .32, .31, .33, .34 and .33 of the questions."""
OPENERS: Final = ("User", "Task")
"""Whoever asks. What was asked stays with all that follows, however many steps an answer takes."""


class Dialogue:
    """The turns of a session, by their headings. The place of a turn is who speaks and when, how the turns before it
    began, and how those after it begin: all of it is searched and embedded with the turn, where its own words count
    for more, and only the first is shown (`StoredChunk.shown_path`)."""

    def __init__(self, text: str, headings: Sequence[Heading]) -> None:
        self._starts = [heading.start for heading in headings]
        began = [
            _begin(text[start + len(heading.title) : end])
            for heading, (start, end) in zip(headings, pairwise((*self._starts, len(text))), strict=True)
        ]
        self._places: list[tuple[str, ...]] = []
        asked = 0
        for number, heading in enumerate(headings):
            first = max(number - TURNS_AROUND, 0)
            before = began[first:number]
            if before and asked < first:
                before[0] = began[asked]
            after = began[number + 1 : number + 1 + TURNS_AROUND]
            self._places.append((heading.title, *filter(None, (*before, *after))))
            if heading.title.partition(",")[0] in OPENERS:
                asked = number

    def place(self, start: int) -> tuple[str, ...]:
        """The place of the turn at an offset."""
        number = bisect_right(self._starts, start) - 1
        return self._places[number] if number >= 0 else ()


def _begin(turn: str) -> str:
    """How a turn begins, in one line, cut between words."""
    line = " ".join(turn[: 4 * MAX_AROUND_CHARS].split())
    if len(line) <= MAX_AROUND_CHARS:
        return line
    return f"{line[:MAX_AROUND_CHARS].rpartition(' ')[0] or line[:MAX_AROUND_CHARS]} …"
