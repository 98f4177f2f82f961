"""Which lines of a hit to show, and which words in them to mark."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from outcrop.system.dataclass import dataclass
from outcrop.text.pattern import pattern
from outcrop.text.phrases import phrase_lines, phrase_spans
from outcrop.text.terms import PART, WORD

if TYPE_CHECKING:
    from outcrop.text.unspaced import SharedRuns

LINES: Final = 6
"""Lines of a hit that are shown: ten hits fit on two screens."""
LEAD: Final = 1
"""Preferred number of lines before the first match: its heading or signature is often just above."""
MAX_LINE_CHARS: Final = 320
"""A longer line (minified code, a paragraph on one line) is cut around its first matching word."""

Span = tuple[int, int]

_ONE_PART: Final = re.compile(r"[A-Z]?[a-z]+")
"""Most words: those that do not come apart."""


class Marker:
    """Finds what a search matched in a text: words in any inflection, of `language` where they are not English ones,
    phrases verbatim."""

    def __init__(self, terms: Iterable[str], phrases: Iterable[str] = (), language: str = "") -> None:
        import Stemmer

        self._stem: Callable[[str], str] = Stemmer.Stemmer("english").stemWord
        self._word = WORD
        self.phrases = tuple(phrases)
        terms = list(terms)
        if language or not all(map(str.isascii, terms)):
            from outcrop.text.pieces import WHOLE_WORD, Stems

            self._stem, self._word = Stems(language).find, WHOLE_WORD
        words = {word.lower() for term in terms for word in self._word.findall(term)}
        self._stems = {self._stem(word) for word in words}
        self._known: dict[str, bool] = {}
        # Scripts without spaces have no words to compare.
        self._shared: SharedRuns | None = None
        if unspaced := [word for word in words if not word.isascii()]:
            from outcrop.text.unspaced import SharedRuns

            self._shared = SharedRuns(unspaced)

    def spans(self, text: str) -> list[Span]:
        """Spans of matching words and phrases, in order, without overlaps."""
        found = self.phrase_spans(text)
        for word in self._word.finditer(text):
            if self._matches(word.group()):
                found.append(word.span())
                continue
            if _ONE_PART.fullmatch(word.group()):
                continue
            # camelCase: getUserName is found by `user`
            found.extend(
                (word.start() + part.start(), word.start() + part.end())
                for part in PART.finditer(word.group())
                if part.span() != (0, len(word.group())) and self._matches(part.group())
            )
        if self._shared is not None:
            found.extend(self._shared.find_spans(text))
        return _without_overlaps(found)

    def words(self, text: str) -> set[str]:
        """The different words that match, whatever their inflection."""
        return {self._stem(text[start:end].lower()) for start, end in self.spans(text)}

    def phrase_spans(self, text: str) -> list[Span]:
        """Spans of phrases."""
        return [span for phrase in self.phrases for span in phrase_spans(text, phrase)]

    def _matches(self, word: str) -> bool:
        known = self._known.get(word)
        if known is None:
            known = self._known[word] = self._stem(word.lower()) in self._stems
        return known


def _without_overlaps(spans: list[Span]) -> list[Span]:
    kept: list[Span] = []
    for start, end in sorted(set(spans), key=lambda span: (span[0], -span[1])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some lines of a text, each with its number, from 0: where the numbers jump, something was left out."""

    lines: tuple[tuple[int, str], ...]
    size: int

    @property
    def before(self) -> bool:
        """Whether the text begins before it."""
        return bool(self.lines) and self.lines[0][0] > 0

    @property
    def after(self) -> bool:
        """Whether the text goes on after it."""
        return bool(self.lines) and self.lines[-1][0] < self.size - 1


def all_lines(text: str) -> Excerpt:
    """The whole text."""
    lines = text.split("\n")
    return Excerpt(tuple(enumerate(lines)), len(lines))


