"""READ PATH: search → rank → (rerank) → merge.

A query is read, both legs run over one state of the index, their scores are fused, signals applied, the best
chunks fetched from the store and merged into hits. An answer that is empty says why.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from outcrop.contracts import Embedder, Reranker, Stop, Store
from outcrop.errors import DatabaseLost, EmbedError, QueryError
from outcrop.index.candidates import POOL, add_times
from outcrop.index.query import Query, read_query
from outcrop.index.seam import Index, Matches
from outcrop.index.segment import View
from outcrop.index.wording import read_language
from outcrop.rank.chance import chance_of_answer, settle
from outcrop.rank.fusion import meaning_share
from outcrop.rank.merge import Merger
from outcrop.read.explain import NOT_HERE, Explainer, find_left_out, tell_empty, tell_phrases
from outcrop.read.hops import read_ahead
from outcrop.read.rank import Ranker, trust_in
from outcrop.read.translation import translate_query
from outcrop.records import (
    Answer,
    Clause,
    Hit,
    LeftOut,
    MeaningShare,
    Reason,
    SearchOptions,
    StoredChunk,
    Vector,
)
from outcrop.records.asked import check_options
from outcrop.records.candidates import Candidates
from outcrop.records.found import DOUBTFUL
from outcrop.system.dataclass import dataclass
from outcrop.system.limits import BoundedCache, Clock
from outcrop.text.terms import Terms

if TYPE_CHECKING:
    from outcrop.read.rerank import Opinion

log = logging.getLogger(__name__)

MAX_MOVES = 3
"""How often a search starts over because what it found was rewritten before it was fetched, which takes a write in that
very millisecond (not measured)."""
STRANGE_FACTOR = 2.0
"""How much nearer than the floor a hit has to be where nothing is known of the words of a query. For 94 queries of
random letters over 2 000 chunks the nearest chunk had a cosine of .27 in the middle and .48 at most, with a floor of
.25."""
PHRASE_POOL = POOL // 2
"""Candidates of a search for a phrase: the texts of all of them are read."""
WARM_QUERY = "where does it begin?"
CACHED_QUERIES = 1024
CACHED_QUERY_BYTES = 16_000_000
CACHED_ANSWERS = 256
CACHED_ANSWER_CHARS = 32_000_000
"""Queries and hits can be long, and a client chooses them: caches are bounded by size, not only by number."""


class Retriever:
    """Searches one store. Any number of threads may search at once."""

    def __init__(
        self,
        store: Store,
        index: Index,
        embedder: Embedder,
        terms: Terms,
        open_reranker: Callable[[], Reranker] | None = None,
    ) -> None:
        """`open_reranker` gives the reranker, always the same one; it is asked for when a search wants one."""
        self._store = store
        self._index = index
        self._embedder = embedder
        self._terms = terms
        self._open_reranker = open_reranker
        self._ranker = Ranker(store, index, embedder, terms)
        self._vectors: BoundedCache[str, Vector] = BoundedCache(CACHED_QUERIES, CACHED_QUERY_BYTES)
        self._answers: BoundedCache[tuple[str, SearchOptions], tuple[View, Answer]] = BoundedCache(
            CACHED_ANSWERS, CACHED_ANSWER_CHARS
        )

    def search(self, text: str, options: SearchOptions, stopped: Stop | None = None) -> Answer:
        """The best passages for a query; `stopped` is asked between steps and ends the work with Cancelled."""
        check_options(options)
        options = _one_leg(options)
        query = read_query(text, options.query_type)
        clauses: tuple[Clause, ...] = ()
        if "\n" in query.text and not query.phrases:  # nobody types that, so few searches import what reads it
            from outcrop.read.question import as_query, read_question

            clauses = read_question(text)
            query = as_query(clauses, options.query_type) if clauses else query
        if options.language:
            query = query.read_in(read_language(options.language))
        if query.is_empty and not query.is_letter:
            return Answer(text, query.kind, (), "empty_query", "type at least two characters")
        clock = Clock(stopped)
        reranker = self._reranker(options)
        if reranker is not None:
            clock.lap("load")  # which the first search pays, beside its budget
        view = self._index.refresh()
        clock.lap("refresh")
        cached = self._cached_answer((text, options), view)
        if cached is not None:
            return replace(cached, timings_ms=clock.done())
        query = translate_query(query, options.mode, self._embedder, self._index)
        for last in (False,) * MAX_MOVES + (True,):
            try:
                view, answer, is_whole = self._answer(query, options, view, reranker, clock, last=last)
                break
            except _Moved:
                view = self._index.refresh()
            except DatabaseLost:  # a new connection sees another state, so all of it again
                if last:
                    raise
                view = self._index.refresh()
            except IndexError as error:  # rows that are not there
                if last:
                    raise
                view = self._index.mend(error)
        answer = replace(answer, query=text, question=clauses, timings_ms=clock.done())
        if is_whole:
            self._answers.put((text, options), (view, answer), _weigh(answer, options))
        log.info(
            "search",
            extra={"hits": len(answer.hits), "type": query.kind, "reason": answer.reason, **answer.timings_ms},
        )
        return answer

    def warm(self) -> None:
        """Load what the first search would otherwise wait for: the model, the index, what reading it touches."""
        self._embedder.embed_query(WARM_QUERY)
        view = self._index.refresh()
        if not view.chunks:
            return
        self._index.warm()
        options = SearchOptions(limit=1)  # not `search`: nobody asked this, it belongs in no log and no cache
        self._answer(read_query(WARM_QUERY, None), options, view, None, Clock(None))

    # ------------------------------------------------------------------ the steps

    def _reranker(self, options: SearchOptions) -> Reranker | None:
        if not options.rerank:
            return None
        if self._open_reranker is None:
            raise QueryError("there is no reranker; give one to the engine, or search without rerank")
        return self._open_reranker()

    def _answer(
        self,
        query: Query,
        options: SearchOptions,
        view: View,
        reranker: Reranker | None,
        clock: Clock,
        *,
        last: bool = True,
    ) -> tuple[View, Answer, bool]:
        """The answer, the state of the index it was made from, and whether it is complete: one that a failure or a lack
        of time made poorer must not be cached. Raises `_Moved` if the index changed under it, unless
        this is the `last` try."""
        if not view.chunks:
            detail = "nothing is indexed yet: add a folder, a file, a URL or a text"
            return view, Answer(query.text, query.kind, (), "empty_index", detail), True
        meant = self._query_vector(query, options, view)  # before the snapshot: a model may take its time
        for clause in query.also:
            self._query_vector(clause, options, view)  # kept until it is asked
        clock.lap("embed")
        with self._index.snapshot(view) as now:
            if now.model != view.model:
                meant = self._query_vector(query, options, now)
            answer, is_whole = self._find(query, options, now, meant, reranker, clock, last=last)
        return now, answer, is_whole

    def _find(
        self,
        query: Query,
        options: SearchOptions,
        view: View,
        meant: _Meant,
        reranker: Reranker | None,
        clock: Clock,
        *,
        last: bool,
    ) -> tuple[Answer, bool]:
        """The answer of one state of the index; see `_answer`."""
        reason, detail = meant.reason, meant.detail
        seen = self._look(query, options, view, meant.vector, last=last)
        unmatched: tuple[str, ...] = ()
        unread = seen.unread
        if query.phrases and not len(seen.found):
            query, unmatched = query.relax(), query.phrases
            seen = self._look(query, options, view, meant.vector, last=last)
        clock.lap("search")
        if query.is_letter and not seen.declared:
            return Answer(query.text, query.kind, (), "empty_query", "type at least two characters"), True
        is_strange = self._is_strange(query, options, seen)
        if is_strange:
            options = replace(options, floor=min(STRANGE_FACTOR * options.floor, 1.0))
        seen = self._rank(query, options, seen, last=last)
        clock.lap("rank")
        answerable = self._answerable(query, options, seen)  # learnt from totals without a second opinion
        opinion: Opinion | None = None
        if reranker is not None:
            seen, opinion = self._rerank(query, options, seen, reranker)
            clock.lap("rerank")
        seen = replace(seen, found=settle(_lower_outdated(seen.found, options), answerable))
        hits, left_out = self._hits(query, options, seen, last=last)
        clock.lap("fetch")
        if not hits and reason is None:
            reason, detail = tell_empty(seen, self._store, options.where, is_strange=is_strange)
        is_whole = reason != "error" and (opinion is None or opinion.is_whole)
        told = [tell_phrases(unmatched, unread, options, hits, reason), detail]
        if opinion is not None and opinion.detail:
            told.append(opinion.detail)
            reason = reason or ("error" if opinion.failure else None)
        if hits and reason is None and answerable is not None and answerable < DOUBTFUL:
            told.append(NOT_HERE)
        answer = Answer(
            query.text,
            query.kind,
            hits,
            reason,
            "; ".join(filter(None, told)),
            reranked=0 if opinion is None else len(opinion.scores),
            left_out=left_out,
            unmatched_phrases=unmatched,
            meaning_share=self._meaning_share(query, options, seen),
            answerable=answerable,
            language="" if seen.words is None else seen.words.language,
        )
        return answer, is_whole

    def _look(
        self, query: Query, options: SearchOptions, view: View, vector: Vector | None, *, last: bool
    ) -> Matches:
        pool = max(PHRASE_POOL if query.phrases else POOL, 2 * (options.offset + options.limit))
        seen = self._index.find(view, query, options.where, options.mode, vector, pool)
        if query.phrases and not last and self._store.version() != view.version:
            raise _Moved  # the phrases were looked up in a later state than these rows are of
        return seen

    def _rank(self, query: Query, options: SearchOptions, seen: Matches, *, last: bool) -> Matches:
        """What came up in order; where a text was pasted, with what its other clauses find."""
        if not query.also:
            return self._ranker.rank(query, options, seen, hop=True)
        from outcrop.rank.clauses import fuse_clauses  # few texts are pasted

        # A cutoff is a share of the best of all clauses.
        cutoff, options = options.cutoff, replace(options, cutoff=0.0)
        found = [self._ranker.rank(query, options, seen).found]
        for clause in query.also:
            vector = self._query_vector(clause, options, seen.view).vector
            more = self._look(clause, options, seen.view, vector, last=last)
            found.append(self._ranker.rank(clause, options, more).found)
        weights = [clause.weight for clause in (query, *query.also)]
        return replace(seen, found=add_times(fuse_clauses(found, weights, cutoff), seen.words))

    def _answerable(self, query: Query, options: SearchOptions, seen: Matches) -> float | None:
        """The chance that the index answers; None where only one leg or the places of a phrase are asked for, or where
        only one leg can speak."""
        if options.mode != "hybrid" or query.phrases:
            return None
        if not len(seen.found.order):
            return 0.0
        return None if seen.vector is None else chance_of_answer(seen.found, len(query.text.split()))

    def _meaning_share(self, query: Query, options: SearchOptions, seen: Matches) -> MeaningShare:
        mode = "keyword" if seen.vector is None else options.mode
        return meaning_share(
            query.kind,
            trust_in(self._embedder, seen),
            mode=mode,
            fusion=options.fusion,
            balance=options.balance,
        )

    def _is_strange(self, query: Query, options: SearchOptions, seen: Matches) -> bool:
        """Whether the words of a query are unknown to both the index and the model."""
        knows: Callable[[str], bool] | None = getattr(self._embedder, "knows", None)
        if options.mode != "hybrid" or knows is None or seen.declared or seen.found.lexical.any():
            return False
        return not knows(query.text)

    def _query_vector(self, query: Query, options: SearchOptions, view: View) -> _Meant:
        if options.mode == "keyword":
            return _Meant()
        if view.model is not None and view.model != self._embedder.model:
            detail = (
                f"the index holds vectors of {view.model}, the model in use is {self._embedder.model}: "
                "run `outcrop reembed` to bring the index to this model, or name no model and the index's own is used"
            )
            return _Meant(None, "model_mismatch", detail)
        cached = self._vectors.get(query.text)
        if cached is not None:
            return _Meant(cached if cached.any() else None)
        try:
            vector = self._embedder.embed_query(query.text)
        except EmbedError as error:
            log.warning("query could not be embedded, searching by keyword only: %s", error)
            return _Meant(None, "error", str(error))
        self._vectors.put(query.text, vector, vector.nbytes + 4 * len(query.text))
        return _Meant(vector if vector.any() else None)

    def _rerank(
        self, query: Query, options: SearchOptions, seen: Matches, reranker: Reranker
    ) -> tuple[Matches, Opinion]:
        """What came up in the order that a second opinion gives it, and that opinion."""
        from outcrop.read.rerank import RERANKED, ask_reranker, blend_opinion  # few searches ask for it

        best = seen.found.chunk_id[seen.found.order[:RERANKED]].tolist()
        wanted = seen.words.weights if seen.words is not None else self._index.weigh(seen.view, query.text)
        opinion = ask_reranker(
            reranker, query.text, self._store, best, wanted, self._terms, options.rerank_seconds
        )
        return replace(seen, found=blend_opinion(seen.found, opinion, reranker)), opinion

    def _hits(
        self, query: Query, options: SearchOptions, seen: Matches, *, last: bool
    ) -> tuple[tuple[Hit, ...], tuple[LeftOut, ...]]:
        """The hits of the page that was asked for and, if that was asked too, what was left out.

        Chunks are fetched a batch at a time, until the merger has enough: most searches need one.
        """
        wanted = options.offset + options.limit
        step = read_ahead(options)
        # A phrase in quotes asks for every place that holds it.
        merger = Merger(wanted, merge=options.merge, repeats=bool(query.phrases))
        explainer = Explainer(seen, self._terms)
        goes_on, start = True, 0
        while goes_on and start < len(seen.found.order):
            for hit in explainer.as_hits(self._fetch(seen, start, start + step, last=last)):
                goes_on = merger.add(hit)
                if not goes_on:
                    break
            start += step
        hits = merger.hits()
        left_out: tuple[LeftOut, ...] = ()
        if options.explain:
            left_out = find_left_out(self._store, seen, options, hits, merger.fates, self._terms)
        return tuple(hits[options.offset :]), left_out

    def _fetch(self, seen: Matches, start: int, end: int, *, last: bool) -> list[tuple[StoredChunk, int]]:
        """The chunks from one place in the order to another, each with its place among what was found."""
        places = seen.found.order[start:end]
        at = dict(zip(seen.found.chunk_id[places].tolist(), places.tolist(), strict=True))
        unread = [id_ for id_ in at if id_ not in seen.read]
        read = {**seen.read, **{chunk.id: chunk for chunk in (self._store.chunks(unread) if unread else ())}}
        fetched = [read[id_] for id_ in at if id_ in read]
        if len(fetched) < len(at) and not last and self._store.version() != seen.view.version:
            raise _Moved
        return [(chunk, at[chunk.id]) for chunk in fetched]

    def _cached_answer(self, key: tuple[str, SearchOptions], view: View) -> Answer | None:
        cached = self._answers.get(key)
        return cached[1] if cached is not None and cached[0] is view else None


@dataclass(frozen=True, slots=True)
class _Meant:
    """The vector of a query, or why there is none."""

    vector: Vector | None = None
    reason: Reason | None = None
    detail: str = ""


class _Moved(Exception):
    """Chunks that were found are gone from the store: they were written anew meanwhile and have other ids now."""


def _one_leg(options: SearchOptions) -> SearchOptions:
    """A balance that leaves one leg nothing to say is a search by the other alone."""
    if options.mode != "hybrid" or options.balance not in (0, 1):
        return options
    return replace(options, mode="semantic" if options.balance else "keyword", balance=None)


def _weigh(answer: Answer, options: SearchOptions) -> int:
    """About how many characters an answer and what was asked hold."""
    shown = sum(len(hit.text) for hit in answer.hits)
    return len(answer.query) + shown + 500 * len(answer.left_out) + sum(map(len, options.where.paths))


def _lower_outdated(found: Candidates, options: SearchOptions) -> Candidates:
    if not options.outdated:
        return found
    from outcrop.rank.outdated import put_behind

    return put_behind(found, options.outdated)
