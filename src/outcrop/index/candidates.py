"""Both legs at once: a query against a view of the arrays gives the rows worth ranking, with both scores."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from outcrop.contracts import Store
from outcrop.index import bm25, nearest
from outcrop.index.query import Query
from outcrop.index.segment import Segment, View
from outcrop.records import Vector
from outcrop.records.candidates import Candidates
from outcrop.system.arrays import NDArray, is_among
from outcrop.text.phrases import phrase_words
from outcrop.text.terms import Terms

POOL: Final = 200
"""Candidates taken from each leg. 100, 200 and 400 gave the same nDCG@10 on five labelled sets, to within .0004; deeper
pages ask for more."""

READ_PHRASES: Final = 250
"""Chunks with the words of a phrase that are read first, to see whether they hold the phrase: about 10 ms. Then as many
again as were read before, and so on."""
MAX_READ_PHRASES: Final = 2000
"""And so many at most, about 0.1 s at 50 µs a text (not measured): of `"in of"` a million chunks have a hundred
thousand with both words, and the whole index would be read to find that none holds them side by side."""

Masks = Sequence[NDArray[np.bool_] | None]
Listed = tuple[NDArray[np.intp], NDArray[np.int32]]
"""Rows that a leg lists, ascending, and their ranks."""


def find_candidates(
    view: View,
    masks: Masks,
    words: bm25.LexicalQuery | None,
    vector: Vector | None,
    pool: int = POOL,
    more: Collection[tuple[int, int]] = (),
) -> Candidates:
    """Run the legs that are asked for and gather their best rows, with each row's score in both; `more` names rows
    (segment, row) to be looked at whatever the legs say."""
    if vector is not None and not np.isfinite(vector).all():
        vector = None
    scores = score_rows(view, masks, words)
    by_words = _best(scores, pool)
    by_meaning = _nearest(view.segments, masks, vector, pool)
    return add_times(gather_rows(view, masks, scores, by_words, by_meaning, vector, more), words)


def add_times(found: Candidates, words: bm25.LexicalQuery | None) -> Candidates:
    """The rows with how often each holds each term of the query."""
    return found if words is None else found.put(times=bm25.count_times(words, found.segment, found.row))


def gather_rows(
    view: View,
    masks: Masks,
    scores: Sequence[NDArray[np.float32]],
    by_words: Sequence[Listed],
    by_meaning: Sequence[Listed],
    vector: Vector | None,
    more: Collection[tuple[int, int]] = (),
) -> Candidates:
    """What the legs list, segment by segment, and the rows beside that; `scores` are those of all rows by words."""
    wanted = [
        np.array(sorted({row for segment, row in more if segment == i}), np.intp)
        for i in range(len(view.segments))
    ]
    parts = [
        _gather(view, i, masks[i], scores[i], by_words[i], by_meaning[i], vector, wanted[i])
        for i in range(len(view.segments))
        if len(by_words[i][0]) or len(by_meaning[i][0]) or len(wanted[i])
    ]
    return Candidates.join(parts)


def describe_rows(
    view: View,
    masks: Masks,
    words: bm25.LexicalQuery | None,
    vector: Vector | None,
    chunk_ids: NDArray[np.int64],
) -> Candidates:
    """Some chunks, ascending, as far as they are there and allowed, as rows with both scores, whether or not a leg
    would list them."""
    parts = []
    for i, segment in enumerate(view.segments):
        here = chunk_ids[is_among(chunk_ids, segment.chunk_ids)]
        rows = np.searchsorted(segment.chunk_ids, here)
        mask = masks[i]
        rows = rows[~view.deleted[i][rows] if mask is None else mask[rows]]
        if len(rows):
            lexical = None if words is None else _score_few(words, i, segment, rows, view.mean_length)
            parts.append(_columns(segment, i, rows, lexical, vector))
    return add_times(Candidates.join(parts), words)


def _score_few(
    query: bm25.LexicalQuery, number: int, segment: Segment, rows: NDArray[np.intp], mean_length: float
) -> NDArray[np.float32]:
    """BM25 of a few rows of segment `number`, as `score_segment` gives it."""
    scores = np.zeros(len(rows), np.float32)
    for term, weight in query.weights.items() if query.ideal else ():
        if term in query.postings[number]:
            listed, frequencies = query.postings[number][term]
            place = np.minimum(listed.searchsorted(rows.astype(listed.dtype)), len(listed) - 1)
            held = np.flatnonzero(listed[place] == rows)
            damping = bm25.damping_of(segment.lengths[rows[held]], mean_length)
            scores[held] += bm25.gain_of(frequencies[place[held]], damping, weight, query.ideal)
    return scores


def _columns(
    segment: Segment,
    number: int,
    rows: NDArray[np.intp],
    lexical: NDArray[np.float32] | None,
    vector: Vector | None,
) -> Candidates:
    """What a segment knows of some rows; no leg lists them yet."""
    return Candidates(
        segment=np.full(len(rows), number, np.int32),
        row=rows,
        position=rows if segment.positions is None else segment.positions[rows].astype(np.intp),
        chunk_id=segment.chunk_ids[rows],
        document_id=segment.document_ids[rows],
        code=segment.code[rows],
        lexical=np.zeros(len(rows), np.float32) if lexical is None else lexical,
        cosine=np.zeros(len(rows), np.float32)
        if vector is None
        else nearest.similarities(segment, rows, vector),
        lexical_rank=np.zeros(len(rows), np.int32),
        dense_rank=np.zeros(len(rows), np.int32),
        candidate=np.ones(len(rows), np.bool_),
    )


def score_rows(view: View, masks: Masks, words: bm25.LexicalQuery | None) -> list[NDArray[np.float32]]:
    """The score by words of all rows, segment by segment; 0 where the mask rules a row out."""
    scores = []
    for number, (segment, mask) in enumerate(zip(view.segments, masks, strict=True)):
        if words is None:
            scores.append(np.zeros(len(segment), np.float32))
            continue
        score = bm25.score_segment(words, number, segment, view.mean_length)
        if mask is not None:
            score[~mask] = 0
        scores.append(score)
    return scores


def rows_with_phrases(
    store: Store, terms: Terms, view: View, masks: Masks, query: Query, pool: int
) -> tuple[Masks, int]:
    """The rows that may be returned and hold every quoted phrase, and how many might but were not read. Where very many
    hold its words, texts are read best match first, until as many as a search looks at are found: the rest could only
    come after them."""
    if not query.phrases:
        return masks, 0
    from outcrop.index.phrasing import may_hold, phrase_terms

    phrases = [phrase_words(phrase) for phrase in query.phrases]
    wanted = [forms for words in phrases for forms in phrase_terms(words, terms)]
    if not all(phrases):
        wanted = [frozenset()]  # no words, no phrase
    likely = [bm25.rows_with_words(segment, wanted) for segment in view.segments]
    for segment, held, mask, gone in zip(view.segments, likely, masks, view.deleted, strict=True):
        held[gone if mask is None else ~mask] = False
        for words in phrases:
            segment.require("pairs")
            np.logical_and(held, may_hold(segment.pairs, words), out=held)
    ids = [segment.chunk_ids[held] for segment, held in zip(view.segments, likely, strict=True)]
    ordered = np.concatenate(ids) if ids else np.zeros(0, np.int64)
    if len(ordered) > READ_PHRASES:
        weights = bm25.weigh_terms(query.text, terms, view.segments, query.language)
        scores = [score[held] for score, held in zip(score_rows(view, likely, weights), likely, strict=True)]
        ordered = first_by_score(ordered, np.concatenate(scores), MAX_READ_PHRASES)
    every = read_for_phrases(store, ordered, query.phrases, pool)
    # Those that come after enough that hold the phrases are not missed.
    unread = sum(map(len, ids)) - len(ordered) if len(every) < pool else 0
    return [is_among(segment.chunk_ids, every) for segment in view.segments], unread


def read_for_phrases(
    store: Store, ordered: NDArray[np.int64], phrases: Sequence[str], pool: int
) -> NDArray[np.int64]:
    """Those of some chunks, read in this order until `pool` of them do, whose text holds every phrase; ascending."""
    holding = [np.zeros(0, np.int64)]
    start = 0
    while start < len(ordered) and sum(map(len, holding)) < pool:
        end = start + max(READ_PHRASES, start)
        found = np.sort(ordered[start:end])
        for phrase in phrases:
            found = store.match_phrase(phrase, found)
        holding.append(found)
        start = end
    return np.sort(np.concatenate(holding))


def first_by_score(ids: NDArray[np.int64], scores: NDArray[np.float32], most: int) -> NDArray[np.int64]:
    """The ids with the best scores, in that order; of equal ones the first."""
    best = np.arange(len(ids))
    if len(ids) > most:
        best = np.flatnonzero(scores >= -np.partition(-scores, most - 1)[most - 1])
    return ids[best[np.argsort(-scores[best], kind="stable")][:most]]


SAMPLED: Final = 8192
"""Rows, spread over all, of which the best bound the best of all from below."""


def _best(scores: list[NDArray[np.float32]], pool: int) -> list[Listed]:
    """Rows with the highest positive scores over all segments, segment by segment, with their rank."""
    least = np.finfo(np.float32).tiny
    step = max(sum(map(len, scores)) // SAMPLED, 1)
    if step > 1:
        # Of some rows the pool-th best is no better than that of all: what is below it is not among the best.
        some = np.concatenate([score[::step] for score in scores])
        if len(some) >= pool:
            least = max(least, np.partition(some, len(some) - pool)[len(some) - pool])
    rows = [(score >= least).nonzero()[0] for score in scores]
    return rank_rows(rows, [score[row] for score, row in zip(scores, rows, strict=True)], pool)


def _nearest(segments: Sequence[Segment], masks: Masks, vector: Vector | None, pool: int) -> list[Listed]:
    if vector is None or not vector.any():
        return [(np.zeros(0, np.intp), np.zeros(0, np.int32))] * len(segments)
    found = nearest.nearest(segments, masks, vector, pool)
    found = [(rows[cosine > 0], cosine[cosine > 0]) for rows, cosine in found]
    return rank_rows([rows for rows, _ in found], [cosine for _, cosine in found], pool)


def rank_rows(rows: list[NDArray[np.intp]], scores: list[NDArray[np.float32]], pool: int) -> list[Listed]:
    """Number the rows of all segments by score, best first, and keep the first `pool`. Ties: older chunks first."""
    flat = np.concatenate(scores) if scores else np.zeros(0, np.float32)
    ranks = np.full(len(flat), pool + 1, np.int32)
    best = np.arange(len(flat))
    if len(flat) > pool:  # only those that can be among the first are put in order
        best = np.flatnonzero(flat >= -np.partition(-flat, pool - 1)[pool - 1])
    ranks[best[np.argsort(-flat[best], kind="stable")]] = np.arange(1, len(best) + 1)
    result, start = [], 0
    for row in rows:
        rank = ranks[start : start + len(row)]
        start += len(row)
        result.append((row[rank <= pool], rank[rank <= pool]))
    return result


def _gather(
    view: View,
    i: int,
    mask: NDArray[np.bool_] | None,
    scores: NDArray[np.float32],
    words: Listed,
    meaning: Listed,
    vector: Vector | None,
    more: NDArray[np.intp],
) -> Candidates:
    """All that ranking wants to know of one segment's rows and of the rows beside them."""
    segment, gone = view.segments[i], view.deleted[i]
    own = _union(words[0], meaning[0], more)
    close = _around(own, segment, gone)
    wide = _around(close, segment, gone)
    lexical_rank, dense_rank = np.zeros(len(wide), np.int32), np.zeros(len(wide), np.int32)
    lexical_rank[wide.searchsorted(words[0])] = words[1]
    dense_rank[wide.searchsorted(meaning[0])] = meaning[1]
    candidate = np.zeros(len(wide), np.bool_)
    candidate[wide.searchsorted(close)] = True
    if mask is not None:  # a neighbour that the filter or a phrase rules out only says what stands beside
        candidate &= mask[wide]
    found = _columns(segment, i, wide, scores[wide], vector)
    return found.put(lexical_rank=lexical_rank, dense_rank=dense_rank, candidate=candidate)


def _around(rows: NDArray[np.intp], segment: Segment, gone: NDArray[np.bool_]) -> NDArray[np.intp]:
    """These rows and, of prose, those directly before and after them in the same document: code is not judged by what
    stands beside it."""
    prose = rows[~segment.code[rows]]
    if not len(prose):
        return rows
    last = len(segment) - 1
    after = prose[prose < last] if prose[-1] == last else prose
    before = prose[1:] - 1 if prose[0] == 0 else prose - 1
    # A row that is followed, and the row that follows one.
    beside = np.concatenate((before[segment.is_followed(before)], after[segment.is_followed(after)] + 1))
    return _union(rows, beside[~gone[beside]])


def _union(*rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """All of them, sorted, each once. (np.union1d loads masked arrays, 7 ms of a cold start.)"""
    every = np.concatenate(rows)
    if not len(every):
        return every
    every.sort()
    first = np.empty(len(every), np.bool_)
    first[0] = True
    np.not_equal(every[1:], every[:-1], out=first[1:])
    return every[first]
