"""READ PATH: what came up is put in order: the legs fused, the rows described, the signals applied."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from outcrop.contracts import Embedder, Store
from outcrop.index.describe import Projects, cover_files, describe
from outcrop.index.evidence import Nodes
from outcrop.index.query import Query, asks_for, asks_for_guide
from outcrop.index.seam import Index, Matches
from outcrop.index.stretches import read_stretches
from outcrop.rank.chance import score_hits
from outcrop.rank.fusion import Legs, fuse_ranks, fuse_scores
from outcrop.rank.signals import apply_signals
from outcrop.read.hops import follow_names
from outcrop.records import SearchOptions, Trust
from outcrop.records.candidates import Candidates, Floats
from outcrop.system.arrays import NDArray, distinct, numbered
from outcrop.system.limits import check_wanted
from outcrop.text.phrases import phrase_finder, phrase_words
from outcrop.text.terms import Terms

LINK_SEEDS: Final = 10
LINK_STEPS: Final = 1
"""Candidates from which the reference graph is walked, and how far. With 1, 2 and 4 steps NDCG@10 on the code set was
.899, .900 and .900, with five seeds .897; a step costs about a millisecond."""
MIN_LINKED: Final = 1e-6
"""Less than this share of all visits is what rounding leaves of where a walk began, and no link."""
DAMPING: Final = 0.5
"""Half of the walkers go on: two steps away an eighth is left. PageRank's 0.85 is for a web of one topic; here what is
near the hits is what they lean on, and what is far is the standard library of the project (not measured)."""
ROUNDS: Final = 4
"""After four steps a sixteenth is still on its way (not measured)."""
MIN_FLOW: Final = 1e-4
"""Less than this goes no further."""
MAX_AT_ONCE: Final = 256
"""Nodes that pass something on in one round: those with the most. Bounds the time of a search."""
READ_CANDIDATES: Final = 250
"""Candidates whose texts are read for quoted phrases, the best ones so far: about 10 ms. Ranking moves no others to the
first page."""
MAX_PHRASES: Final = 16
MAX_WORDS: Final = 24
"""Phrases of a text that are looked for, the longest first, and words of one: what is longer is a passage, often one
between two marks that belong to different quotations (not measured)."""

EdgesOf = Callable[[Nodes], tuple[Nodes, Nodes, NDArray[np.float32]]]
"""Nodes to (source, target, weight) of the edges that leave them."""
Held = Mapping[str, NDArray[np.bool_]]
"""Phrases that some candidate holds, and which candidates do."""


class Ranker:
    """Ranks what came up in one index. Safe for threads."""

    def __init__(self, store: Store, index: Index, embedder: Embedder, terms: Terms) -> None:
        self._store = store
        self._index = index
        self._embedder = embedder
        self._terms = terms
        self._projects = Projects(store, terms)

    def rank(self, query: Query, options: SearchOptions, seen: Matches, *, hop: bool = False) -> Matches:
        """What came up, with its scores and its order; with `hop` also what the best of it names."""
        score = partial(self._score, query, options)
        seen = replace(seen, found=_order(query, options, score(seen)))
        if hop:
            further = follow_names(query, options, seen, self._store, self._index, self._terms, score)
            if further is not seen:
                seen = replace(further, found=_order(query, options, further.found))
        found = score_hits(seen.found, len(query.text.split()))
        order = found.order
        if options.cutoff and len(order):
            order = order[found.final[order] >= options.cutoff * found.final[order[0]]]
        return replace(seen, found=found.put(order=order))

    def _score(self, query: Query, options: SearchOptions, seen: Matches) -> Candidates:
        """The rows with their totals."""
        return apply_signals(self.describe(query, options, seen))

    def describe(self, query: Query, options: SearchOptions, seen: Matches) -> Candidates:
        """What came up, with all that the signals read: weights are learnt from that (`python -m training.ranking`)."""
        found = self._fuse(query, options, seen)
        found = read_stretches(seen.view, seen.words, found)
        # A row that is only there to say what stands beside another has said it: nothing else may depend on it.
        found = found.take(np.flatnonzero(found.candidate))
        found = describe(seen.view, found, query.text, seen.declared, self._terms)
        if seen.words is not None:
            found = cover_files(seen.words, found)
        held = find_held(self._store, query.quoted, found.chunk_id, found.fused)
        weights = seen.words.weights if seen.words is not None else {}
        return found.put(
            kind=query.kind,
            linked=self._follow(query, options, seen, found),
            project=self._projects.credit(seen.view.version, query.text, weights, found.document_id),
            held=held,
            quoted=weigh_held(held, len(found)),
            asked=asks_for(query.title or query.text),
            wants_guide=asks_for_guide(query.title or query.text),
        )

    def _fuse(self, query: Query, options: SearchOptions, seen: Matches) -> Candidates:
        """The rows with what each leg gives to their scores, or the one that was asked for, or the one that knows the
        words of the query."""
        found = seen.found
        nothing = np.zeros(len(found), np.float32)
        if options.fusion == "rrf":
            legs = fuse_ranks(found.lexical_rank, found.dense_rank, options.balance)
        elif options.mode == "hybrid" and seen.vector is None:
            legs = Legs(found.lexical, nothing)
        elif options.mode == "hybrid":
            trust = trust_in(self._embedder, seen)
            legs = fuse_scores(found.lexical, found.cosine, found.code, query.kind, trust, options.balance)
        elif options.mode == "keyword":
            legs = Legs(found.lexical, nothing)
        else:
            legs = Legs(nothing, np.maximum(found.cosine, 0))
        fused = legs.fused
        before, after = found.neighbour(fused, -1), found.neighbour(fused, +1)
        return found.put(words=legs.words, meaning=legs.meaning, fused=fused, before=before, after=after)

    def _follow(self, query: Query, options: SearchOptions, seen: Matches, found: Candidates) -> Floats:
        """How strongly the best candidates lean on each candidate, 0 to 1 times how strongly that is to count."""
        fused, linked = found.fused, np.zeros(len(found), np.float32)
        seeds = np.flatnonzero(found.code & (fused > 0))
        if not len(seeds) or not options.reference_follow:
            return linked
        seeds = seeds[np.argsort(-fused[seeds], kind="stable")[:LINK_SEEDS]]
        shares = fused[seeds] / fused[seeds].sum()
        steps = partial(self._index.steps, seen.view, asked=[symbol.name for symbol in query.symbols])
        visited, visits = walk(found.chunk_id[seeds], shares, steps, LINK_STEPS)
        place = np.minimum(np.searchsorted(visited, found.chunk_id), max(len(visited) - 1, 0))
        linked = np.where(visited[place] == found.chunk_id, visits[place], 0).astype(np.float32)
        linked[seeds] -= (1 - DAMPING) * shares  # what merely starts there
        linked[linked < MIN_LINKED] = 0
        share: Floats = linked / max(float(linked.max()), MIN_LINKED)
        return share * np.float32(options.reference_follow)


def trust_in(embedder: Embedder, seen: Matches) -> Trust:
    """How far the model is trusted beside the words of a query, which say less where they had to be translated."""
    own: Trust = embedder.trust
    if seen.words is None or not seen.words.across:
        return own
    return getattr(embedder, "trust_across", own)


def walk(
    seeds: Nodes, shares: NDArray[np.float32], edges_of: EdgesOf, rounds: int = ROUNDS
) -> tuple[Nodes, NDArray[np.float32]]:
    """How often each node is visited by walkers who start at the seeds in these shares and go `rounds` steps at most;
    nodes ascending.

    This is personalised PageRank by pushing: what lies at a node is settled there in part and passed on in part, until
    what is still on its way is too little to matter. Only nodes that get something are asked for their edges, so the
    cost depends on the answer and not on the size of the index.
    """
    total = float(shares.sum())
    if not len(seeds) or total <= 0:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    nodes, place = numbered(seeds)
    waiting: NDArray[np.float64] = np.bincount(place, shares / total).astype(np.float64)
    settled = np.zeros(len(nodes))
    for _ in range(rounds):
        check_wanted()
        active = np.flatnonzero(waiting > MIN_FLOW)
        if not len(active):
            break
        if len(active) > MAX_AT_ONCE:
            active = np.sort(active[np.argpartition(-waiting[active], MAX_AT_ONCE)[:MAX_AT_ONCE]])
        moving = waiting[active]
        waiting[active] = 0
        settled[active] += (1 - DAMPING) * moving
        source, target, weight = edges_of(nodes[active])
        at = np.searchsorted(nodes[active], source)
        leaving = np.bincount(at, weight, len(active))
        flow = DAMPING * moving[at] * weight / np.maximum(leaving[at], 1e-12)
        nodes, settled, waiting = _receive(nodes, settled, waiting, target, flow)
    return nodes, (settled + (1 - DAMPING) * waiting).astype(np.float32)


def _receive(
    nodes: Nodes,
    settled: NDArray[np.float64],
    waiting: NDArray[np.float64],
    target: Nodes,
    flow: NDArray[np.float64],
) -> tuple[Nodes, NDArray[np.float64], NDArray[np.float64]]:
    """The nodes with those that get something for the first time, and what now waits at each."""
    merged = distinct(np.concatenate((nodes, target)))
    old = np.searchsorted(merged, nodes)
    grown_settled, grown_waiting = np.zeros(len(merged)), np.zeros(len(merged))
    grown_settled[old], grown_waiting[old] = settled, waiting
    grown_waiting += np.bincount(np.searchsorted(merged, target), flow, len(merged))
    return merged, grown_settled, grown_waiting


def _order(query: Query, options: SearchOptions, found: Candidates) -> Candidates:
    """The rows with the order of those that may be returned."""
    allowed = np.flatnonzero(found.defines > 0 if query.is_letter else may_be_returned(options, found))
    return found.put(order=allowed[np.lexsort((found.chunk_id[allowed], -found.final[allowed]))])


def may_be_returned(options: SearchOptions, found: Candidates) -> NDArray[np.bool_]:
    """Which candidates are near enough: by a word or by the floor, and within the largest distance."""
    passes = is_above_floor(options, found)
    if options.max_distance is not None:
        passes &= (1 - found.cosine) <= options.max_distance
    return passes


def is_above_floor(options: SearchOptions, found: Candidates) -> NDArray[np.bool_]:
    """Which candidates share a word with the query or are near enough without."""
    above: NDArray[np.bool_] = (found.lexical > 0) | (found.cosine >= options.floor)
    return above


def find_held(store: Store, quoted: Sequence[str], chunk_ids: NDArray[np.int64], scores: Floats) -> Held:
    """Look for quoted phrases in the texts of the candidates with the best scores. Single words are left out: a word is
    looked up as such already."""
    wanted = _choose_phrases(quoted)
    where = np.zeros((len(wanted), len(chunk_ids)), np.bool_)
    if wanted and len(chunk_ids):
        best = np.argsort(-scores, kind="stable")[:READ_CANDIDATES]
        place_of = dict(zip(chunk_ids[best].tolist(), best.tolist(), strict=True))
        finders = [phrase_finder(words) for _, words in wanted]
        for chunk in store.chunks(list(place_of)):
            for row, holds in enumerate(finders):
                where[row, place_of[chunk.id]] = holds(chunk.text)
    return {phrase: held for (phrase, _), held in zip(wanted, where, strict=True) if held.any()}


def _choose_phrases(quoted: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The phrases worth looking up, with their words."""
    words = ((phrase, phrase_words(phrase)) for phrase in quoted)
    several = {tuple(found): (phrase, found) for phrase, found in words if 1 < len(found) <= MAX_WORDS}
    return sorted(several.values(), key=lambda item: -len(item[1]))[:MAX_PHRASES]


def weigh_held(held: Held, count: int) -> Floats:
    """For each of `count` candidates how much of the phrases it holds, 0 to 1; one that many hold says little."""
    if not held:
        return np.zeros(count, np.float32)
    where = np.array(list(held.values()), np.float32)
    read = min(count, READ_CANDIDATES)
    weights = np.array([math.log((read + 1) / (int(row.sum()) + 0.5)) for row in where], np.float32)
    return (weights @ where / max(float(weights.sum()), 1e-9)).clip(0, 1).astype(np.float32)
