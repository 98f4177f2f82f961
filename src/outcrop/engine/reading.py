"""What gets passages and documents out of an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

from outcrop.contracts import Stop, Tokenizer
from outcrop.engine.opened import OpenedIndex
from outcrop.read.ask import answer_query, at_least_one, read_options
from outcrop.read.headings import name_headings
from outcrop.read.lookup import find_document
from outcrop.records import (
    Answer,
    CollectionInfo,
    Context,
    DocumentInfo,
    Filter,
    Hit,
    SearchArguments,
    SearchOptions,
    StoredChunk,
)
from outcrop.records.asked import CONTEXT_DEFAULTS
from outcrop.sources.freshness import looks_stale

EVERYTHING = Filter()


class Reading(OpenedIndex):
    """The part of an Engine that searches and reads."""

    def search(self, query: str, *, stopped: Stop | None = None, **options: Unpack[SearchArguments]) -> Answer:
        """The passages that answer a query, best first. The options are those of SearchOptions and Filter."""
        return self.run_search(query, read_options(self.config, **options), stopped)

    def run_search(self, query: str, options: SearchOptions, stopped: Stop | None = None) -> Answer:
        """As `search`, from ready-made options. A failing store answers with a reason instead of raising."""
        self._known.require(options.where.collections)
        answer = answer_query(self._maker, query, options, stopped)
        return replace(answer, hits=self._revisions.dated(answer.hits)) if answer.hits else answer

    def context(
        self,
        query: str,
        *,
        budget_tokens: int | None = None,
        tokenizer: Tokenizer | None = None,
        stopped: Stop | None = None,
        **options: Unpack[SearchArguments],
    ) -> Context:
        """One text for a prompt, never over the budget, with numbered sources. Takes the options of `search`; unless
        given, 40 chunks are chosen from, and none that scores less than half of the best."""
        budget = self._budget(budget_tokens)
        asked = read_options(self.config, **{**CONTEXT_DEFAULTS, **options, "merge": False})
        answer = self.run_search(query, asked, stopped)
        from outcrop.rank.merge import merge_hits
        from outcrop.read.beside import look_beside
        from outcrop.read.pack import pack

        def join_neighbours(hits: Sequence[Hit]) -> Sequence[Hit]:
            return merge_hits(hits, len(hits), repeats=True)

        _, parts = look_beside(answer.hits, self._store.chunks, parts_only=True)
        beside = self._revisions.dated(parts)
        return pack(answer, budget, tokenizer or self._tokenizer, join_neighbours, beside)

    def _budget(self, given: int | None) -> int:
        return at_least_one("budget_tokens", self.config.budget_tokens if given is None else given)

    # ------------------------------------------------------------------ documents

    def get(self, reference: int | str, *, collection: str | None = None) -> DocumentInfo:
        """A document by id, uri (absolute path, URL, the id a text was given) or path."""
        return find_document(self._store, reference, self._known.names(), within=collection)

    def text(self, reference: int | str, *, collection: str | None = None) -> str:
        """The whole text of a document, as it was parsed."""
        return self._store.text(self.get(reference, collection=collection).id)

    def chunks(self, reference: int | str, *, collection: str | None = None) -> list[StoredChunk]:
        """The chunks of a document, in order, each with all headings it holds."""
        chunks = self._store.chunks_of(self.get(reference, collection=collection).id)
        return [name_headings(chunk) for chunk in chunks]

    def documents(
        self, where: Filter = EVERYTHING, *, limit: int | None = None, offset: int = 0
    ) -> list[DocumentInfo]:
        """Documents by collection and path."""
        self._known.require(where.collections)
        return self._store.documents(where, limit, offset)

    def count(self, where: Filter = EVERYTHING) -> int:
        """How many documents pass a filter."""
        self._known.require(where.collections)
        return len(self._store.select(where))

    def roots(self) -> tuple[str, ...]:
        """The folders (and single files) that were added, as real paths."""
        return tuple(dict.fromkeys(root for _, root in self._store.roots()))

    def is_stale(self, document: DocumentInfo) -> bool | None:
        """Whether a document's file differs from what was indexed; None where there is no file to ask."""
        return looks_stale(document)

    def hashes(self, collection: str) -> dict[str, str]:
        """uri → SHA-256 of every document of a collection, so that a sync elsewhere can diff."""
        return {uri: state.sha256 for uri, state in self._store.states(collection).items()}

    def collections(self, *, roots: bool = False) -> tuple[CollectionInfo, ...]:
        """Every collection and how much it holds; with `roots`, which takes longer, also what was added to it."""
        if not roots:
            return self._known.infos()
        added: dict[str, list[str]] = {}
        for collection, root in self._store.roots():
            added.setdefault(collection, []).append(root)
        return tuple(replace(info, roots=tuple(added.get(info.name, ()))) for info in self._known.infos())
