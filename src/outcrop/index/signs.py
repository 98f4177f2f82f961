"""Vectors to sign bits: what the first step of the dense leg compares.

Before the signs are taken the space is turned, so that every bit tells about as much as every other: the dimensions
of a trained model differ widely in how much they matter. Turning by random signs, a permutation and Hadamard
transforms of blocks of 64 costs 5 µs a vector; at 165 000 × 256 it lifts the share of the true ten nearest among the
4 000 nearest by bits from .895 to .946 (the drawn queries of `benchmarks/speed.py` reach .99).
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import shake_256
from typing import Final

import numpy as np
from numpy.typing import NDArray

from outcrop.records import Matrix

BLOCK: Final = 64
"""Dimensions turned together, and bits to a number."""
ROUNDS: Final = 2
"""One round mixes blocks only within themselves; with two every dimension reaches every bit. Three gained nothing."""


def sign_bits(vectors: Matrix) -> NDArray[np.uint64]:
    """The signs of the turned vectors, 64 to a number, transposed: `bits[j]` holds bits 64j … of every row."""
    return pack_signs(turn(vectors))


def turn(vectors: Matrix) -> Matrix:
    """The vectors in the turned space, padded with zeros to whole blocks. Angles stay what they are."""
    rows, dimensions = vectors.shape
    width = -(-dimensions // BLOCK) * BLOCK
    turned = np.zeros((rows, width), np.float32)
    turned[:, :dimensions] = vectors
    for signs, order in _rounds(width):
        blocks = (turned * signs)[:, order].reshape(rows, width // BLOCK, BLOCK)
        turned = (blocks @ _hadamard()).reshape(rows, width)
    return turned


def pack_signs(vectors: Matrix) -> NDArray[np.uint64]:
    """One bit a dimension, set where it is positive."""
    packed = np.packbits(vectors > 0, axis=1, bitorder="little")
    pad = -packed.shape[1] % 8
    if pad:
        packed = np.pad(packed, ((0, 0), (0, pad)))
    return np.ascontiguousarray(np.ascontiguousarray(packed).view(np.uint64).T)


@lru_cache
def _rounds(width: int) -> tuple[tuple[NDArray[np.float32], NDArray[np.intp]], ...]:
    """Signs and order of each round, from a hash: numpy's generators may change, files made with them would not."""
    rounds = []
    for number in range(ROUNDS):
        stream = shake_256(f"outcrop turn {number}".encode()).digest(16 * width)
        random = np.frombuffer(stream, "<u8").reshape(2, width)
        signs = np.where(random[0] & np.uint64(1), 1, -1).astype(np.float32)
        rounds.append((signs, np.argsort(random[1], kind="stable")))
    return tuple(rounds)


@lru_cache
def _hadamard() -> Matrix:
    matrix = np.ones((1, 1), np.float32)
    while len(matrix) < BLOCK:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix / np.float32(np.sqrt(BLOCK))
