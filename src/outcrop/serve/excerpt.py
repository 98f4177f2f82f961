"""Which lines of a hit to show, and which words in them to mark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from outcrop.text.phrases import phrase_lines, phrase_spans
from outcrop.text.terms import PART, WORD

LINES: Final = 6
"""Lines of a hit that are shown: ten hits fit on two screens."""
LEAD: Final = 1
"""Preferred number of lines before the first match: its heading or signature is often just above."""
MAX_LINE_CHARS: Final = 320
"""A longer line (minified code, a paragraph on one line) is cut around its first matching word."""

Span = tuple[int, int]


class Marker:
    """Finds what a search matched in a text: words in any inflection, phrases verbatim."""

    def __init__(self, terms: Iterable[str], phrases: Iterable[str] = ()) -> None:
        import Stemmer

        self._stem = Stemmer.Stemmer("english").stemWord
        self.phrases = tuple(phrases)
        words = {word.lower() for term in terms for word in WORD.findall(term)}
        self._stems = {self._stem(word) for word in words}
        # Scripts without spaces have no words to compare: what was asked for is looked up as it stands.
        self._verbatim = [word for word in words if not word.isascii()]

    def spans(self, text: str) -> list[Span]:
        """Spans of matching words and phrases, in order, without overlaps."""
        found = self.phrase_spans(text)
        for word in WORD.finditer(text):
            if self._matches(word.group()):
                found.append(word.span())
                continue
            # camelCase: getUserName is found by `user`
            found.extend(
                (word.start() + part.start(), word.start() + part.end())
                for part in PART.finditer(word.group())
                if part.span() != (0, len(word.group())) and self._matches(part.group())
            )
        for asked in self._verbatim:
            # Not in `text.lower()`: that can be longer than the text (İ), and all after it would stand elsewhere.
            found.extend(match.span() for match in re.finditer(re.escape(asked), text, re.IGNORECASE))
        return _without_overlaps(found)

    def phrase_spans(self, text: str) -> list[Span]:
        """Spans of phrases."""
        return [span for phrase in self.phrases for span in phrase_spans(text, phrase)]

    def _matches(self, word: str) -> bool:
        return self._stem(word.lower()) in self._stems


def _without_overlaps(spans: list[Span]) -> list[Span]:
    kept: list[Span] = []
    for start, end in sorted(set(spans), key=lambda span: (span[0], -span[1])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept


def best_lines(
    text: str, marker: Marker, count: int = LINES, anchor: int | None = None
) -> tuple[list[str], int, int]:
    """The `count` lines with the most phrases, and then those in which the most different words match; the number of
    the first, and how many follow.

    Blank lines at either end of the text do not count, and none is shown first or last. Of places that match alike
    the one with the `anchor` wins, the line on which a declaration begins.
    """
    lines = text.rstrip().split("\n")
    matching = [{line[start:end].lower() for start, end in marker.spans(line)} for line in lines]
    quoted = [phrase_lines(text, phrase) for phrase in marker.phrases]
    best, best_score = 0, (-1, -1, False, -1, False, 0)
    for first in range(max(1, len(lines) - count + 1)):
        window = matching[first : first + count]
        lead = next((at for at, words in enumerate(window) if words), 0)
        score = (
            sum(any(first <= top and last < first + count for top, last in places) for places in quoted),
            len(set().union(*window)),
            anchor is not None and first <= anchor < first + count,
            sum(map(len, window)),
            first == 0,
            -abs(lead - LEAD),
        )
        if score > best_score and (lines[first].strip() or first == len(lines) - count):
            best, best_score = first, score
    shown = lines[best : best + count]
    while len(shown) > 1 and not shown[-1].strip():
        shown.pop()
    return [cut_line(line, marker) for line in shown], best, len(lines) - best - len(shown)


def cut_line(line: str, marker: Marker, size: int = MAX_LINE_CHARS) -> str:
    """The line, or the part of it around the first phrase or matching word."""
    if len(line) <= size:
        return line
    spans = sorted(marker.phrase_spans(line)) or marker.spans(line)
    hidden = spans and spans[0][1] > size  # else the beginning shows it
    start = max(0, min(spans[0][0] - size // 4, len(line) - size)) if hidden else 0
    part = line[start : start + size]
    return ("…" if start else "") + part + ("…" if start + size < len(line) else "")


def shared_indent(lines: Sequence[str]) -> int:
    """How many spaces every line begins with."""
    return min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
