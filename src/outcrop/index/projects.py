"""Which projects a query names: a collection's name counts for its documents, though no text of theirs holds it (C9).

The names are compared when a query is asked and stand in no chunk, so nothing is indexed or embedded again for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from outcrop.contracts import Store
from outcrop.index.describe import query_words
from outcrop.records import Filter
from outcrop.system.distinct import is_among
from outcrop.text.terms import Terms

UNNAMED: Final = "default"
"""Where documents go that were given no collection: not a name anybody chose."""
MAX_NAMED: Final = 8
"""Projects that one query can name; each costs a look-up of the candidates' documents. Judgement."""


@dataclass(frozen=True, slots=True)
class _Names:
    """The words of each collection's name, and in how many names each word stands."""

    version: int
    words: Mapping[str, frozenset[int]]
    holders: Mapping[int, int]

    def apartness(self, words: Iterable[int]) -> dict[int, float]:
        """How well words tell projects apart: 1 where one name alone holds a word, 0 where all do."""
        others = len(self.words) - 1
        return {word: (len(self.words) - self.holders[word]) / others for word in words}


class Projects:
    """The names of a store's collections, read again when it has changed. Safe for threads."""

    def __init__(self, store: Store, terms: Terms) -> None:
        self._store = store
        self._terms = terms
        self._known = _Names(-1, {}, {})

    def credit(
        self, version: int, text: str, weights: Mapping[int, float], documents: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """For each of some documents how much of the query, 0 to 1, its project's name answers.

        Nothing where all of them would be given the same: a name that everything shares tells nothing apart.
        """
        credit = np.zeros(len(documents), np.float32)
        named = self._named(version, text, weights) if len(documents) else {}
        distinct = tuple(np.unique(documents).tolist()) if named else ()
        for name, share in sorted(named.items(), key=lambda item: -item[1])[:MAX_NAMED]:
            there = self._store.select(Filter(collections=(name,), documents=distinct))
            credit = np.maximum(credit, np.where(is_among(documents, there), np.float32(share), 0))
        return credit - credit.min() if named else credit

    def _named(self, version: int, text: str, weights: Mapping[int, float]) -> dict[str, float]:
        """The collections that a query names, and what share of the query their names are."""
        names = self._names(version)
        if len(names.words) < 2:
            return {}
        asked = query_words(text, self._terms).tolist()
        if names.holders.keys().isdisjoint(asked):
            return {}
        rarest = max(weights.values(), default=1.0)  # of a word that no text holds
        weigh = {word: weights.get(word, rarest) for word in asked}
        total = sum(weigh.values())
        found: dict[str, float] = {}
        for name, words in names.words.items():
            apart = {} if words.isdisjoint(asked) else names.apartness(words)
            said = sum(weigh[word] * apart.get(word, 0) for word in asked)
            if said:
                of_name = sum(apart.get(word, 0) for word in asked) / sum(apart.values())
                found[name] = said / total * of_name
        return found

    def _names(self, version: int) -> _Names:
        """What is known of the names now. Collections without one count: they are told apart from the others."""
        known = self._known
        if known.version != version:
            words = {
                name: frozenset(query_words(name if name != UNNAMED else "", self._terms).tolist())
                for name in self._store.collection_names()
            }
            holders = Counter(word for found in words.values() for word in found)
            known = self._known = _Names(version, words, holders)
        return known
