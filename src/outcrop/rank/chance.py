"""What a hit shows: the chance that it answers the query, 0 to 1; and whether anything here answers it at all.

The chance of a hit follows from how surely its file is the one that is meant. For code that is told by all files that
came up, by how much it leads them; for prose by how well the passage matches and how it stands among the ten best
files: far ahead of them it is likely to be the one, amid equals it is one of many. Scores never rise from one hit to
the next.

Whether anything here answers is told by the list as a whole: one file far ahead of all others is a good sign, a list
that falls off slowly is not.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from outcrop.rank.fusion import SHARPNESS, best_totals, file_shares
from outcrop.rank.signals import learnt_weights
from outcrop.records import QueryType
from outcrop.records.candidates import Candidates, Floats
from outcrop.records.found import DOUBTFUL
from outcrop.system.arrays import NDArray, numbered

OF_SHARE: Final = 0.799
OF_DISTANCE: Final = 0.141
OF_WORDS: Final = 0.414
OF_TYPE: Final[dict[QueryType, float]] = {"exact": 0.398, "mixed": -0.263, "semantic": 0.0}
OFFSET: Final = -1.001
"""Log-odds that a hit in code is right: by its file's share, its distance from the file's best chunk, how many words
were asked (log), the type of query. Fitted to the ten best hits of 10 000 questions (`python -m training.ranking`).
Expected calibration error on held-out repositories .03 to .04 by kind of question; on the 21 repositories of
`benchmarks.code` .07 and on cosqa .02."""

LISTED: Final = 10
"""Files that a hit in prose is compared with: the best. Its weights (`weights.json`) were fitted to questions about
research papers, diseases, pages of Wikipedia with tables and library science (`python -m training.ranking --sets`),
with the answer in the index, without it, and to questions about something else. Expected calibration error on each of
these sets, learnt from the others, .04 to .19; on four manuals that nothing was learnt from .04 to .05, where the curve
that asked for the match alone had .28 to .37."""
FURTHEST: Final = 0.3
"""To be further ahead or behind says no more."""
CLEAREST: Final = 1e-4
"""No share is nearer to 0 or 1."""
SUREST: Final = 3.5
"""Log-odds that no hit in prose passes, .97: of those of the sets above and the manuals that would, .94 are right."""
AHEAD_OF: Final = 5
"""Files that the best is compared with: the last of so many (not measured)."""


def score_hits(candidates: Candidates, words: int) -> Candidates:
    """The candidates with their scores; `words` is how many were asked."""
    if not len(candidates):
        return candidates.put(score=np.zeros(0, np.float32))
    worth = learnt_weights().prose
    columns = describe_hits(candidates, words)
    odds = np.minimum(worth["offset"] + sum(worth[name] * column for name, column in columns.items()), SUREST)
    if candidates.code.any():
        odds = np.where(candidates.code, _code_odds(candidates, words), odds)
    return candidates.put(score=(1 / (1 + np.exp(-odds))).astype(np.float32))


def describe_hits(candidates: Candidates, words: int) -> dict[str, NDArray[np.float64] | float]:
    """What the chance of a hit in prose follows from: how well it matches, how many words were asked, its file's share
    among the best files and its lead over them."""
    total, file = candidates.final, numbered(candidates.file)[1]
    best = best_totals(file, total)
    returned = best[numbered(file[candidates.order])[0]]
    # Where there are fewer files, the others match nothing.
    listed = np.sort(np.append(returned, np.zeros(LISTED)))[: -LISTED - 1 : -1]
    own = np.exp(SHARPNESS * (best - listed[0]))
    every = np.exp(SHARPNESS * (listed - listed[0])).sum() + np.where(best < listed[-1], own, 0)
    ahead = best - np.where(best == listed[0], listed[1], listed[0])
    return {
        "match": candidates.fused.astype(np.float64),
        "words": math.log1p(words),
        "share": _log_odds(own / every)[file],
        "ahead": np.clip(ahead, -FURTHEST, FURTHEST)[file],
    }


def _code_odds(candidates: Candidates, words: int) -> NDArray[np.float64]:
    """Log-odds that a hit in code is right, from its total before repeats."""
    total: Floats = candidates.final - candidates.boosts.get("repeats", np.float32(0))
    below = total - best_totals(candidates.file, total)[candidates.file]
    odds: NDArray[np.float64] = OF_SHARE * _log_odds(file_shares(candidates.file, total))
    return (
        odds
        + OF_DISTANCE * SHARPNESS * below
        + OF_WORDS * math.log1p(words)
        + OF_TYPE[candidates.kind]
        + OFFSET
    )


def _log_odds(share: NDArray[np.float64]) -> NDArray[np.float64]:
    clear = np.clip(share, CLEAREST, 1 - CLEAREST)
    odds: NDArray[np.float64] = np.log(clear / (1 - clear))
    return odds


def chance_of_answer(candidates: Candidates, words: int) -> float:
    """How likely it is that something here answers the query of so many words, by the candidates in their order."""
    worth = learnt_weights().answer
    odds = worth["offset"] + sum(
        worth[name] * column for name, column in describe_list(candidates, words).items()
    )
    return 1 / (1 + math.exp(-min(max(odds, -30.0), 30.0)))


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
