"""Text to terms, for documents and queries alike.

A word gives its stem. An identifier gives itself whole and its parts, so that `getUserName` is found by
`user name` and by `getusername`, `TS-999` by itself and by `999`. Scripts written without spaces give their
characters and pairs of characters. However a character was typed (composed or not, full width, a ligature of a
PDF), it is one and the same. Terms are kept as 48-bit numbers that are the same in every process.

What it does not know: languages. Stemming is English; words of other languages are stemmed by the same rules
on both sides, which is consistent if not always right.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain
from typing import Final

import Stemmer

# One surface token: words joined by the marks that join identifiers, versions, dates and paths. It takes linear time
# on any input: words are possessive, and `(?<!_)` keeps a line of underscores from being tried again at each.
_JOINED: Final = r"{word}(?:[_.\-'’:/+#@]+{word})*[+#]{{0,2}}|(?<!_)_+{word}(?:_+{word})*"
_SURFACE: Final = re.compile(_JOINED.format(word=r"[^\W_]++"))
# The same for plain texts, in three quarters of the time.
_SURFACE_ASCII: Final = re.compile(_JOINED.format(word=r"[0-9A-Za-z]++"))
# Signs that Python does not count as letters but without which words fall apart: accents and points that stand
# apart, the vowels of Indic scripts and of Thai, Tibetan, Burmese and Khmer.
_MARKS: Final = (
    r"\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u0711\u0730-\u074a"
    r"\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u09d7\u09e2\u09e3\u0a01-\u0a03"
    r"\u0a3c-\u0a51\u0a70\u0a71\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bcd\u0bd7"
    r"\u0c00-\u0c04\u0c3c-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d4d\u0d57\u0d81-\u0d83\u0dca-\u0df3"
    r"\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f71-\u0f84\u0f90-\u0fbc\u102b-\u103e"
    r"\u1056-\u1059\u105e-\u1064\u17b4-\u17d3\u1ab0-\u1aff\u1dc0-\u1dff"
)
_ANY_MARK: Final = re.compile(f"[{_MARKS}]")
_SURFACE_WITH_MARKS: Final = re.compile(_JOINED.format(word=rf"(?:[^\W_]|[{_MARKS}])++"))
_JOINTS: Final = re.compile(r"[_.\-'’:/+#@]+")
# camelCase, HTTPServer, utf8: where an identifier changes case or kind of character.
_PARTS: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^\W\d_a-zA-Z]+")
# Korean has spaces, but its particles stick to the words.
_UNSPACED: Final = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
)

MAX_SURFACE_CHARS: Final = 64
"""A longer word is a blob (base64, a hash, a minified line): this much of it is one term. A longer token is analysed
like any other, but not remembered: it will hardly come again and would fill the cache."""

MAX_WHOLE_CHARS: Final = 40
"""A joined token longer than this is a URL or a path: its parts are kept, the whole is not a search term."""

CACHE_ENTRIES: Final = 60_000
"""Surface tokens remembered in each of two generations; about 25 MB when both are full."""

TERM_BYTES: Final = 6
"""48 bits leave 16 for a row number, so that a segment is inverted by sorting plain numbers. Of a million terms two
share a number once in 500 indexes; they would then be found for each other."""

# Words that carry no meaning of their own. They stay in the index (phrases need them and a query may consist of
# nothing else); a query that has other words leaves them out.
STOP_WORDS: Final = frozenset(
    "a about an and any are as at be been but by can could did do does for from had has have how i if in into is "
    "it its me my no not of on or our should so some such than that the their them then there these they this to "
    "was we were what when where which while who whom why will with would you your".split()
)


class Terms:
    """The analyser. One instance serves any number of threads; what it has seen is cached by surface token."""

    def __init__(self) -> None:
        self._stem = Stemmer.Stemmer("english")
        self._lock = threading.Lock()  # a Stemmer must not be used by two threads at once
        self._seen = _Seen(self._analyse)
        self._numbers = _Numbers()

    def of(self, text: str) -> array[int]:
        """All terms of a text, in order, repeated as often as they occur."""
        return array("Q", chain.from_iterable(map(self._seen.__getitem__, _surfaces(text))))

    def words(self, text: str) -> list[tuple[str, tuple[int, ...]]]:
        """Surface tokens with their terms, for queries and for showing what matched."""
        return [(surface, tuple(self._seen[surface])) for surface in _surfaces(text)]

    def _analyse(self, surface: str) -> Sequence[int]:
        if (
            surface.isdigit() and surface.isascii()
        ):  # tables hold a million different numbers, and each is one term
            return (term_number(surface[:MAX_SURFACE_CHARS]),)
        pieces = [surface] if surface.isalnum() else [piece for piece in _JOINTS.split(surface) if piece]
        if pieces == [surface]:
            number = term_number if surface.isascii() else self._numbers.__getitem__
            with self._lock:
                return tuple(map(number, self._analyse_piece(surface)))
        # A compound is rarely seen again, its pieces often are: they are looked up one by one. One of megabytes would
        # be millions of numbers: as a tuple eight times the memory.
        numbers = array("Q", chain.from_iterable(map(self._seen.__getitem__, pieces)))
        if len(surface) <= MAX_WHOLE_CHARS:
            numbers.append(term_number(surface.lower()))
        return tuple(numbers) if len(surface) <= MAX_SURFACE_CHARS else numbers

    def _analyse_piece(self, piece: str) -> Iterable[str]:
        if not piece.isascii() and _UNSPACED.search(piece):
            return self._analyse_unspaced(piece)
        if len(piece) > MAX_SURFACE_CHARS:
            return [piece[:MAX_SURFACE_CHARS].lower()]
        terms = [self._stem.stemWord(piece.lower())]
        parts = _PARTS.findall(piece)
        if len(parts) > 1 and piece.isascii():
            terms.extend(self._stem.stemWord(part.lower()) for part in parts if len(part) > 1 or part.isdigit())
        return terms

    def _analyse_unspaced(self, piece: str) -> Iterator[str]:
        """Characters and overlapping pairs of each run without spaces; what stands between the runs as words."""
        end = 0
        for run in _UNSPACED.finditer(piece):
            if run.start() > end:
                yield from self._analyse_piece(piece[end : run.start()])
            text = run.group()
            yield from text
            yield from (text[i : i + 2] for i in range(len(text) - 1))
            end = run.end()
        if end < len(piece):
            yield from self._analyse_piece(piece[end:])


class _Numbers(dict[str, int]):
    """Term → its number, for scripts without spaces: a page of them is one word, so their characters and pairs come
    again and again in words that do not."""

    def __missing__(self, term: str) -> int:
        if len(self) >= CACHE_ENTRIES:
            self.clear()
        number = self[term] = term_number(term)
        return number


class _Seen(dict[str, Sequence[int]]):
    """Surface token → its terms, worked out at first sight; the look-up itself never leaves C."""

    def __init__(self, analyse: Callable[[str], Sequence[int]]) -> None:
        super().__init__()
        self._analyse = analyse
        self._older: dict[str, Sequence[int]] = {}

    def __missing__(self, surface: str) -> Sequence[int]:
        found = self._older.get(surface)
        if found is None:
            found = self._analyse(surface)
        if len(surface) <= MAX_SURFACE_CHARS:
            if len(self) >= CACHE_ENTRIES:
                # What was used since the last turn is in here; what was not goes with the turn after this one.
                self._older = dict(self)
                self.clear()
            self[surface] = found
        return found


def _surfaces(text: str) -> list[str]:
    """The surface tokens of a text."""
    if text.isascii():
        return _SURFACE_ASCII.findall(text)
    text = unicodedata.normalize("NFKC", text)
    return (_SURFACE_WITH_MARKS if _ANY_MARK.search(text) else _SURFACE).findall(text)


def term_number(term: str) -> int:
    """The number that stands for a term, the same in every process and on every machine."""
    return int.from_bytes(
        blake2b(term.encode("utf-8", "surrogatepass"), digest_size=TERM_BYTES).digest(), "little"
    )
