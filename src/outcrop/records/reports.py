"""What a job says of itself: progress, what an add, a sync or a move did, how an index is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Literal

from outcrop.records.embedded import Model
from outcrop.records.source import Failure, Skipped
from outcrop.records.stored import CollectionInfo, DocumentInfo, StoreStats


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a long job stands: `done` of `total` files or documents (None while still counting)."""

    done: int
    total: int | None
    chunks: int
    path: str
    phase: Literal["scan", "read", "embed", "move", "check"]


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
    `changed_meanwhile`: the source was written to so often that the copy is of a moment that has passed. `unranked`
    says why the rankings could not be compared, where they could not."""

    collections: tuple[MovedCollection, ...]
    copied: int
    removed: int
    waiting: int
    passes: int
    resumed: bool
    changed_meanwhile: bool
    problems: tuple[str, ...]
    seconds: float
    parity: RankingParity | None = None
    unranked: str = ""

    @property
    def alike(self) -> bool:
        """Whether both rank alike. While documents wait for vectors that is not judged: in the copy some of them have
        those that other documents with the same words brought since."""
        return self.parity is None or self.waiting > 0 or self.parity.overlap >= MIN_OVERLAP

    @property
    def ok(self) -> bool:
        """Whether the copy is whole, the same, and ranks alike."""
        return self.alike and not self.problems and not self.changed_meanwhile and not self.unranked


@dataclass(frozen=True, slots=True)
class Status:
    """What an index holds and whether it is in order. `model` is the one in use, `index_model` the stored vectors'."""

    db: str
    collections: tuple[CollectionInfo, ...]
    stats: StoreStats
    model: Model
    index_model: Model | None
    array_bytes: int


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
