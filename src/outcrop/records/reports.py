"""What is told of a job (progress, what an add, a sync or a move did), of an index, and of a codebase: what relates to
a declaration, the map, the graph of references."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, fields
from typing import Literal

from outcrop.records.parsed import Failure, ReferenceKind, Skipped
from outcrop.records.stored import CollectionInfo, DocumentInfo, Model, StoredChunk, StoreStats
from outcrop.system.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a long job stands: `done` of `total` files, pages or documents (None while still counting); of files
    that are read also how many bytes, which tell better how long the rest will take."""

    done: int
    total: int | None
    chunks: int
    path: str
    phase: Literal["scan", "read", "ocr", "embed", "move", "check"]
    bytes_done: int = 0
    bytes_total: int = 0


OnProgress = Callable[[Progress], None]
"""Told now and then how far a long job is."""


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an add or a sync did. `masked` is how many secrets were masked in the documents that were written;
    `remarks` are on documents that are in the index although something was wrong with their bytes."""

    added: int = 0
    changed: int = 0
    moved: int = 0
    unchanged: int = 0
    removed: int = 0
    chunks: int = 0
    embedded: int = 0
    masked: int = 0
    skipped: tuple[Skipped, ...] = ()
    failed: tuple[Failure, ...] = ()
    remarks: tuple[Failure, ...] = ()
    document_ids: tuple[int, ...] = ()
    seconds: float = 0.0

    def __add__(self, other: IngestReport) -> IngestReport:
        """Two runs as one."""
        both = {field.name: getattr(self, field.name) + getattr(other, field.name) for field in fields(self)}
        return IngestReport(**both)


@dataclass(frozen=True, slots=True)
class Holdings:
    """What an index holds of a collection. `vectors` counts the chunks, summaries and paths that have theirs; `digest`
    is of all that is stored, whatever its order and ids."""

    documents: int = 0
    chunks: int = 0
    vectors: int = 0
    digest: str = ""


@dataclass(frozen=True, slots=True)
class MovedCollection:
    """A collection as both sides of a move hold it."""

    name: str
    source: Holdings
    target: Holdings


@dataclass(frozen=True, slots=True)
class RankingParity:
    """How far two indexes answer alike: the mean share of their ten best hits that is the same, and the queries where
    it is not all of them, with that share."""

    queries: int
    overlap: float
    different: tuple[tuple[str, float], ...] = ()


MIN_OVERLAP = 0.95
"""Two indexes that hold the same and agree less than this rank differently. Ties, which fall by the order in which
documents were written, cost less than that (not measured)."""


@dataclass(frozen=True, slots=True)
class MoveReport:
    """What a move did and what the check of it found. `resumed`: it went on with what an earlier run had begun.
    `changed_meanwhile`: the source was written to so often that the copy is already out of date. `unranked` says why
    the rankings could not be compared, where they could not."""

    collections: tuple[MovedCollection, ...]
    copied: int
    removed: int
    pending: int
    passes: int
    resumed: bool
    changed_meanwhile: bool
    problems: tuple[str, ...]
    seconds: float
    parity: RankingParity | None = None
    unranked: str = ""

    @property
    def alike(self) -> bool:
        """Whether both rank alike. Not judged while documents are pending: in the copy some of them already have
        vectors that came with other documents of the same words."""
        return self.parity is None or self.pending > 0 or self.parity.overlap >= MIN_OVERLAP

    @property
    def ok(self) -> bool:
        """Whether the copy is whole, the same, and ranks alike."""
        return self.alike and not self.problems and not self.changed_meanwhile and not self.unranked


@dataclass(frozen=True, slots=True)
class Status:
    """What an index holds and whether it is in order. `model` is the one in use, `index_model` the stored vectors'.
    `languages` says how many chunks of text are in each, by its code, the commonest first."""

    db: str
    collections: tuple[CollectionInfo, ...]
    stats: StoreStats
    model: Model
    index_model: Model | None
    array_bytes: int
    languages: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Check:
    """One finding of the doctor."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class StaleDocument:
    """A stored document whose file is no longer what was indexed."""

    document: DocumentInfo
    change: Literal["changed", "missing", "unreadable"]


Relation = Literal["caller", "callee", "test", "doc"]
"""What another chunk is to the one asked about: it uses it, is used by it, tests it, or writes about it."""


@dataclass(frozen=True, slots=True)
class Relative:
    """A chunk that is related to another, and how strongly: the weight of the references between them."""

    relation: Relation
    chunk: StoredChunk
    weight: float


@dataclass(frozen=True, slots=True)
class Related:
    """What a declaration or a place in a file has to do with: `target` are the chunks asked about."""

    target: tuple[StoredChunk, ...]
    relatives: tuple[Relative, ...]

    def of(self, relation: Relation) -> tuple[Relative, ...]:
        """Those of one kind, strongest first."""
        return tuple(item for item in self.relatives if item.relation == relation)


@dataclass(frozen=True, slots=True)
class MapEntry:
    """A declaration in a map: where it is, its line as it stands there, and how central it is (0 to 1)."""

    path: str
    line: int
    text: str
    symbol: str
    rank: float


@dataclass(frozen=True, slots=True)
class CodeMap:
    """The most central declarations of a codebase as an outline within a token budget."""

    text: str
    tokens: int
    budget_tokens: int
    entries: tuple[MapEntry, ...]
    files: int
    left_out: int


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A chunk in a graph: where it is, what it declares, and how central it is there (0 to 1)."""

    id: int
    collection: str
    document_id: int
    path: str
    line: int
    symbol: str
    kind: str
    rank: float


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """One chunk leans on another, by chunk ids: how (`relation`) and how surely (`weight`)."""

    source: int
    target: int
    relation: ReferenceKind
    weight: float


@dataclass(frozen=True, slots=True)
class Graph:
    """A part of the reference graph, the most central chunks first: around `target`, or of a whole collection. `target`
    has the chunks that were asked about, which are among the nodes; `left_out` is how many more were near."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    target: tuple[int, ...] = ()
    left_out: int = 0
