"""The seams: what a stage may expect of a part it does not know.

An embedder, a store or a reranker is anything that has these methods. The store contract has one set of
tests that every store passes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

import numpy as np

from outcrop.records import (
    CollectionInfo,
    DocumentInfo,
    DocumentWrite,
    FeedRow,
    FileState,
    Filter,
    Folder,
    Manifest,
    Matrix,
    Model,
    StoredChunk,
    StoreStats,
    Trust,
    Vector,
)
from outcrop.system.arrays import NDArray

if TYPE_CHECKING:  # only a store that is searched in place has these
    from outcrop.records.derived import ChunkRows, DeclaredRows, TermRows, Totals

Embedded = Literal["text", "summary", "path"]
"""What has a vector: the text of a chunk, the summary of one of code, the path of a document."""
Stop = Callable[[], bool]
"""Asked inside loops: whether whoever wanted the work has given it up."""


@runtime_checkable
class Embedder(Protocol):
    """Texts to vectors. Documents and queries have methods of their own, since a model may treat them differently.

    Rows need not be of unit length: how long a text's vector is beside its path's says how much each counts. The vector
    of a chunk is `unit(text + path_weight * path)`; a model that has no use for paths sets `path_weight` to 0. The same
    text gives the same vector in any batch. Safe to call from any thread.

    A model that splits unknown words into fragments may have a method `knows(text) -> bool`: whether it knows any word
    of a text as a whole. Where neither the model nor the index knows one, hits have to be much nearer. One that reads
    several languages may have a `trust_across` for queries whose words have to be translated.
    """

    @property
    def model(self) -> Model:
        """Which model this is; stored beside every vector."""

    @property
    def path_weight(self) -> float:
        """How much the vector of the path counts beside that of the text."""

    @property
    def trust(self) -> Trust:
        """How much its similarities weigh against word matches."""

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """One row a text, as documents."""

    def embed_paths(self, paths: Sequence[str]) -> Matrix:
        """One row a path."""

    def embed_query(self, text: str) -> Vector:
        """A query, of unit length (all zeros when the model knows none of its words)."""


@runtime_checkable
class Reranker(Protocol):
    """Scores texts against a query; higher is better. Optional, off by default. Safe to call from any thread. It may
    have an attribute `blend` (a Trust): how much its order weighs against the first one, for prose and for code, 0 to
    1; or `worth` (a Trust): what its scores, which are log-odds, are worth beside the engine's own."""

    def score(self, query: str, texts: Sequence[str], seconds: float) -> Sequence[float]:
        """Scores of the first of `texts`, best candidates first: as many as fit into `seconds`, perhaps none. Raises
        EmbedError when it is not available."""


@runtime_checkable
class Commentator(Protocol):
    """Says in words what code does. Optional, off by default: without one a summary is made from the code's names. Safe
    to call from any thread."""

    @property
    def name(self) -> str:
        """Who comments: another name whenever it would say something else. Comments are stored under it."""

    def comment(self, chunks: Sequence[tuple[str, str]]) -> list[str]:
        """One or two sentences for each (place, code), empty where it has nothing to say. A place is a path and a name:
        `src/pool.py ConnectionPool.acquire`. Raises EmbedError when it is not available."""


@runtime_checkable
class Tokenizer(Protocol):
    """Counts the tokens of a text as some model would."""

    def count(self, text: str) -> int:
        """How many tokens this text is."""


