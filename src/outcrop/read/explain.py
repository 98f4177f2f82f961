"""READ PATH: why a chunk stands where it stands, and why others that were considered were left out (L11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from outcrop.contracts import Store
from outcrop.index.candidates import Found
from outcrop.index.lexical import coverage, matched_terms
from outcrop.index.seam import Matches
from outcrop.rank.calibrate import calibrate
from outcrop.rank.merge import Fate, Scored, as_hit
from outcrop.read.headings import under_its_heading
from outcrop.read.quotes import Held
from outcrop.records import Boost, Explanation, Hit, LeftOut, QueryType, SearchOptions
from outcrop.text.terms import Terms

MAX_LEFT_OUT: Final = 50
"""What was left out and is told: more than five pages of hits nobody goes through. Judgement."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates with their scores: what each leg gave, their sum, what signals added to it, and what came of it.
    `order` has those that may be returned, best first; `held` which hold the phrases that the query quotes."""

    found: Found
    order: NDArray[np.intp]
    words: NDArray[np.float32]
    meaning: NDArray[np.float32]
    fused: NDArray[np.float32]
    final: NDArray[np.float32]
    boosts: dict[str, NDArray[np.float32]]
    held: Held


def may_be_returned(options: SearchOptions, found: Found) -> NDArray[np.bool_]:
    """Which candidates are near enough: by a word or by the floor, and within the largest distance."""
    passes = _is_above_floor(options, found)
    if options.max_distance is not None:
        passes &= (1 - found.cosine) <= options.max_distance
    return passes


def _is_above_floor(options: SearchOptions, found: Found) -> NDArray[np.bool_]:
    above: NDArray[np.bool_] = (found.lexical > 0) | (found.cosine >= options.floor)
    return above


def explain(seen: Matches, ranked: Ranked, place: int) -> Explanation:
    """Why a candidate has its score."""
    found = ranked.found
    row, number = int(found.row[place]), int(found.segment[place])
    lexical = float(found.lexical[place])
    cosine = float(found.cosine[place])
    has_vector = bool(seen.view.segments[number].scales[row] > 0)
    amounts = ((name, float(amount[place])) for name, amount in ranked.boosts.items())
    phrases = (*seen.phrases, *ranked.held.at(place))
    terms = () if seen.words is None else matched_terms(seen.words, number, row)
    return Explanation(
        lexical_rank=int(found.lexical_rank[place]) or None,
        lexical_score=lexical if lexical > 0 else None,
        dense_rank=int(found.dense_rank[place]) or None,
        similarity=cosine if has_vector and cosine else None,
        fused=float(ranked.fused[place]),
        boosts=tuple(Boost(name, amount) for name, amount in amounts if amount),
        matched_terms=tuple(dict.fromkeys((*phrases, *terms))),
        words=float(ranked.words[place]),
        meaning=float(ranked.meaning[place]),
        total=float(ranked.final[place]),
        coverage=0.0 if seen.words is None else coverage(seen.words, number, row),
    )


def find_left_out(
    store: Store,
    seen: Matches,
    ranked: Ranked,
    options: SearchOptions,
    kind: QueryType,
    hits: Sequence[Hit],
    fates: Mapping[int, Fate],
    terms: Terms,
) -> tuple[LeftOut, ...]:
    """The best candidates that are no hits of their own, with the reason. `hits` are those of all pages so far, and
    `fates` what became of chunks when they were merged; what went into an earlier page's hit was told there."""
    number_of = {id_: number for number, hit in enumerate(hits, 1) for id_ in hit.chunk_ids}
    reasons = _Reasons(options, ranked)
    found = ranked.found
    chosen: dict[int, tuple[int, str, int | None]] = {}
    for place in np.lexsort((found.chunk_id, -ranked.final)).tolist():
        id_ = int(found.chunk_id[place])
        fate = fates.get(id_)
        if fate is None and id_ in number_of:
            continue
        number = None if fate is None or fate.other is None else number_of.get(fate.other, 0) - options.offset
        if number is not None and number < 1:
            continue
        reason = reasons.of(place) if fate is None else fate.reason
        chosen[id_] = (place, reason if number is None else f"{reason} {number}", number)
        if len(chosen) == MAX_LEFT_OUT:
            break
    left_out = []
    for chunk in store.chunks(list(chosen)):
        place, reason, number = chosen[chunk.id]
        score = calibrate(float(ranked.final[place]), kind)
        hit = as_hit(Scored(under_its_heading(chunk, seen, terms), score, explain(seen, ranked, place)))
        left_out.append(LeftOut.of(hit, reason, number))
    return tuple(left_out)


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

    def __init__(self, options: SearchOptions, ranked: Ranked) -> None:
        self._above = _is_above_floor(options, ranked.found)
        self._near = may_be_returned(options, ranked.found)
        self._ordered = set(ranked.order.tolist())

    def of(self, place: int) -> str:
        if not self._above[place]:
            return "below floor"
        if not self._near[place]:
            return "too far"
        return "past the limit" if place in self._ordered else "below cutoff"
