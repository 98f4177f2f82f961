"""Text to terms, for documents and queries alike.

A word gives its stem. An identifier gives itself whole and its parts, so that `getUserName` is found by `user name` and
by `getusername`, `TS-999` by itself and by `999`. Scripts written without spaces give their characters and pairs of
characters. Composed or decomposed, full width or a ligature out of a PDF: a character counts the same however it was
typed. Terms are kept as 48-bit numbers that are the same in every process.

Every text has these terms, whatever its language, and its words are stemmed as English is. What a text in another
language is found by beside them stands in `pieces`.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import Stemmer

from outcrop.text.pattern import pattern
from outcrop.text.scripts import MARKS, TERM_CHARACTERS

if TYPE_CHECKING:
    from outcrop.text.pieces import Pieces

WORD: Final = re.compile(r"[^\W_]+")
PART: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^\W\d_a-zA-Z]+")
"""One part of a name: camelCase, HTTPServer and utf8 come apart where case or kind of character changes. A run of
capitals ends before a capitalised word (HTTP, Server); letters outside ASCII make parts of their own."""


# One surface token: words joined by the marks that join identifiers, versions, dates and paths. It takes linear time
# on any input: words are possessive, and `(?<!_)` keeps a line of underscores from being tried again at each.
_JOINED: Final = r"{word}(?:[_.\-'’:/+#@]+{word})*[+#]{{0,2}}|(?<!_)_+{word}(?:_+{word})*"
_SURFACE: Final = pattern(_JOINED.format(word=r"[^\W_]++"))
# The same for ASCII, in three quarters of the time.
_SURFACE_ASCII: Final = re.compile(_JOINED.format(word=r"[0-9A-Za-z]++"))
_STRETCHES: Final = "".join(
    chr(code) if chr(code).isalnum() or chr(code) in "_.-':/+#@" else " " for code in range(128)
)
"""What each character of ASCII becomes before a text is split: no surface token goes beyond such a stretch, and most
stretches are one. On English prose this takes a sixth of the time of the pattern."""
JOINTS: Final = re.compile(r"[_.\-'’:/+#@]+")

MAX_SURFACE_CHARS: Final = 64
"""A longer word is a blob (base64, a hash, a minified line): its first characters make one term. Longer tokens are
analysed as usual but not cached, since they hardly ever recur."""

MAX_WHOLE_CHARS: Final = 40
"""A joined token longer than this is a URL or a path: its parts are terms, the whole is not."""

CACHE_ENTRIES: Final = 60_000
"""Surface tokens remembered in each of two generations; about 25 MB when both are full."""

TERM_BYTES: Final = 6
"""48 bits leave 16 for a row number, so a segment is inverted by sorting plain integers. With a million terms, one
index in 500 has two terms that share a number, and each is then found for the other."""

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
        # What it has seen is remembered here: without a cache of its own it takes .3 µs a word instead of .9.
        self._stem = Stemmer.Stemmer("english", 0)
        self._lock = threading.Lock()  # a Stemmer must not be used by two threads at once
        self._seen = Seen(self._analyse)
        self._numbers = Numbers()
        self._pieces: Pieces | None = None
        self._recalled: dict[tuple[str, str], Sequence[int]] = {}

    @property
    def pieces(self) -> Pieces:
        """The analyser of other languages; where all is English it is never made."""
        if self._pieces is None:
            from outcrop.text.pieces import Pieces

            self._pieces = Pieces(self)
        return self._pieces

    def of(self, text: str) -> array[int]:
        """All terms of a text, in order, repeated as often as they occur."""
        stretches = text.translate(_STRETCHES).split() if text.isascii() else split_surfaces(text)
        return array("Q", b"".join(map(self._seen.__getitem__, stretches)))

    def words(self, text: str) -> list[tuple[str, tuple[int, ...]]]:
        """Surface tokens with their terms, for queries and for showing what matched."""
        return [(surface, tuple(array("Q", self._seen[surface]))) for surface in split_surfaces(text)]

    def recall(
        self, key: tuple[str, str], work_out: Callable[[tuple[str, str]], Sequence[int]]
    ) -> Sequence[int]:
        """Terms that are worked out of a word in some way, which the key names before the word; kept, since the words
        of questions recur."""
        found = self._recalled.get(key)
        if found is None:
            found = work_out(key)
            if len(self._recalled) >= CACHE_ENTRIES:
                self._recalled.clear()
            if len(key[1]) <= MAX_SURFACE_CHARS:
                self._recalled[key] = found
        return found

    def _analyse(self, surface: str) -> bytes:
        """The terms of a surface token, or of a stretch of ASCII, which may hold several; packed."""
        if surface.isascii():
            if surface.isdigit():  # a table may hold a million different numbers, each one term
                return pack_terms((term_number(surface[:MAX_SURFACE_CHARS]),))
            if not surface.isalnum() and (inside := _SURFACE_ASCII.findall(surface)) != [surface]:
                return self._gather(inside)
        pieces = [surface] if surface.isalnum() else [piece for piece in JOINTS.split(surface) if piece]
        if pieces == [surface]:
            number = term_number if surface.isascii() else self._numbers.__getitem__
            with self._lock:
                return pack_terms(map(number, self._analyse_piece(surface)))
        # Compounds rarely recur but their pieces do, so each piece is looked up.
        numbers = self._gather(pieces)
        if len(surface) > MAX_WHOLE_CHARS:
            return numbers
        return numbers + pack_terms((term_number(surface.lower()),))

    def _gather(self, pieces: Iterable[str]) -> bytes:
        """The terms of all pieces of a stretch."""
        return b"".join(map(self._seen.__getitem__, pieces))

    def _analyse_piece(self, piece: str) -> Iterable[str]:
        if not piece.isascii() and TERM_CHARACTERS.search(piece):
            return self._analyse_unspaced(piece)
        if len(piece) > MAX_SURFACE_CHARS:
            return [piece[:MAX_SURFACE_CHARS].lower()]
        lower = piece.lower()
        terms = [self._stem.stemWord(lower)]
        if not piece.isascii() or ((piece == lower or piece == piece.capitalize()) and piece.isalpha()):
            return terms  # one part, or letters that are not taken apart
        parts = PART.findall(piece)
        if len(parts) > 1:
            terms.extend(self._stem.stemWord(part.lower()) for part in parts if len(part) > 1 or part.isdigit())
        return terms

    def _analyse_unspaced(self, piece: str) -> Iterator[str]:
        """Characters and overlapping pairs of each unspaced run; what lies between runs is analysed as words."""
        end = 0
        for run in TERM_CHARACTERS.finditer(piece):
            if run.start() > end:
                yield from self._analyse_piece(piece[end : run.start()])
            text = run.group()
            yield from text
            yield from (text[i : i + 2] for i in range(len(text) - 1))
            end = run.end()
        if end < len(piece):
            yield from self._analyse_piece(piece[end:])


class Numbers(dict[str, int]):
    """Term → its number, for scripts without spaces: a whole page may be one word that never recurs, while its
    characters and pairs do."""

    def __missing__(self, term: str) -> int:
        if len(self) >= CACHE_ENTRIES:
            self.clear()
        number = self[term] = term_number(term)
        return number


class Seen(dict[str, bytes]):
    """Surface token → its terms, packed, worked out when first seen; a hit never leaves C, and bytes are joined in a
    third of the time that numbers take."""

    def __init__(self, analyse: Callable[[str], bytes]) -> None:
        super().__init__()
        self._analyse = analyse
        self._older: dict[str, bytes] = {}

    def __missing__(self, surface: str) -> bytes:
        found = self._older.get(surface)
        if found is None:
            found = self._analyse(surface)
        if len(surface) <= MAX_SURFACE_CHARS:
            if len(self) >= CACHE_ENTRIES:
                # Two generations: whatever was used since the last turnover survives this one.
                self._older = dict(self)
                self.clear()
            self[surface] = found
        return found


def split_surfaces(text: str) -> list[str]:
    """The surface tokens of a text."""
    if text.isascii():
        return _SURFACE_ASCII.findall(text)
    text = unicodedata.normalize("NFKC", text)
    mark, with_marks = _marked()
    return (with_marks if mark.search(text) else _SURFACE).findall(text)


@cache
def _marked() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Finds a mark, and surface tokens that hold some; made for the first text that is not ASCII (5 ms)."""
    return re.compile(f"[{MARKS}]"), re.compile(_JOINED.format(word=rf"(?:[^\W_]|[{MARKS}])++"))


