"""Rows of unit length."""

from __future__ import annotations

import numpy as np

from outcrop.records import Matrix


def unit_rows(rows: Matrix) -> Matrix:
    """Each row divided by its length; a row of zeros stays one."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    return np.asarray(rows / lengths, np.float32)
