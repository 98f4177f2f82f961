"""What a store keeps beside each chunk so that it can be searched where it lies: the same columns as in a slab.

Phrases are looked up among the same terms. Every word of a phrase (see `phrases`) is one piece of an ASCII text to
`Terms` too, so its stem is among the chunk's terms. Where that does not hold, because `Terms` keeps accents or takes
characters apart in another way, the chunk gets a term of its own for that word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from outcrop.derived import Derived
from outcrop.phrases import phrase_words
from outcrop.records import FeedRow
from outcrop.search.columns import combine_vectors, describe_files, find_terms, invert, to_unit_length
from outcrop.search.facts import pack_facts
from outcrop.search.names import find_packages
from outcrop.search.terms import Terms, term_number

_MARK: Final = "\x01"
"""Before a word that is there for phrases only: no text gives a term with this character."""
_PUNCTUATION: Final = str.maketrans(
    dict.fromkeys("\u00a0\u2013\u2014\u2018\u2019\u201c\u201d\u2022\u2026", " ")
)
"""What sets words apart in any text that was typeset: phrases and terms agree about it."""


class SearchDeriver:
    """Makes what search looks up, as `derived.Deriver` promises.

    The chunks of a document are to be fed together: its file is declared as a module by the first of them.
    """

    def __init__(self, terms: Terms, path_weight: float) -> None:
        self._terms = terms
        self._path_weight = path_weight

    def derive(self, feed: Sequence[FeedRow], dimensions: int) -> Derived:
        """What search looks up of these chunks, at most 65 536; vectors have this many dimensions."""
        found = find_terms(feed, self._terms)
        numbers, owners = self._words_for_phrases(feed)
        files = describe_files(feed, self._terms)
        names, of_file = files["names"], files["files"]
        vectors, noted, summaries = combine_vectors(feed, dimensions, self._path_weight)
        packages = find_packages(names, of_file, len(files["homes"]))
        # Only of code the words of its file's name count.
        is_code = np.fromiter((item.kind == "code" for item in feed), np.bool_, len(feed))[:, None]
        return Derived(
            lengths=found.lengths,
            **invert(np.concatenate((found.numbers, numbers)), np.concatenate((found.owners, owners))),
            vectors=to_unit_length(vectors).astype(np.float16),
            noted=noted,
            summary_vectors=to_unit_length(summaries).astype(np.float16),
            facts=pack_facts(
                files["roles"],
                files["families"],
                np.stack((files["titles"], files["homes"], packages), axis=1)[of_file],
                np.where(is_code, files["stems"][of_file], np.uint64(0)),
                np.where(is_code, files["folders"][of_file], np.uint64(0)),
                names,
            ),
            declared=np.stack(
                (
                    names.defined,
                    names.defined_rows.astype(np.uint64),
                    names.defined_scopes,
                    names.defined_kinds.astype(np.uint64),
                    names.defined_marks.astype(np.uint64),
                ),
                axis=1,
            ),
        )

    def phrase_terms(self, words: Sequence[str]) -> list[frozenset[int]]:
        """For each word of a phrase the terms of which a chunk that holds the word has at least one."""
        return [frozenset((*self._certain(word), term_number(_MARK + word))) for word in words]

    def _certain(self, word: str) -> Sequence[int]:
        """The term that a chunk with this word has, if it is of plain text; what follows it are parts, which depend on
        how the word is written there."""
        return self._terms.of(word)[:1]

    def _words_for_phrases(self, feed: Sequence[FeedRow]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """(term, row) of the words of phrases that a row has no term for."""
        numbers: list[int] = []
        owners: list[int] = []
        for row, item in enumerate(feed):
            if item.text.isascii() or item.text.translate(_PUNCTUATION).isascii():
                continue
            own = frozenset(self._terms.of(item.text))
            for word in dict.fromkeys(phrase_words(item.text)):
                if own.isdisjoint(self._certain(word)):
                    numbers.append(term_number(_MARK + word))
                    owners.append(row)
        return np.array(numbers, np.uint64), np.array(owners, np.uint64)
