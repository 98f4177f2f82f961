"""READ PATH for a prompt about source code: what answers a request, what it names and what that leans on, as one text.

The weights and limits were not measured.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from outcrop.code.pack import Count, pack_code
from outcrop.code.related import Codebase, at_lines, read_place
from outcrop.code.request import Request, read_conversation
from outcrop.contracts import Store
from outcrop.index.query import read_query
from outcrop.index.seam import Index
from outcrop.rank.merge import join_copies
from outcrop.read.beside import bring_in, lift, look_beside
from outcrop.read.lookup import glob_of
from outcrop.read.pack import tell_dropped
from outcrop.read.rank import walk
from outcrop.records import Answer, Context, Directive, Filter, Hit, Message, SearchOptions, StoredChunk
from outcrop.store.filters import MAX_PATTERN_CHARS
from outcrop.system.dataclass import dataclass

Search = Callable[[str, SearchOptions], Answer]

HITS: Final = 60
"""Hits a context is packed from; 8 000 tokens hold about thirty chunks."""
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
REPEAT_SHARE: Final = 0.5
"""What is left of the score of each further passage of a file of code. Of the hunks of 60 commits of four repositories
2 000 tokens hold .54 with it and .55 without; a question how something works gets the whole declaration."""
FURTHER_SHARE: Final = 0.9
"""What each further chunk that one wish brings in counts against the one before."""
MAX_TARGET_CHUNKS: Final = 40
"""Chunks one directive may bring in: a folder is a wish, not the whole context."""
MAX_PATH_PARTS: Final = 16
"""Parts of a path that are looked at, from its end: each is a look-up."""


def read_request(
    request: str | Sequence[Message], must: Sequence[str] = (), prefer: Sequence[str] = ()
) -> Request:
    """A question, or what a conversation asks for, with the wishes of the caller before those that were read there."""
    read = Request(request) if isinstance(request, str) else read_conversation(request)
    wishes = (*(Directive(name, "must") for name in must), *(Directive(name) for name in prefer))
    return replace(read, directives=(*wishes, *read.directives))


@dataclass(frozen=True, slots=True)
class Gathered:
    """What a context is made from: the answer of the search, its hits and what joined them, in order; those that `must`
    be in it; what must be but is not in the index (`unknown`); and chunks that stand `beside` hits in their files."""

    answer: Answer
    hits: Sequence[Hit]
    must: Sequence[Hit]
    unknown: Sequence[str]
    beside: Sequence[Hit] = ()


def pack_gathered(gathered: Gathered, budget_tokens: int, count: Count) -> Context:
    """One text of at most `budget_tokens`; its detail says what could not be in it."""
    answer = gathered.answer
    context = pack_code(gathered.hits, budget_tokens, must=gathered.must, beside=gathered.beside, count=count)
    missing = "; ".join(f"must {name!r} is not in the index" for name in gathered.unknown)
    is_told = answer.reason == "error" or answer.unmatched_phrases or answer.is_doubtful or answer.elsewhere
    note = answer.detail if is_told or not context.sources else ""
    detail = "; ".join(part for part in (note, missing, context.detail) if part)
    context = replace(context, reason=None if context.sources else answer.reason, detail=detail)
    return tell_dropped(context, answer)


@dataclass(frozen=True, slots=True)
class Gathering:
    """Finds what belongs into a context about the source code in one index."""

    store: Store
    index: Index
    search: Search

    @property
    def codebase(self) -> Codebase:
        """What names mean there."""
        return Codebase(self.store, self.index)

    def gather(self, request: Request, options: SearchOptions, follow: float) -> Gathered:
        """Search, then lift or bring in what the request asks for or mentions, and what the best hits lean on."""
        answer = self.search(request.query, replace(options, limit=max(options.limit, HITS), merge=False))
        hits = fade_repeats(answer.hits)
        best = max((hit.score for hit in hits), default=1.0)
        must: list[Hit] = []
        unknown: list[str] = []
        for directive in request.directives:
            chunks = self._targets(directive, request.query, options)
            if not chunks and directive.strength == "must":
                unknown.append(directive.target)
            if directive.strength == "must":
                must += [bring_in(chunk, best, "must") for chunk in chunks]
            else:
                hits = _prefer(
                    hits, _fading(self._within(chunks, options.where), best * PREFERRED_SHARE), "preferred"
                )
        for name in request.mentioned:
            chunks = self._within(self.codebase.declarations(name), options.where)[:MENTIONED_CHUNKS]
            hits = _prefer(hits, _fading(chunks, best * MENTIONED_SHARE), "mentioned")
        if follow > 0:
            asked = [symbol.name for symbol in read_query(request.query).symbols]
            hits = self._follow(hits, best, follow, options.where, asked)
        taken = {hit.chunk_ids for hit in must}
        others = join_copies([hit for hit in hits if hit.chunk_ids not in taken])
        others, beside = look_beside(others, lambda ids: self._within(self.store.chunks(ids), options.where))
        return Gathered(answer, others, must, unknown, beside)

    def _targets(self, directive: Directive, query: str, options: SearchOptions) -> list[StoredChunk]:
        """The chunks a directive means: of a file or folder, those that answer the query come first."""
        target = directive.target.strip()
        within = options.where.collections[0] if len(options.where.collections) == 1 else None
        is_word = re.fullmatch(r"\w+", target) is not None  # a name rather than a file, unless there is none
        named = self.codebase.declarations(target, within) if is_word else []
        documents = (
            [] if named else self._documents(target, options.where, guess=directive.strength == "prefer")
        )
        if not documents:
            return (named if is_word else self.codebase.declarations(target, within))[:MAX_TARGET_CHUNKS]
        place = read_place(target)
        if place is not None:
            parts = (at_lines(self.store.chunks_of(document), place) for document in documents[:4])
            return [chunk for part in parts for chunk in part]
        where = replace(options.where, paths=(), documents=tuple(documents))
        # Not reranked: the time for that is given once for the whole context.
        answer = self.search(
            query, replace(options, where=where, limit=MAX_TARGET_CHUNKS, merge=False, floor=0.0, rerank=False)
        )
        ids = [hit.chunk_ids[0] for hit in answer.hits]
        if len(documents) == 1:
            ids += [chunk.id for chunk in self.store.chunks_of(documents[0])]
        return self.store.chunks(list(dict.fromkeys(ids))[:MAX_TARGET_CHUNKS])

    def _documents(self, target: str, where: Filter, *, guess: bool) -> list[int]:
        """Documents that a path means. It may be longer than the one stored, as frames carry absolute paths; with
        `guess`, where only the ends of both agree, and with one document only."""
        place = read_place(target)
        parts = [
            part
            for part in (place.path if place else target).replace("\\", "/").split("/")
            if part not in ("", ".")
        ]
        parts = parts[-MAX_PATH_PARTS:]
        ends = ["/".join(map(glob_of, parts[first:])) for first in range(len(parts))]
        if not ends or len(ends[0]) > MAX_PATTERN_CHARS - 4:  # as no path is, with the `**/` before it
            return []
        slash = "/" if target.endswith("/") else ""
        for pattern in (f"**/{ends[0]}", *(f"./{end}" for end in ends[1:])):
            if len(found := self.store.select(replace(where, paths=(pattern + slash,)))):
                return [int(id_) for id_ in found[:200]]
        for end in ends[1:] if guess and not slash else ():
            if len(found := self.store.select(replace(where, paths=(f"**/{end}",)))):
                return [int(found[0])] if len(found) == 1 else []
        return []

    def _follow(
        self, hits: list[Hit], best: float, follow: float, where: Filter, asked: Sequence[str]
    ) -> list[Hit]:
        """Add what the best hits lean on, by personalised PageRank over the reference graph, where `asked` are
        names that the request says."""
        if not hits:
            return hits
        starts = np.array([hit.chunk_ids[0] for hit in hits[:FOLLOW_SEEDS]], np.int64)
        shares = np.array([hit.score for hit in hits[:FOLLOW_SEEDS]], np.float32)
        with self.index.snapshot(self.index.refresh()) as view:
            found, visits = walk(starts, shares, partial(self.index.steps, view, asked=asked))
            fresh = ~np.isin(found, starts)
            if not where.is_empty():
                fresh &= self.index.passing(found, where)
        found, visits = found[fresh], visits[fresh]
        order = np.argsort(-visits, kind="stable")[:FOLLOWED]
        if not len(order):
            return hits
        share = np.minimum(follow * FOLLOW_SHARE * visits[order] / visits[order[0]], 0.99)
        scores = dict(zip(found[order].tolist(), (best * share).tolist(), strict=True))
        followed = [(chunk, scores[chunk.id]) for chunk in self.store.chunks(list(scores))]
        return _prefer(hits, followed, "followed")

    def _within(self, chunks: Sequence[StoredChunk], where: Filter) -> list[StoredChunk]:
        """Those of some chunks that pass a filter."""
        if where.is_empty():
            return list(chunks)
        ids = np.array([chunk.id for chunk in chunks], np.int64)
        passes = self.index.passing(ids, where).tolist()
        return [chunk for chunk, is_in in zip(chunks, passes, strict=True) if is_in]


def fade_repeats(hits: Iterable[Hit]) -> list[Hit]:
    """The hits, each further one of a file of code with a share of its score: of a file that is surely meant a search
    scores all passages high, but what fills a context is chosen by place, not by file."""
    seen: Counter[int] = Counter()
    faded: list[Hit] = []
    for hit in hits:
        share = REPEAT_SHARE ** seen[hit.document.id] if hit.document.kind == "code" else 1.0
        faded.append(replace(hit, score=share * hit.score))
        seen[hit.document.id] += 1
    return sorted(faded, key=lambda hit: -hit.score)


def _fading(chunks: Sequence[StoredChunk], score: float) -> list[tuple[StoredChunk, float]]:
    """Chunks with the score that the first is to have, and each further one somewhat less."""
    return [(chunk, score * FURTHER_SHARE**i) for i, chunk in enumerate(chunks)]


def _prefer(hits: Iterable[Hit], scored: Sequence[tuple[StoredChunk, float]], name: str) -> list[Hit]:
    """The hits with these chunks among them, each at least at its score; ordered again."""
    wanted = {chunk.id: (chunk, score) for chunk, score in scored}
    result: list[Hit] = []
    for hit in hits:
        _, least = wanted.pop(hit.chunk_ids[0], (None, 0.0))
        result.append(lift(hit, least, name))
    result += [bring_in(chunk, score, name) for chunk, score in wanted.values()]
    return sorted(result, key=lambda hit: -hit.score)
