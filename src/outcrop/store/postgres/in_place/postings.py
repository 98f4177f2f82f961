"""The lexical leg over postings that a store looked up: how well chunks match the words of a query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from outcrop.index.bm25 import damping_of, gain_of
from outcrop.records.derived import TermRows
from outcrop.system.arrays import NDArray, distinct, is_among

Ids = NDArray[np.int64]
Passing = Callable[[Ids], Ids]
"""Those of some chunks that may be returned."""

MAX_POSTINGS: Final = 1_000_000
"""Postings that are read for one query: 11 MB, and some 30 ms to add up. The limit itself was not measured."""
MAX_SPAN: Final = 1 << 22
"""Chunk ids that lie within so many of each other are added up in a table of all of them, 16 MB at most, which takes a
fifth of the time that sorting them does."""
FIRST_BATCH: Final = 2
BATCH_GROWTH: Final = 4
"""Where a filter may rule chunks out, twice as many as wanted are asked about, then ever more (not measured)."""


def choose_terms(counts: Mapping[int, int], least: int) -> list[int]:
    """The terms by which candidates are looked for, rarest first: all, unless that were more postings than can be read.
    What is left out are the most common words, which tell chunks apart the least, as long as the others bring up at
    least `least` chunks. They still count in the score of every chunk that comes up."""
    chosen: list[int] = []
    postings = 0
    for term in sorted(counts, key=lambda term: (counts[term], term)):
        if postings >= least and postings + counts[term] > MAX_POSTINGS:
            break
        chosen.append(term)
        postings += counts[term]
    return chosen


def score_postings(
    found: Mapping[int, TermRows], weights: Mapping[int, float], ideal: float, mean_length: float
) -> tuple[Ids, NDArray[np.float32]]:
    """The chunks that hold any of the terms, ascending, and the score of each (see `lexical`)."""
    parts = [(found[term], weight) for term, weight in weights.items() if term in found]
    parts = [(part, weight) for part, weight in parts if len(part.chunk_ids)]
    if not parts:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    low = min(int(part.chunk_ids[0]) for part, _ in parts)
    span = max(int(part.chunk_ids[-1]) for part, _ in parts) - low + 1
    every = None if span <= MAX_SPAN else distinct(np.concatenate([part.chunk_ids for part, _ in parts]))
    scores = np.zeros(span if every is None else len(every), np.float32)
    for part, weight in parts:
        places = part.chunk_ids - low if every is None else np.searchsorted(every, part.chunk_ids)
        damping = damping_of(part.lengths, mean_length)
        scores[places] += gain_of(part.frequencies, damping, weight, ideal)
    if every is not None:
        return every, scores
    held = np.flatnonzero(scores)
    return held + low, scores[held]


def keep_best(ids: Ids, scores: NDArray[np.float32], count: int, passing: Passing | None = None) -> Ids:
    """The `count` chunks with the highest scores among those that pass, or all that do; of equal ones the older."""
    if passing is None:
        return ids[best_places(scores, count)]
    kept: list[Ids] = []
    asked, wanted = 0, FIRST_BATCH * count
    while True:
        batch = ids[best_places(scores, wanted)[asked:]]
        kept.append(batch[is_among(batch, passing(np.sort(batch)))])
        asked += len(batch)
        if sum(map(len, kept)) >= count or asked >= len(ids):
            return np.concatenate(kept)[:count]
        wanted *= BATCH_GROWTH


def best_places(scores: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    """The places of the `count` highest scores, best first; of equal ones the first."""
    places = np.arange(len(scores))
    if len(scores) > count:
        least = -np.partition(-scores, count - 1)[count - 1]
        above, level = np.flatnonzero(scores > least), np.flatnonzero(scores == least)
        places = np.sort(np.concatenate((above, level[: count - len(above)])))
    return places[np.argsort(-scores[places], kind="stable")]
