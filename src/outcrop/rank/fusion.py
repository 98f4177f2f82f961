"""Scores on their way: two lists become one, a reranker's opinion is blended in, and a hit shows a chance.

Lists are fused by weighted scores, or by reciprocal ranks on request. Both legs speak in absolute terms: the lexical
score is the share of the best score the query allows, the dense one a cosine. So their weighted sum means the same for
every query, and one leg's confidence can outweigh the other's doubt, which ranks alone cannot express. On seven sets of
prose equal-weight RRF lost to BM25 alone on six, by .04–.10 nDCG@10; the weighted sum gained .006–.026 on six and lost
.006, within noise, on one (`benchmarks/quality.py`).

The score of a hit is the chance that it answers the query, 0 to 1. For code it follows from how surely its file is the
one that is meant, of all files that came up; for prose, from how well the passage matches. Scores never rise from one
hit to the next. Whether anything here answers the query is told by the list as a whole: one file far ahead of all
others is a good sign, a list that falls off slowly is not.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from outcrop.records import Fusion, MeaningShare, QueryType, SearchMode, Trust
from outcrop.records.candidates import Candidates, Floats
from outcrop.records.found import DOUBTFUL
from outcrop.system.arrays import NDArray, numbered

SEMANTIC_SHARE: Final[dict[QueryType, float]] = {"exact": 0.30, "mixed": 0.60, "semantic": 0.85}
"""How much meaning counts against words for each type of query, given a model that is fully trusted."""

RRF_SHARE: Final = 0.5
"""By rank both legs weigh the same."""
RRF_K: Final = 60
"""The constant of the original paper; larger flattens the top of the lists."""
BLEND: Final = Trust(0.5, 0.5)
"""Weight of a reranker that does not tell its own. Rerankers of another domain are known to do harm when they replace
the first order; blended half and half, one can lift a chunk but not undo the rest (not measured)."""

OPINION: Final[dict[QueryType, float]] = {"exact": 0.5, "mixed": 1.0, "semantic": 1.0}
"""How much of what it is worth a reranker's opinion counts for each type of query. A name is found by its letters: on
held-out sources NDCG@10 of names is .937 without a reranker, .934 with half of its weight, .929 with all."""

SHARPNESS: Final = 8.0
"""How sharply the chance of a file follows from the best total of its chunks: the weights were learnt on this scale."""

OF_SHARE: Final = 0.799
OF_DISTANCE: Final = 0.141
OF_WORDS: Final = 0.414
OF_TYPE: Final[dict[QueryType, float]] = {"exact": 0.398, "mixed": -0.263, "semantic": 0.0}
OFFSET: Final = -1.001
"""Log-odds that a hit in code is right: by its file's share, its distance from the file's best chunk, how many words
were asked (log), the type of query. Fitted to the ten best hits of 10 000 questions (`python -m training.ranking`).
Expected calibration error on held-out repositories .03 to .04 by kind of question; on the 21 repositories of
`benchmarks.code` .07 and on cosqa .02 (.33 and .58 with one curve for prose and code)."""

AHEAD_OF: Final = 5
"""Files that the best is compared with: the last of so many (not measured)."""

MIDPOINT: Final[dict[QueryType, float]] = {"exact": 0.35, "mixed": 0.42, "semantic": 0.47}
"""The labelled sets ask questions. A name that stands once in a chunk of mean length reaches 0.45 of the score its
query allows, and that is as right as it can be: hence the values for exact and mixed queries (not measured)."""
STEEPNESS: Final = 8.0
"""Of prose: over eight labelled sets the share of right hits rises with the match along nearly the same curve, whatever
the query: mean over the sets .09 at .15, .17 at .28, .23 at .33, .43 at .43, .55 at .53, .83 at .65. The logistic
curve runs through these; `benchmarks/quality.py` prints the table again for the scores as returned."""


class Legs(NamedTuple):
    """What each leg gives to the fused score, which is their sum."""

    words: Floats
    meaning: Floats

    @property
    def fused(self) -> Floats:
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
    lexical: Floats,
    cosine: Floats,
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


def blend_of(reranker: object) -> Trust:
    """The weights a reranker claims for itself by an attribute `blend`, as measured for it, each 0 to 1; else BLEND."""
    told: Trust = getattr(reranker, "blend", None) or BLEND
    return Trust(*(min(max(float(weight), 0.0), 1.0) for weight in (told.prose, told.code)))


def add_opinion(
    first: Floats, second: Floats, code: NDArray[np.bool_], worth: Trust, kind: QueryType
) -> Floats:
    """First-stage totals with what a reranker says added, whose scores are log-odds: `worth` of it, learnt for it. No
    total falls below the lowest it had, so none falls behind candidates that the reranker did not see."""
    weight = np.where(code, np.float32(worth.code), np.float32(worth.prose))
    total = first + weight * np.float32(OPINION[kind] / SHARPNESS) * second
    raised: Floats = total + (first.min() - total.min())
    return raised


def rerank_scores(first: Floats, second: Floats, code: NDArray[np.bool_], blend: Trust = BLEND) -> Floats:
    """Blend first-stage scores with a reranker's, whose scale is unknown: it is fitted to the first stage's range.

    So blended scores can still be compared with those of candidates that the reranker did not see. Scores that tell
    nothing (all alike, or not numbers) leave the first stage's as they are. `code` tells chunks of code from prose.
    """
    if len(first) < 2 or not np.isfinite(second).all() or np.ptp(second) == 0:
        return first
    scaled: Floats = (second - second.min()) / np.ptp(second) * np.ptp(first) + first.min()
    weight = np.where(code, np.float32(blend.code), np.float32(blend.prose))
    blended: Floats = ((1 - weight) * first + weight * scaled).astype(np.float32)
    return np.clip(blended, first.min(), first.max())  # rounding must not carry one past its neighbours


def file_shares(file: NDArray[np.intp], total: Floats) -> NDArray[np.float64]:
    """For each candidate the chance of its file, if one of all files here is the right one."""
    best = best_totals(file, total)
    odds = np.exp(SHARPNESS * (best - best.max(initial=-np.inf)))
    shares: NDArray[np.float64] = odds / odds.sum()
    return shares[file]


def best_totals(file: NDArray[np.intp], total: Floats) -> NDArray[np.float64]:
    """The best total of each file."""
    best = np.full(int(file.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(best, file, total.astype(np.float64))
    return best


def score_candidates(candidates: Candidates, total: Floats, match: Floats, words: int) -> Floats:
    """The score of each candidate by itself: of code from its total before repeats, of prose from how well it matches,
    whatever code is there too. `words` is how many words were asked."""
    if not len(total):
        return total
    below = total - best_totals(candidates.file, total)[candidates.file]
    share = np.clip(file_shares(candidates.file, total), 1e-4, 1 - 1e-4)
    odds = OF_SHARE * np.log(share / (1 - share)) + OF_DISTANCE * SHARPNESS * below
    odds += OF_WORDS * math.log1p(words) + OF_TYPE[candidates.kind] + OFFSET
    prose = STEEPNESS * (match - MIDPOINT[candidates.kind])
    return (1 / (1 + np.exp(-np.where(candidates.code, odds, prose)))).astype(np.float32)


def describe_list(candidates: Candidates, words: int) -> dict[str, float]:
    """What the chance of an answer follows from: how well the best matches, and how far it is ahead of other files."""
    order = candidates.order
    first, asked = int(order[0]), math.log1p(words)
    totals = np.sort(best_totals(numbered(candidates.file[order])[1], candidates.final[order]))[::-1]
    gap = float(totals[0] - totals[min(len(totals) - 1, AHEAD_OF)])
    match = float(candidates.fused[order].max())
    role = str(candidates.role[first])
    return {
        **{"gap": gap, "gap × words": gap * asked, "match": match, "match × words": match * asked},
        "rare words": float(candidates.file_rare_words[first]),
        "cosine": float(candidates.cosine[order].max()),
        "definition": float(candidates.defines[first]),
        "aside": float(role != "" and role not in candidates.asked),
        "words": asked,
        "code": float(candidates.code[first]),
    }


def settle(candidates: Candidates, answerable: float | None = None) -> Candidates:
    """The candidates with scores that never rise along their order: a stretch that would is given its mean. Where the
    answer is probably not here, none is likelier to be right than that it is."""
    settled = candidates.score.copy()
    ordered = settled[candidates.order]
    if (ordered[1:] > ordered[:-1]).any():
        settled[candidates.order] = _level(ordered)
    if answerable is not None and answerable < DOUBTFUL:
        settled = np.minimum(settled, np.float32(answerable))
    return candidates.put(score=settled)


def _level(scores: Floats) -> NDArray[np.float64]:
    """Scores whose rising stretches are given their means."""
    means: list[float] = []
    sizes: list[int] = []
    for score in scores.tolist():
        mean, size = score, 1
        while means and means[-1] < mean:
            count = sizes.pop()
            mean, size = (mean * size + means.pop() * count) / (size + count), size + count
        means.append(mean)
        sizes.append(size)
    return np.repeat(np.array(means, np.float64), sizes)
