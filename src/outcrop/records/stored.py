"""What a store takes, keeps and gives back, and the models its vectors are of."""

from __future__ import annotations

import numpy as np

from outcrop.records.meta import Meta
from outcrop.records.parsed import SESSION, Chunk, CodeNotes, Document, Role, SourceFile
from outcrop.system.arrays import NDArray
from outcrop.system.dataclass import dataclass

Vector = NDArray[np.float32]
"""One embedding, one-dimensional."""

Matrix = NDArray[np.float32]
"""Embeddings, one a row."""


@dataclass(frozen=True, slots=True)
class Model:
    """Identity of an embedding model. Vectors of different models are never compared."""

    name: str
    version: str
    dimensions: int

    def __str__(self) -> str:
        return f"{self.name}@{self.version}/{self.dimensions}"


@dataclass(frozen=True, slots=True)
class Trust:
    """How far a model's similarities can be relied on beside word matches: 1 is a good transformer, 0 nothing."""

    prose: float = 1.0
    code: float = 1.0


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A stored document without its text. Times are seconds since the epoch."""

    id: int
    collection: str
    uri: str
    path: str
    origin: str
    root: str | None
    kind: str
    title: str
    tags: tuple[str, ...]
    meta: Meta
    sha256: str
    mtime_ns: int | None
    size: int | None
    created_at: float
    updated_at: float
    chunks: int
    characters: int
    language: str = ""
    role: Role = ""


@dataclass(frozen=True, slots=True)
class FileState:
    """What a sync needs to know of a stored document to tell whether its file changed."""

    document_id: int
    mtime_ns: int | None
    size: int | None
    sha256: str


@dataclass(frozen=True, slots=True)
class Folder:
    """What is remembered of a folder that was added to a collection, so that a later sync does as the first did. `tags`
    are those that each of its documents gets, `survey` the commits its documents come from, as
    `sources.revisions.Survey` writes them; both may be empty."""

    collection: str
    root: str
    tags: tuple[str, ...] = ()
    survey: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Which documents make up one branch or one checkout of a repository. Documents of manifests are named after path
    and content and never change, so that any number of manifests share them.

    `name` is the full name of a ref (`refs/heads/main`) or the folder of a checkout, `repository` the folder of its
    objects, by which manifests belong together. `branch` and `revision` are what was read last; a checkout without a
    branch, and a tree that could not be read as a whole, have empty ones.
    """

    id: int
    collection: str
    name: str
    repository: str
    branch: str = ""
    revision: str = ""

    @property
    def folder(self) -> str | None:
        """The folder of a checkout; None for a ref."""
        return None if self.name.startswith("refs/") else self.name


@dataclass(frozen=True, slots=True)
class DocumentWrite:
    """A document with everything that must change together with it.

    `text_keys[i]` is the content address of the vector of `chunks[i]`, `summary_keys[i]` that of its summary (empty
    where it has none; none at all where no chunk has), `path_key` that of the path. All are keys into the embedding
    cache. `sha256` is of the source bytes, so that a re-read can tell. `created_at` and `updated_at` are those of a
    document that comes from another index, and count where it is new; None means now.
    """

    file: SourceFile
    collection: str
    document: Document
    chunks: tuple[Chunk, ...]
    text_keys: tuple[bytes, ...]
    path_key: bytes
    sha256: str
    tags: tuple[str, ...] = ()
    summary_keys: tuple[bytes, ...] = ()
    created_at: float | None = None
    updated_at: float | None = None


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as the store gives it back, with its document. `gap` is the whitespace between the chunk before it
    and this one. `heading_path` is that of its largest section, `headings` has the path of every section it holds; the
    engine fills it in."""

    id: int
    document: DocumentInfo
    index: int
    start: int
    end: int
    text: str
    tokens: int
    heading_path: tuple[str, ...]
    line_start: int
    line_end: int
    page: int | None
    gap: str = ""
    code: CodeNotes | None = None
    headings: tuple[tuple[str, ...], ...] = ()

    @property
    def shown_path(self) -> tuple[str, ...]:
        """The headings for people."""
        return self.shown(self.heading_path)

    def shown(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """Headings for people: of a turn only who spoke and when, since the rest is what was said around it."""
        return path[:1] if self.document.kind == SESSION else path


@dataclass(frozen=True, slots=True)
class FeedRow:
    """What the search arrays need of one chunk. A vector is None while the active model has none for it."""

    chunk_id: int
    document_id: int
    kind: str
    title: str
    heading_path: tuple[str, ...]
    path: str
    text: str
    vector: NDArray[np.float16] | None
    path_vector: NDArray[np.float16] | None
    summary_vector: NDArray[np.float16] | None = None
    language: str = ""
    role: Role = ""
    code: CodeNotes | None = None


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A collection, how much it holds, and the folders and files that were added to it."""

    name: str
    documents: int
    chunks: int
    updated_at: float
    roots: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoreStats:
    """Counts of the rows that must agree, and sizes on disk."""

    documents: int
    chunks: int
    chunks_with_vector: int
    vectors: int
    bytes_on_disk: int
    schema_version: int
