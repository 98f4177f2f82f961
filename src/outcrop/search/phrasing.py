"""Where a phrase could stand: in rows that hold every word of it. Whether it does stand there, the text tells.

Phrases are looked up among the terms of the texts. Every word of a phrase (see `phrases`) is one piece of an ASCII text
to `Terms` too, so its stem is among the row's terms. Where that does not hold, because `Terms` keeps accents or takes
characters apart in another way, the row gets a term of its own for that word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

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
