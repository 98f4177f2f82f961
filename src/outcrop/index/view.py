"""One consistent state of what is searched."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outcrop.index.segment import Segment
from outcrop.records import Model


@dataclass(frozen=True, slots=True)
class View:
    """One consistent state of the arrays, which a search keeps while others move on. `mean_length` is in terms.

    `chunks` is how many there are to be searched; the segments of a store that is searched where it lies hold only
    those that a search has to do with, and none before it."""

    segments: tuple[Segment, ...]
    deleted: tuple[NDArray[np.bool_], ...]
    version: int
    model: Model | None
    last_chunk: int
    removals: int
    mean_length: float = 1.0
    chunks: int = 0

    @property
    def rows(self) -> int:
        """Rows in all segments, removed ones included."""
        return sum(len(segment) for segment in self.segments)
