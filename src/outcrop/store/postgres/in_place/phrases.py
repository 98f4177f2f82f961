"""Quoted phrases: which chunks have their words the store's lists tell, the rest is read, best match first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from outcrop.contracts import SearchableStore
from outcrop.index.bm25 import LexicalQuery
from outcrop.index.candidates import MAX_READ_PHRASES, READ_PHRASES, first_by_score, read_for_phrases
from outcrop.index.phrasing import phrase_terms
from outcrop.records.derived import TermRows
from outcrop.store.postgres.in_place.postings import Ids, Passing, score_postings
from outcrop.system.arrays import distinct, is_among
from outcrop.text.phrases import phrase_words
from outcrop.text.terms import Terms


def find_phrases(
    store: SearchableStore,
    terms: Terms,
    phrases: Sequence[str],
    passing: Passing | None,
    weigh: Callable[[], LexicalQuery],
    mean_length: float,
    pool: int,
) -> tuple[Ids, int]:
    """The chunks that pass and hold every phrase, and how many might but were not read: see
    `candidates.rows_with_phrases`. `weigh` gives the terms of the whole query, by which very many are put in order."""
    words = [phrase_words(phrase) for phrase in phrases]
    if not all(words):
        return np.zeros(0, np.int64), 0  # no words, no phrase
    wanted = [forms for some in words for forms in phrase_terms(some, terms)]
    held = store.term_rows({term for forms in wanted for term in forms})
    likely = _with_all(held, wanted)
    if passing is not None and len(likely):
        likely = passing(likely)
    ordered = likely
    if len(likely) > READ_PHRASES:
        asked = weigh()
        held = {**held, **store.term_rows(asked.weights.keys() - held.keys())}
        ids, scores = score_postings(held, asked.weights, asked.ideal, mean_length)
        own = np.zeros(len(likely), np.float32)
        own[is_among(likely, ids)] = scores[is_among(ids, likely)]
        ordered = first_by_score(likely, own, MAX_READ_PHRASES)
    every = read_for_phrases(store, ordered, phrases, pool)
    return every, len(likely) - len(ordered) if len(every) < pool else 0


def _with_all(held: Mapping[int, TermRows], wanted: Sequence[frozenset[int]]) -> Ids:
    """The chunks that hold, for each word, one of its terms; ascending."""
    likely: Ids | None = None
    for forms in wanted:
        some = [held[term].chunk_ids for term in forms if term in held]
        found = distinct(np.concatenate(some)) if some else np.zeros(0, np.int64)
        likely = found if likely is None else likely[is_among(likely, found)]
    return np.zeros(0, np.int64) if likely is None else likely