def best_lines(
    text: str,
    marker: Marker,
    count: int = LINES,
    anchor: int | None = None,
    headings: Sequence[str] | None = (),
) -> Excerpt:
    """The `count` lines that hold the most phrases, and then the most telling words: those that few lines hold.

    A heading says what follows, so its words count for the line after it. The `headings` are those of the passage,
    shown above it: their words tell little. None says that the text is code. Blank lines at either end of the text
    do not count, and none is shown first or last; nor is front matter shown. Of places that match alike the one with
    the `anchor` wins, the line on which a declaration begins. A row is shown with the first line of its table.
    """
    lines = text.rstrip().split("\n")
    matching = _match_lines(lines, marker, headings)
    often = Counter(word for words in matching for word in words)
    said = marker.words("\n".join(headings or ()))
    weights = {word: (_SAID_SHARE if word in said else 1) / times for word, times in often.items()}
    quoted = [phrase_lines(text, phrase) for phrase in marker.phrases]
    start = 0 if headings is None else _first_shown(lines, quoted)
    best, best_score = start, (-1, -1.0, False, -1, False, 0)
    for first in range(start, max(start + 1, len(lines) - count + 1)):
        window = matching[first : first + count]
        lead = next((at for at, words in enumerate(window) if words), 0)
        held: dict[str, float] = {}
        for words in window:
            held |= {word: max(share, held.get(word, 0)) for word, share in words.items()}
        score = (
            sum(any(first <= top and last < first + count for top, last in places) for places in quoted),
            round(sum(share * weights[word] for word, share in held.items()), 6),
            anchor is not None and first <= anchor < first + count,
            sum(map(len, window)),
            first == start,
            -abs(lead - LEAD),
        )
        if score > best_score and (lines[first].strip() or first == len(lines) - count):
            best, best_score = first, score
    shown = _with_table_head(lines, matching, range(best, min(best + count, len(lines))))
    while len(shown) > 1 and not lines[shown[-1]].strip():
        shown.pop()
    return Excerpt(tuple((number, cut_line(lines[number], marker)) for number in shown), len(lines))


_HEADING: Final = re.compile(r"\s*#{1,6}\s+\S")
_FIELD: Final = pattern(r"[\w-]+\s*:|\s|$|#|- ")
"""A line of front matter: a field, what belongs to the field above it, a comment."""
_ROW: Final = re.compile(r"\s*\||.*\S \| \S")
_HEADING_SHARE: Final = 0.5
"""What a word of a heading counts for the line below it, against one that stands there (not measured)."""
_SAID_SHARE: Final = 0.25
"""What a word counts that the headings of the passage say already: it is not what tells lines apart (not measured)."""


def _match_lines(
    lines: Sequence[str], marker: Marker, headings: Sequence[str] | None
) -> list[dict[str, float]]:
    """The words that match in each line, and how much each counts there."""
    matching = [dict.fromkeys(marker.words(line), 1.0) for line in lines]
    if headings is None:
        return matching
    above: dict[str, float] = {}
    for at in range(_skip_front_matter(lines)):
        matching[at] = {}
    for at, line in enumerate(lines):
        if _HEADING.match(line) or line.strip() in headings:
            above |= dict.fromkeys(matching[at], _HEADING_SHARE)
            matching[at] = {}
        elif line.strip():
            matching[at] = above | matching[at]
            above = {}
    return matching


def _skip_front_matter(lines: Sequence[str]) -> int:
    """How many lines at the beginning are fields such as title and tags."""
    if lines[0].strip() != "---":
        return 0
    end = next((at for at in range(1, len(lines)) if not _FIELD.match(lines[at])), len(lines))
    return end + 1 if end < len(lines) and lines[end].strip() in ("---", "...") else 0


def _first_shown(lines: Sequence[str], quoted: Sequence[Sequence[tuple[int, int]]]) -> int:
    """The first line that may be shown: below front matter, unless a quoted phrase is in it or nothing follows it."""
    below = _skip_front_matter(lines)
    if any(top < below for places in quoted for top, _ in places):
        return 0
    return next((at for at in range(below, len(lines)) if lines[at].strip()), 0)


def _with_table_head(lines: Sequence[str], matching: Sequence[dict[str, float]], window: range) -> list[int]:
    """The lines of the window; where they begin in the middle of a table, its head in place of one of them."""
    top = window[0]
    while top > 0 and _ROW.match(lines[top]) and _ROW.match(lines[top - 1]):
        top -= 1
    if top == window[0] or len(window) < 2:
        return list(window)
    rest = window[:-1] if matching[window[0]] else window[1:]
    return [top, *rest]


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
