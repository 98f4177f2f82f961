"""Texts to vectors, a bounded number at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from outcrop.records import Matrix, Vector

BATCH_TEXTS: Final = 512
"""Texts handed to a model at a time; a model may cut them smaller."""


def embed_all(embed: Callable[[Sequence[str]], Matrix], texts: Mapping[bytes, str]) -> dict[bytes, Vector]:
    """Vectors of texts, by key, a bounded number at a time."""
    keys = list(texts)
    vectors: dict[bytes, Vector] = {}
    for start in range(0, len(keys), BATCH_TEXTS):
        part = keys[start : start + BATCH_TEXTS]
        matrix = embed([texts[key] for key in part])
        vectors.update(zip(part, matrix, strict=True))
    return vectors
