"""What is not true any more stands behind what is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from outcrop.records.candidates import Candidates

KEPT: Final = 0.5
"""What is left of the score of a passage that is not valid. A note and the one that replaces it say nearly the same, so
their scores are near each other and half is enough; a question that only the older one answers still finds it
(not measured)."""


def put_behind(found: Candidates, outdated: Sequence[int]) -> Candidates:
    """The candidates with those of some documents lowered, in order again."""
    if not outdated:
        return found
    lowered = np.isin(found.document_id, np.array(outdated, np.int64))
    if not lowered[found.order].any():
        return found
    loss = np.where(lowered, -(1 - KEPT) * np.abs(found.final), 0).astype(np.float32)
    final = found.final + loss
    order = found.order[np.argsort(-final[found.order], kind="stable")]
    score = np.where(lowered, KEPT * found.score, found.score).astype(np.float32)
    return found.put(final=final, order=order, score=score, boosts={**found.boosts, "outdated": loss})
