"""The messages between the process that writes, its driver, and Ray's workers.

Pickled, unlike the frames of our other workers: Ray pickles everything it carries, and whoever can send to its workers
can run code there anyway. The contents of files are only data in them.
"""

from __future__ import annotations

from dataclasses import field
from typing import Final

import numpy as np

from outcrop.records import Matrix, Model
from outcrop.system.dataclass import dataclass
from outcrop.write.prepare import Job, Outcome, Recipe

LOCAL: Final = "local"
"""The address of a cluster of this machine alone, started for one run."""


class Unable(Exception):
    """The order cannot be filled, because of the model or else of the cluster."""

    def __init__(self, message: str, *, model: bool = False) -> None:
        super().__init__(message)
        self.model = model


@dataclass(frozen=True, slots=True)
class Embedding:
    """Which model embeds, how it is opened, and its identity: vectors of another model are never mixed in."""

    name: str
    url: str
    key: str = field(repr=False)
    query_prefix: str
    model: Model


@dataclass(frozen=True, slots=True)
class Order:
    """What to prepare, and where. Without an embedding, whoever ordered makes the vectors."""

    address: str
    recipe: Recipe
    embedding: Embedding | None
    jobs: tuple[Job, ...]


@dataclass(frozen=True, slots=True)
class Delivery:
    """The outcomes of some files and the machine they come from; `keys[i]` is the key of the vector `matrix[i]`.
    `unseen` are the uris of files that the machine did not find."""

    host: str
    outcomes: tuple[Outcome, ...]
    unseen: frozenset[str] = frozenset()
    keys: tuple[bytes, ...] = ()
    matrix: Matrix = field(default_factory=lambda: np.zeros((0, 0), np.float32))
