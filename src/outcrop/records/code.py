"""What is told of a codebase: what relates to a declaration, the map, the graph of references."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from outcrop.records.parsed import ReferenceKind
from outcrop.records.stored import StoredChunk

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
    """A part of the reference graph, the most central chunks first: around `target`, or of a whole collection.

    `target` has the chunks that were asked about, which are among the nodes; `left_out` is how many more were near.
    """

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    target: tuple[int, ...] = ()
    left_out: int = 0
