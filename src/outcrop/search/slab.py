"""A slab: the search arrays of some thousands of chunks, immutable once made.

Rows are chunks in ascending order of id. For the words: an inverted index (terms, offsets, rows, frequencies)
and the length of each chunk. For the meaning: one sign bit a dimension, stored column by column so that a scan
is a few vectorised operations over contiguous memory, and the same vectors in eight bits for exact rescoring.

Slabs are derived from the database and never the truth: they can be thrown away and made again.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from outcrop.records import FeedRow
from outcrop.search.terms import Terms

# How often a term of each field counts as if it stood in the text. Title 3 was best or within 0.001 nDCG of best on
# six of seven sets with titles (0–3 tried); headings lie between title and text; the path says what a file is
# about only now and then.
TITLE_WEIGHT: Final = 3
HEADING_WEIGHT: Final = 2
PATH_WEIGHT: Final = 1

MAX_FREQUENCY: Final = 255


@dataclass(frozen=True, slots=True)
class Slab:
    """See the module. `rows` and `frequencies` hold, for term i, the slice `offsets[i]:offsets[i + 1]`."""

    chunk_ids: NDArray[np.int64]
    document_ids: NDArray[np.int64]
    code: NDArray[np.bool_]
    lengths: NDArray[np.uint32]
    terms: NDArray[np.uint64]
    offsets: NDArray[np.int64]
    rows: NDArray[np.uint32]
    frequencies: NDArray[np.uint8]
    bits: NDArray[np.uint64]
    vectors: NDArray[np.int8]
    scales: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.chunk_ids)

    def postings(self, term: int) -> tuple[NDArray[np.uint32], NDArray[np.uint8]] | None:
        """The rows that hold a term and how often; None where no row does."""
        number = np.uint64(term)
        i = int(np.searchsorted(self.terms, number))
        if i == len(self.terms) or self.terms[i] != number:
            return None
        start, end = int(self.offsets[i]), int(self.offsets[i + 1])
        return self.rows[start:end], self.frequencies[start:end]


def build_slab(feed: Sequence[FeedRow], terms: Terms, dimensions: int, path_weight: float) -> Slab:
    """Rows from the store become a slab: analyse the texts, invert them, quantise the vectors."""
    numbers: list[NDArray[np.uint64]] = []
    owners: list[NDArray[np.uint32]] = []
    weights: list[NDArray[np.uint8]] = []
    lengths = np.zeros(len(feed), np.uint32)
    seen: dict[tuple[str, tuple[str, ...], str], list[tuple[NDArray[np.uint64], int]]] = {}
    for row, item in enumerate(feed):
        fields_key = (item.title, item.heading_path, item.path)
        if fields_key not in seen:
            seen[fields_key] = _field_terms(item, terms)
        parts = [(np.frombuffer(terms.of(item.text), np.uint64), 1), *seen[fields_key]]
        for found, weight in parts:
            numbers.append(found)
            owners.append(np.full(len(found), row, np.uint32))
            weights.append(np.full(len(found), weight, np.uint8))
            lengths[row] += len(found)
    inverted = _invert(_concat(numbers, np.uint64), _concat(owners, np.uint32), _concat(weights, np.uint8))
    return Slab(
        chunk_ids=np.fromiter((item.chunk_id for item in feed), np.int64, len(feed)),
        document_ids=np.fromiter((item.document_id for item in feed), np.int64, len(feed)),
        code=np.fromiter((item.kind == "code" for item in feed), np.bool_, len(feed)),
        lengths=lengths,
        **inverted,
        **_quantise(feed, dimensions, path_weight),
    )


def merge_slabs(slabs: Sequence[Slab], dead: Sequence[NDArray[np.bool_]]) -> Slab:
    """Several slabs as one, without the rows marked dead."""
    keep = [~gone for gone in dead]
    new_row: list[NDArray[np.int64]] = []
    base = 0
    for kept in keep:
        new_row.append(np.cumsum(kept) - 1 + base)
        base += int(kept.sum())
    numbers, owners, weights = [], [], []
    for slab, kept, renumbered in zip(slabs, keep, new_row, strict=True):
        alive = kept[slab.rows]
        numbers.append(np.repeat(slab.terms, np.diff(slab.offsets))[alive])
        owners.append(renumbered[slab.rows[alive]].astype(np.uint32))
        weights.append(slab.frequencies[alive])

    def stack(name: str, axis: int = 0) -> Any:
        parts = [
            np.compress(kept, getattr(slab, name), axis=axis) for slab, kept in zip(slabs, keep, strict=True)
        ]
        return np.ascontiguousarray(np.concatenate(parts, axis=axis))

    rowwise = ("chunk_ids", "document_ids", "code", "lengths", "vectors", "scales")
    inverted = _invert(_concat(numbers, np.uint64), _concat(owners, np.uint32), _concat(weights, np.uint8))
    return Slab(**{name: stack(name) for name in rowwise}, bits=stack("bits", axis=1), **inverted)


def save_slab(slab: Slab, folder: Path) -> dict[str, int]:
    """Write a slab's arrays into a new folder; the checksum of each file."""
    folder.mkdir(parents=True)
    checksums = {}
    for field in fields(Slab):
        path = folder / f"{field.name}.npy"
        np.save(path, getattr(slab, field.name), allow_pickle=False)
        checksums[field.name] = zlib.crc32(path.read_bytes())
    return checksums