class Store(Protocol):
    """The truth: documents, chunks, vectors and the keyword index, changed together or not at all.

    Any method may be called from any thread and any process; readers never wait for a writer. `version` changes
    with every committed write, so a cache can tell whether it is fresh. Chunk ids only grow and are never used
    again; `removals` lists, in order, those that are gone, so that derived arrays can catch up.
    """

    # -- writing
    def write(
        self,
        writes: Sequence[DocumentWrite],
        vectors: Mapping[bytes, Vector],
        model: Model,
        remove: Collection[int] = (),
        *,
        defer_embedding: bool = False,
    ) -> list[int]:
        """Insert or replace documents and remove others in one transaction; the ids of `writes`, in order. Where two of
        them name the same document, the one that comes last counts.

        Raises MissingVectors when a key is neither in `vectors` nor stored for `model`; nothing is written then. With
        `defer_embedding` the document is written all the same: words find it, and it is pending until `fill` brings the
        vectors."""

    def move(
        self,
        document_id: int,
        write: DocumentWrite,
        vectors: Mapping[bytes, Vector],
        model: Model,
        *,
        defer_embedding: bool = False,
    ) -> None:
        """As `write`, for a file that has a new name: id and creation time stay; a document that had that name goes."""

    def touch(self, states: Mapping[int, tuple[int | None, int | None]]) -> None:
        """Remember new (mtime_ns, size) of documents whose content proved unchanged. Not an update of them."""

    def delete(self, document_ids: Collection[int]) -> int:
        """Remove documents with their chunks, vectors no other chunk uses, and keyword rows; how many there were."""

    # -- summaries, vectors and models
    def summaries(self, keys: Collection[bytes]) -> list[tuple[bytes, bytes, str]]:
        """(text key, summary key, summary) of the stored chunks of code with these text keys, each once."""

    def missing_vectors(self, model: Model, keys: Collection[bytes]) -> set[bytes]:
        """Those of `keys` for which there is no vector of `model`."""

    def active_model(self) -> Model | None:
        """The model whose vectors are searched; None in a new database. The first write sets it."""

    def unembedded(
        self, what: Embedded, model: Model, limit: int, document: int | None = None
    ) -> list[tuple[bytes, int]]:
        """Up to `limit` (key, id of the chunk or, for a path, of the document), of one document or of all, that have no
        vector of `model`, oldest first."""

    def pending(self, limit: int | None = None) -> list[int]:
        """Ids of the documents that were written with `defer_embedding` and still lack a vector, ascending."""

    def fill(self, model: Model, vectors: Mapping[bytes, Vector]) -> int:
        """Store vectors of pending documents; how many documents are complete now. All chunks of such a document get
        new ids, in order, and the old ones join `removals`, so that derived arrays take them in. Keys that nothing uses
        any more are ignored. Raises StoreError when `model` is not active."""

    def add_vectors(self, model: Model, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors of a model that is not active yet; if it is, as `fill`. What nothing uses is passed over."""

    def activate(self, model: Model) -> None:
        """Switch to `model` and drop every other model's vectors, at once. Every chunk must have its vector."""

    # -- reading
    def find(self, collection: str, uri: str) -> DocumentInfo | None:
        """The document of this name in this collection."""

    def document(self, document_id: int) -> DocumentInfo | None:
        """The document with this id."""

    def documents(self, where: Filter = ..., limit: int | None = None, offset: int = 0) -> list[DocumentInfo]:
        """Documents by collection and path."""

    def with_entries(self, collection: str, names: Collection[str]) -> list[DocumentInfo]:
        """The Markdown documents of a collection whose front matter has one of these entries, by id; not those of
        trees. Searches ask when the collection has changed: 100 000 documents take SQLite 45 ms."""

    def text(self, document_id: int) -> str:
        """The whole text of a document, exactly as it was parsed."""

    def chunks(self, chunk_ids: Sequence[int]) -> list[StoredChunk]:
        """These chunks, in the order asked for; those that are gone are left out."""

    def chunks_of(self, document_id: int) -> list[StoredChunk]:
        """The chunks of a document in order; none if there is no such document."""

    def states(self, collection: str, root: str | None = None) -> dict[str, FileState]:
        """uri → state of every document of a collection, or of those below a root: what was added with this root, and
        files that lie in it whatever root they were added with."""

    def files(self, collection: str, root: str | None = None) -> dict[str, int]:
        """uri → id of those of these documents that have a time of change, as files have."""

    def roots(self) -> list[tuple[str, str]]:
        """(collection, root) of every folder that documents came from."""

    def folder(self, collection: str, root: str) -> Folder:
        """What is remembered of a folder; empty where nothing is."""

    def folders(self) -> list[Folder]:
        """Every folder of which something is remembered, by collection and root."""

    def put_folder(
        self, collection: str, root: str, *, tags: Sequence[str] | None = None, survey: str | None = None
    ) -> None:
        """Remember the tags of a folder, or the survey of its repositories; what is not given stays."""

    def manifests(self) -> list[Manifest]:
        """Every branch and checkout whose documents are known, oldest first."""

    def put_manifest(
        self,
        collection: str,
        name: str,
        documents: Collection[int],
        *,
        repository: str,
        branch: str = "",
        revision: str = "",
    ) -> int:
        """Let a manifest hold exactly these documents, at once; documents that it held and no other does leave the
        index: how many went. Raises Conflict, and changes nothing, where one of `documents` is gone: another process
        removed it meanwhile, so read the tree again."""

    def drop_manifest(self, manifest_id: int) -> int:
        """Forget a manifest with the documents that no other holds; how many went."""

    def drop_unlisted(self, older_than_s: float) -> int:
        """Remove documents of trees that no manifest holds and that were written longer ago than this: a run was
        killed before it listed them. How many went."""

    def setting(self, name: str) -> str | None:
        """A setting kept with the index, such as the name under which its model is opened."""

    def put_setting(self, name: str, value: str) -> None:
        """Keep a setting with the index."""

    def settings(self) -> dict[str, str]:
        """Every setting that is kept with the index."""

    def collections(self) -> list[CollectionInfo]:
        """Every collection that holds a document, by name."""

    def collection_names(self) -> list[str]:
        """Their names alone, in time that does not depend on how many documents there are."""

    # -- what another store needs to become the same
    def export(self, after: int, limit: int) -> list[tuple[int, DocumentWrite]]:
        """Up to `limit` documents with id above `after`, ascending, each as the write that makes it again exactly.

        Fewer where they are large: all texts of an answer together stay within some megabytes, or it is one document.
        Nothing only when there is none left. Tags are all in `DocumentWrite.tags`, sorted; an outline has its language
        alone; `summary_keys` is empty where no chunk has a summary's; both times are set.
        """

    def kept_vectors(self, model: Model, keys: Collection[bytes]) -> dict[bytes, Vector]:
        """The vectors of `model` that are kept under these keys: exactly what is stored, which 16-bit floats hold. A
        store may keep them in as few as eight bits a dimension."""

    # -- what search needs
    def lineage(self, version: int) -> str | None:
        """Names this database at that version. No other database has the name, nor has this one after it was restored
        from a copy and written again; None for a version that never was or is too old. Derived files carry it."""

    def version(self) -> int:
        """A number that changes with every committed write, by whatever process."""

    def select(self, where: Filter) -> NDArray[np.int64]:
        """Ids of the documents that pass a filter, ascending."""

    def match_phrase(self, phrase: str, among: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Ids of the chunks whose text holds these words in this order, ignoring case, ascending. `among` names the
        only chunks that are looked at. Without it a store may have to read every text."""

    def feed(self, after_chunk: int, limit: int) -> list[FeedRow]:
        """Up to `limit` chunks with id above `after_chunk`, ascending, with vectors of the active model."""

    def removals(self, after: int) -> tuple[NDArray[np.int64], int]:
        """Chunk ids removed since log position `after`, and the position now."""

    # -- upkeep
    def snapshot(self) -> AbstractContextManager[None]:
        """Everything this thread reads inside comes from one snapshot of the database; may be nested."""

    def stats(self) -> StoreStats:
        """Row counts and sizes."""

    def check(self) -> Iterator[str]:
        """Problems found by a full consistency check; none when all is well."""

    def close(self) -> None:
        """Close every connection of this process; using the store afterwards raises StoreError."""


@runtime_checkable
class SearchableStore(Store, Protocol):
    """A store that is searched in place, because no one machine holds copies of all its rows. It keeps what
    `derived.Deriver` makes of each chunk, changed in the same transaction as the chunk. Inside a `snapshot` all of
    these answers agree."""

    def totals(self) -> Totals:
        """Chunks and terms of the whole index, as far as this user may see it."""

    def term_counts(self, terms: Collection[int]) -> dict[int, int]:
        """How many chunks hold each of these terms; those that none holds are left out."""

    def term_rows(self, terms: Collection[int], collections: Sequence[str] = ()) -> dict[int, TermRows]:
        """The chunks (of these collections, or of all) that hold each of these terms."""

    def nearest(
        self, vector: Vector, count: int, where: Filter = ..., among: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The `count` chunks whose text or summary is nearest to a vector of unit length, best first, and the cosine.
        Only chunks that pass the filter and, where given, are in `among`. Never fewer than there are."""

    def narrow(self, where: Filter, most: int) -> NDArray[np.int64] | None:
        """The ids of all chunks that pass a filter, ascending; None when they are more than `most`."""

    def passing(self, chunk_ids: NDArray[np.int64], where: Filter) -> NDArray[np.int64]:
        """Those of some chunks that pass a filter, ascending."""

    def chunk_rows(self, chunk_ids: NDArray[np.int64], around: int = 0) -> ChunkRows:
        """What is kept of these chunks and, of those that are prose, of the `around` chunks before and after each in
        the same document. Those that are gone are left out."""

    def chunk_facts(self, chunk_ids: NDArray[np.int64]) -> ChunkRows:
        """What is kept of these chunks, words and vectors left empty."""

    def document_facts(self, document_ids: NDArray[np.int64]) -> ChunkRows:
        """What is kept of all chunks of some documents, words and vectors left empty."""

    def declaring(self, names: Collection[int], most: int) -> DeclaredRows:
        """Declarations of these names, by name and chunk id, at most `most` of each."""

    def declared_in(self, chunk_ids: NDArray[np.int64]) -> DeclaredRows:
        """What these chunks declare, by name and chunk id."""

    def settle(self) -> None:
        """After writes: bring the vector index up to date if enough has changed."""

    def rederive(self) -> None:
        """Rebuild everything derived from the truth, while others go on reading what was there."""


@runtime_checkable
class HasRoles(Protocol):
    """A store of several users: which roles of the database may read it, and which of its collections."""

    def grant(self, role: str, collections: Sequence[str] = ()) -> None:
        """Let a role read these collections, or all there are and will be; on top of what it may read already."""

    def revoke(self, role: str) -> int:
        """Take back everything a role may read; how many grants there were."""

    def grants(self) -> list[tuple[str, str | None]]:
        """(role, collection) of every grant; None stands for all collections."""
