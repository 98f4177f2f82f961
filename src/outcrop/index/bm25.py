"""The leg by words: BM25 over the segments' inverted indexes.

FTS5 can rank by words too, but needs nine times the CPU: 2.3 ms a query at 20 000 chunks against 0.24
(`benchmarks.peers`), and 30 ms (p95 66) at 120 000 in a trial before this was written.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

import numpy as np

from outcrop.index.labels import labels_of_query
from outcrop.index.segment import Postings, Segment
from outcrop.index.wording import (
    Translation,
    Wording,
    add_translations,
    find_language,
    read_words,
    settle_shares,
)
from outcrop.system.arrays import NDArray
from outcrop.system.dataclass import dataclass
from outcrop.text.terms import Terms

K1: Final = 1.2
"""Saturation of repeated terms. Keyword nDCG@10 was lower at 0.9 on six of seven sets, at 1.6 on four of seven."""
B: Final = 0.75
"""Length normalisation. 0.4 was lower on five of seven sets, by .016 at most."""

MAX_TERMS: Final = 64
"""Of a pasted page the rarest terms decide; the rest cost time."""
MAX_PIECES: Final = 192
"""The same where a word has pieces beside it (not measured)."""

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
    """Terms of a query with their weight (inverse document frequency), and the best score a chunk could get. `words`
    maps each term back to what was typed, for explanations; `postings[i]` holds what segment i has of each. `shares`
    has the terms that count less than a word; `language` says by whose rules it was read, "" for English ones.
    `translated` terms are those of translations; it reaches `across` languages where they can say more of the query
    than its own words. `labels` are what tables may call a row or a column by, each with
    the terms of its words, which are among `labelled`."""

    weights: dict[int, float]
    words: dict[int, str]
    ideal: float
    postings: tuple[dict[int, Postings], ...]
    shares: dict[int, float] = field(default_factory=dict)
    language: str = ""
    translated: frozenset[int] = frozenset()
    across: bool = False
    labels: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    labelled: tuple[int, ...] = ()


def weigh_terms(
    text: str,
    terms: Terms,
    segments: Sequence[Segment],
    forced: str = "",
    translations: Collection[Translation] = (),
) -> LexicalQuery:
    """Look the terms of a query up and weigh them by how rare they are; `forced` is the language it is read in."""
    spoken = find_language(text, forced, lambda wanted: count_chunks(segments, wanted))
    asked = add_translations(read_words(text, terms, spoken), terms, translations)
    labels, labelled = labels_of_query(text, terms)
    postings = tuple(segment.postings_of((*asked.words, *labels)) for segment in segments)
    counts = {term: sum(len(found[term][0]) for found in postings if term in found) for term in asked.words}
    weights, ideal, across = weigh_counts(asked, counts, sum(len(segment) for segment in segments))
    held = {label: places for label, places in labels.items() if any(label in found for found in postings)}
    return LexicalQuery(
        weights,
        asked.words,
        ideal,
        postings,
        asked.shares,
        asked.language,
        frozenset(asked.translated),
        across,
        held,
        labelled,
    )


def count_chunks(segments: Sequence[Segment], wanted: Collection[int]) -> dict[int, int]:
    """How many chunks hold each of some terms that every search asks about, in their order."""
    terms = tuple(wanted)
    counts = zip(*(segment.count_rows(terms) for segment in segments), strict=True)
    return dict(zip(terms, map(sum, counts), strict=True)) if segments else dict.fromkeys(terms, 0)


def weigh_counts(asked: Wording, counts: Mapping[int, int], rows: int) -> tuple[dict[int, float], float, bool]:
    """The weights of terms that stand in so many of some rows, the best score that they allow, and whether that is of a
    passage in another language than the query."""
    total = PRIOR_ROWS + rows
    weights = {
        term: share * math.log(1 + (total - counts.get(term, 0) + 0.5) / (counts.get(term, 0) + 0.5))
        for term, share in settle_shares(asked, counts).items()
    }
    most = MAX_TERMS if not asked.language and not asked.translated else MAX_PIECES
    if len(weights) > most:
        # Words that stand nowhere come last: they would crowd out all that can be found.
        rarest = sorted(weights, key=lambda term: (not counts.get(term, 0), -weights[term]))[:most]
        weights = {term: weights[term] for term in rarest}
    least = MIN_INFORMATION * math.log(1 + (total + 0.5) / 0.5)
    own, other = _best_of_one_language(asked, counts, weights)
    return weights, max(own, other, least) * (K1 + 1), other > own


def _best_of_one_language(
    asked: Wording, counts: Mapping[int, int], weights: Mapping[int, float]
) -> tuple[float, float]:
    """The weight of all that a passage can hold, which is in one language: the words as they were asked, or what
    they are called in another. Where there are translations, words that stand nowhere are not missed."""
    found: dict[str, dict[str, float]] = {}
    for term in weights.keys() & asked.translated.keys():
        words = found.setdefault(asked.translated[term], {})
        words[asked.words[term]] = max(words.get(asked.words[term], 0.0), weights[term])
    own = sum(
        weight
        for term, weight in weights.items()
        if term not in asked.translated and (counts.get(term) or not found)
    )
    return own, max((sum(words.values()) for words in found.values()), default=0.0)


def score_segment(
    query: LexicalQuery, number: int, segment: Segment, mean_length: float
) -> NDArray[np.float32]:
    """BM25 of every row of segment `number`, as a share (0–1) of the best score this query allows."""
    scores = np.zeros(len(segment), np.float32)
    if not query.ideal:
        return scores
    for terms, rows, frequencies in _joined(query.postings[number], query.weights):
        places = rows.astype(np.intp)
        factors = [query.weights[term] * (K1 + 1) / query.ideal for term, _ in terms]
        sizes = [size for _, size in terms]
        gain = frequencies.astype(np.float32)
        gain /= gain + damping_of(segment.lengths.take(places), mean_length)
        gain *= np.repeat(np.array(factors, np.float32), sizes)
        np.add.at(scores, places, gain)
    return scores


JOINED: Final = 32_768
"""Postings that are looked at in one go: what numpy takes for each call is shared by many rare terms, and the scratch
arrays stay in the second-level cache."""

_Joined = tuple[list[tuple[int, int]], NDArray[np.unsignedinteger[Any]], NDArray[np.uint8]]
"""Terms, each with how many rows hold it, and those rows and frequencies one after the other."""


def _joined(found: Mapping[int, Postings], terms: Iterable[int]) -> Iterator[_Joined]:
    """The postings of terms in their order, about so many at a time."""
    group: list[tuple[int, int]] = []
    size = 0
    for term in terms:
        if term in found:
            group.append((term, len(found[term][0])))
            size += group[-1][1]
            if size >= JOINED:
                yield _join(found, group)
                group, size = [], 0
    if size:
        yield _join(found, group)


def _join(found: Mapping[int, Postings], group: list[tuple[int, int]]) -> _Joined:
    if len(group) == 1:
        return (group, *found[group[0][0]])
    rows, frequencies = zip(*(found[term] for term, _ in group), strict=True)
    return group, np.concatenate(rows), np.concatenate(frequencies)


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


def count_times(query: LexicalQuery, segments: NDArray[np.int32], rows: NDArray[np.intp]) -> NDArray[np.uint8]:
    """How often rows, each of its segment, hold the terms of the query: a line for each row, and of the terms in the
    order of weights. A row may be asked for once."""
    times = np.zeros((len(query.weights), len(rows)), np.uint8)
    line_of = {term: line for line, term in enumerate(query.weights)}
    for number, found in enumerate(query.postings):
        mine = (segments == number).nonzero()[0]
        if not len(mine):
            continue
        wanted = rows[mine]
        place = np.full(int(wanted.max()) + 1, -1, np.int32)
        place[wanted] = mine
        for terms, held, frequencies in _joined(found, query.weights):
            at = place.take(held, mode="clip")  # the last is wanted: what lies behind it is told apart below
            hits = ((at >= 0) & (held < len(place))).nonzero()[0]
            lines = np.repeat([line_of[term] for term, _ in terms], [size for _, size in terms])
            times[lines[hits], at[hits]] = frequencies[hits]
    return times.T


class HeldWords:
    """Which words of a query rows hold. What depends on the query alone is worked out once for all rows; `times` of a
    row is how often it holds each term, in the order of weights (see `count_times`)."""

    def __init__(self, query: LexicalQuery) -> None:
        self._terms = [
            (term, query.words[term], query.shares.get(term, 1.0), term in query.translated)
            for term in query.weights
        ]
        self._places = sorted(
            range(len(self._terms)), key=lambda i: (-query.weights[self._terms[i][0]], self._terms[i][1])
        )
        self._in_parts = bool(query.shares)
        self._whole: dict[str, float] = {}
        words: dict[str, list[tuple[float, int]]] = {}
        for place, (_, word, share, is_translated) in enumerate(self._terms):
            if not is_translated:
                self._whole[word] = self._whole.get(word, 0.0) + share
                words.setdefault(word, []).append((share, place))
        telling = {word: terms for word, terms in words.items() if word.lower() not in FILLERS} or words
        self._telling = [(word, terms, sum([share for share, _ in terms])) for word, terms in telling.items()]

    def matched(self, times: Sequence[int]) -> tuple[str, ...]:
        """Which words a row holds, heaviest first. Of a word that has pieces it holds one that counts in full, or what
        counts half of all."""
        held = [place for place in self._places if times[place]]
        if self._in_parts:
            held = self._with_enough(held)
        return tuple(dict.fromkeys([self._terms[place][1] for place in held]))

    def _with_enough(self, held: Sequence[int]) -> list[int]:
        part: dict[str, float] = {}
        for place in sorted(held):
            _, word, share, is_translated = self._terms[place]
            full = share == 1 or is_translated
            part[word] = part.get(word, 0.0) + (self._whole.get(word, 1.0) if full else share)
        words = ((place, self._terms[place][1]) for place in held)
        return [place for place, word in words if part[word] >= self._whole.get(word, 1.0) / 2]

    def coverage(self, times: Sequence[int]) -> float:
        """How much of the query a row holds, 0 to 1: the mean over its words of the share of each word's terms that are
        there. Unlike BM25 this depends on nothing but the query and the row: not on how long the row is, nor on what
        else is indexed, which in a small index says little of how common a word is."""
        other: dict[str, float] = {}
        for count, (_, word, share, is_translated) in zip(times, self._terms, strict=True):
            if count and is_translated:
                other[word] = max(other.get(word, 0.0), share)
        parts = [
            max(sum([share for share, place in terms if times[place]]) / whole, other.get(word, 0.0))
            for word, terms, whole in self._telling
        ]
        return sum(parts) / len(parts) if parts else 0.0


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
