"""A second opinion blended with the first (R8)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from outcrop.records import Trust

BLEND: Final = Trust(0.5, 0.5)
"""Weight of a reranker that does not tell its own. Judgement: rerankers of another domain are known to do harm when
they replace the first order; blended half and half, one can lift a chunk but not undo the rest."""


def blend_of(reranker: object) -> Trust:
    """The weights a reranker claims for itself by an attribute `blend`, as measured for it, each 0 to 1; else BLEND."""
    told: Trust = getattr(reranker, "blend", None) or BLEND
    return Trust(*(min(max(float(weight), 0.0), 1.0) for weight in (told.prose, told.code)))


def rerank_scores(
    first: NDArray[np.float32],
    second: NDArray[np.float32],
    code: NDArray[np.bool_],
    blend: Trust = BLEND,
) -> NDArray[np.float32]:
    """Blend first-stage scores with a reranker's, whose scale is unknown: it is fitted to the first stage's range.

    So blended scores can still be compared with those of candidates that the reranker did not see. Scores that tell
    nothing (all alike, or not numbers) leave the first stage's as they are. `code` tells chunks of code from prose.
    """
    if len(first) < 2 or not np.isfinite(second).all() or np.ptp(second) == 0:
        return first
    scaled: NDArray[np.float32] = (second - second.min()) / np.ptp(second) * np.ptp(first) + first.min()
    weight = np.where(code, np.float32(blend.code), np.float32(blend.prose))
    blended: NDArray[np.float32] = ((1 - weight) * first + weight * scaled).astype(np.float32)
    return np.clip(blended, first.min(), first.max())  # rounding must not carry one past its neighbours
