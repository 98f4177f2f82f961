"""Vectors quantized to eight bits: a whole number for each dimension, and one power of two for all of them.

The power of two keeps this exact in every store: 16-bit floats hold each number as it is, and packing a vector again
gives the same bytes. An index that is moved to another store and back has the vectors it had. Against float16 NDCG@10
of hybrid search is the same on five labelled sets (`python -m benchmarks.quality`): it moves by .001 at most, on one of
52 queries from .451 to .455."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from outcrop.errors import StoreError
from outcrop.records import Matrix, Model, Vector
from outcrop.system.arrays import NDArray

_MAX: Final = 127
_EXPONENTS: Final = (-24, 9)
"""Powers of two within which 16-bit floats hold every quantized number exactly."""


def check_vectors(model: Model, rows: Sequence[Vector]) -> Matrix:
    """Vectors as one matrix; refuses those of another size, or with numbers that 16 bits cannot hold."""
    try:
        matrix = np.stack(rows)
    except ValueError as error:
        raise StoreError(f"vectors of {model} have different sizes; nothing was written") from error
    if matrix.shape != (len(rows), model.dimensions):
        raise StoreError(f"vectors of {model} have {matrix.shape[1:]} numbers each; nothing was written")
    with np.errstate(over="ignore"):  # reported just below
        finite = np.isfinite(matrix.astype(np.float16)).all()
    if not finite:
        raise StoreError(
            f"a vector of {model} holds numbers that are not finite in 16 bits; nothing was written"
        )
    return matrix.astype(np.float32, copy=False)


def pack_vectors(matrix: Matrix) -> list[bytes]:
    """Each row as bytes: the exponent, then a whole number for each dimension."""
    peaks = np.abs(matrix).max(axis=1, initial=0.0)
    shares, exponents = np.frexp(peaks)
    # The peak becomes a number between 64 and 127. One that would round to 128 takes the next power, where it is 64, so
    # that packing a second time chooses the same power.
    exponents = exponents - 7 + (shares * 128 >= _MAX + 0.5)
    exponents = np.clip(exponents, *_EXPONENTS)
    quantized = np.rint(np.ldexp(matrix, -exponents[:, None]))
    exponents[~quantized.any(axis=1)] = 0
    packed = np.empty((len(matrix), matrix.shape[1] + 1), np.int8)
    packed[:, 0] = exponents
    packed[:, 1:] = np.clip(quantized, -_MAX, _MAX)
    return [row.tobytes() for row in packed]


def unpack_vectors(packed: Sequence[bytes]) -> Matrix:
    """What `pack_vectors` packed, all of one size."""
    if not packed:
        return np.zeros((0, 0), np.float32)
    quantized = np.frombuffer(b"".join(packed), np.int8).reshape(len(packed), -1)
    result: Matrix = np.ldexp(quantized[:, 1:].astype(np.float32), quantized[:, :1].astype(np.int32))
    return result


def unpack_halves(packed: Sequence[bytes | None]) -> list[NDArray[np.float16] | None]:
    """The same as 16-bit floats, which hold them exactly; None stays None."""
    halves = iter(unpack_vectors([blob for blob in packed if blob is not None]).astype(np.float16))
    return [None if blob is None else next(halves) for blob in packed]
