"""READ PATH for source code: what a name or a place means, what it has to do with, the context for a request.

All of it follows the reference graph that the search arrays imply, and looks up in the store what that names; nothing
here scans files or tables. The weights and limits are judgement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from outcrop.contracts import Store
from outcrop.conversation import Request
from outcrop.distinct import numbered
from outcrop.errors import Ambiguous, NotFound
from outcrop.lookup import find_document
from outcrop.rank.merge import Scored, as_hit
from outcrop.rank.walk import walk
from outcrop.records import (
    Answer,
    Boost,
    Directive,
    Explanation,
    Filter,
    Hit,
    Related,
    Relation,
    Relative,
    SearchOptions,
    StoredChunk,
)
from outcrop.search.evidence import Nodes
from outcrop.search.graph import Graph
from outcrop.search.index import Index
from outcrop.search.query import read_query

Search = Callable[[str, SearchOptions], Answer]

HITS: Final = 60
"""Hits a context is packed from: at 8 000 tokens about forty files fit."""
FOLLOWED: Final = 40
"""Chunks that following references may add."""
FOLLOW_SEEDS: Final = 10
FOLLOW_SHARE: Final = 0.5
"""What the most visited chunk scores at `reference_follow` 1, as a share of the best hit."""
PREFERRED_SHARE: Final = 0.9
"""Where a preferred place stands that the search did not find: just below the best hit."""
MENTIONED_SHARE: Final = 0.3
MENTIONED_CHUNKS: Final = 2
"""Where a name stands that an earlier turn of the conversation spoke of, and how many chunks it may bring in."""
FURTHER_SHARE: Final = 0.9
"""What each further chunk that one wish brings in counts against the one before."""
MAX_TARGET_CHUNKS: Final = 40
"""Chunks one directive may bring in: a folder is a wish, not the whole context."""

MAX_NAMESAKES: Final = 8
"""Declarations of one name that are told apart: of a more common one the likeliest will do."""
MAX_PATH_PARTS: Final = 16
"""Parts of a path that are looked at, from its end: each is a look-up."""

_PLACE: Final = re.compile(r"(.+?):(\d+)(?:-(\d+))?(?::\d+)?")
_NOT_FOUND_YET: Final = Explanation(None, None, None, None, 0.0)


class Codebase:
    """Answers about source code in one index."""

    def __init__(self, store: Store, index: Index) -> None:
        self._store = store
        self._index = index

    def graph(self) -> Graph:
        """The reference graph of the whole index as it is now."""
        return self._index.whole()

    # ------------------------------------------------------------------ what a name or a place means

    def find(
        self, target: str, collections: Sequence[str], within: str | None = None, *, numbers: bool = False
    ) -> list[StoredChunk]:
        """The chunks that `FILE:LINE`, a file, or a declaration's name (qualified or not) means; NotFound if none.

        `#12` means chunk 12, and with `numbers` so does `12`, which otherwise is a document.
        """
        if target.startswith("#") or numbers:
            number = target.removeprefix("#")
            if number.isascii() and number.isdecimal():
                return self._numbered(number, within)
        place = _PLACE.fullmatch(target)
        if place is not None:
            document = find_document(self._store, place[1], collections, within=within)
            return _at_lines(self._store.chunks_of(document.id), int(place[2]), int(place[3] or place[2]))
        named = self.declarations(target, within)
        if named:
            return named
        try:
            return self._store.chunks_of(find_document(self._store, target, collections, within=within).id)
        except Ambiguous:
            raise
        except NotFound as error:
            raise NotFound(
                f"there is no declaration and no file {target!r}; write FILE:LINE, or find the name with a search"
            ) from error

    def _numbered(self, number: str, within: str | None) -> list[StoredChunk]:
        chunks = self._store.chunks([int(number)]) if len(number) < 19 else []  # SQLite has no larger numbers
        found = [chunk for chunk in chunks if within in (None, chunk.document.collection)]
        if not found:
            raise NotFound(f"there is no chunk {number}; a changed file has new ones: search again")
        return found

    def declarations(self, name: str, within: str | None = None) -> list[StoredChunk]:
        """All chunks of the declarations that bear this name, the likeliest declaration first."""
        *scope, last = _name_parts(name)
        chunks = self._store.chunks(self._index.declaring(last))
        found = [
            chunk
            for chunk in chunks
            if (within is None or chunk.document.collection == within) and _declares(chunk, scope, last)
        ]
        exact = [chunk for chunk in found if chunk.code and any(d.name == last for d in chunk.code.defines)]
        found = sorted(exact or found, key=lambda chunk: _doubt(chunk, last))
        whole: dict[int, StoredChunk] = {}
        for chunk in found[:MAX_NAMESAKES]:
            for part in self._parts_of(chunk, last):
                whole.setdefault(part.id, part)
        return list(whole.values())

    def _parts_of(self, chunk: StoredChunk, name: str) -> list[StoredChunk]:
        """A declaration that was cut is several chunks; they follow each other under one name."""
        if chunk.code is None or chunk.code.symbol.split(".")[-1].lower() != name.lower():
            return [chunk]
        symbol = chunk.code.symbol
        return [
            part
            for part in self._store.chunks_of(chunk.document.id)
            if part.code is not None
            and (part.code.symbol == symbol or part.code.symbol.startswith(f"{symbol}."))
        ]

    # ------------------------------------------------------------------ related

    def related(self, target: Sequence[StoredChunk], limit: int, name: str = "") -> Related:
        """Callers, callees, tests and documents of some chunks, each at most `limit`, strongest first.

        With the `name` of a declaration only those count that use it, or what stands in it: small declarations share
        a chunk with their neighbours.
        """
        graph = self.graph()
        nodes = graph.find_chunks(chunk.id for chunk in target)
        inward, outward = graph.edges_to(nodes), graph.edges_from(nodes)
        last = _name_parts(name)[-1]
        if any(_declares(chunk, (), last) for chunk in target):
            inward = inward.take(graph.leads_to(inward, last))
        own = {chunk.id for chunk in target}
        found: list[Relative] = []
        for relation, ends, weights in (
            ("caller", inward.source, inward.weight),
            ("callee", outward.target, outward.weight),
        ):
            for chunk, weight in self._weighed(graph, ends, weights):
                if chunk.id not in own:
                    found.append(Relative(_relation(relation, chunk), chunk, round(weight, 4)))
        kinds = ("caller", "callee", "test", "doc")
        limited = [item for kind in kinds for item in [r for r in found if r.relation == kind][:limit]]
        return Related(tuple(target), tuple(limited))

    def _weighed(
        self, graph: Graph, ends: Nodes, weights: NDArray[np.float32]
    ) -> list[tuple[StoredChunk, float]]:
        nodes, place = numbered(ends)
        total = np.bincount(place, weights, len(nodes))
        order = np.argsort(-total, kind="stable")[:200]
        by_id = dict(zip(graph.chunk_ids(nodes[order]), total[order].tolist(), strict=True))
        return [(chunk, by_id[chunk.id]) for chunk in self._store.chunks(list(by_id))]

    # ------------------------------------------------------------------ context

    def gather(
        self,
        request: Request,
        options: SearchOptions,
        search: Search,
        follow: float,
    ) -> tuple[Answer, list[Hit], list[Hit], list[str]]:
        """The answer of the search, the hits for a context in order, those that must be in it, and what was asked for
        but is not in the index."""
        answer = search(request.query, replace(options, limit=max(options.limit, HITS), merge=False))
        hits = list(answer.hits)
        best = max((hit.score for hit in hits), default=1.0)
        must: list[Hit] = []
        unknown: list[str] = []
        for directive in request.directives:
            chunks = self._targets(directive, request.query, options, search)
            if not chunks and directive.strength == "must":
                unknown.append(directive.target)
            if directive.strength == "must":
                must += [_as_hit(chunk, best, "must") for chunk in chunks]
            else:
                hits = _prefer(
                    hits, _fading(self._within(chunks, options.where), best * PREFERRED_SHARE), "preferred"
                )
        for name in request.mentioned:
            chunks = self._within(self.declarations(name), options.where)[:MENTIONED_CHUNKS]
            hits = _prefer(hits, _fading(chunks, best * MENTIONED_SHARE), "mentioned")
        if follow > 0:
            asked = [symbol.name for symbol in read_query(request.query).symbols]
            hits = self._follow(hits, best, follow, options.where, asked)
        taken = {hit.chunk_ids for hit in must}
        return answer, [hit for hit in hits if hit.chunk_ids not in taken], must, unknown

    def _targets(
        self,
        directive: Directive,
        query: str,
        options: SearchOptions,
        search: Search,
    ) -> list[StoredChunk]:
        """The chunks a directive means: of a file or folder, those that answer the query come first."""
        target = directive.target.strip()
        within = options.where.collections[0] if len(options.where.collections) == 1 else None
        is_word = re.fullmatch(r"\w+", target) is not None  # a name rather than a file, unless there is none
        named = self.declarations(target, within) if is_word else []
        documents = (
            [] if named else self._documents(target, options.where, guess=directive.strength == "prefer")
        )
        if not documents:
            return (named if is_word else self.declarations(target, within))[:MAX_TARGET_CHUNKS]
        place = _PLACE.fullmatch(target)
        if place is not None:
            first, last = int(place[2]), int(place[3] or place[2])
            parts = (_at_lines(self._store.chunks_of(document), first, last) for document in documents[:4])
            return [chunk for part in parts for chunk in part]
        where = replace(options.where, paths=(), documents=tuple(documents))
        # Not reranked: the time for that is given once for the whole context.
        answer = search(
            query,
            replace(options, where=where, limit=MAX_TARGET_CHUNKS, merge=False, floor=0.0, rerank=False),
        )
        ids = [hit.chunk_ids[0] for hit in answer.hits]
        if len(documents) == 1:
            ids += [chunk.id for chunk in self._store.chunks_of(documents[0])]
        return self._store.chunks(list(dict.fromkeys(ids))[:MAX_TARGET_CHUNKS])

    def _documents(self, target: str, where: Filter, *, guess: bool) -> list[int]:
        """Documents that a path means. It may be longer than the one stored, as frames carry absolute paths; with
        `guess`, where only the ends of both agree, and with one document only."""
        place = _PLACE.fullmatch(target)
        parts = [
            part
            for part in (place[1] if place else target).replace("\\", "/").split("/")
            if part not in ("", ".")
        ]
        parts = parts[-MAX_PATH_PARTS:]
        if not parts:
            return []
        ends = ["/".join(map(_escape, parts[first:])) for first in range(len(parts))]
        slash = "/" if target.endswith("/") else ""
        for pattern in (f"**/{ends[0]}", *(f"./{end}" for end in ends[1:])):
            if len(found := self._store.select(replace(where, paths=(pattern + slash,)))):
                return [int(id_) for id_ in found[:200]]
        for end in ends[1:] if guess and not slash else ():
            if len(found := self._store.select(replace(where, paths=(f"**/{end}",)))):
                return [int(found[0])] if len(found) == 1 else []
        return []

    def _follow(
        self, hits: list[Hit], best: float, follow: float, where: Filter, asked: Sequence[str]
    ) -> list[Hit]:
        """Add what the best hits lean on, by personalised PageRank over the reference graph (C6), where `asked` are
        names that the request says."""
        if not hits:
            return hits
        starts = np.array([hit.chunk_ids[0] for hit in hits[:FOLLOW_SEEDS]], np.int64)
        shares = np.array([hit.score for hit in hits[:FOLLOW_SEEDS]], np.float32)
        with self._index.moment(self._index.refresh()) as view:
            found, visits = walk(starts, shares, partial(self._index.steps, view, asked=asked))
            fresh = ~np.isin(found, starts)
            if not where.is_empty():
                fresh &= self._index.passing(found, where)
        found, visits = found[fresh], visits[fresh]
        order = np.argsort(-visits, kind="stable")[:FOLLOWED]
        if not len(order):
            return hits
        share = np.minimum(follow * FOLLOW_SHARE * visits[order] / visits[order[0]], 0.99)
        scores = dict(zip(found[order].tolist(), (best * share).tolist(), strict=True))
        followed = [(chunk, scores[chunk.id]) for chunk in self._store.chunks(list(scores))]
        return _prefer(hits, followed, "followed")

    def _within(self, chunks: Sequence[StoredChunk], where: Filter) -> list[StoredChunk]:
        """Those of some chunks that pass a filter."""
        if where.is_empty():
            return list(chunks)
        ids = np.array([chunk.id for chunk in chunks], np.int64)
        passes = self._index.passing(ids, where).tolist()
        return [chunk for chunk, is_in in zip(chunks, passes, strict=True) if is_in]


def _at_lines(chunks: Sequence[StoredChunk], first: int, last: int) -> list[StoredChunk]:
    """The chunks that hold some of these lines; where a blank line stands between two, the nearest."""
    found = [chunk for chunk in chunks if chunk.line_start <= last and first <= chunk.line_end]
    if found or not chunks:
        return found
    return [min(chunks, key=lambda chunk: max(chunk.line_start - last, first - chunk.line_end))]


def _name_parts(name: str) -> list[str]:
    """`Pool::acquire()` as what it stands in and what it is called."""
    return [part for part in re.split(r"\.|::|->|#|\\", name.removesuffix("()")) if part] or [name]


def _fading(chunks: Sequence[StoredChunk], score: float) -> list[tuple[StoredChunk, float]]:
    """Chunks with the score that the first is to have, and each further one somewhat less."""
    return [(chunk, score * FURTHER_SHARE**i) for i, chunk in enumerate(chunks)]


def _prefer(hits: Iterable[Hit], scored: Sequence[tuple[StoredChunk, float]], name: str) -> list[Hit]:
    """The hits with these chunks among them, each at least at its score; ordered again."""
    wanted = {chunk.id: (chunk, score) for chunk, score in scored}
    result: list[Hit] = []
    for hit in hits:
        _, least = wanted.pop(hit.chunk_ids[0], (None, 0.0))
        score = max(hit.score, least)
        if score > hit.score:
            why = replace(hit.why, boosts=(*hit.why.boosts, Boost(name, round(score - hit.score, 4))))
            hit = replace(hit, score=score, why=why)  # noqa: PLW2901 - the hit as it goes on
        result.append(hit)
    result += [_as_hit(chunk, score, name) for chunk, score in wanted.values()]
    return sorted(result, key=lambda hit: -hit.score)


def _as_hit(chunk: StoredChunk, score: float, reason: str) -> Hit:
    why = replace(_NOT_FOUND_YET, boosts=(Boost(reason, round(score, 4)),))
    return as_hit(Scored(chunk, score, why))


def _declares(chunk: StoredChunk, scope: Sequence[str], name: str) -> bool:
    if chunk.code is None:
        return False
    for item in chunk.code.defines:
        if item.name.lower() != name.lower():
            continue
        place = chunk.code.symbol.lower().split(".")
        stem = chunk.document.path.rpartition("/")[2].partition(".")[0].lower()
        if not scope or scope[-1].lower() in (item.scope.lower(), stem, *place):
            return True
    return False


_DOUBTFUL_KINDS: Final = frozenset(
    {"field", "variable", "constant", "property", "prototype", "member", "local"}
)


def _doubt(chunk: StoredChunk, name: str) -> tuple[bool, bool, bool, bool]:
    """How doubtful it is that this chunk's declaration is the one that is meant; the least doubtful sorts first."""
    items = [item for item in (chunk.code.defines if chunk.code else ()) if item.name.lower() == name.lower()]
    exact = [item for item in items if item.name == name]
    item = (exact or items)[0]
    return not exact, bool(chunk.document.role), item.kind in _DOUBTFUL_KINDS, bool(item.scope)


def _relation(relation: str, chunk: StoredChunk) -> Relation:
    if relation == "callee":
        return "callee"
    if chunk.document.role == "test":
        return "test"
    return "caller" if chunk.document.language else "doc"


def _escape(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
