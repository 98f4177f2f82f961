"""Vectors, and the models they are of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from outcrop.system.arrays import NDArray

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
