"""Between a passage and its document: the stretch of text around it, about a page, scored from its chunks.

An answer is seldom in one passage alone: the words of a question are shared out among a table, the line above it and
the paragraph that explains it. So each row of prose is also judged by the words and the labels of tables (see
`labels`) that it and its neighbours hold between them.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from outcrop.index.bm25 import LexicalQuery, damping_of, gain_of
from outcrop.index.segment import View
from outcrop.records.candidates import Candidates, Floats
from outcrop.system.arrays import NDArray

REACH: Final = 2
"""Chunks before and after one that make its stretch: about a thousand tokens, what a page holds, and the rows that are
there for each candidate anyway. On pages around tables of Wikipedia 1, 2 and 3 chunks gave NDCG@10 .709, .712 and .713,
on sections of articles .422, .428 and .428, the true page .716 and .428; without stretches .701 and .409."""
USUAL_CHUNKS: Final = 4
"""A stretch is long or short beside one of so many chunks of mean length."""


def read_stretches(view: View, query: LexicalQuery | None, found: Candidates) -> Candidates:
    """The rows with the score by words of the stretch around each, as a share of the best the query allows, and the
    share of the query's words that are labels there. Of code, and without words, there are none."""
    if query is None or not query.ideal or found.code.all():
        return found
    prose = (~found.code).nonzero()[0]
    rows = found if len(prose) == len(found) else found.take(prose)
    spread = _find_spread(rows)
    around = np.zeros(len(found), np.float32)
    around[prose] = _score_words(view, query, rows, spread)
    labels = np.zeros(len(found), np.float32)
    if query.labels:
        labels[prose] = _score_labels(query, rows, spread)
    return found.put(around=around, labels=labels)


Spread = list[tuple[slice, slice, NDArray[np.bool_]]]
"""For each distance: the rows that are first, those so much further on, and which pairs are of one document."""


def _find_spread(found: Candidates) -> Spread:
    spread = []
    for step in range(1, min(REACH, len(found) - 1) + 1):
        first, later = slice(0, -step), slice(step, None)
        same = (
            (found.segment[first] == found.segment[later])
            & (found.document_id[first] == found.document_id[later])
            & (found.position[first] + step == found.position[later])
        )
        spread.append((first, later, same))
    return spread


def _gather(own: NDArray[Any], spread: Spread, join: np.ufunc) -> NDArray[Any]:
    """What a row and those around it come to; rows are the last axis."""
    whole = own.copy()
    for first, later, same in spread:
        join(whole[..., first], own[..., later] * same, out=whole[..., first])
        join(whole[..., later], own[..., first] * same, out=whole[..., later])
    return whole


def _score_words(view: View, query: LexicalQuery, found: Candidates, spread: Spread) -> Floats:
    lengths = np.zeros(len(found), np.float32)
    for number, segment in enumerate(view.segments):
        mine = np.flatnonzero(found.segment == number)
        lengths[mine] = segment.lengths[found.row[mine]]
    damping = damping_of(_gather(lengths, spread, np.add), USUAL_CHUNKS * view.mean_length)
    scores = np.zeros(len(found), np.float32)
    own = np.ascontiguousarray(found.times.T)
    held = np.flatnonzero(own.any(axis=1))  # the others add nothing
    weights = list(query.weights.values())
    for line, whole in zip(held.tolist(), _gather(own[held].astype(np.float32), spread, np.add), strict=True):
        scores += gain_of(whole, damping, weights[line], query.ideal)
    return scores


def _score_labels(query: LexicalQuery, found: Candidates, spread: Spread) -> Floats:
    place = {term: line for line, term in enumerate(query.labelled)}
    weights = np.array([query.weights.get(term, 0.0) for term in query.labelled], np.float32)
    held = np.zeros((len(place), len(found)), np.bool_)
    for label, words in query.labels.items():
        rows = _find_frequencies(query, label, found) > 0
        if rows.any():
            held[[place[word] for word in words]] |= rows
    whole = np.array([_gather(line, spread, np.logical_or) for line in held], np.float32)
    share: Floats = weights @ whole.reshape(len(place), len(found)) / max(float(weights.sum()), 1e-9)
    return share.astype(np.float32)


def _find_frequencies(query: LexicalQuery, term: int, found: Candidates) -> Floats:
    """How often each row holds a term."""
    times = np.zeros(len(found), np.float32)
    for number, postings in enumerate(query.postings):
        if term not in postings or not len(postings[term][0]):
            continue
        listed, frequencies = postings[term]
        mine = np.flatnonzero(found.segment == number)
        wanted = found.row[mine].astype(listed.dtype)
        place = np.minimum(listed.searchsorted(wanted), len(listed) - 1)
        held = listed[place] == wanted
        times[mine[held]] = frequencies[place[held]]
    return times
