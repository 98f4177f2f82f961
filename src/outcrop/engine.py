"""The front door: a Config becomes parts, and the parts become an index one can add to and search.

    kb = outcrop.open()
    kb.add("~/notes")
    for hit in kb.search("how are retries configured?").hits: ...
    print(kb.context("how are retries configured?", budget_tokens=2000).text)

An Engine may be used from many threads, and many processes may have the same index open.
"""

from __future__ import annotations

import difflib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from outcrop.care import embed_waiting, examine, examine_languages, find_stale, reembed, roles_of
from outcrop.chunk import ChunkOptions
from outcrop.config import Config, load_config
from outcrop.contracts import Commentator, Embedder, Reranker, Store, Tokenizer
from outcrop.database_url import DatabaseUrl
from outcrop.derived import Deriver
from outcrop.errors import ConfigError, EmbedError, NotFound, QueryError, SourceError, StoreError
from outcrop.folders import DEFAULT_COLLECTION, collection_of, sync_root, tags_of, watch_roots
from outcrop.ingest import IngestOptions, Ingestor
from outcrop.lookup import find_document
from outcrop.pack import FileTokenizer, SafeEstimate, pack, tell_dropped
from outcrop.parse import ParseLimits
from outcrop.parts import Parts, PartsMaker, lasting
from outcrop.preparing import Prepare
from outcrop.rank.merge import merge_hits
from outcrop.records import (
    RERANK_SECONDS,
    Answer,
    Check,
    CodeMap,
    CollectionInfo,
    Context,
    Directive,
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
from outcrop.retrieve import Stop
from outcrop.revisions import Revisions
from outcrop.sources.freshness import looks_stale
from outcrop.sources.text import text_source
from outcrop.store.opening import open_store

if TYPE_CHECKING:
    from outcrop.codebase import Codebase

log = logging.getLogger(__name__)

SAVE_EVERY_CHUNKS = 4096
"""During a long ingest the search arrays are caught up and saved this often: bounds memory, what a kill costs, and how
much another process that searches meanwhile has to catch up by itself (0.1 ms a chunk)."""

COUNTED_WAITING = 10_000
"""Documents that are counted at most to say how many wait: a second at this number is a millisecond. Judgement."""

STEADY_TRIES = 10
"""How often a question to the graph is asked again because a write came meanwhile: it takes some ten milliseconds, and
a busy writer commits tens of times a second. Judgement."""

EVERYTHING = Filter()
T = TypeVar("T")
When = str | float | date | datetime | None


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
        self._tokenizer = tokenizer
        if tokenizer is None and config.tokenizer:
            self._tokenizer = FileTokenizer(Path(config.tokenizer).expanduser())
        self._known_collections: tuple[int, tuple[CollectionInfo, ...]] = (-1, ())
        self._store: Store = open_store(
            config.db,
            self._make_deriver,
            create=create,
            vector_index=config.vector_index,
            vector_effort=config.vector_effort,
        )
        self._maker = PartsMaker(config, self._store, embedder, reranker, commentator)
        self._revisions = Revisions(self._store)

    # ------------------------------------------------------------------ parts

    @property
    def parts(self) -> Parts:
        """The model and what searches with it, made when first needed; others once the index has another model."""
        return self._maker.parts()

    def _make_deriver(self) -> Deriver:
        """What makes the rows that a database is searched by; it is asked for at the first write or search."""
        from outcrop.search.derive import SearchDeriver

        parts = self.parts
        return SearchDeriver(parts.terms, parts.embedder.path_weight)

    def _renew_vectors(self) -> None:
        """Before a write: an index made with an earlier version of its model, which came with an earlier Outcrop, is
        embedded anew. There is no going on with the old one, and no going back if an earlier Outcrop writes."""
        stored, model = self._store.active_model(), self.parts.embedder.model
        if stored is None or stored.name != model.name or not (stored.version + model.version).isdecimal():
            return
        if int(stored.version) < int(model.version):
            log.warning("the index has vectors of %s: making them anew with %s", stored, model)
            self.reembed()

    def _ingestor(self) -> Ingestor:
        from outcrop.spread.readers import ReadersPrepare  # a search need not wait for what starts processes

        self._renew_vectors()
        waiting = 0

        def after_write(chunks: int) -> None:
            nonlocal waiting
            waiting += chunks
            if waiting >= SAVE_EVERY_CHUNKS:
                waiting = 0
                self.parts.index.save_along()

        config = self.config
        options = IngestOptions(
            chunking=ChunkOptions(strategy=config.chunker, target_tokens=config.chunk_tokens),
            limits=ParseLimits(timeout_s=config.parse_timeout_s, memory_bytes=config.parse_memory_bytes),
            max_file_bytes=config.max_file_bytes,
            own=config.beside("").resolve(),
            index_secrets=config.index_secrets,
        )
        prepare = ReadersPrepare(config.readers)
        return Ingestor(
            self._store, self.parts.embedder, options, after_write, self._maker.commentator(), prepare
        )

    def _ingest(self, work: Callable[[Ingestor], T]) -> T:
        """Do it, and once more if the index was given another model meanwhile: what is done costs next to nothing."""
        used = self.parts
        try:
            return work(self._ingestor())
        except StoreError:
            if self.parts is used:
                raise
        return work(self._ingestor())

    # ------------------------------------------------------------------ writing

    def add(
        self,
        source: str | Path | None = None,
        *,
        text: str | None = None,
        id: str | None = None,
        title: str | None = None,
        collection: str | None = None,
        tags: Sequence[str] = (),
        force: bool = False,
        later: bool = False,
        ray: str | None = None,
        progress: OnProgress | None = None,
        stopped: Stop | None = None,
    ) -> IngestReport:
        """Add a folder, a file, a URL or a text. What is there already and unchanged costs next to nothing.

        A folder goes into a collection of its own name unless one is given; the rest into `default`. `id` names a
        text, so that adding it again replaces it. `force` reads and chunks again what did not change. With `later`
        it is found by its words at once, and by meaning after `embed_waiting`, in whatever process. `ray` is the
        address of a Ray cluster that reads, parses and embeds the files of a folder: `auto`, `HOST:PORT`,
        `ray://HOST:PORT`, or `local` for one on this machine alone.
        """
        if (source is None) == (text is None) or source == "":
            raise SourceError("give either a source (folder, file or URL) or a text")
        if text is not None:
            file, data = text_source(text, id)
        elif isinstance(source, str) and source.lower().startswith(("http://", "https://")):
            file, data = self._fetch(source)
        else:
            path = Path(str(source)).expanduser()
            return self._add_path(path, collection, tags, force, later, ray, progress, stopped)
        if ray is not None:
            raise SourceError("a Ray cluster reads files and folders; add a URL or a text without it")
        target = collection or DEFAULT_COLLECTION
        wanted = Text("", title=title, tags=tuple(tags))
        report = self._ingest(
            lambda ingestor: ingestor.add(file, data, target, wanted, force=force, later=later)
        )
        self._settle()
        return report

    def add_texts(
        self,
        texts: Iterable[Text],
        *,
        collection: str | None = None,
        force: bool = False,
        later: bool = False,
        progress: OnProgress | None = None,
        stopped: Stop | None = None,
    ) -> IngestReport:
        """Add many texts in few transactions; memory stays bounded however many the iterable gives."""
        used = self.parts
        try:
            report = self._ingestor().add_many(
                texts,
                collection or DEFAULT_COLLECTION,
                force=force,
                later=later,
                progress=progress,
                stopped=stopped,
            )
        except StoreError as error:
            if self.parts is used:
                raise
            raise StoreError(
                "the index was given another model while texts were added; what was committed is kept: add them again"
            ) from error
        self._settle()
        return report

    def _fetch(self, url: str) -> tuple[SourceFile, bytes]:
        from outcrop.sources.url import fetch  # ssl and http are slow to import and rarely needed

        return fetch(
            url,
            timeout_s=self.config.url_timeout_s,
            max_bytes=self.config.url_max_bytes,
            allow_private=self.config.allow_private_urls,
        )

    def _add_path(
        self,
        path: Path,
        collection: str | None,
        tags: Sequence[str],
        force: bool,
        later: bool,
        ray: str | None,
        progress: OnProgress | None,
        stopped: Stop | None,
    ) -> IngestReport:
        if not path.exists():
            raise SourceError(f"there is no file or folder {path}")
        target = collection_of(self._store, path, collection)
        tags, new = tags_of(self._store, target, path, tags)
        report = self._ingest(
            lambda ingestor: ingestor.sync(
                path,
                target,
                tags=tags,
                force=force or new,
                later=later,
                prune=path.is_dir(),
                prepare=self._cluster(ray, later),
                progress=progress,
                stopped=stopped,
            )
        )
        self._settle()
        return report

    def _cluster(self, ray: str | None, later: bool) -> Prepare | None:
        """The Ray cluster that reads files, if one shall, and opens the model by its name."""
        if ray is None:
            return None
        from outcrop.spread.over import RayPrepare, embedding_of

        parts = self.parts
        if later or not parts.name:
            return RayPrepare(ray, None)
        return RayPrepare(ray, embedding_of(self.config, lasting(parts.name), parts.embedder.model))

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
            self._require_collections((collection,))
        reports = self._ingest(
            lambda ingestor: [
                sync_root(
                    self._store, ingestor, name, Path(root), force=force, progress=progress, stopped=stopped
                )
                for name, root in roots
            ]
        )
        self._settle()
        return sum(reports, IngestReport())

    def sync_files(
        self,
        files: Sequence[SourceFile],
        gone: Iterable[str] = (),
        *,
        collection: str,
        read: Callable[[SourceFile], bytes],
        later: bool = False,
    ) -> IngestReport:
        """Bring single files of a folder up to date, found and read by the caller, whatever the folder's rules say of
        them; documents with a uri of `gone` leave the index, or move where a new file has the same bytes."""
        report = self._ingest(
            lambda ingestor: ingestor.sync_files(files, gone, collection, read=read, later=later)
        )
        self._settle()
        return report

    def embed_waiting(self, *, stopped: Stop | None = None) -> int:
        """Embed what was added with `later`, by whatever process, in small batches; how many documents were completed.

        The queue is the index itself: interrupted, it goes on where it stopped. Two processes that do so at once only
        waste work.
        """
        if not self.waiting():
            return 0
        self._renew_vectors()
        try:
            return embed_waiting(self._store, self.parts.embedder, stopped)
        finally:
            self._settle()

    def waiting(self) -> int:
        """How many documents wait for a vector, counted up to 10 000. Cheap: for asking each second."""
        return len(self._store.waiting(COUNTED_WAITING))

    def watch(
        self,
        paths: Sequence[str | Path],
        *,
        collection: str | None = None,
        stop: threading.Event | None = None,
    ) -> Iterator[IngestReport]:
        """Sync folders, then keep them fresh: yields a report after the first sync and after every change."""
        roots = [Path(path).expanduser().resolve() for path in paths]
        for root in roots:
            if not root.is_dir():
                raise SourceError(f"{root} is not a folder; watch takes folders")
        until = stop or threading.Event()
        while True:
            used = self.parts
            try:
                for report in watch_roots(self._store, self._ingestor(), roots, collection, until):
                    self._settle()
                    yield report
                return
            except StoreError:
                if self.parts is used:
                    raise
            # The index was given another model: begin again with that, which brings in what was just refused.

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

    def _settle(self) -> None:
        """After a write: remember with which model the index is made, and keep what is derived for others."""
        self.parts.index.save()
        self._maker.note_first_model()

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
        options = self._options(
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

    def _options(
        self,
        *,
        limit: int | None = None,
        floor: float | None = None,
        since: When = None,
        until: When = None,
        **given: Any,
    ) -> SearchOptions:
        """SearchOptions from the options of `search`, the configuration's where none is given."""
        names = ("collections", "documents", "kinds", "paths", "tags")
        where = Filter(
            since=as_timestamp(since),
            until=as_timestamp(until),
            **{name: tuple(given.pop(name, ())) for name in names},
        )
        return SearchOptions(
            limit=self.config.limit if limit is None else limit,
            floor=self.config.floor if floor is None else floor,
            where=where,
            **given,
        )

    def run_search(self, query: str, options: SearchOptions, stopped: Stop | None = None) -> Answer:
        """As `search`, from ready-made options. A failing store answers with a reason instead of raising (L2)."""
        self._require_collections(options.where.collections)
        try:
            used = self.parts
            answer = used.retriever.search(query, options, stopped)
            if answer.reason == "model_mismatch" and self.parts is not used:  # the index was just switched
                answer = self.parts.retriever.search(query, options, stopped)
        except StoreError as error:
            log.error("search failed", extra={"reason": str(error)})
            return Answer(query, options.query_type or "mixed", (), "error", str(error))
        self.parts.index.save_after_search()
        detail = answer.detail
        if answer.reason == "model_mismatch" and self._maker.cannot_follow:
            detail = f"{detail}; its model cannot be opened here: {self._maker.cannot_follow}"
        return replace(answer, hits=self._dated(answer.hits), detail=detail)

    def _dated(self, hits: Iterable[Hit]) -> tuple[Hit, ...]:
        """Hits with whether their files changed since, and the commit they came from."""
        dated = []
        self._revisions.refresh()
        for hit in hits:
            stamp = self._revisions.stamp(hit.document)
            stale = looks_stale(hit.document)
            dated.append(replace(hit, stale=stale, revision=stamp.revision, dirty=stamp.dirty))
        return tuple(dated)

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
        budget = self.config.budget_tokens if budget_tokens is None else budget_tokens
        if budget < 1:
            raise QueryError(f"budget_tokens must be 1 or more, not {budget}")
        answer = self.search(query, limit=limit, cutoff=cutoff, **{**options, "merge": False})
        return pack(answer, budget, tokenizer or self._tokenizer, _join_neighbours)

    # ------------------------------------------------------------------ source code

    def code_context(
        self,
        request: str | Sequence[Message],
        *,
        approx_length: int | None = None,
        reference_follow: float = 1.0,
        must: Sequence[str] = (),
        prefer: Sequence[str] = (),
        tokenizer: Tokenizer | None = None,
        **options: Any,
    ) -> Context:
        """Source code for a prompt as `<codeRag:chunk>` elements, never over `approx_length` tokens.

        `request` is a question, or a conversation of which the part that matters becomes the query. What `must` names
        (files, folders that end in `/`, declarations) is in the text or reported; what `prefer` names comes early.
        `reference_follow` says how strongly code that the hits lean on is drawn in, 0 not at all. Takes the options of
        `search`.
        """
        # Here, with pack_code, as a search does not need them: they take 40 ms to import.
        from outcrop.conversation import Request, read_conversation
        from outcrop.pack_code import pack_code

        budget = self.config.budget_tokens if approx_length is None else approx_length
        if budget < 1:
            raise QueryError(f"approx_length must be 1 or more, not {budget}")
        if not reference_follow >= 0:  # nor a number that is none
            raise QueryError(f"reference_follow must be 0 or more, not {reference_follow}")
        read = Request(request) if isinstance(request, str) else read_conversation(request)
        wishes = (*(Directive(name, "must") for name in must), *(Directive(name) for name in prefer))
        read = replace(read, directives=(*wishes, *read.directives))
        answer, hits, needed, unknown = self.codebase.gather(
            read, self._options(**options), self.run_search, reference_follow
        )
        count = (tokenizer or self._tokenizer or SafeEstimate()).count
        context = pack_code(self._dated(hits), budget, must=self._dated(needed), count=count)
        missing = "; ".join(f"must {name!r} is not in the index" for name in unknown)
        note = answer.detail if not context.sources or answer.reason == "error" else ""
        detail = "; ".join(part for part in (note, missing, context.detail) if part)
        context = replace(context, reason=None if context.sources else answer.reason, detail=detail)
        return tell_dropped(context, answer)

    def query_of(self, messages: Sequence[Message]) -> str:
        """What a conversation asks for, as words to search by: the latest question and what it refers back to."""
        from outcrop.conversation import read_conversation

        return read_conversation(messages).query

    def related(self, target: str, *, limit: int = 10, collection: str | None = None) -> Related:
        """Callers, callees, tests and docs of a declaration (`Pool.acquire`) or a place (`pool.py:120`)."""

        def ask() -> Related:
            names = [info.name for info in self.collections()]
            return self.codebase.related(self.codebase.find(target, names, collection), limit, target)

        return self._steadily(ask)

    def map(
        self,
        *,
        budget_tokens: int | None = None,
        focus: Sequence[str] = (),
        where: Filter = EVERYTHING,
        tokenizer: Tokenizer | None = None,
    ) -> CodeMap:
        """The most central declarations as an outline within a budget; `focus` names what it should be centred on."""
        from outcrop.codemap import draw_map

        self._require_collections(where.collections)
        budget = self.config.budget_tokens if budget_tokens is None else budget_tokens
        if budget < 1:
            raise QueryError(f"budget_tokens must be 1 or more, not {budget}")
        graph = self.codebase.graph()
        names = [info.name for info in self.collections()]
        chunks = [chunk.id for target in focus for chunk in self.codebase.find(target, names)]
        within = None if where.is_empty() else self._store.select(where)
        count = (tokenizer or self._tokenizer or SafeEstimate()).count
        return draw_map(graph, self._store, budget, count, within=within, focus=graph.find_chunks(chunks))

    def graph(self, target: str | None = None, *, collection: str | None = None, limit: int = 60) -> Graph:
        """The references among chunks as a graph of at most `limit` of them: around a declaration, a file, a place
        (`pool.py:120`) or a chunk's number; without one the most central of a collection, or of all."""
        from outcrop.codegraph import draw_centre, draw_neighbourhood

        if limit < 1:
            raise QueryError(f"limit must be 1 or more, not {limit}")
        self._require_collections(() if collection is None else (collection,))
        where = Filter(collections=() if collection is None else (collection,))

        def draw() -> Graph:
            within = None if where.is_empty() else self._store.select(where)
            graph = self.codebase.graph()
            if target is None:
                return draw_centre(graph, self._store, limit, within)
            names = [info.name for info in self.collections()]
            chunks = self.codebase.find(target, names, collection, numbers=True)
            return draw_neighbourhood(graph, self._store, limit, within, chunks)

        return self._steadily(draw)

    def definitions(
        self, name: str, *, collection: str | None = None, limit: int = 20
    ) -> tuple[StoredChunk, ...]:
        """The chunks that declare a name (`acquire`, `Pool.acquire`), the likeliest first; none where none does."""
        if limit < 1:
            raise QueryError(f"limit must be 1 or more, not {limit}")
        self._require_collections(() if collection is None else (collection,))
        return self._steadily(lambda: tuple(self.codebase.declarations(name, collection)[:limit]))

    def _steadily(self, ask: Callable[[], T]) -> T:
        """What is asked of the graph and then looked up in the store, asked again if a write came between the two."""
        for _ in range(STEADY_TRIES):
            version = self._store.version()
            try:
                answer = ask()
            except NotFound:
                if self._store.version() == version:
                    raise
                continue
            if self._store.version() == version:
                return answer
        return ask()

    @property
    def codebase(self) -> Codebase:
        """What is asked of source code."""
        from outcrop.codebase import Codebase

        return Codebase(self._store, self.parts.index)

    # ------------------------------------------------------------------ documents

    def get(self, reference: int | str, *, collection: str | None = None) -> DocumentInfo:
        """A document by id, uri (absolute path, URL, the id a text was given) or path."""
        names = [info.name for info in self.collections()]
        return find_document(self._store, reference, names, within=collection)

    def text(self, reference: int | str, *, collection: str | None = None) -> str:
        """The whole text of a document, as it was parsed."""
        return self._store.text(self.get(reference, collection=collection).id)

    def chunks(self, reference: int | str, *, collection: str | None = None) -> list[StoredChunk]:
        """The chunks of a document, in order."""
        return self._store.chunks_of(self.get(reference, collection=collection).id)

    def list(self, where: Filter = EVERYTHING, *, limit: int | None = None, offset: int = 0) -> Documents:
        """Documents by collection and path."""
        self._require_collections(where.collections)
        return self._store.documents(where, limit, offset)

    def count(self, where: Filter = EVERYTHING) -> int:
        """How many documents pass a filter."""
        self._require_collections(where.collections)
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

    def collections(self) -> tuple[CollectionInfo, ...]:
        """Every collection and how much it holds."""
        version = self._store.version()
        if self._known_collections[0] != version:
            self._known_collections = (version, tuple(self._store.collections()))
        return self._known_collections[1]

    def _require_collections(self, names: Sequence[str]) -> None:
        if not names:
            return
        known = [info.name for info in self.collections()]
        for name in names:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known) or 'none yet'}"
                raise NotFound(f"there is no collection {name!r}; {hint}")

    # ------------------------------------------------------------------ care

    def stale(self, *, collection: str | None = None) -> list_of[StaleDocument]:
        """Documents whose files changed or vanished since they were indexed (D5)."""
        where = Filter(collections=(collection,) if collection else ())
        self._require_collections(where.collections)
        return find_stale(self._store, where, self.config.max_file_bytes)

    def reembed(self, *, progress: OnProgress | None = None, stopped: Stop | None = None) -> int:
        """Give every chunk a vector of the model in use; how many were made (L12).

        The old vectors serve until all new ones are there, then the switch is one transaction. Interrupted, it goes
        on where it stopped.
        """
        parts, before = self.parts, self._store.active_model()
        self._maker.note_model(parts)
        made = reembed(self._store, parts.embedder, progress, stopped)
        if made or before != parts.embedder.model:
            parts.index.renew()
        return made

    def move_to(
        self, target: Engine, *, progress: OnProgress | None = None, stopped: Stop | None = None
    ) -> MoveReport:
        """Copy this index to another one, in whatever store, and prove that it holds the same and ranks alike.

        The target is empty, or what an earlier call left of the same index: interrupted, it goes on where it stopped.
        Nothing is deleted here.
        """
        from outcrop.moving import move
        from outcrop.parity import compare_rankings, draw_queries

        self._require_model(target)
        report = move(self._store, target._store, progress=progress, stopped=stopped)
        try:
            target._settle()
            self.parts.index.purge()  # until then rows that are gone count in the weights of words, here alone
            queries = draw_queries(self._store)
            return replace(report, parity=compare_rankings(queries, self._best_hits, target._best_hits))
        except (
            EmbedError,
            ConfigError,
        ) as error:  # all is there, but its model cannot be opened on this machine
            return replace(report, unranked=str(error))

    def _require_model(self, target: Engine) -> None:
        """Before a move: what the target derives of the copy must be derived with the model of its vectors."""
        active = self._store.active_model()
        if active is None:
            return
        if not target._maker.follows and target.parts.embedder.model != active:
            raise ConfigError(
                f"the target was opened with {target.parts.embedder.model}, this index has vectors of {active}: "
                "open it without naming a model, and it takes that of the copy"
            )
        # A file is searched by arrays, made once there is a model; a database by rows that are made with the copy.
        if isinstance(target.config.db, DatabaseUrl) and self.parts.embedder.model != active:
            raise ConfigError(
                f"this index has vectors of {active}, its model is {self.parts.embedder.model} by now: run "
                "`outcrop reembed` on it, then move it to a database"
            )

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
            collections=self.collections(),
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


Documents = list[DocumentInfo]
list_of = list  # inside the class `list` is the method


def as_timestamp(when: When) -> float | None:
    """A date in any of the forms people have, as seconds since the epoch; a bare date begins at midnight UTC."""
    if when is None or isinstance(when, int | float):
        return when
    if isinstance(when, str):
        try:
            when = datetime.fromisoformat(when)
        except ValueError as error:
            raise QueryError(f"{when!r} is not a date; write it as 2026-01-31") from error
    if not isinstance(when, datetime):
        when = datetime(when.year, when.month, when.day)
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
