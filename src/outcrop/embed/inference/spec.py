"""All that the worker process needs to know of a model: which ONNX graph to run and how texts go into it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from outcrop.embed.folder import Pooling
from outcrop.errors import EmbedError
from outcrop.system.machine import usable_cores

Reads = Literal["texts", "pairs"]

_USUAL_THREADS = 4
"""Texts that run in parallel unless more are asked for: past four cores a laptop has other things to do."""


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model on disk: what it reads (texts to vectors, or pairs to scores), how, and the state of its files."""

    folder: str
    path: str
    reads: Reads
    max_tokens: int
    pooling: Pooling
    threads: int
    stamp: str


def find_graph(folder: Path) -> Path:
    """The graph in a model's folder."""
    for path in (folder / "model.onnx", folder / "onnx" / "model.onnx"):
        if path.is_file():
            return path
    raise EmbedError(
        f"there is no model.onnx in {folder} or in its folder onnx: export the model to ONNX first"
    )


def graph_files(folder: Path, graph: Path) -> list[Path]:
    """The files that determine a model's vectors. Weights past 2 GB are in files whose names begin with the graph's."""
    parts = [path for path in sorted(graph.parent.glob(f"{graph.name}*")) if path.is_file()]
    return [*parts, folder / "tokenizer.json"]


def stamp_files(files: Iterable[Path]) -> str:
    """Size and modification time of each file; changes when one of them is replaced."""
    found = [path.stat() for path in files]
    return " ".join(f"{status.st_size}:{status.st_mtime_ns}" for status in found)


def usual_threads() -> int:
    """How many texts run in parallel by default: one per core, four at most."""
    return min(usable_cores(), _USUAL_THREADS)
