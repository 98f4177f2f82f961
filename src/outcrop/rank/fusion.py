"""Two lists become one: weighted scores by default, reciprocal ranks on request.

Both legs speak in absolute terms: the lexical score is the share of the best score the query allows, the dense
one a cosine. So their weighted sum means the same for every query, and one leg's confidence can outweigh the
other's doubt, which ranks alone cannot express. On seven sets of prose equal-weight RRF lost to BM25 alone on six, by
.04–.10 nDCG@10; the weighted sum gained .006–.026 on six and lost .006, within noise, on one (`benchmarks/quality.py`).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from outcrop.records import QueryType, Trust

SEMANTIC_SHARE: Final[dict[QueryType, float]] = {"exact": 0.30, "mixed": 0.60, "semantic": 0.85}
"""How much meaning counts against words for each type of query, given a model that is fully trusted (K6)."""

RRF_K: Final = 60
"""The constant of the original paper; larger flattens the top of the lists."""


def dense_weight(kind: QueryType, trust: float) -> float:
    """Weight of the dense leg: the share of the query type, in odds scaled by how far the model is trusted."""
    share = SEMANTIC_SHARE[kind]
    return share * trust / (share * trust + (1 - share))


def fuse_scores(
    lexical: NDArray[np.float32],
    cosine: NDArray[np.float32],
    code: NDArray[np.bool_],
    kind: QueryType,
    trust: Trust,
) -> NDArray[np.float32]:
    """Weighted sum of the legs; code and prose are weighed by how well the model knows each."""
    weight = np.where(code, dense_weight(kind, trust.code), dense_weight(kind, trust.prose)).astype(np.float32)
    return (1 - weight) * lexical + weight * np.maximum(cosine, 0)


def fuse_ranks(lexical_rank: NDArray[np.int32], dense_rank: NDArray[np.int32]) -> NDArray[np.float32]:
    """Reciprocal rank fusion, scaled so that first in both lists is 1; rank 0 means not in that list."""
    total = np.zeros(len(lexical_rank), np.float32)
    for rank in (lexical_rank, dense_rank):
        total += np.where(rank > 0, (RRF_K + 1) / (RRF_K + rank) / 2, 0).astype(np.float32)
    return total
