"""The leg by meaning: nearest vectors by cosine.

Vectors are compared in two steps: Hamming distance between sign bits, over all rows, then the exact cosine of the best
few thousand. At 200 000 × 256 the scan takes 0.6–0.7 ms of CPU (row by row instead of column by column: 4.4), and no
index has to be built or kept in order. Where a filter leaves few rows, the scan is skipped and all are exact.

Before the signs are taken the space is turned, so that every bit tells about as much as every other: the dimensions
of a trained model differ widely in how much they matter. Turning by random signs, a permutation and Hadamard
transforms of blocks of 64 costs 5 µs a vector; at 165 000 × 256 it lifts the share of the true ten nearest among the
4 000 nearest by bits from .895 to .946 (the drawn queries of `benchmarks/speed.py` reach .99).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import shake_256
from typing import Final

import numpy as np

from outcrop.index.segment import Segment, Watched
from outcrop.records import Matrix, Vector
from outcrop.system.arrays import NDArray
from outcrop.system.dataclass import dataclass

RESCORE: Final = 4000
RESCORE_SHARE: Final = 32
MAX_RESCORE: Final = 8000
"""Rows whose exact cosine is computed: 4 000, or one in 32 of a large index, up to 8 000. Each costs 0.3 µs. Of the
true ten nearest of 1.4 million vectors .990 are among the 4 000 nearest by bits, .996 among 8 000, .998 among 12 000;
of the true hundred .957, .975, .985."""

COUNTED: Final = 100_000
"""Rows by whose distances it is told within which the wanted ones lie: of more, every so many-th is counted. That takes
2 ms for a million and a half, and of 8 000 wanted rows it is off by some hundred."""

BLOCK: Final = 32_768
"""Rows a step: the scratch arrays of one block (0.3 MB) stay in the second-level cache."""

COMPARED: Final = 1024
"""Vectors compared at a time, for the same reason: 4 000 take .21 ms instead of .28."""

TURNED: Final = 64
"""Dimensions turned together, and bits to a number."""
ROUNDS: Final = 2
"""One round mixes blocks only within themselves; with two every dimension reaches every bit. Three gained nothing."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """Vectors to be compared: the rows of a segment, or the summaries of some of them (`rows` says which)."""

    segment: int
    bits: NDArray[np.uint64]
    vectors: NDArray[np.int8]
    scales: NDArray[np.float32]
    mask: NDArray[np.bool_] | None
    rows: NDArray[np.uint32] | None = None
    watched: Watched | None = None

    def similarities(self, places: NDArray[np.intp], query: Vector) -> NDArray[np.float32]:
        """Exact cosine of the query (unit length) with some of the vectors."""
        if self.watched is not None:
            self.watched.require_rows(places)
        picked = np.empty(len(places), np.float32)
        for start in range(0, len(places), COMPARED):
            some = self.vectors.take(places[start : start + COMPARED], axis=0).astype(np.float32)
            # einsum, not BLAS: a row's last bits must not depend on which rows it is computed with, or copies of one
            # text would take turns at being the one that is returned.
            np.einsum("ij,j->i", some, query, out=picked[start : start + COMPARED])
        picked *= self.scales[places]
        return picked


def similarities(segment: Segment, rows: NDArray[np.intp], query: Vector) -> NDArray[np.float32]:
    """Cosine of the query (unit length) with some rows, ascending: the better of text and summary. The summaries lift
    NDCG@10 of questions for names on the code set (`benchmarks.code`) from .978 to .989; over all questions it stays at
    .898."""
    best = Sheet(
        0, segment.bits, segment.vectors, segment.scales, None, watched=segment.watch("vectors")
    ).similarities(rows, query)
    if len(segment.noted):
        place = np.minimum(np.searchsorted(segment.noted, rows), len(segment.noted) - 1)
        has = segment.noted[place] == rows
        summary = _summaries(0, segment, None).similarities(place[has], query)
        best[has] = np.maximum(best[has], summary)
    return best


def _summaries(number: int, segment: Segment, mask: NDArray[np.bool_] | None) -> Sheet:
    allowed = None if mask is None else mask[segment.noted]
    watched = segment.watch("summary_vectors")
    return Sheet(
        number,
        segment.summary_bits,
        segment.summary_vectors,
        segment.summary_scales,
        allowed,
        segment.noted,
        watched,
    )


def nearest(
    segments: Sequence[Segment], masks: Sequence[NDArray[np.bool_] | None], query: Vector, count: int
) -> list[tuple[NDArray[np.intp], NDArray[np.float32]]]:
    """The `count` or so nearest rows of all segments together, with their cosine, segment by segment. `masks[i]` tells
    which rows of segment i may be returned (None: all). Every allowed row is considered."""
    sheets = []
    for number, (segment, mask) in enumerate(zip(segments, masks, strict=True)):
        sheets.append(
            Sheet(number, segment.bits, segment.vectors, segment.scales, mask, watched=segment.watch("vectors"))
        )
        if len(segment.noted):
            sheets.append(_summaries(number, segment, mask))
    share = sum(len(sheet.vectors) for sheet in sheets) // RESCORE_SHARE
    want = max(count, RESCORE, min(share, MAX_RESCORE))
    allowed = sum(len(sheet.vectors) if sheet.mask is None else int(sheet.mask.sum()) for sheet in sheets)
    if allowed <= 2 * want:
        picked = [
            np.arange(len(sheet.vectors)) if sheet.mask is None else np.flatnonzero(sheet.mask)
            for sheet in sheets
        ]
    else:
        picked = _scan(sheets, query, want)
    found: list[list[tuple[NDArray[np.intp], NDArray[np.float32]]]] = [[] for _ in segments]
    for sheet, places in zip(sheets, picked, strict=True):
        rows = places if sheet.rows is None else sheet.rows[places].astype(np.intp)
        found[sheet.segment].append((rows, sheet.similarities(places, query)))
    return [_best_of(parts, len(segment)) for parts, segment in zip(found, segments, strict=True)]


def _best_of(
    parts: list[tuple[NDArray[np.intp], NDArray[np.float32]]], count: int
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Each of `count` rows that is in any part once, ascending, with the best of its cosines."""
    if len(parts) == 1:
        return parts[0]
    # A table over all rows: within a part each row stands once, so no ordering is needed (sorting took ten times that).
    best = np.full(count, -np.inf, np.float32)
    for rows, cosine in parts:
        best[rows] = np.maximum(best[rows], cosine)
    rows = np.flatnonzero(best > -np.inf)
    return rows, best[rows]


