"""What a chunk of code is worth for each token it costs: the chance that it holds the lines that are wanted.

Chosen in a trial on 386 commits of 14 repositories, message → hunks, with all chunks within five of a hit and the
scores of that time (`benchmarks.lines --history` asks the same of the engine): this product of powers puts .50 of the
hunks into 2 000 tokens and .70 into 8 000; a signature for every file and then the best made whole had .32 and .48. A
logistic model of six to fifteen features, fitted on the other repositories, is no better beyond noise (.53 and .70,
where the order of scores has .37 and .55).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from outcrop.records import Hit

OWN_POWER: Final = 0.75
"""How much a chunk's own score counts beside that of its file, which is found more surely than a place in it: at .5,
.75 and 1 the shares are .52 .50 .50 and .70 .70 .69, and a changed file is there for .68 .68 .70 and .80 .80 .82. A
question about how something works wants the declarations it names before their neighbours, so not .5."""
SIZE_POWER: Final = 0.5
"""A large file has more places that are not the right one: at 0, .5, .75 and 1 the shares are .47 .52 .52 .53 and .66
.69 .70 .70 in a trial. At .5 a long file keeps its chance against a short one with the same score."""
LENGTH_POWER: Final = 0.67
"""A chunk twice as long holds a wanted line 1.6 times as often: the model says .66."""
FRAME_TOKENS: Final = 50
"""What an element costs around its content, about. At 0, 20, 50 and 100 the shares stay within .01."""


def order_by_worth(hits: Sequence[Hit], beside: Sequence[Hit] = ()) -> list[Hit]:
    """Hits and what stands beside them, the most worth a token first."""
    every = sorted((*hits, *beside), key=lambda hit: -hit.score)
    files: dict[int, tuple[int, float]] = {}
    for hit in every:
        files.setdefault(hit.document.id, (len(files), hit.score))
    return sorted(every, key=lambda hit: -_worth(hit, *files[hit.document.id]))


def _worth(hit: Hit, file_rank: int, file_score: float) -> float:
    """The chance that its file is the one, by the file's best score and its place among the files, times that of the
    chunk among the file's chunks, for each token."""
    tokens = max(hit.tokens, 1)
    file = file_score / (1 + file_rank)
    place = max(hit.score, 0.0) ** OWN_POWER / max(hit.document.chunks, 1) ** SIZE_POWER
    return float(file * place * tokens**LENGTH_POWER / (tokens + FRAME_TOKENS))
