"""Where a phrase may occur: in rows that hold all its words. Only the text shows whether it does.

Phrases are looked up among the terms of the texts. Every word of a phrase (see `phrases`) is one piece of an ASCII text
to `Terms` too, so its stem is among the row's terms. Where that does not hold, because `Terms` keeps accents or takes
characters apart in another way, the row gets a term of its own for that word.

Many rows hold the words of a phrase of common words, but elsewhere. So a few bytes of each row tell which words cannot
stand side by side in it: a hash of each pair that does sets one bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from outcrop.index.segment import PAIR_BYTES
from outcrop.records import FeedRow
from outcrop.system.arrays import NDArray
from outcrop.text.phrases import phrase_words, split_words
from outcrop.text.terms import Terms, term_number

_MARK: Final = "\x01"
"""Before a word that is there for phrases only: no text gives a term with this character."""
_PUNCTUATION: Final = str.maketrans(
    dict.fromkeys("\u00a0\u2013\u2014\u2018\u2019\u201c\u201d\u2022\u2026", " ")
)
"""What sets words apart in any text that was typeset: phrases and terms agree about it."""

_ROWS_AT_ONCE: Final = 256
"""Texts whose pairs are made at a time: bounds memory, and what numpy works on stays near the processor."""
_SHARES: Final = np.array([pow(0x9E3779B1, place, 1 << 32) for place in range(1, 65)], np.uint32)
"""What a byte counts by its place in a word; from the last on they count alike."""


def phrase_terms(words: Sequence[str], terms: Terms) -> list[frozenset[int]]:
    """For each word of a phrase the terms of which a row that holds the word has at least one."""
    return [frozenset((*_certain(word, terms), term_number(_MARK + word))) for word in words]


def _certain(word: str, terms: Terms) -> Sequence[int]:
    """The term that a row with this word has, if it is of plain text; what follows it are parts, which depend on how
    the word is written there."""
    return terms.of(word)[:1]


def words_for_phrases(
    feed: Sequence[FeedRow], bodies: Sequence[NDArray[np.uint64]], terms: Terms
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """(term, row) of the words of phrases that a row has no term for; `bodies` are the terms of each row's text."""
    numbers: list[int] = []
    owners: list[int] = []
    for row, item in enumerate(feed):
        if item.text.isascii() or item.text.translate(_PUNCTUATION).isascii():
            continue
        own = frozenset(bodies[row].tolist())
        for word in dict.fromkeys(phrase_words(item.text)):
            if own.isdisjoint(_certain(word, terms)):
                numbers.append(term_number(_MARK + word))
                owners.append(row)
    return np.array(numbers, np.uint64), np.array(owners, np.uint64)


def mark_pairs(feed: Sequence[FeedRow]) -> NDArray[np.uint8]:
    """The bits of the pairs of words of each row, a column each: contiguous is what one look-up reads of all rows."""
    marks = np.zeros((len(feed), 8 * PAIR_BYTES), np.bool_)
    for first in range(0, len(feed), _ROWS_AT_ONCE):
        rows, places = _pairs_of([split_words(item.text) for item in feed[first : first + _ROWS_AT_ONCE]])
        marks[first + rows, places] = True
    return np.ascontiguousarray(np.packbits(marks, axis=1).T)


def may_hold(pairs: NDArray[np.uint8], words: Sequence[str]) -> NDArray[np.bool_]:
    """Of each row whether every pair of the words of a phrase may be in it: False is certain, True is not."""
    held = np.ones(pairs.shape[1], np.bool_)
    for place in set(_pairs_of([" ".join(words)])[1].tolist()):
        held &= (pairs[place >> 3] & (0x80 >> (place & 7))) != 0
    return held


def _pairs_of(texts: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """(text, bit) of each pair of neighbouring words of some texts, whose words are separated by spaces. The number of
    a word is the sum of its bytes, each times a number of its place in the word: so that numpy makes those of all words
    at once."""
    letters = np.frombuffer("\n".join(texts).encode("utf-8", "replace"), np.uint8)
    at = np.flatnonzero(letters > ord(" "))
    if not len(at):
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    begins = np.flatnonzero(np.diff(at, prepend=-2) > 1)  # places in `at` where a word begins
    starts = at[begins]
    lengths = np.diff(begins, append=len(at))
    shares = _SHARES[np.minimum(at - np.repeat(starts, lengths), len(_SHARES) - 1)]
    numbers = np.add.reduceat(letters[at] * shares, begins, dtype=np.uint32)
    rows = np.searchsorted(np.flatnonzero(letters == ord("\n")), starts)
    beside = rows[1:] == rows[:-1]
    mixed = (numbers[:-1] * np.uint32(3) + numbers[1:])[beside] * np.uint32(0x9E3779B1)
    return rows[1:][beside], ((mixed >> np.uint32(8)) % np.uint32(8 * PAIR_BYTES)).astype(np.intp)
