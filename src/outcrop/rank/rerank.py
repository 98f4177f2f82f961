"""A second opinion blended with the first (R8)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

BLEND: Final = 0.5
"""Weight of the reranker. Not measured: no reranker ships yet. Rerankers of another domain are known to do harm when
they replace the first order; blended, one can lift a passage but not undo the rest."""


def rerank_scores(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float32]:
    """Blend first-stage scores with a reranker's, whose scale is unknown: it is fitted to the first stage's range.

    Scores that tell nothing (all alike, or not numbers) leave the first stage's as they are.
    """
    if len(first) < 2 or not np.isfinite(second).all() or np.ptp(second) == 0:
        return first
    scaled: NDArray[np.float32] = (second - second.min()) / np.ptp(second) * np.ptp(first) + first.min()
    blended: NDArray[np.float32] = ((1 - BLEND) * first + BLEND * scaled).astype(np.float32)
    return blended
