"""The two legs of a search: BM25 over the segments' inverted indexes, and nearest vectors by cosine.

FTS5 can rank by words too, but needs nine times the CPU: 2.3 ms a query at 20 000 chunks against 0.24
(`benchmarks.peers`), and 30 ms (p95 66) at 120 000 in a trial before this was written.

Vectors are compared in two steps: Hamming distance between sign bits, over all rows, then the exact cosine of the best
few thousand. At 200 000 × 256 the scan takes 0.6–0.7 ms of CPU (row by row instead of column by column: 4.4), and no
index has to be built or kept in order. Where a filter leaves few rows, the scan is skipped and all are exact.

Before the signs are taken the space is turned, so that every bit tells about as much as every other: the dimensions
of a trained model differ widely in how much they matter. Turning by random signs, a permutation and Hadamard
transforms of blocks of 64 costs 5 µs a vector; at 165 000 × 256 it lifts the share of the true ten nearest among the
4 000 nearest by bits from .895 to .946 (the drawn queries of `benchmarks/speed.py` reach .99).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import shake_256
from typing import Any, Final

import numpy as np

from outcrop.index.labels import labels_of_query
from outcrop.index.segment import Postings, Segment, Watched
from outcrop.index.wording import (
    Translation,
    Wording,
    add_translations,
    find_language,
    read_words,
    settle_shares,
)
from outcrop.records import Matrix, Vector
from outcrop.system.arrays import NDArray
from outcrop.text.terms import Terms

# ------------------------------------------------------------------ by words

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
    `translated` terms are those of translations. `labels` are what tables may call a row or a column by, each with
    the terms of its words, which are among `labelled`."""

    weights: dict[int, float]
    words: dict[int, str]
    ideal: float
    postings: tuple[dict[int, Postings], ...]
    shares: dict[int, float] = field(default_factory=dict)
    language: str = ""
    translated: frozenset[int] = frozenset()
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
    weights, ideal = weigh_counts(asked, counts, sum(len(segment) for segment in segments))
    held = {label: places for label, places in labels.items() if any(label in found for found in postings)}
    return LexicalQuery(
        weights,
        asked.words,
        ideal,
        postings,
        asked.shares,
        asked.language,
        frozenset(asked.translated),
        held,
        labelled,
    )


def count_chunks(segments: Sequence[Segment], wanted: Collection[int]) -> dict[int, int]:
    """How many chunks hold each of some terms."""
    counts = dict.fromkeys(wanted, 0)
    for segment in segments:
        for term in counts:
            found = segment.postings(term)
            counts[term] += 0 if found is None else len(found[0])
    return counts


def weigh_counts(asked: Wording, counts: Mapping[int, int], rows: int) -> tuple[dict[int, float], float]:
    """The weights of terms that stand in so many of some rows, and the best score that they allow."""
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
    return weights, max(_best_of_one_language(asked, counts, weights), least) * (K1 + 1)


def _best_of_one_language(asked: Wording, counts: Mapping[int, int], weights: Mapping[int, float]) -> float:
    """The weight of all that a passage can hold, which is in one language: the words as they were asked, or what
    they are called in another. Where there are translations, words that stand nowhere are not missed."""
    found: dict[str, dict[str, float]] = {}
    own = 0.0
    for term, weight in weights.items():
        language = asked.translated.get(term)
        if language is None:
            own += weight
        else:
            words = found.setdefault(language, {})
            words[asked.words[term]] = max(words.get(asked.words[term], 0.0), weight)
    if not found:
        return own
    own = sum(weight for term, weight in weights.items() if term not in asked.translated and counts.get(term))
    return max(own, *(sum(words.values()) for words in found.values()))


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
    """Which words of the query a row of segment `number` holds, heaviest first. Of a word that has pieces it holds one
    that counts in full, or what counts half of all."""
    held = _terms_in(query, number, row)
    if query.shares:
        held = _terms_of_held_words(query, held)
    found = sorted((-query.weights[term], query.words[term]) for term in held)
    return tuple(dict.fromkeys(word for _, word in found))


def _terms_of_held_words(query: LexicalQuery, held: Sequence[int]) -> list[int]:
    whole: dict[str, float] = {}
    for term in query.weights.keys() - query.translated:
        word = query.words[term]
        whole[word] = whole.get(word, 0.0) + query.shares.get(term, 1.0)
    part: dict[str, float] = {}
    for term in held:
        word, share = query.words[term], query.shares.get(term, 1.0)
        full = share == 1 or term in query.translated
        part[word] = part.get(word, 0.0) + (whole.get(word, 1.0) if full else share)
    return [term for term in held if part[query.words[term]] >= whole.get(query.words[term], 1.0) / 2]


