"""A real embedder, small and slow at will, and a process that re-embeds with it, told batch by batch, until killed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import outcrop
from outcrop.config import load_config
from outcrop.records import Matrix, Model, Trust, Vector


class Letters:
    """Counts letters: equal texts have equal vectors. `meanwhile` is called before each batch."""

    path_weight = 0.5
    trust = Trust()

    def __init__(self, name: str, dimensions: int = 26) -> None:
        self.model = Model(name, "1", dimensions)
        self.embedded: list[str] = []
        self.meanwhile: Callable[[str], None] = lambda what: None

    def _embed(self, texts: Sequence[str]) -> Matrix:
        counts = np.zeros((len(texts), self.model.dimensions), np.float32)
        for row, text in zip(counts, texts, strict=True):
            for letter in text.lower():
                row[ord(letter) % self.model.dimensions] += 1
        unit: Matrix = counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)
        return unit.astype(np.float32)

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        self.meanwhile("documents")
        self.embedded.extend(texts)
        return self._embed(texts)

    def embed_paths(self, paths: Sequence[str]) -> Matrix:
        self.meanwhile("paths")
        return self._embed(paths)

    def embed_query(self, text: str) -> Vector:
        row: Vector = self._embed([text])[0]
        return row


def main(db: str) -> None:
    """Re-embed, saying so at each batch. It waits for a line then: a parent that is late finds it where it was."""
    embedder = Letters("second", 13)

    def wait(what: str) -> None:
        print(what, flush=True)
        sys.stdin.readline()

    embedder.meanwhile = wait
    with outcrop.Engine(load_config({"db": Path(db)}, environ={}), embedder=embedder) as kb:
        kb.reembed()


if __name__ == "__main__":
    main(sys.argv[1])
