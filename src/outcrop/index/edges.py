"""Edges of the reference graph, in columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from outcrop.index.evidence import Nodes


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges in three columns, for each the declaration it leads to (its place in the names of segment `segment`), and
    how the name is used (a place in `USES`)."""

    source: Nodes
    target: Nodes
    weight: NDArray[np.float32]
    segment: NDArray[np.int32]
    declared: Nodes
    kind: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.source)

    def take(self, which: NDArray[np.bool_] | NDArray[np.intp] | slice) -> Edges:
        """Some of the edges."""
        return Edges(*(column[which] for column in _columns(self)))


def _columns(edges: Edges) -> tuple[NDArray[Any], ...]:
    return edges.source, edges.target, edges.weight, edges.segment, edges.declared, edges.kind


def join(parts: Sequence[Edges]) -> Edges:
    """Several lists of edges as one."""
    if not parts:
        return NO_EDGES
    columns = zip(*map(_columns, parts), strict=True)
    return Edges(*(np.concatenate(column) for column in columns))


NO_EDGES: Final = Edges(
    np.zeros(0, np.int64),
    np.zeros(0, np.int64),
    np.zeros(0, np.float32),
    np.zeros(0, np.int32),
    np.zeros(0, np.int64),
    np.zeros(0, np.uint8),
)
