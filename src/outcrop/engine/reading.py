"""An open index: its store, its model, and what gets passages and documents out of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Unpack

from outcrop.config import DEFAULT_TOKENIZER, Config
from outcrop.contracts import Commentator, Embedder, Reranker, Stop, Store, Tokenizer
from outcrop.maintain.permissions import close_index
from outcrop.read.ask import answer_query, at_least_one, read_options
from outcrop.read.explain import name_headings
from outcrop.read.known import KnownCollections, history_collections
from outcrop.read.parts import Parts, PartsMaker
from outcrop.read.timeline import Timeline, now
from outcrop.records import (
    Answer,
    CollectionInfo,
    Context,
    DocumentInfo,
    Filter,
    Hit,
    Manifest,
    SearchArguments,
    SearchOptions,
    StoredChunk,
)
from outcrop.records.asked import CONTEXT_DEFAULTS, HERE
from outcrop.sources.revisions import Revisions, looks_stale
from outcrop.store.opening import open_store
from outcrop.system.standing import current_folders, standing_in
from outcrop.text.terms import WORD

if TYPE_CHECKING:
    from outcrop.read.grep import MatchedFiles
    from outcrop.records import GrepOptions, MatchedFile, PagePicture
    from outcrop.write.add import Adder


class OpenedIndex:
    """What all of an Engine works with."""

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
        self._given_tokenizer = tokenizer
        if config.tokenizer != DEFAULT_TOKENIZER:
            self._tokenizer  # noqa: B018 - a setting that is wrong is told when the index is opened
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
        self._known = KnownCollections(self._store)
        self._revisions = Revisions(self._store)

    @property
    def parts(self) -> Parts:
        """The model and what searches with it, made when first needed; others once the index has another model."""
        return self._maker.parts()

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from outcrop.read.pack import choose_tokenizer

        return self._given_tokenizer or choose_tokenizer(self.config.tokenizer)

    @cached_property
    def _adder(self) -> Adder:
        from outcrop.write.add import Adder

        return Adder(self.config, self._store, self._maker)

    def warm(self) -> None:
        """Load the model, the arrays and the graph now instead of at the first search."""
        self.parts.retriever.warm()

    def close(self) -> None:
        """Close the database and, where they have any, the connections and processes of the models."""
        self._store.close()
        self._maker.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


EVERYTHING = Filter()
READ_AT_ONCE: Final = 500
"""Documents that an iterator holds at a time (not measured)."""
SIGNATURES: Final = ".trigrams"
"""The folder beside the index that says which files can hold a text."""
MAX_RANKED: Final = 1_000
"""Files that `rank_files` brings into order (not measured): nobody reads more."""


class Reading(OpenedIndex):
    """The part of an Engine that searches and reads."""

    def search(self, query: str, *, stopped: Stop | None = None, **options: Unpack[SearchArguments]) -> Answer:
        """The passages that answer a query, best first. The options are those of SearchOptions and Filter."""
        return self.run_search(query, self._read(options), stopped)

    def _read(self, options: Mapping[str, Any]) -> SearchOptions:
        """Options as a caller gave them, checked, with documents that are named by their numbers."""
        given = dict(options)
        if given.get("documents"):
            named = (each if isinstance(each, int) else self.get(each).id for each in given["documents"])
            given["documents"] = tuple(named)
        return read_options(self.config, **given)

    def run_search(self, query: str, options: SearchOptions, stopped: Stop | None = None) -> Answer:
        """As `search`, from ready-made options. A failing store answers with a reason instead of raising."""
        if options.here is not None:
            with self._standing(options.here):
                return self._search_here(query, replace(options, here=None), stopped)
        asked = options.where
        options = replace(options, where=self._scope(asked))
        timeline, moment = (
            self._known.timeline(asked.collections),
            now() if asked.as_of is None else asked.as_of,
        )
        if asked.as_of is None and timeline.spans:
            options = replace(options, outdated=timeline.outdated(moment))
        answer = answer_query(self._maker, query, self._known.leave_out_histories(options), stopped)
        hits = self._dated(answer.hits, asked) if answer.hits else ()
        return replace(answer, hits=timeline.mark(hits, moment) if timeline.spans else hits)

    @staticmethod
    def _standing(here: str | None) -> AbstractContextManager[None]:
        return standing_in(*(current_folders() if here in (None, HERE) else (here,)))

    def _search_here(self, query: str, options: SearchOptions, stopped: Stop | None) -> Answer:
        """A search of the project one stands in, which also names others where they are clearly better."""
        inside = self.in_project(options.where)
        answer = self.run_search(query, replace(options, where=inside), stopped)
        return self._name_better(answer, options, inside, stopped)

    def _name_better(
        self, answer: Answer, options: SearchOptions, inside: Filter, stopped: Stop | None = None
    ) -> Answer:
        """An answer from `inside` with collections outside of it that are clearly better."""
        from outcrop.read.here import find_better, tell_better

        hidden = {*inside.collections, *history_collections(self._store)}
        others = tuple(name for name in self._known.names() if name not in hidden)
        if inside is options.where or not others:
            return answer
        wide = replace(options, where=replace(options.where, collections=others))
        wide = replace(wide, here=None, limit=3, offset=0, explain=False)
        better = find_better(answer, self.run_search(answer.query, wide, stopped))
        told = "; ".join(filter(None, (answer.detail, tell_better(better))))
        return replace(answer, elsewhere=better, detail=told) if better else answer

    def in_project(self, where: Filter = EVERYTHING) -> Filter:
        """The filter for the project one stands in, with the notes, which belong to every project. The very same
        filter where it names collections, documents, a ref or a worktree, or where one stands in no project."""
        from outcrop.read.here import NOTES, projects_at

        named = where.collections or where.documents or where.ref or where.worktree
        if named or "commit" in where.kinds:  # which are in collections of their own
            return where
        roots = [(info.name, root) for info in self.collections(roots=True) for root in info.roots]
        projects = {name for folder in current_folders() for name in projects_at(folder, roots)}
        notes = {name for name in self._known.names() if name == NOTES}
        return replace(where, collections=tuple(sorted(projects | notes))) if projects else where

    def _scope(self, where: Filter) -> Filter:
        """A filter with the branch or checkout that is meant: the one it names, else the one that one stands in; and
        without what was not valid at the moment it asks of. NotFound where there is no such branch or collection."""
        self._known.require(where.collections)
        if where.as_of is not None:
            hidden = self._known.timeline(where.collections).outdated(where.as_of)
            where = replace(where, as_of=None, hidden=hidden)
        known = self._known.manifests()
        if where.manifests or not (known or where.ref or where.worktree):
            return where
        from outcrop.read.manifests import choose_manifests, narrow

        return narrow(where, choose_manifests(known, where, current_folders()))

    def _view(self, where: Filter = EVERYTHING) -> Store:
        """The store as it looks from the branch or checkout that is meant."""
        trees = self._trees(where)
        if trees is None:
            return self._store
        from outcrop.read.manifests import view_store

        return view_store(self._store, trees)

    def _trees(self, where: Filter) -> Sequence[Manifest] | None:
        """The branches or checkouts that are meant; None where the index has none at all."""
        known = self._known.manifests()
        if not known:
            return None
        from outcrop.read.manifests import place_switched

        ids = frozenset(self._scope(where).manifests)
        chosen = [each for each in known if each.id in ids]
        return chosen if where.ref else place_switched(chosen, known, current_folders())

    def _dated(self, hits: Iterable[Hit], where: Filter = EVERYTHING) -> tuple[Hit, ...]:
        """Hits with the commit they came from, and whether their files have changed since."""
        dated = self._revisions.dated(hits)
        trees = self._trees(where)
        if trees is None:
            return dated
        from outcrop.read.manifests import TreeView

        return TreeView(self._store, trees).dated(dated)

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
        asked = self._read({**CONTEXT_DEFAULTS, **options, "merge": False})
        from outcrop.rank.merge import merge_hits
        from outcrop.read.beside import look_beside
        from outcrop.read.pack import pack

        def join_neighbours(hits: Sequence[Hit]) -> Sequence[Hit]:
            return merge_hits(hits, len(hits), repeats=True)

        with self._standing(asked.here):
            answer = self.run_search(query, asked, stopped)
            _, parts = look_beside(answer.hits, self._store.chunks, parts_only=True)
            beside = self._dated(parts, asked.where)
        return pack(answer, budget, tokenizer or self._tokenizer, join_neighbours, beside)

    def grep(
        self, pattern: str, options: GrepOptions | None = None, *, masked: bool | None = None
    ) -> MatchedFiles:
        """The lines of the indexed files that match a pattern, as the files are now; iterate to get them file by file.
        Secrets are masked as in the index, unless told otherwise."""
        from outcrop.index.trigrams import Signatures
        from outcrop.read.grep import MatchedFiles
        from outcrop.records import GrepOptions

        asked = options or GrepOptions()
        options = replace(asked, where=self._scope(asked.where))
        about: dict[str, Any] = {"masked": not self.config.index_secrets if masked is None else masked}
        about["signatures"] = Signatures(self.config.beside(SIGNATURES))
        refs = [each for each in self._trees(asked.where) or () if each.folder is None]
        if refs:
            from outcrop.read.blobs import list_blobs

            about["blobs"] = list_blobs(self._store, refs, options)
        return MatchedFiles(self._view(asked.where), pattern, options, self.config.max_file_bytes, **about)

    def rank_files(self, pattern: str, found: Iterable[MatchedFile]) -> list[MatchedFile]:
        """Files that match a pattern in the order in which a search for its words would find them, then the others."""
        files = list(found)
        ids = tuple(file.document.id for file in files[:MAX_RANKED])
        words = " ".join(WORD.findall(pattern))
        where = Filter(documents=ids, manifests=tuple(each.id for each in self._known.manifests()))
        options = replace(read_options(self.config, limit=MAX_RANKED), where=where)
        hits = self.run_search(words, options).hits if ids else ()
        order: dict[int, int] = {}
        for hit in hits:
            order.setdefault(hit.document.id, len(order))
        return sorted(files, key=lambda file: order.get(file.document.id, len(order)))

    def _budget(self, given: int | None) -> int:
        return at_least_one("budget_tokens", self.config.budget_tokens if given is None else given)

    # ------------------------------------------------------------------ documents

    def get(self, reference: int | str, *, collection: str | None = None) -> DocumentInfo:
        """A document by id, uri (absolute path, URL, the id a text was given) or path."""
        from outcrop.read.lookup import find_document

        return find_document(self._view(), reference, self._known.names(), within=collection)

    def text(self, reference: int | str, *, collection: str | None = None) -> str:
        """The whole text of a document, as it was parsed."""
        return self._store.text(self.get(reference, collection=collection).id)

    def chunks(self, reference: int | str, *, collection: str | None = None) -> list[StoredChunk]:
        """The chunks of a document, in order, each with all headings it holds."""
        chunks = self._store.chunks_of(self.get(reference, collection=collection).id)
        return [name_headings(chunk) for chunk in chunks]

    def page(
        self,
        reference: int | str,
        number: int,
        *,
        lines: tuple[int, int] | None = None,
        width: int = 1000,
        collection: str | None = None,
    ) -> PagePicture:
        """The picture of a page of a PDF or a picture file, counted from 1, `width` pixels wide, with the box of each
        word. The words of a passage, given by its first and its last of the document's `lines`, are marked. Only of a
        file that is as it was indexed and in which no secret was masked."""
        from outcrop.read.pages import draw_page

        document = self.get(reference, collection=collection)
        return draw_page(self._store, self.config, document, number, lines, width)

    def documents(
        self, where: Filter = EVERYTHING, *, limit: int | None = None, offset: int = 0
    ) -> list[DocumentInfo]:
        """Documents by collection and path."""
        scoped = self._scope(where)
        return self._view(scoped).documents(scoped, limit, offset)

    def iter_documents(self, where: Filter = EVERYTHING) -> Iterator[DocumentInfo]:
        """All documents that pass a filter, as the index is now, oldest first; read some at a time, so memory stays
        the same however many there are. One that is removed meanwhile is left out."""
        scoped = self._scope(where)
        store = self._view(scoped)
        ids = store.select(scoped)
        for start in range(0, len(ids), READ_AT_ONCE):
            some = tuple(ids[start : start + READ_AT_ONCE].tolist())
            found = store.documents(Filter(documents=some, manifests=scoped.manifests))
            yield from sorted(found, key=lambda document: document.id)

    def iter_chunks(self, where: Filter = EVERYTHING) -> Iterator[StoredChunk]:
        """The chunks of all documents that pass a filter, document by document, in order; likewise."""
        for document in self.iter_documents(where):
            yield from map(name_headings, self._store.chunks_of(document.id))

    def count(self, where: Filter = EVERYTHING) -> int:
        """How many documents pass a filter."""
        return len(self._store.select(self._scope(where)))

    def version(self) -> int:
        """A number that changes with every committed write, by whatever process: what was read before is still true
        while it is the same."""
        return self._store.version()

    def roots(self) -> tuple[str, ...]:
        """The folders (and single files) that were added, as real paths."""
        trees = (each.folder for each in self._known.manifests())
        return tuple(dict.fromkeys((*(root for _, root in self._store.roots()), *filter(None, trees))))

    def manifests(self) -> tuple[Manifest, ...]:
        """The branches and checkouts of repositories that are kept as trees, oldest first."""
        return self._known.manifests()

    def timeline(self, *collections: str) -> Timeline:
        """Which documents of these collections, or of all, are valid when."""
        return self._known.timeline(collections)

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
        for each in self._known.manifests():
            added.setdefault(each.collection, []).append(each.folder or each.name.split("/", 2)[-1])
        return tuple(replace(info, roots=tuple(added.get(info.name, ()))) for info in self._known.infos())
