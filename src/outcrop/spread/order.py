"""What travels between the process that writes, its driver, and Ray's workers.

Pickled, unlike the frames of our other workers: Ray itself pickles all that it carries, and whoever can send to its
workers can run code there. What a file says is data in it as ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from outcrop.preparing import Job, Outcome, Recipe
from outcrop.records import Matrix, Model

LOCAL: Final = "local"
"""The address that stands for a cluster of this machine alone, started for one run."""

FILES_A_BATCH: Final = 128
BYTES_A_BATCH: Final = 1_000_000
"""What one task gets at most: some tenths of a second of parsing, against about 10 ms that a task costs Ray."""
BATCHES_A_CORE: Final = 4
"""Few files are cut smaller, so that every core has some and none waits long for the last. Judgement."""

Batch = list[tuple[int, Job]]
"""Jobs with their positions in the order."""

Frame = tuple[dict[str, Any], bytes]
"""What the driver sends: see `driver.py`."""


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


def cut(jobs: Sequence[Job], cores: int) -> list[Batch]:
    """Jobs in batches: neither too many files in one nor too many bytes, and enough batches for all cores."""
    most = max(1, min(FILES_A_BATCH, len(jobs) // (cores * BATCHES_A_CORE)))
    batches: list[Batch] = []
    room = 0
    for position, job in enumerate(jobs):
        size = job.file.size or 0
        if not batches or len(batches[-1]) >= most or size > room:
            batches.append([])
            room = BYTES_A_BATCH
        batches[-1].append((position, job))
        room -= size
    return batches