def _scan(sheets: Sequence[Sheet], query: Vector, want: int) -> list[NDArray[np.intp]]:
    """About `want` places of all sheets together, those with the smallest distance by bits; ties may add a few more."""
    signs = sign_bits(query[None, :])[:, 0]
    unreachable = 64 * len(signs) + 1
    distances = []
    histogram = np.zeros(unreachable + 1, np.int64)
    step = max(sum(sheet.bits.shape[1] for sheet in sheets) // COUNTED, 1)
    for sheet in sheets:
        distance = hamming(sheet.bits, signs)
        if sheet.mask is not None:
            distance[~sheet.mask] = unreachable
        histogram += np.bincount(distance[::step], minlength=unreachable + 1)
        distances.append(distance)
    reach = int(np.searchsorted(np.cumsum(histogram) * step, want))
    reach = min(reach, unreachable - 1)
    return [np.flatnonzero(distance <= reach) for distance in distances]


def hamming(bits: NDArray[np.uint64], signs: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Distance of every column of `bits` from `signs`, block by block."""
    count = bits.shape[1]
    distance = np.zeros(count, np.uint16)
    differing = np.empty(min(BLOCK, count), np.uint64)
    ones = np.empty(min(BLOCK, count), np.uint8)
    for start in range(0, count, BLOCK):
        end = min(start + BLOCK, count)
        width = end - start
        for j, sign in enumerate(signs):
            np.bitwise_xor(bits[j, start:end], sign, out=differing[:width])
            np.bitwise_count(differing[:width], out=ones[:width])
            distance[start:end] += ones[:width]
    return distance


def sign_bits(vectors: Matrix) -> NDArray[np.uint64]:
    """The signs of the turned vectors, 64 to a number, transposed: `bits[j]` holds bits 64j … of every row."""
    return pack_signs(turn(vectors))


def turn(vectors: Matrix) -> Matrix:
    """The vectors in the turned space, padded with zeros to whole blocks. Angles stay what they are."""
    rows, dimensions = vectors.shape
    width = -(-dimensions // TURNED) * TURNED
    turned = np.zeros((rows, width), np.float32)
    turned[:, :dimensions] = vectors
    for signs, order in _rounds(width):
        blocks = (turned * signs)[:, order].reshape(rows, width // TURNED, TURNED)
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
    while len(matrix) < TURNED:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix / np.float32(np.sqrt(TURNED))
