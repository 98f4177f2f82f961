"""The lexical leg: BM25 over the slabs' inverted indexes.

FTS5 computes the same ranking but walks every posting of every word twice: 30 ms a query at 120 000 chunks,
growing linearly, where adding whole posting lists with numpy takes about 1 ms (`benchmarks/speed.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from outcrop.search.slab import Slab
from outcrop.search.terms import STOP_WORDS, Terms

K1: Final = 1.2
"""Saturation of repeated terms. 0.9 was worse on seven of eight sets."""
B: Final = 0.75
"""Length normalisation. 0.4 was worse on six of eight sets: chunks do differ in length."""

MAX_TERMS: Final = 64
"""Of a pasted page the rarest terms decide; the rest cost time."""


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """Terms of a query with their weight (inverse document frequency), and the best score a chunk could get.

    `words` maps each term back to what was typed, for explanations.
    """

    weights: dict[int, float]
    words: dict[int, str]
    ideal: float


def weigh_terms(text: str, terms: Terms, slabs: Sequence[Slab]) -> LexicalQuery:
    """Look the terms of a query up and weigh them by how rare they are."""
    typed = terms.words(text)
    meaningful = [(surface, found) for surface, found in typed if surface.lower() not in STOP_WORDS]
    words = {term: surface for surface, found in reversed(meaningful or typed) for term in found}
    total = sum(len(slab) for slab in slabs)
    weights: dict[int, float] = {}
    for term in words:
        count = sum(len(found[0]) for slab in slabs if (found := slab.postings(term)) is not None)
        weights[term] = math.log(1 + (total - count + 0.5) / (count + 0.5))
    if len(weights) > MAX_TERMS:
        rarest = sorted(weights, key=lambda term: -weights[term])[:MAX_TERMS]
        weights = {term: weights[term] for term in rarest}
    return LexicalQuery(weights, words, sum(weights.values()) * (K1 + 1))


def score_slab(query: LexicalQuery, slab: Slab, mean_length: float) -> NDArray[np.float32]:
    """BM25 of every row of a slab, as a share (0–1) of the best score this query allows."""
    scores = np.zeros(len(slab), np.float32)
    if not query.ideal:
        return scores
    damping: NDArray[np.float32] | None = None
    for term, weight in query.weights.items():
        found = slab.postings(term)
        if found is None:
            continue
        if damping is None:
            damping = (K1 * (1 - B) + K1 * B / mean_length * slab.lengths).astype(np.float32)
        rows, frequencies = found
        gain = frequencies.astype(np.float32)
        gain /= gain + damping[rows]
        gain *= np.float32(weight * (K1 + 1) / query.ideal)
        scores[rows] += gain
    return scores


def matched_terms(query: LexicalQuery, slab: Slab, row: int) -> tuple[str, ...]:
    """Which words of the query a row holds, heaviest first."""
    found = []
    for term, weight in query.weights.items():
        postings = slab.postings(term)
        if postings is not None:
            i = int(np.searchsorted(postings[0], np.uint32(row)))
            if i < len(postings[0]) and postings[0][i] == row:
                found.append((weight, query.words[term]))
    found.sort(key=lambda pair: -pair[0])
    return tuple(dict.fromkeys(word for _, word in found))
