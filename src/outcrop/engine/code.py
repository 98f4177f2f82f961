"""What only source code is asked. Imported by a search, so what does the work is imported when it is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Unpack

from outcrop.contracts import Tokenizer
from outcrop.engine.reading import EVERYTHING, Reading
from outcrop.read.ask import at_least_one
from outcrop.records import Context, Filter, Message, SearchArguments, StoredChunk

if TYPE_CHECKING:
    from outcrop.code.related import Codebase
    from outcrop.records import CodeMap, Graph, Related


class CodeQuestions(Reading):
    """The part of an Engine that answers questions about source code."""

    def code_context(
        self,
        request: str | Sequence[Message],
        *,
        budget_tokens: int | None = None,
        must: Sequence[str] = (),
        prefer: Sequence[str] = (),
        tokenizer: Tokenizer | None = None,
        **options: Unpack[SearchArguments],
    ) -> Context:
        """Source code for a prompt as `<codeRag:chunk>` elements, never over `budget_tokens` tokens.

        `request` is a question, or a conversation of which the part that matters becomes the query. What `must` names
        (files, folders that end in `/`, declarations) is in the text or reported; what `prefer` names comes early.
        `reference_follow` says how strongly code that the hits lean on is drawn in, 0 not at all. Takes the options of
        `search`.
        """
        from outcrop.code.context import Gathering, pack_gathered, read_request

        budget = self._budget(budget_tokens)
        read = read_request(request, must, prefer)
        asked = self._read(options)
        with self._standing(asked.here):
            inside = asked.where if asked.here is None else self.in_project(asked.where)
            where = self._scope(inside)
            gathering = Gathering(self._view(where), self.parts.index, self.run_search)
            wanted = replace(asked, where=where, here=None, reference_follow=1.0)
            found = gathering.gather(read, wanted, asked.reference_follow)
            answer = self._name_better(found.answer, asked, inside)
            dated = partial(self._dated, where=where)
            found = replace(found, hits=dated(found.hits), must=dated(found.must), beside=dated(found.beside))
        return pack_gathered(replace(found, answer=answer), budget, (tokenizer or self._tokenizer).count)

    @staticmethod
    def query_of(messages: Sequence[Message]) -> str:
        """What a conversation asks for, as words to search by: the latest question and what it refers back to."""
        from outcrop.code.request import read_conversation

        return read_conversation(messages).query

    def related(self, target: str, *, limit: int = 10, collection: str | None = None) -> Related:
        """Callers, callees, tests and docs of a declaration (`Pool.acquire`) or a place (`pool.py:120`)."""
        from outcrop.code.related import retry_on_write
        from outcrop.read.explain import name_headings

        def ask() -> Related:
            chunks = self.codebase.find(target, self._known.names(), collection)
            found = self.codebase.related(chunks, limit, target)
            return replace(found, target=tuple(map(name_headings, found.target)))

        return retry_on_write(self._store, ask)

    def map(
        self,
        *,
        budget_tokens: int | None = None,
        focus: Sequence[str] = (),
        where: Filter = EVERYTHING,
        tokenizer: Tokenizer | None = None,
    ) -> CodeMap:
        """The most central declarations as an outline within a budget; `focus` names what it should be centred on."""
        from outcrop.code.map import draw_map

        where = self._scope(where)
        budget = self._budget(budget_tokens)
        graph, names = self.codebase.graph(), self._known.names()
        chunks = [chunk.id for target in focus for chunk in self.codebase.find(target, names)]
        within = None if where.is_empty() else self._store.select(where)
        count = (tokenizer or self._tokenizer).count
        return draw_map(graph, self._view(where), budget, count, within=within, focus=graph.find_chunks(chunks))

    def graph(self, target: str | None = None, *, collection: str | None = None, limit: int = 60) -> Graph:
        """The references among chunks as a graph of at most `limit` of them: around a declaration, a file, a place
        (`pool.py:120`) or a chunk's number; without one the most central of a collection, or of all."""
        from outcrop.code.map import draw_centre, draw_neighbourhood
        from outcrop.code.related import retry_on_write

        at_least_one("limit", limit)
        self._known.require(() if collection is None else (collection,))
        where = self._scope(Filter(collections=() if collection is None else (collection,)))

        def draw() -> Graph:
            within = None if where.is_empty() else self._store.select(where)
            graph = self.codebase.graph()
            if target is None:
                return draw_centre(graph, self._view(where), limit, within)
            chunks = self.codebase.find(target, self._known.names(), collection, numbers=True)
            return draw_neighbourhood(graph, self._view(where), limit, within, chunks)

        return retry_on_write(self._store, draw)

    def definitions(
        self, name: str, *, collection: str | None = None, limit: int = 20
    ) -> tuple[StoredChunk, ...]:
        """The chunks that declare a name (`acquire`, `Pool.acquire`), the likeliest first; none where none does."""
        from outcrop.code.related import retry_on_write

        at_least_one("limit", limit)
        self._known.require(() if collection is None else (collection,))
        return retry_on_write(self._store, lambda: tuple(self.codebase.declarations(name, collection)[:limit]))

    @property
    def codebase(self) -> Codebase:
        """What is asked of source code."""
        from outcrop.code.related import Codebase

        return Codebase(self._view(), self.parts.index)
