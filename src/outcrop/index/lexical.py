"""The lexical leg: BM25 over the segments' inverted indexes.

FTS5 can rank too, but needs nine times the CPU: 2.3 ms a query at 20 000 chunks against 0.24 (`benchmarks.peers`),
and 30 ms (p95 66) at 120 000 in a trial before this was written.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from outcrop.index.segment import Postings, Segment
from outcrop.system.arrays import NDArray
from outcrop.text.terms import STOP_WORDS, Terms

K1: Final = 1.2
"""Saturation of repeated terms. Keyword nDCG@10 was lower at 0.9 on six of seven sets, at 1.6 on four of seven."""
B: Final = 0.75
"""Length normalisation. 0.4 was lower on five of seven sets, by .016 at most."""

MAX_TERMS: Final = 64
"""Of a pasted page the rarest terms decide; the rest cost time."""


MIN_INFORMATION: Final = 0.3
"""A query that says less than this share of what one unique word says (`the of and`) cannot be matched well, however
often its words occur: its scores stay low."""


PRIOR_ROWS: Final = 30
"""Rows that are thought of beside those there are, without any word of the query: what a dozen notes have in common is
no common word yet. Without them, a word that stands in all of 15 notes found none of them; with 100, `the of and` found
300 (not measured)."""


FILLERS: Final = frozenset(
    "after again also always anything before does doing done ever gets getting got happen happened happens just kind "
    "know let like long made make makes many may might much must need needed needs often ought say says shall "
    "something tell until upon use used uses using want wanted wants way".split()
)
"""Words that make a question and not its subject (how long, how many, what do I use): a passage answers it without
them. They are searched for like others, but not missed (not measured); the list was extended after
questions of the test of notes were missed, so that test is no independent measure of it."""


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """Terms of a query with their weight (inverse document frequency), and the best score a chunk could get.

    `words` maps each term back to what was typed, for explanations; `postings[i]` holds what segment i has of each.
    """

    weights: dict[int, float]
    words: dict[int, str]
    ideal: float
    postings: tuple[dict[int, Postings], ...]


def weigh_terms(text: str, terms: Terms, segments: Sequence[Segment]) -> LexicalQuery:
    """Look the terms of a query up and weigh them by how rare they are."""
    words = read_words(text, terms)
    postings = tuple(
        {term: found for term in words if (found := segment.postings(term)) is not None} for segment in segments
    )
    counts = {term: sum(len(found[term][0]) for found in postings if term in found) for term in words}
    weights, ideal = weigh_counts(counts, sum(len(segment) for segment in segments))
    return LexicalQuery(weights, words, ideal, postings)


def read_words(text: str, terms: Terms) -> dict[int, str]:
    """The terms of a query that are looked up, with the words they stand for."""
    typed = terms.words(text)
    meaningful = [(surface, found) for surface, found in typed if surface.lower() not in STOP_WORDS]
    return {term: surface for surface, found in reversed(meaningful or typed) for term in found}


def weigh_counts(counts: Mapping[int, int], rows: int) -> tuple[dict[int, float], float]:
    """The weights of terms that stand in so many of some rows, and the best score that they allow."""
    total = PRIOR_ROWS + rows
    weights = {term: math.log(1 + (total - count + 0.5) / (count + 0.5)) for term, count in counts.items()}
    if len(weights) > MAX_TERMS:
        # Words that stand nowhere come last: they would crowd out all that can be found.
        rarest = sorted(weights, key=lambda term: (not counts[term], -weights[term]))[:MAX_TERMS]
        weights = {term: weights[term] for term in rarest}
    least = MIN_INFORMATION * math.log(1 + (total + 0.5) / 0.5)
    return weights, max(sum(weights.values()), least) * (K1 + 1)


def score_segment(
    query: LexicalQuery, number: int, segment: Segment, mean_length: float
) -> NDArray[np.float32]:
    """BM25 of every row of segment `number`, as a share (0–1) of the best score this query allows."""
    scores = np.zeros(len(segment), np.float32)
    if not query.ideal:
        return scores
    found = query.postings[number]
    for term, weight in query.weights.items():
        if term in found:
            rows, frequencies = found[term]
            places = rows.astype(np.intp)  # once, not with each of the look-ups
            damping = damping_of(segment.lengths[places], mean_length)
            scores[places] += gain_of(frequencies, damping, weight, query.ideal)
    return scores


def damping_of(lengths: NDArray[np.unsignedinteger[Any]], mean_length: float) -> NDArray[np.float32]:
    """What holds back the frequencies of terms in chunks of these lengths."""
    damping: NDArray[np.float32] = np.float32(K1 * B / mean_length) * lengths.astype(np.float32)
    damping += np.float32(K1 * (1 - B))
    return damping


def gain_of(
    frequencies: NDArray[np.uint8], damping: NDArray[np.float32], weight: float, ideal: float
) -> NDArray[np.float32]:
    """What a term adds to the score of the chunks that hold it so often."""
    gain = frequencies.astype(np.float32)
    gain /= gain + damping
    gain *= np.float32(weight * (K1 + 1) / ideal)
    return gain


def matched_terms(query: LexicalQuery, number: int, row: int) -> tuple[str, ...]:
    """Which words of the query a row of segment `number` holds, heaviest first."""
    found = sorted((-query.weights[term], query.words[term]) for term in _terms_in(query, number, row))
    return tuple(dict.fromkeys(word for _, word in found))


def coverage(query: LexicalQuery, number: int, row: int) -> float:
    """How much of the query a row of segment `number` holds, 0 to 1: the mean over its words of the share of each
    word's terms that are there.

    Unlike BM25 this depends on nothing but the query and the row: not on how long the row is, nor on what else is
    indexed, which in a small index says little of how common a word is."""
    held = set(_terms_in(query, number, row))
    words: dict[str, list[bool]] = {}
    for term in query.weights:
        words.setdefault(query.words[term], []).append(term in held)
    telling = [terms for word, terms in words.items() if word.lower() not in FILLERS] or list(words.values())
    return sum(sum(terms) / len(terms) for terms in telling) / len(telling) if telling else 0.0


def _terms_in(query: LexicalQuery, number: int, row: int) -> list[int]:
    """The weighted terms of the query that a row of segment `number` holds."""
    found = []
    for term, (rows, _) in query.postings[number].items():
        i = int(rows.searchsorted(rows.dtype.type(row)))
        if i < len(rows) and rows[i] == row and term in query.weights:
            found.append(term)
    return found


def rows_with_words(segment: Segment, wanted: Sequence[Collection[int]]) -> NDArray[np.bool_]:
    """Which rows hold, for each word, one of its terms."""
    held = np.ones(len(segment), np.bool_)
    for terms in wanted:
        found = np.zeros(len(segment), np.bool_)
        for term in terms:
            postings = segment.postings(term)
            if postings is not None:
                found[postings[0]] = True
        held &= found
    return held