def pack_terms(numbers: Iterable[int]) -> bytes:
    """Terms as they are kept in a cache."""
    return array("Q", numbers).tobytes()


def term_number(term: str) -> int:
    """The number that stands for a term, the same in every process and on every machine."""
    return int.from_bytes(
        blake2b(term.encode("utf-8", "surrogatepass"), digest_size=TERM_BYTES).digest(), "little"
    )


@cache
def language_term(code: str) -> int:
    """The term of every chunk that is in a language: how many have it tells what an index holds."""
    return term_number(_LANGUAGE_MARK + code)


_LANGUAGE_MARK: Final = "\x03"
"""Before the code of a language: no text gives a term with this character."""
PIECED: Final = language_term("*")
"""The term of every chunk that has pieces: an index without any is searched by words alone."""


def words_of(name: str, terms: Terms) -> Sequence[int]:
    """The distinct words of a name as terms; what a compound is as a whole is no word of it."""
    return terms.recall(("name", name), lambda _: _words_of(name, terms))


def _words_of(name: str, terms: Terms) -> list[int]:
    words: dict[int, None] = {}
    for part in _NAME_PARTS.findall(name):
        words.update(dict.fromkeys(terms.of(part)))
    return list(words)


def other_words_of(name: str, terms: Terms) -> Sequence[int]:
    """What a name's words that end in `s` are in the other number, as terms: the stemmer takes `alias` for a plural, so
    that `alias` and `aliases` have different stems."""
    return terms.recall(("other", name), lambda _: _other_words_of(name, terms))


def _other_words_of(name: str, terms: Terms) -> list[int]:
    other: list[int] = []
    for part in _NAME_PARTS.findall(name):
        word = part.lower()
        if word.endswith("ses"):
            other += terms.of(word[:-2])[:1]
        elif word.endswith("s") and not word.endswith("ss"):
            other += terms.of(f"{word}es")[:1]
    return other


_NAME_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+|[A-Z]")
