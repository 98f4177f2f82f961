"""The front door: a Config becomes parts, and the parts become an index one can add to and search.

    kb = outcrop.open()
    kb.add("~/notes")
    for hit in kb.search("how are retries configured?").hits: ...
    print(kb.context("how are retries configured?", budget_tokens=2000).text)

An Engine may be used from many threads, and many processes may have the same index open.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from outcrop.code.related import Codebase, steadily
from outcrop.config import Config, load_config
from outcrop.contracts import Commentator, Embedder, Reranker, Store, Tokenizer
from outcrop.errors import ConfigError, EmbedError, QueryError, SourceError, StoreError
from outcrop.maintain.health import examine, examine_languages, find_stale, roles_of
from outcrop.maintain.permissions import close_index
from outcrop.rank.merge import merge_hits
from outcrop.read.ask import When, answer_query, as_timestamp, at_least_one, read_options
from outcrop.read.headings import name_headings
from outcrop.read.lookup import KnownCollections, find_document
from outcrop.read.pack import choose_tokenizer, pack
from outcrop.read.parts import Parts, PartsMaker
from outcrop.read.search import Stop
from outcrop.records import (
    RERANK_SECONDS,
    Answer,
    Check,
    CodeMap,
    CollectionInfo,
    Context,
    DocumentInfo,
    Filter,
    Fusion,
    Graph,
    Hit,
    IngestReport,
    Message,
    MoveReport,
    OnProgress,
    QueryType,
    Related,
    SearchMode,
    SearchOptions,
    SourceFile,
    StaleDocument,
    Status,
    StoredChunk,
    Text,
)
from outcrop.records.database_url import DatabaseUrl
from outcrop.sources.freshness import looks_stale
from outcrop.sources.revisions import Revisions
from outcrop.sources.text import text_source
from outcrop.store.opening import open_store
from outcrop.write.add import Adder, fetch_url, is_url
from outcrop.write.folders import DEFAULT_COLLECTION, sync_root
from outcrop.write.prepare import Prepare

__all__ = ["Documents", "Engine", "When", "as_timestamp", "examine_machine", "open_engine"]

COUNTED_WAITING = 10_000
"""Documents that are counted at most to say how many wait: a second at this number is a millisecond. Judgement."""

EVERYTHING = Filter()
Documents = list[DocumentInfo]
list_of = list  # inside the class `list` is the method


def open_engine(db: str | Path | DatabaseUrl | None = None, **settings: object) -> Engine:
    """Open an index, creating it where there is none. `settings` are those of Config."""
    return Engine(load_config({"db": db, **settings}))


def examine_machine() -> list[Check]:
    """What the doctor can examine where there is no index yet."""
    return [examine_languages()]


class Engine:
    """One index: add, sync, search, context, get, list, delete, stale, reembed."""

    def __init__(
        self,
        config: Config,
        *,
        create: bool = True,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        tokenizer: Tokenizer | None = None,
        commentator: Commentator | None = None,
    ) -> None:
        self.config = config
        self._tokenizer = tokenizer or choose_tokenizer(config.tokenizer)
        self._store: Store = open_store(
            config.db,
            lambda: self._maker.deriver(),  # noqa: PLW0108 - the maker is made after the store
            create=create,
            vector_index=config.vector_index,
            vector_effort=config.vector_effort,
        )
        self.said = close_index(config)
        """What the person who opened the index should know; empty when there is nothing."""
        self._maker = PartsMaker(config, self._store, embedder, reranker, commentator)
        self._adder = Adder(config, self._store, self._maker)
        self._known = KnownCollections(self._store)
        self._revisions = Revisions(self._store)

    @property
    def parts(self) -> Parts:
        """The model and what searches with it, made when first needed; others once the index has another model."""
        return self._maker.parts()

    # ------------------------------------------------------------------ writing

    def add(
        self,
        source: str | Path | None = None,
        *,
        text: str | None = None,
        id: str | None = None,
        title: str | None = None,
        kind: str | None = None,
        collection: str | None = None,
        tags: Sequence[str] = (),
        force: bool = False,
        defer_embedding: bool = False,
        ray: str | None = None,
        progress: OnProgress | None = None,
        stopped: Stop | None = None,
    ) -> IngestReport:
        """Add a folder, a file, a URL or a text. What is there already and unchanged costs next to nothing.

        A folder goes into a collection of its own name unless one is given; the rest into `default`. `id` names a
        text, so that adding it again replaces it; `kind` says how to read it (`md`, `text`, `html`, `json` …), where
        neither the id's extension nor the text itself does. `force` reads and chunks again what did not change. With
        `defer_embedding` it is found by its words at once, and by meaning after `embed_pending`, in whatever process.
        `ray` is the address of a Ray cluster that reads, parses and embeds the files of a folder: `auto`, `HOST:PORT`,
        `ray://HOST:PORT`, or `local` for one on this machine alone."""
        if (source is None) == (text is None) or source == "":
            raise SourceError("give either a source (folder, file or URL) or a text")
        if kind is not None and text is None:
            raise SourceError("kind goes with a text; files and URLs tell theirs")
        if text is not None:
            file, data = text_source(text, id, kind=kind)
        elif is_url(source):
            file, data = fetch_url(self.config, source)
        else:
            path = Path(str(source)).expanduser()
            return self._adder.add_path(
                path,
                collection,
                tags,
                force=force,
                defer_embedding=defer_embedding,
                prepare=self._cluster(ray, defer_embedding=defer_embedding),
                progress=progress,
                stopped=stopped,
            )
        if ray is not None:
            raise SourceError("a Ray cluster reads files and folders; add a URL or a text without it")
        target = collection or DEFAULT_COLLECTION
        wanted = Text("", title=title, tags=tuple(tags))
        return self._adder.run(
            lambda ingestor: ingestor.add(
                file, data, target, wanted, force=force, defer_embedding=defer_embedding
            )
        )

    def _cluster(self, address: str | None, *, defer_embedding: bool) -> Prepare | None:
        if address is None:
            return None
        from outcrop.cluster.over import open_cluster  # what starts processes is rarely needed

        return open_cluster(self.config, self.parts, address, defer_embedding=defer_embedding)

    def add_texts(
        self,
        texts: Iterable[Text],
        *,
        collection: str | None = None,
        force: bool = False,
        defer_embedding: bool = False,
        progress: OnProgress | None = None,
        stopped: Stop | None = None,
    ) -> IngestReport:
        """Add many texts in few transactions; memory stays bounded however many the iterable gives."""
        target = collection or DEFAULT_COLLECTION
        return self._adder.run_once(
            lambda ingestor: ingestor.add_many(
                texts, target, force=force, defer_embedding=defer_embedding, progress=progress, stopped=stopped
            )
        )

    def sync(
        self,
        path: str | Path | None = None,
        *,
        collection: str | None = None,
        force: bool = False,
        progress: OnProgress | None = None,
        stopped: Stop | None = None,
    ) -> IngestReport:
        """Bring folders up to date: those added before, or the one given. Deleted files leave the index."""
        if path is not None:
            target = Path(path).expanduser()
            return self.add(target, collection=collection, force=force, progress=progress, stopped=stopped)
        roots = [(name, root) for name, root in self._store.roots() if collection in (None, name)]
        if collection is not None and not roots:
            self._known.require((collection,))
        reports = self._adder.run(
            lambda ingestor: [
                sync_root(
                    self._store, ingestor, name, Path(root), force=force, progress=progress, stopped=stopped
                )
                for name, root in roots
            ]
        )
        return sum(reports, IngestReport())

    def sync_files(
        self,
        files: Sequence[SourceFile],
        gone: Iterable[str] = (),
        *,
        collection: str,
        read: Callable[[SourceFile], bytes],
        defer_embedding: bool = False,
    ) -> IngestReport:
        """Bring single files of a folder up to date, found and read by the caller, whatever the folder's rules say of
        them; documents with a uri of `gone` leave the index, or move where a new file has the same bytes."""
        return self._adder.run(
            lambda ingestor: ingestor.sync_files(
                files, gone, collection, read=read, defer_embedding=defer_embedding
            )
        )

    def embed_pending(self, *, stopped: Stop | None = None) -> int:
        """Embed what was added with `defer_embedding`, by whatever process, in small batches; how many documents were
        completed.

        The queue is the index itself: interrupted, it goes on where it stopped. Two processes that do so at once only
        waste work.
        """
        return self._adder.embed_pending(stopped) if self.pending() else 0

    def pending(self) -> int:
        """How many documents wait for a vector, counted up to 10 000. Cheap: for asking each second."""
        return len(self._store.pending(COUNTED_WAITING))

    def watch(
        self,
        paths: Sequence[str | Path],
        *,
        collection: str | None = None,
        stop: threading.Event | None = None,
    ) -> Iterator[IngestReport]:
        """Sync folders, then keep them fresh: yields a report after the first sync and after every change."""
        roots = [Path(path).expanduser().resolve() for path in paths]
        yield from self._adder.watch(roots, collection, stop or threading.Event())

    def delete(self, *references: int | str, collection: str | None = None, where: Filter | None = None) -> int:
        """Remove documents by id, uri or path, or all that pass a filter; how many went. Gone means gone."""
        ids = [self.get(reference, collection=collection).id for reference in references]
        if where is not None:
            if where.is_empty():
                raise QueryError("an empty filter would delete everything; name collections instead")
            ids.extend(self._store.select(where).tolist())
        removed = self._store.delete(ids)
        self.parts.index.purge()
        return removed

    # ------------------------------------------------------------------ reading

    def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        offset: int = 0,
        collections: Sequence[str] = (),
        documents: Sequence[int] = (),
        kinds: Sequence[str] = (),
        paths: Sequence[str] = (),
        tags: Sequence[str] = (),
        since: When = None,
        until: When = None,
        mode: SearchMode = "hybrid",
        fusion: Fusion = "weighted",
        query_type: QueryType | None = None,
        floor: float | None = None,
        max_distance: float | None = None,
        cutoff: float = 0.0,
        merge: bool = True,
        rerank: bool = False,
        rerank_seconds: float = RERANK_SECONDS,
        balance: float | None = None,
        reference_follow: float = 1.0,
        explain: bool = False,
        stopped: Stop | None = None,
    ) -> Answer:
        """The passages that answer a query, best first. See SearchOptions and Filter for what each option means."""
        options = read_options(
            self.config,
            limit=limit,
            offset=offset,
            collections=collections,
            documents=documents,
            kinds=kinds,
            paths=paths,
            tags=tags,
            since=since,
            until=until,
            mode=mode,
            fusion=fusion,
            query_type=query_type,
            floor=floor,
            max_distance=max_distance,
            cutoff=cutoff,
            merge=merge,
            rerank=rerank,
            rerank_seconds=rerank_seconds,
            balance=balance,
            reference_follow=reference_follow,
            explain=explain,
        )
        return self.run_search(query, options, stopped)

    def run_search(self, query: str, options: SearchOptions, stopped: Stop | None = None) -> Answer:
        """As `search`, from ready-made options. A failing store answers with a reason instead of raising (L2)."""
        self._known.require(options.where.collections)
        answer = answer_query(self._maker, query, options, stopped)
        return replace(answer, hits=self._revisions.dated(answer.hits)) if answer.hits else answer

    def context(
        self,
        query: str,
        *,
        budget_tokens: int | None = None,
        tokenizer: Tokenizer | None = None,
        limit: int = 40,
        cutoff: float = 0.5,
        **options: Any,
    ) -> Context:
        """One text for a prompt, never over the budget, with numbered sources. Takes the options of `search`."""
        budget = self._budget("budget_tokens", budget_tokens)
        answer = self.search(query, limit=limit, cutoff=cutoff, **{**options, "merge": False})
        return pack(answer, budget, tokenizer or self._tokenizer, _join_neighbours)

    def _budget(self, name: str, given: int | None) -> int:
        return at_least_one(name, self.config.budget_tokens if given is None else given)

    # ------------------------------------------------------------------ source code

    def code_context(
        self,
        request: str | Sequence[Message],
        *,
        budget_tokens: int | None = None,
        reference_follow: float = 1.0,
        must: Sequence[str] = (),
        prefer: Sequence[str] = (),
        tokenizer: Tokenizer | None = None,
        **options: Any,
    ) -> Context:
        """Source code for a prompt as `<codeRag:chunk>` elements, never over `budget_tokens` tokens.

        `request` is a question, or a conversation of which the part that matters becomes the query. What `must` names
        (files, folders that end in `/`, declarations) is in the text or reported; what `prefer` names comes early.
        `reference_follow` says how strongly code that the hits lean on is drawn in, 0 not at all. Takes the options of
        `search`.
        """
        # Here, as a search does not need it: with what it reads conversations by it takes 40 ms to import.
        from outcrop.code.context import Gathering, pack_gathered, read_request

        budget = self._budget("budget_tokens", budget_tokens)
        if not reference_follow >= 0:  # nor a number that is none
            raise QueryError(f"reference_follow must be 0 or more, not {reference_follow}")
        read = read_request(request, must, prefer)
        gathering = Gathering(self._store, self.parts.index, self.run_search)
        found = gathering.gather(read, read_options(self.config, **options), reference_follow)
        dated = self._revisions.dated
        found = replace(found, hits=dated(found.hits), must=dated(found.must))
        return pack_gathered(found, budget, (tokenizer or self._tokenizer).count)

    @staticmethod
    def query_of(messages: Sequence[Message]) -> str:
        """What a conversation asks for, as words to search by: the latest question and what it refers back to."""
        from outcrop.code.request import read_conversation

        return read_conversation(messages).query

    def related(self, target: str, *, limit: int = 10, collection: str | None = None) -> Related:
        """Callers, callees, tests and docs of a declaration (`Pool.acquire`) or a place (`pool.py:120`)."""

        def ask() -> Related:
            chunks = self.codebase.find(target, self._known.names(), collection)
            found = self.codebase.related(chunks, limit, target)
            return replace(found, target=tuple(map(name_headings, found.target)))

        return steadily(self._store, ask)

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

        self._known.require(where.collections)
        budget = self._budget("budget_tokens", budget_tokens)
        graph, names = self.codebase.graph(), self._known.names()
        chunks = [chunk.id for target in focus for chunk in self.codebase.find(target, names)]
        within = None if where.is_empty() else self._store.select(where)
        count = (tokenizer or self._tokenizer).count
        return draw_map(graph, self._store, budget, count, within=within, focus=graph.find_chunks(chunks))

    def graph(self, target: str | None = None, *, collection: str | None = None, limit: int = 60) -> Graph:
        """The references among chunks as a graph of at most `limit` of them: around a declaration, a file, a place
        (`pool.py:120`) or a chunk's number; without one the most central of a collection, or of all."""
        from outcrop.code.graph import draw_centre, draw_neighbourhood

        at_least_one("limit", limit)
        self._known.require(() if collection is None else (collection,))
        where = Filter(collections=() if collection is None else (collection,))

        def draw() -> Graph:
            within = None if where.is_empty() else self._store.select(where)
            graph = self.codebase.graph()
            if target is None:
                return draw_centre(graph, self._store, limit, within)
            chunks = self.codebase.find(target, self._known.names(), collection, numbers=True)
            return draw_neighbourhood(graph, self._store, limit, within, chunks)

        return steadily(self._store, draw)

    def definitions(
        self, name: str, *, collection: str | None = None, limit: int = 20
    ) -> tuple[StoredChunk, ...]:
        """The chunks that declare a name (`acquire`, `Pool.acquire`), the likeliest first; none where none does."""
        at_least_one("limit", limit)
        self._known.require(() if collection is None else (collection,))
        return steadily(self._store, lambda: tuple(self.codebase.declarations(name, collection)[:limit]))

    @property
    def codebase(self) -> Codebase:
        """What is asked of source code."""
        return Codebase(self._store, self.parts.index)

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

    def documents(self, where: Filter = EVERYTHING, *, limit: int | None = None, offset: int = 0) -> Documents:
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
        """uri → SHA-256 of every document of a collection, so that a sync elsewhere can diff (R9)."""
        return {uri: state.sha256 for uri, state in self._store.states(collection).items()}

    def collections(self, *, roots: bool = False) -> tuple[CollectionInfo, ...]:
        """Every collection and how much it holds; with `roots`, which takes longer, also what was added to it."""
        if not roots:
            return self._known.infos()
        added: dict[str, list_of[str]] = {}
        for collection, root in self._store.roots():
            added.setdefault(collection, []).append(root)
        return tuple(replace(info, roots=tuple(added.get(info.name, ()))) for info in self._known.infos())

    # ------------------------------------------------------------------ care

    def stale(self, *, collection: str | None = None) -> list_of[StaleDocument]:
        """Documents whose files changed or vanished since they were indexed (D5)."""
        where = Filter(collections=(collection,) if collection else ())
        self._known.require(where.collections)
        return find_stale(self._store, where, self.config.max_file_bytes)

    def reembed(self, *, progress: OnProgress | None = None, stopped: Stop | None = None) -> int:
        """Give every chunk a vector of the model in use; how many were made (L12).

        The old vectors serve until all new ones are there, then the switch is one transaction. Interrupted, it goes
        on where it stopped.
        """
        return self._adder.reembed(progress, stopped)

    def move_to(
        self, target: Engine, *, progress: OnProgress | None = None, stopped: Stop | None = None
    ) -> MoveReport:
        """Copy this index to another one, in whatever store, and prove that it holds the same and ranks alike.

        The target is empty, or what an earlier call left of the same index: interrupted, it goes on where it stopped.
        Nothing is deleted here.
        """
        from outcrop.maintain.copy import move
        from outcrop.maintain.parity import compare_rankings, draw_queries

        target._maker.require_model_of(self._maker)
        report = move(self._store, target._store, progress=progress, stopped=stopped)
        try:
            target._adder.settle()
            self.parts.index.purge()  # until then rows that are gone count in the weights of words, here alone
            queries = draw_queries(self._store)
            return replace(report, parity=compare_rankings(queries, self._best_hits, target._best_hits))
        except (EmbedError, ConfigError) as error:  # all is there, its model cannot be opened on this machine
            return replace(report, unranked=str(error))

    def _best_hits(self, query: str, limit: int) -> Sequence[Hit]:
        """The hits of a search; unlike `search` it raises when the store fails."""
        answer = self.search(query, limit=limit)
        if answer.reason == "error":
            raise StoreError(answer.detail)
        return answer.hits

    def status(self) -> Status:
        """What the index holds."""
        return Status(
            db=str(self.config.db),
            collections=self.collections(roots=True),
            stats=self._store.stats(),
            model=self.parts.embedder.model,
            index_model=self._store.active_model(),
            array_bytes=self.parts.index.bytes_on_disk(),
        )

    def doctor(self, *, repair: bool = False) -> list_of[Check]:
        """Examine the index; `repair` rebuilds what is derived and damaged."""
        return examine(self._store, self.parts.index, self.parts.embedder, repair=repair)

    def grant(self, role: str, collections: Sequence[str] = ()) -> None:
        """Let a role of the database read these collections, or all there are and will be. Only on Postgres."""
        roles_of(self._store).grant(role, collections)

    def revoke(self, role: str) -> int:
        """Let a role see nothing any more; how many grants there were."""
        return roles_of(self._store).revoke(role)

    def grants(self) -> list_of[tuple[str, str | None]]:
        """(role, collection) of every grant; None stands for all collections."""
        return roles_of(self._store).grants()

    def warm(self) -> None:
        """Load the model, the arrays and the graph now instead of at the first search."""
        self.parts.retriever.warm()

    def close(self) -> None:
        """Close the database and, where they have any, the connections and processes of the models."""
        self._store.close()
        self._maker.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _join_neighbours(hits: Sequence[Hit]) -> list[Hit]:
    """What a search left in, neighbours as one."""
    return merge_hits(hits, len(hits), repeats=True)