def load_slab(folder: Path, rows: int) -> Slab:
    """Map a slab's files into memory. Raises ValueError or OSError when they cannot be what was saved."""
    arrays = {
        field.name: np.load(folder / f"{field.name}.npy", mmap_mode="r", allow_pickle=False)
        for field in fields(Slab)
    }
    slab = Slab(**arrays)
    expected = {"chunk_ids", "document_ids", "code", "lengths", "vectors", "scales"}
    if any(len(arrays[name]) != rows for name in expected) or slab.bits.shape[1] != rows:
        raise ValueError(f"{folder} holds another number of rows than the manifest says")
    if len(slab.offsets) != len(slab.terms) + 1 or len(slab.rows) != len(slab.frequencies):
        raise ValueError(f"{folder} holds arrays that do not belong together")
    return slab


def damaged_files(folder: Path, checksums: dict[str, int]) -> Iterator[str]:
    """Names of a slab's files whose bytes are not those that were saved."""
    for name, checksum in checksums.items():
        path = folder / f"{name}.npy"
        if not path.is_file() or zlib.crc32(path.read_bytes()) != checksum:
            yield path.name


def quantise_signs(vectors: NDArray[np.float32]) -> NDArray[np.uint64]:
    """One bit a dimension, 64 to a number, transposed: `bits[j]` holds dimensions 64j … of every row."""
    packed = np.packbits(vectors > 0, axis=1, bitorder="little")
    pad = -packed.shape[1] % 8
    if pad:
        packed = np.pad(packed, ((0, 0), (0, pad)))
    return np.ascontiguousarray(np.ascontiguousarray(packed).view(np.uint64).T)


def _field_terms(item: FeedRow, terms: Terms) -> list[tuple[NDArray[np.uint64], int]]:
    headings = " ".join(title for title in item.heading_path if title != item.title)
    weighted = ((item.title, TITLE_WEIGHT), (headings, HEADING_WEIGHT), (item.path, PATH_WEIGHT))
    return [(np.frombuffer(terms.of(text), np.uint64), weight) for text, weight in weighted if text]


def _concat(parts: list[Any], dtype: Any) -> Any:
    return np.concatenate(parts) if parts else np.zeros(0, dtype)


def _invert(
    numbers: NDArray[np.uint64], owners: NDArray[np.uint32], weights: NDArray[np.uint8]
) -> dict[str, Any]:
    """Occurrences (term, row, weight), in any order of terms but ascending rows, become postings."""
    terms, position = np.unique(numbers, return_inverse=True)
    stride = int(owners.max()) + 1 if len(owners) else 1
    pairs, place = np.unique(position.astype(np.int64) * stride + owners, return_inverse=True)
    frequencies = np.bincount(place, weights=weights, minlength=len(pairs))
    counts = np.bincount(pairs // stride, minlength=len(terms))
    return {
        "terms": terms,
        "offsets": np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        "rows": (pairs % stride).astype(np.uint32),
        "frequencies": np.minimum(frequencies, MAX_FREQUENCY).astype(np.uint8),
    }


def _quantise(feed: Sequence[FeedRow], dimensions: int, path_weight: float) -> dict[str, Any]:
    vectors = np.zeros((len(feed), dimensions), np.float32)
    paths: dict[int, NDArray[np.float32]] = {}
    for row, item in enumerate(feed):
        if item.vector is not None:
            vectors[row] = item.vector
            if item.path_vector is not None and path_weight:
                if item.document_id not in paths:
                    paths[item.document_id] = path_weight * item.path_vector.astype(np.float32)
                vectors[row] += paths[item.document_id]
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= np.maximum(norms, 1e-12)
    peaks = np.abs(vectors).max(axis=1, initial=0.0)
    scales = (peaks / 127).astype(np.float32)
    levels = np.rint(vectors / np.maximum(scales, 1e-12)[:, None]).astype(np.int8)
    return {"bits": quantise_signs(vectors), "vectors": levels, "scales": scales}