def held_terms(query: LexicalQuery, segments: NDArray[np.int32], rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which rows, each of its segment, hold which terms of the query: a line for each term, in the order of weights."""
    held = np.zeros((len(query.weights), len(rows)), np.bool_)
    for number, found in enumerate(query.postings):
        mine = np.flatnonzero(segments == number)
        wanted = rows[mine]
        for line, term in enumerate(query.weights) if len(mine) else ():
            if term in found and len(listed := found[term][0]):
                place = np.minimum(listed.searchsorted(wanted.astype(listed.dtype)), len(listed) - 1)
                held[line, mine] = listed[place] == wanted
    return held


def coverage(query: LexicalQuery, number: int, row: int) -> float:
    """How much of the query a row of segment `number` holds, 0 to 1: the mean over its words of the share of each
    word's terms that are there. Unlike BM25 this depends on nothing but the query and the row: not on how long the row
    is, nor on what else is indexed, which in a small index says little of how common a word is."""
    held = set(_terms_in(query, number, row))
    words: dict[str, list[tuple[float, bool]]] = {}
    other: dict[str, float] = {}
    for term in query.weights:
        word, share = query.words[term], query.shares.get(term, 1.0)
        if term not in query.translated:
            words.setdefault(word, []).append((share, term in held))
        elif term in held:
            other[word] = max(other.get(word, 0.0), share)
    telling = {word: terms for word, terms in words.items() if word.lower() not in FILLERS} or words
    parts = [
        max(
            sum(share for share, there in terms if there) / sum(share for share, _ in terms),
            other.get(word, 0.0),
        )
        for word, terms in telling.items()
    ]
    return sum(parts) / len(parts) if parts else 0.0


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


# ------------------------------------------------------------------ by meaning

RESCORE: Final = 4000
RESCORE_SHARE: Final = 32
MAX_RESCORE: Final = 8000
"""Rows whose exact cosine is computed: 4 000, or one in 32 of a large index, up to 8 000. Each costs 0.3 µs. Of the
true ten nearest of 1.4 million vectors .990 are among the 4 000 nearest by bits, .996 among 8 000, .998 among 12 000;
of the true hundred .957, .975, .985."""

COUNTED: Final = 100_000
"""Rows by whose distances it is told within which the wanted ones lie: of more, every so many-th is counted. That takes
2 ms for a million and a half, and of 8 000 wanted rows it is off by some hundred."""

BLOCK: Final = 32_768
"""Rows a step: the scratch arrays of one block (0.3 MB) stay in the second-level cache."""

TURNED: Final = 64
"""Dimensions turned together, and bits to a number."""
ROUNDS: Final = 2
"""One round mixes blocks only within themselves; with two every dimension reaches every bit. Three gained nothing."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """Vectors to be compared: the rows of a segment, or the summaries of some of them (`rows` says which)."""

    segment: int
    bits: NDArray[np.uint64]
    vectors: NDArray[np.int8]
    scales: NDArray[np.float32]
    mask: NDArray[np.bool_] | None
    rows: NDArray[np.uint32] | None = None
    watched: Watched | None = None

    def similarities(self, places: NDArray[np.intp], query: Vector) -> NDArray[np.float32]:
        """Exact cosine of the query (unit length) with some of the vectors."""
        if self.watched is not None:
            self.watched.require_rows(places)
        # einsum, not BLAS: a row's last bits must not depend on which rows it is computed with, or copies of one text
        # would take turns at being the one that is returned.
        picked: NDArray[np.float32] = np.einsum("ij,j->i", self.vectors[places].astype(np.float32), query)
        picked *= self.scales[places]
        return picked


def similarities(segment: Segment, rows: NDArray[np.intp], query: Vector) -> NDArray[np.float32]:
    """Cosine of the query (unit length) with some rows, ascending: the better of text and summary. The summaries lift
    NDCG@10 of questions for names on the code set (`benchmarks.code`) from .978 to .989; over all questions it stays at
    .898."""
    best = Sheet(
        0, segment.bits, segment.vectors, segment.scales, None, watched=segment.watch("vectors")
    ).similarities(rows, query)
    if len(segment.noted):
        place = np.minimum(np.searchsorted(segment.noted, rows), len(segment.noted) - 1)
        has = segment.noted[place] == rows
        summary = _summaries(0, segment, None).similarities(place[has], query)
        best[has] = np.maximum(best[has], summary)
    return best


def _summaries(number: int, segment: Segment, mask: NDArray[np.bool_] | None) -> Sheet:
    allowed = None if mask is None else mask[segment.noted]
    watched = segment.watch("summary_vectors")
    return Sheet(
        number,
        segment.summary_bits,
        segment.summary_vectors,
        segment.summary_scales,
        allowed,
        segment.noted,
        watched,
    )


def nearest(
    segments: Sequence[Segment], masks: Sequence[NDArray[np.bool_] | None], query: Vector, count: int
) -> list[tuple[NDArray[np.intp], NDArray[np.float32]]]:
    """The `count` or so nearest rows of all segments together, with their cosine, segment by segment. `masks[i]` tells
    which rows of segment i may be returned (None: all). Every allowed row is considered."""
    sheets = []
    for number, (segment, mask) in enumerate(zip(segments, masks, strict=True)):
        sheets.append(
            Sheet(number, segment.bits, segment.vectors, segment.scales, mask, watched=segment.watch("vectors"))
        )
        if len(segment.noted):
            sheets.append(_summaries(number, segment, mask))
    share = sum(len(sheet.vectors) for sheet in sheets) // RESCORE_SHARE
    want = max(count, RESCORE, min(share, MAX_RESCORE))
    allowed = sum(len(sheet.vectors) if sheet.mask is None else int(sheet.mask.sum()) for sheet in sheets)
    if allowed <= 2 * want:
        picked = [
            np.arange(len(sheet.vectors)) if sheet.mask is None else np.flatnonzero(sheet.mask)
            for sheet in sheets
        ]
    else:
        picked = _scan(sheets, query, want)
    found: list[list[tuple[NDArray[np.intp], NDArray[np.float32]]]] = [[] for _ in segments]
    for sheet, places in zip(sheets, picked, strict=True):
        rows = places if sheet.rows is None else sheet.rows[places].astype(np.intp)
        found[sheet.segment].append((rows, sheet.similarities(places, query)))
    return [_best_of(parts, len(segment)) for parts, segment in zip(found, segments, strict=True)]


def _best_of(
    parts: list[tuple[NDArray[np.intp], NDArray[np.float32]]], count: int
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Each of `count` rows that is in any part once, ascending, with the best of its cosines."""
    if len(parts) == 1:
        return parts[0]
    # A table over all rows: within a part each row stands once, so no ordering is needed (sorting took ten times that).
    best = np.full(count, -np.inf, np.float32)
    for rows, cosine in parts:
        best[rows] = np.maximum(best[rows], cosine)
    rows = np.flatnonzero(best > -np.inf)
    return rows, best[rows]


def _scan(sheets: Sequence[Sheet], query: Vector, want: int) -> list[NDArray[np.intp]]:
    """About `want` places of all sheets together, those with the smallest distance by bits; ties may add a few more."""
    signs = sign_bits(query[None, :])[:, 0]
    unreachable = 64 * len(signs) + 1
    distances = []
    histogram = np.zeros(unreachable + 1, np.int64)
    step = max(sum(sheet.bits.shape[1] for sheet in sheets) // COUNTED, 1)
    for sheet in sheets:
        distance = hamming(sheet.bits, signs)
        if sheet.mask is not None:
            distance[~sheet.mask] = unreachable
        histogram += np.bincount(distance[::step], minlength=unreachable + 1)
        distances.append(distance)
    reach = int(np.searchsorted(np.cumsum(histogram) * step, want))
    reach = min(reach, unreachable - 1)
    return [np.flatnonzero(distance <= reach) for distance in distances]


def hamming(bits: NDArray[np.uint64], signs: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Distance of every column of `bits` from `signs`, block by block."""
    count = bits.shape[1]
    distance = np.zeros(count, np.uint16)
    differing = np.empty(min(BLOCK, count), np.uint64)
    ones = np.empty(min(BLOCK, count), np.uint8)
    for start in range(0, count, BLOCK):
        end = min(start + BLOCK, count)
        width = end - start
        for j, sign in enumerate(signs):
            np.bitwise_xor(bits[j, start:end], sign, out=differing[:width])
            np.bitwise_count(differing[:width], out=ones[:width])
            distance[start:end] += ones[:width]
    return distance


def sign_bits(vectors: Matrix) -> NDArray[np.uint64]:
    """The signs of the turned vectors, 64 to a number, transposed: `bits[j]` holds bits 64j … of every row."""
    return pack_signs(turn(vectors))


def turn(vectors: Matrix) -> Matrix:
    """The vectors in the turned space, padded with zeros to whole blocks. Angles stay what they are."""
    rows, dimensions = vectors.shape
    width = -(-dimensions // TURNED) * TURNED
    turned = np.zeros((rows, width), np.float32)
    turned[:, :dimensions] = vectors
    for signs, order in _rounds(width):
        blocks = (turned * signs)[:, order].reshape(rows, width // TURNED, TURNED)
        turned = (blocks @ _hadamard()).reshape(rows, width)
    return turned


def pack_signs(vectors: Matrix) -> NDArray[np.uint64]:
    """One bit a dimension, set where it is positive."""
    packed = np.packbits(vectors > 0, axis=1, bitorder="little")
    pad = -packed.shape[1] % 8
    if pad:
        packed = np.pad(packed, ((0, 0), (0, pad)))
    return np.ascontiguousarray(np.ascontiguousarray(packed).view(np.uint64).T)


@lru_cache
def _rounds(width: int) -> tuple[tuple[NDArray[np.float32], NDArray[np.intp]], ...]:
    """Signs and order of each round, from a hash: numpy's generators may change, files made with them would not."""
    rounds = []
    for number in range(ROUNDS):
        stream = shake_256(f"outcrop turn {number}".encode()).digest(16 * width)
        random = np.frombuffer(stream, "<u8").reshape(2, width)
        signs = np.where(random[0] & np.uint64(1), 1, -1).astype(np.float32)
        rounds.append((signs, np.argsort(random[1], kind="stable")))
    return tuple(rounds)


@lru_cache
def _hadamard() -> Matrix:
    matrix = np.ones((1, 1), np.float32)
    while len(matrix) < TURNED:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix / np.float32(np.sqrt(TURNED))
