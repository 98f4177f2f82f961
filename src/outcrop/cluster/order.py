"""What travels between the process that writes, its driver, and Ray's workers.

Pickled, unlike the frames of our other workers: Ray itself pickles all that it carries, and whoever can send to its
workers can run code there. What a file says is data in it as ever.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from outcrop.records import Matrix, Model
from outcrop.write.prepare import Job, Outcome, Recipe

LOCAL: Final = "local"
"""The address that stands for a cluster of this machine alone, started for one run."""


class Unable(Exception):
    """The order cannot be filled; `model` tells whether that is the model's fault or the cluster's."""

    def __init__(self, message: str, *, model: bool = False) -> None:
        super().__init__(message)
        self.model = model


@dataclass(frozen=True, slots=True)
class Embedding:
    """Which model embeds, how it is opened, and what it must prove to be: vectors of another one are never mixed in."""

    name: str
    url: str
    key: str = field(repr=False)
    query_prefix: str
    model: Model


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be done where. Without an embedding, vectors are made by whoever ordered."""

    address: str
    recipe: Recipe
    embedding: Embedding | None
    jobs: tuple[Job, ...]


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of some files, on which machine; `keys[i]` is the key of the vector `matrix[i]`. `unseen` are the
    uris of files that the machine did not find."""

    host: str
    outcomes: tuple[Outcome, ...]
    unseen: frozenset[str] = frozenset()
    keys: tuple[bytes, ...] = ()
    matrix: Matrix = field(default_factory=lambda: np.zeros((0, 0), np.float32))
