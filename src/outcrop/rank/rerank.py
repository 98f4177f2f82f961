"""A second opinion blended with the first (R8)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

BLEND: Final = 0.5
"""Weight of a reranker that does not tell its own. Judgement: rerankers of another domain are known to do harm when
they replace the first order; blended half and half, one can lift a chunk but not undo the rest."""


def blend_of(reranker: object) -> float:
    """The weight a reranker claims for itself by an attribute `blend` (0 to 1), as measured for it; else BLEND."""
    told: float | None = getattr(reranker, "blend", None)
    return BLEND if told is None else min(max(float(told), 0.0), 1.0)


def rerank_scores(
    first: NDArray[np.float32], second: NDArray[np.float32], blend: float = BLEND
) -> NDArray[np.float32]:
    """Blend first-stage scores with a reranker's, whose scale is unknown: it is fitted to the first stage's range.

    So blended scores can still be compared with those of candidates that the reranker did not see. Scores that tell
    nothing (all alike, or not numbers) leave the first stage's as they are.
    """
    if len(first) < 2 or not np.isfinite(second).all() or np.ptp(second) == 0:
        return first
    scaled: NDArray[np.float32] = (second - second.min()) / np.ptp(second) * np.ptp(first) + first.min()
    blended: NDArray[np.float32] = ((1 - blend) * first + blend * scaled).astype(np.float32)
    return np.clip(blended, first.min(), first.max())  # rounding must not carry one past its neighbours
