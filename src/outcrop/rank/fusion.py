"""Two lists become one: weighted scores by default, reciprocal ranks on request.

Both legs speak in absolute terms: the lexical score is the share of the best score the query allows, the dense
one a cosine. So their weighted sum means the same for every query, and one leg's confidence can outweigh the
other's doubt, which ranks alone cannot express. On seven sets of prose equal-weight RRF lost to BM25 alone on six, by
.04–.10 nDCG@10; the weighted sum gained .006–.026 on six and lost .006, within noise, on one (`benchmarks/quality.py`).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outcrop.records import Fusion, MeaningShare, QueryType, SearchMode, Trust

SEMANTIC_SHARE: Final[dict[QueryType, float]] = {"exact": 0.30, "mixed": 0.60, "semantic": 0.85}
"""How much meaning counts against words for each type of query, given a model that is fully trusted (K6)."""

RRF_SHARE: Final = 0.5
"""By rank both legs weigh the same."""
RRF_K: Final = 60
"""The constant of the original paper; larger flattens the top of the lists."""


class Legs(NamedTuple):
    """What each leg gives to the fused score, which is their sum."""

    words: NDArray[np.float32]
    meaning: NDArray[np.float32]

    @property
    def fused(self) -> NDArray[np.float32]:
        """The score of both."""
        return self.words + self.meaning


def dense_weight(kind: QueryType, trust: float) -> float:
    """Weight of the dense leg: the share of the query type, in odds scaled by how far the model is trusted."""
    share = SEMANTIC_SHARE[kind]
    return share * trust / (share * trust + (1 - share))


def meaning_share(
    kind: QueryType, trust: Trust, *, mode: SearchMode, fusion: Fusion, balance: float | None
) -> MeaningShare:
    """How much meaning weighs in a search, in prose and in code."""
    if mode != "hybrid":
        share = 1.0 if mode == "semantic" else 0.0
        return MeaningShare(share, share)
    if balance is not None:
        return MeaningShare(balance, balance)
    if fusion == "rrf":
        return MeaningShare(RRF_SHARE, RRF_SHARE)
    return MeaningShare(dense_weight(kind, trust.prose), dense_weight(kind, trust.code))


def fuse_scores(
    lexical: NDArray[np.float32],
    cosine: NDArray[np.float32],
    code: NDArray[np.bool_],
    kind: QueryType,
    trust: Trust,
    balance: float | None = None,
) -> Legs:
    """The legs of a weighted sum; code and prose are weighed by how well the model knows each, or `balance` says how
    much meaning weighs."""
    if balance is None:
        weight = np.where(code, dense_weight(kind, trust.code), dense_weight(kind, trust.prose))
    else:
        weight = np.full(len(code), balance)
    weight = weight.astype(np.float32)
    return Legs((1 - weight) * lexical, weight * np.maximum(cosine, 0))


def fuse_ranks(
    lexical_rank: NDArray[np.int32], dense_rank: NDArray[np.int32], balance: float | None = None
) -> Legs:
    """The legs of reciprocal rank fusion, scaled so that first in both lists is 1; rank 0 means not in that list. Both
    weigh the same, unless `balance` says how much meaning does."""
    meaning = RRF_SHARE if balance is None else balance
    shares = ((lexical_rank, 1 - meaning), (dense_rank, meaning))
    return Legs(
        *(
            np.where(rank > 0, (RRF_K + 1) / (RRF_K + rank) * share, 0).astype(np.float32)
            for rank, share in shares
        )
    )
