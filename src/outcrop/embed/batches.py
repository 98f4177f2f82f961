"""Texts to vectors, a bounded number at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from outcrop.contracts import Embedder
from outcrop.records import Matrix, Vector

BATCH_TEXTS: Final = 512
"""Texts handed to a model at a time; a model may cut them smaller."""


def batch_texts(embedder: Embedder) -> int:
    """How many texts to hand this model at a time: a slow one says so by an attribute `batch_texts`, so that a run can
    be cancelled in between."""
    return int(getattr(embedder, "batch_texts", BATCH_TEXTS))


def embed_all(
    embed: Callable[[Sequence[str]], Matrix],
    texts: Mapping[bytes, str],
    at_once: int = BATCH_TEXTS,
    check_stopped: Callable[[], None] | None = None,
) -> dict[bytes, Vector]:
    """Vectors of texts, by key, `at_once` at a time; `check_stopped` is called before each time and may raise."""
    keys = list(texts)
    vectors: dict[bytes, Vector] = {}
    for start in range(0, len(keys), at_once):
        if check_stopped is not None:
            check_stopped()
        part = keys[start : start + at_once]
        matrix = embed([texts[key] for key in part])
        vectors.update(zip(part, matrix, strict=True))
    return vectors
