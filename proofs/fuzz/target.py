"""What a target is, and how choices are read from an input."""

from __future__ import annotations

import atexit
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from proofs.fuzz.seeds import Seeds

T = TypeVar("T")

CHOICES_BYTES = 24
"""Bytes at the front of an input from which a target takes its options."""

MAX_GROWTH_BYTES = 700 * 1024**2
"""Caches of a target take some tens of megabytes; a blow-up takes all there is."""


class Broken(AssertionError):
    """A promise that does not hold."""


def need(holds: object, promise: str) -> None:
    """Raise Broken unless it holds."""
    if not holds:
        raise Broken(promise)


@dataclass(frozen=True, slots=True)
class Target:
    """Something that is fuzzed: `make` an input, `check` it. `check` raises for whatever should not have happened.

    `share` is how many of a million inputs it gets. `deadline_s` is CPU time for one, `growth_bytes` the memory that a
    process may take beyond what it held after its first inputs. `guided` targets are cheap and written in Python, so
    that atheris can choose their inputs too.
    """

    name: str
    share: int
    make: Callable[[random.Random, Seeds], bytes]
    check: Callable[[bytes], None]
    promise: str
    deadline_s: float = 10.0
    growth_bytes: int = MAX_GROWTH_BYTES
    guided: bool = False

    def input(self, seed: int, number: int, seeds: Seeds) -> bytes:
        """The input of that number: the same for the same seed and seed files."""
        return self.make(random.Random(f"{seed}/{self.name}/{number}"), seeds)


def made_folder() -> Path:
    """A folder for the files of a target, in memory where there is such a place; it goes when the process ends."""
    memory = Path("/dev/shm")
    folder = tempfile.mkdtemp(prefix="outcrop-fuzz-", dir=memory if os.access(memory, os.W_OK) else None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder).resolve()


class Draw:
    """Choices taken from bytes, in order; where none are left each is the first. What remains is the body."""

    def __init__(self, data: bytes) -> None:
        self._choices = data[:CHOICES_BYTES]
        self.body = data[CHOICES_BYTES:]
        self._at = 0

    def byte(self) -> int:
        """0 to 255."""
        self._at += 1
        return self._choices[self._at - 1] if self._at <= len(self._choices) else 0

    def whole(self, low: int, high: int) -> int:
        """A number from `low` to `high`, both included."""
        return low + (self.byte() << 8 | self.byte()) % (high - low + 1)

    def pick(self, options: Sequence[T]) -> T:
        """One of them."""
        return options[self.whole(0, len(options) - 1)]

    def text(self) -> str:
        """The body as text; one in four holds halves of surrogate pairs where bytes were no text."""
        return self.body.decode("utf-8", "replace" if self.byte() % 4 else "surrogateescape")
