"""Where a phrase could stand: in rows that hold every word of it. Whether it does stand there, the text tells.

Phrases are looked up among the terms of the texts. Every word of a phrase (see `phrases`) is one piece of an ASCII text
to `Terms` too, so its stem is among the row's terms. Where that does not hold, because `Terms` keeps accents or takes
characters apart in another way, the row gets a term of its own for that word.

Many rows hold the words of a phrase of common words, but elsewhere. So a few bytes of each row tell which words cannot
stand side by side in it: a hash of each pair that does sets one bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from outcrop.phrases import phrase_words
from outcrop.records import FeedRow
from outcrop.search.terms import Terms, term_number

_MARK: Final = "\x01"
"""Before a word that is there for phrases only: no text gives a term with this character."""
_PUNCTUATION: Final = str.maketrans(
    dict.fromkeys("\u00a0\u2013\u2014\u2018\u2019\u201c\u201d\u2022\u2026", " ")
)
"""What sets words apart in any text that was typeset: phrases and terms agree about it."""

PAIR_BYTES: Final = 48
"""Of a row, for its pairs. Of rows that hold the words of a phrase anywhere, at a million chunks, this lets a fifth
pass for two words, a fifteenth for three and a fiftieth for four (32 bytes: a quarter, a seventh, a twentieth; 64: a
sixth, a twentieth, an eightieth; as many bytes in all, shared out by the length of the texts, tell less)."""


def phrase_terms(words: Sequence[str], terms: Terms) -> list[frozenset[int]]:
    """For each word of a phrase the terms of which a row that holds the word has at least one."""
    return [frozenset((*_certain(word, terms), term_number(_MARK + word))) for word in words]


def _certain(word: str, terms: Terms) -> Sequence[int]:
    """The term that a row with this word has, if it is of plain text; what follows it are parts, which depend on how
    the word is written there."""
    return terms.of(word)[:1]


def words_for_phrases(feed: Sequence[FeedRow], terms: Terms) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """(term, row) of the words of phrases that a row has no term for."""
    numbers: list[int] = []
    owners: list[int] = []
    for row, item in enumerate(feed):
        if item.text.isascii() or item.text.translate(_PUNCTUATION).isascii():
            continue
        own = frozenset(terms.of(item.text))
        for word in dict.fromkeys(phrase_words(item.text)):
            if own.isdisjoint(_certain(word, terms)):
                numbers.append(term_number(_MARK + word))
                owners.append(row)
    return np.array(numbers, np.uint64), np.array(owners, np.uint64)


def mark_pairs(feed: Sequence[FeedRow]) -> NDArray[np.uint8]:
    """The bits of the pairs of words of each row, a column each: contiguous is what one look-up reads of all rows."""
    words = [phrase_words(item.text) for item in feed]
    numbers = _numbers(list(chain.from_iterable(words)))
    owners = np.repeat(np.arange(len(feed)), [len(found) for found in words])
    beside = owners[1:] == owners[:-1]
    marks = np.zeros((len(feed), 8 * PAIR_BYTES), np.bool_)
    marks[owners[1:][beside], _places(numbers)[beside]] = True
    return np.ascontiguousarray(np.packbits(marks, axis=1).T)


def may_hold(pairs: NDArray[np.uint8], words: Sequence[str]) -> NDArray[np.bool_]:
    """Of each row whether every pair of the words of a phrase may be in it: False is certain, True is not."""
    held = np.ones(pairs.shape[1], np.bool_)
    for place in set(_places(_numbers(words)).tolist()):
        held &= (pairs[place >> 3] & (0x80 >> (place & 7))) != 0
    return held


def _numbers(words: Sequence[str]) -> NDArray[np.uint64]:
    known = {word: crc32(word.encode("utf-8", "replace")) for word in set(words)}
    return np.fromiter(map(known.__getitem__, words), np.uint64, len(words))


def _places(numbers: NDArray[np.uint64]) -> NDArray[np.intp]:
    """For each word but the last the bit of the pair that it and the next one are."""
    mixed = (numbers[:-1] * np.uint64(3) + numbers[1:]) * np.uint64(0x9E3779B97F4A7C15)
    return ((mixed >> np.uint64(32)) % np.uint64(8 * PAIR_BYTES)).astype(np.intp)
