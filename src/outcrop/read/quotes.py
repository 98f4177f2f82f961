"""READ PATH: which candidates hold the quoted phrases of a longer text word for word, and how much that says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from outcrop.contracts import Store
from outcrop.text.phrases import phrase_finder, phrase_words

READ_CANDIDATES: Final = 250
"""Candidates whose texts are read, the best ones so far: about 10 ms. Ranking moves no others to the first page."""
MAX_PHRASES: Final = 16
MAX_WORDS: Final = 24
"""Phrases of a text that are looked for, the longest first, and words of one: what is longer is a passage, often one
between two marks that belong to different quotations. Judgement."""


@dataclass(frozen=True, slots=True)
class Held:
    """The phrases that some candidate holds, a row of `where` each, and each candidate's `share`, 0 to 1, of what they
    say together; a phrase that many candidates hold says little."""

    phrases: tuple[str, ...]
    where: NDArray[np.bool_]
    share: NDArray[np.float32]

    def at(self, place: int) -> list[str]:
        """The phrases that a candidate holds."""
        return [phrase for phrase, row in zip(self.phrases, self.where, strict=True) if row[place]]


def find_held(
    store: Store, quoted: Sequence[str], chunk_ids: NDArray[np.int64], scores: NDArray[np.float32]
) -> Held:
    """Look the phrases up in the texts of the candidates with the best scores. Single words are left out: a word is
    looked up as such already."""
    wanted = _choose(quoted)
    where = np.zeros((len(wanted), len(chunk_ids)), np.bool_)
    if wanted and len(chunk_ids):
        best = np.argsort(-scores, kind="stable")[:READ_CANDIDATES]
        place_of = dict(zip(chunk_ids[best].tolist(), best.tolist(), strict=True))
        finders = [phrase_finder(words) for _, words in wanted]
        for chunk in store.chunks(list(place_of)):
            for row, holds in enumerate(finders):
                where[row, place_of[chunk.id]] = holds(chunk.text)
    some = np.flatnonzero(where.sum(axis=1))
    return Held(tuple(wanted[row][0] for row in some.tolist()), where[some], _share(where[some]))


def _choose(quoted: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The phrases worth looking up, with their words."""
    words = ((phrase, phrase_words(phrase)) for phrase in quoted)
    several = {tuple(found): (phrase, found) for phrase, found in words if 1 < len(found) <= MAX_WORDS}
    return sorted(several.values(), key=lambda item: -len(item[1]))[:MAX_PHRASES]


def _share(where: NDArray[np.bool_]) -> NDArray[np.float32]:
    if not len(where):
        return np.zeros(where.shape[1], np.float32)
    read = min(where.shape[1], READ_CANDIDATES)
    weights = np.array([math.log((read + 1) / (int(row.sum()) + 0.5)) for row in where], np.float32)
    return (weights @ where.astype(np.float32) / max(float(weights.sum()), 1e-9)).clip(0, 1).astype(np.float32)
