"""READ PATH: why a chunk stands where it stands, and why others that were considered were left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from outcrop.contracts import Store
from outcrop.index.legs import coverage, matched_terms
from outcrop.index.seam import Matches
from outcrop.rank.merge import Fate
from outcrop.read.headings import under_its_heading
from outcrop.read.rank import is_above_floor, may_be_returned
from outcrop.records import (
    Boost,
    Explanation,
    Hit,
    LeftOut,
    SearchOptions,
    StoredChunk,
    WhyLeftOut,
)
from outcrop.records.candidates import Candidates
from outcrop.text.terms import Terms

MAX_LEFT_OUT: Final = 50
"""Chunks left out that are told of: nobody goes through more than five pages of hits (not measured)."""


def explain(seen: Matches, place: int) -> Explanation:
    """Why a candidate has its score."""
    found, words = seen.found, seen.words
    row, number = int(found.row[place]), int(found.segment[place])
    lexical = float(found.lexical[place])
    cosine = float(found.cosine[place])
    has_vector = bool(seen.view.segments[number].scales[row] > 0)
    amounts = ((name, float(amount[place])) for name, amount in found.boosts.items())
    held = (*seen.phrases, *(phrase for phrase, where in found.held.items() if where[place]))
    single = (phrase for phrase in held if " " not in phrase)  # a phrase of one word is a word
    terms = () if words is None else matched_terms(words, number, row)
    return Explanation(
        lexical_rank=int(found.lexical_rank[place]) or None,
        lexical_score=lexical if lexical > 0 else None,
        dense_rank=int(found.dense_rank[place]) or None,
        similarity=cosine if has_vector and cosine else None,
        fused=float(found.fused[place]),
        boosts=tuple(Boost(name, amount) for name, amount in amounts if amount),
        matched_terms=tuple(dict.fromkeys((*single, *terms))),
        words=float(found.words[place]),
        meaning=float(found.meaning[place]),
        total=float(found.final[place]),
        coverage=0.0 if words is None else coverage(words, number, row),
        matched_phrases=tuple(dict.fromkeys(phrase for phrase in held if " " in phrase)),
    )


def as_hit(chunk: StoredChunk, seen: Matches, place: int, terms: Terms) -> Hit:
    """A chunk that came up as a hit: under its heading, with its score and why it has that."""
    labelled = under_its_heading(chunk, seen, terms)
    return Hit.of(labelled, float(seen.found.score[place]), explain(seen, place))


def find_left_out(
    store: Store,
    seen: Matches,
    options: SearchOptions,
    hits: Sequence[Hit],
    fates: Mapping[int, Fate],
    terms: Terms,
) -> tuple[LeftOut, ...]:
    """The best candidates that are no hits of their own, with the reason. `hits` are those of all pages so far, and
    `fates` what became of chunks when they were merged; what went into an earlier page's hit was told there."""
    number_of = {id_: number for number, hit in enumerate(hits, 1) for id_ in hit.chunk_ids}
    reasons = _Reasons(options, seen.found)
    found = seen.found
    chosen: dict[int, tuple[int, WhyLeftOut, int | None]] = {}
    for place in np.lexsort((found.chunk_id, -found.final)).tolist():
        id_ = int(found.chunk_id[place])
        fate = fates.get(id_)
        if fate is None and id_ in number_of:
            continue
        number = None if fate is None or fate.other is None else number_of.get(fate.other, 0) - options.offset
        if number is not None and number < 1:
            continue
        chosen[id_] = (place, reasons.of(place) if fate is None else fate.reason, number)
        if len(chosen) == MAX_LEFT_OUT:
            break
    left_out = []
    for chunk in store.chunks(list(chosen)):
        place, reason, number = chosen[chunk.id]
        left_out.append(LeftOut(as_hit(chunk, seen, place, terms), reason, number))
    return tuple(sorted(left_out, key=lambda item: -item.hit.score))


MAX_PHRASES_TOLD: Final = 3
MAX_PHRASE_CHARS: Final = 60


def tell_unmatched(phrases: Sequence[str], options: SearchOptions, hits: Sequence[Hit]) -> str:
    """That no passage holds the phrases a query requires, and what was done instead."""
    told = ", ".join(f'"{shorten(phrase)}"' for phrase in phrases[:MAX_PHRASES_TOLD])
    more = f" and {len(phrases) - MAX_PHRASES_TOLD} more" if len(phrases) > MAX_PHRASES_TOLD else ""
    where = "" if options.where.is_empty() else " that passes the filters"
    together = " together" if len(phrases) > 1 else ""
    instead = ": these hits match the words without the quotation marks" if hits else ""
    return f"no passage{where} holds {told}{more}{together} word for word{instead}"


def shorten(phrase: str) -> str:
    """A phrase as short as a message can hold it."""
    return phrase if len(phrase) <= MAX_PHRASE_CHARS else phrase[: MAX_PHRASE_CHARS - 1] + "…"


class _Reasons:
    """Why a candidate did not come as far as merging."""

    def __init__(self, options: SearchOptions, found: Candidates) -> None:
        self._above = is_above_floor(options, found)
        self._near = may_be_returned(options, found)
        self._ordered = set(found.order.tolist())

    def of(self, place: int) -> WhyLeftOut:
        if not self._above[place]:
            return "below floor"
        if not self._near[place]:
            return "too far"
        return "past the limit" if place in self._ordered else "below cutoff"
