"""Text to terms, for documents and queries alike.

A word gives its stem. An identifier gives itself whole and its parts, so that `getUserName` is found by
`user name` and by `getusername`, `TS-999` by itself and by `999`. Scripts written without spaces give their
characters and pairs of characters. Terms are kept as 48-bit numbers that are the same in every process.

What it does not know: languages. Stemming is English; words of other languages are stemmed by the same rules
on both sides, which is consistent if not always right.
"""

from __future__ import annotations

import re
import threading
from array import array
from hashlib import blake2b
from typing import Final

import Stemmer

# One surface token: words joined by the marks that join identifiers, versions, dates and paths.
_SURFACE: Final = re.compile(r"[^\W_]+(?:[_.\-'’:/+#@]+[^\W_]+)*[+#]{0,2}|_+[^\W_]+(?:_+[^\W_]+)*")
_JOINTS: Final = re.compile(r"[_.\-'’:/+#@]+")
# camelCase, HTTPServer, utf8: where an identifier changes case or kind of character.
_PARTS: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^\W\d_a-zA-Z]+")
_UNSPACED: Final = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
)
_LETTERS: Final = re.compile(r"[^\W\d_]")

MAX_SURFACE_CHARS: Final = 64
"""A longer token is a blob (base64, a hash, a minified line): it is kept whole but not taken apart further."""

MAX_WHOLE_CHARS: Final = 40
"""A joined token longer than this is a URL or a path: its parts are kept, the whole is not a search term."""

CACHE_ENTRIES: Final = 100_000
"""Surface tokens remembered; about 20 MB when full. Rare ones come again so rarely that more do not pay."""

TERM_BYTES: Final = 6
"""48 bits leave 16 for a row number, so that a slab is inverted by sorting plain numbers. Of a million terms two
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
        self._cache: dict[str, tuple[int, ...]] = {}

    def of(self, text: str) -> array[int]:
        """All terms of a text, in order, repeated as often as they occur."""
        terms: array[int] = array("Q")
        cache = self._cache
        extend = terms.extend
        for surface in _SURFACE.findall(text):
            found = cache.get(surface)
            extend(self._remember(surface) if found is None else found)
        return terms

    def words(self, text: str) -> list[tuple[str, tuple[int, ...]]]:
        """Surface tokens with their terms, for queries and for showing what matched."""
        return [(surface, self._remember(surface)) for surface in _SURFACE.findall(text)]

    def _remember(self, surface: str) -> tuple[int, ...]:
        found = self._cache.get(surface)
        if found is None:
            with self._lock:
                found = tuple(map(term_number, self._analyse(surface)))
            if len(self._cache) >= CACHE_ENTRIES:
                self._cache.clear()
            self._cache[surface] = found
        return found

    def _analyse(self, surface: str) -> list[str]:
        if len(surface) > MAX_SURFACE_CHARS:
            return [surface[:MAX_SURFACE_CHARS].lower()]
        pieces = [piece for piece in _JOINTS.split(surface) if piece]
        terms: list[str] = []
        for piece in pieces:
            terms.extend(self._analyse_piece(piece))
        if (len(pieces) > 1 or surface[-1] in "+#") and len(surface) <= MAX_WHOLE_CHARS:
            terms.append(surface.lower())
        return terms

    def _analyse_piece(self, piece: str) -> list[str]:
        if not piece.isascii() and _UNSPACED.search(piece):
            return _unspaced_terms(piece)
        terms = [self._stem.stemWord(piece.lower())]
        parts = _PARTS.findall(piece)
        if len(parts) > 1 and piece.isascii():
            terms.extend(self._stem.stemWord(part.lower()) for part in parts if len(part) > 1 or part.isdigit())
        return terms


def term_number(term: str) -> int:
    """The number that stands for a term, the same in every process and on every machine."""
    return int.from_bytes(
        blake2b(term.encode("utf-8", "surrogatepass"), digest_size=TERM_BYTES).digest(), "little"
    )


def _unspaced_terms(piece: str) -> list[str]:
    """Characters and overlapping pairs of each run without spaces; what stands between the runs as words."""
    terms: list[str] = []
    end = 0
    for run in _UNSPACED.finditer(piece):
        if run.start() > end:
            terms.append(piece[end : run.start()].lower())
        text = run.group()
        terms.extend(text)
        terms.extend(text[i : i + 2] for i in range(len(text) - 1))
        end = run.end()
    if end < len(piece):
        terms.append(piece[end:].lower())
    return terms
