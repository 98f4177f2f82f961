"""A segment: the search arrays of some thousands of chunks, immutable once made.

Rows are chunks in ascending order of id. For the words: an inverted index (terms, offsets, rows, frequencies), the
length of each chunk and, for phrases, which words may stand side by side in it (see `phrasing`). For the meaning: one
sign bit a dimension (see `dense`), stored column by column so that a scan is a few operations over contiguous memory,
and the same vectors in eight bits for exact rescoring; the summaries of code have vectors of their own, `noted`
says of which rows. For code: the names it declares and uses (see `names`), what its file is called and what it is for.

Segments are derived from the database and never the truth: they can be thrown away and made again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from outcrop.index.columns import combine_vectors, describe_files, find_terms, invert, quantise, row_type
from outcrop.index.names import NAME_ARRAYS, Names, merge_names
from outcrop.index.packed import Watched, map_watched, write_arrays
from outcrop.index.phrasing import PAIR_BYTES, mark_pairs
from outcrop.records import FeedRow, Model
from outcrop.system.arrays import NDArray
from outcrop.text.terms import Terms

Postings = tuple[NDArray[np.uint16] | NDArray[np.uint32], NDArray[np.uint8]]
"""The rows that hold a term, ascending, and how often."""


@dataclass(frozen=True, slots=True)
class Segment:
    """See the module. `rows` and `frequencies` hold, for term i, the slice `offsets[i]:offsets[i + 1]`; a row has 16
    bits where that is enough: segments are merged so that it is.

    `files[row]` is the place of a row's file in `titles` (its name), `homes` (its folder), `stems` and `folders` (the
    words of both). `file` is where the arrays are mapped from, None while they live in memory only. Of a segment that
    holds not all that its files declare `packages` tells their folders' names; otherwise that follows from `names`. Of
    one that does not hold all chunks of its documents `positions` tells where in its document each stands; otherwise
    they stand there as they do here.
    """

    chunk_ids: NDArray[np.int64]
    document_ids: NDArray[np.int64]
    code: NDArray[np.bool_]
    lengths: NDArray[np.uint32]
    terms: NDArray[np.uint64]
    offsets: NDArray[np.uint32]
    rows: NDArray[np.uint16] | NDArray[np.uint32]
    frequencies: NDArray[np.uint8]
    pairs: NDArray[np.uint8]
    bits: NDArray[np.uint64]
    vectors: NDArray[np.int8]
    scales: NDArray[np.float32]
    roles: NDArray[np.uint8]
    families: NDArray[np.uint8]
    files: NDArray[np.uint32]
    titles: NDArray[np.uint64]
    homes: NDArray[np.uint64]
    stems: NDArray[np.uint64]
    folders: NDArray[np.uint64]
    noted: NDArray[np.uint32]
    summary_bits: NDArray[np.uint64]
    summary_vectors: NDArray[np.int8]
    summary_scales: NDArray[np.float32]
    names: Names
    file: Path | None = None
    packages: NDArray[np.uint64] | None = None
    positions: NDArray[np.int32] | None = None
    watched: Mapping[str, Watched] | None = None
    """What checks the arrays of a file; None for those that were made in memory."""
    checked_terms: NDArray[np.bool_] | None = None
    """Terms whose postings were checked."""

    def __len__(self) -> int:
        return len(self.chunk_ids)

    def is_followed(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Whether the row after each of some rows, of which the last has none, is the next chunk of its document."""
        followed: NDArray[np.bool_] = self.document_ids[rows + 1] == self.document_ids[rows]
        if self.positions is not None:
            followed &= self.positions[rows + 1] == self.positions[rows] + 1
        return followed

    def watch(self, name: str) -> Watched | None:
        """What checks an array, where it lies in a file."""
        return None if self.watched is None else self.watched[name]

    def require(self, name: str) -> None:
        """Raise DamagedArrays unless an array is what was saved."""
        if self.watched is not None:
            self.watched[name].require()

    def is_whole(self) -> bool:
        """Whether every array is what was saved."""
        return self.watched is None or all(array.is_whole() for array in self.watched.values())

    def postings(self, term: int) -> Postings | None:
        """The rows that hold a term and how often; None where no row does."""
        number = np.uint64(term)
        i = int(np.searchsorted(self.terms, number))
        if i == len(self.terms) or self.terms[i] != number:
            return None
        start, end = int(self.offsets[i]), int(self.offsets[i + 1])
        if self.watched is not None and self.checked_terms is not None and not self.checked_terms[i]:
            for name in ("rows", "frequencies"):
                self.watched[name].require_slice(start, end)
            self.checked_terms[i] = True
        return self.rows[start:end], self.frequencies[start:end]


ARRAYS: Final[dict[str, tuple[type[np.generic], int]]] = {
    "chunk_ids": (np.int64, 1),
    "document_ids": (np.int64, 1),
    "code": (np.bool_, 1),
    "lengths": (np.uint32, 1),
    "terms": (np.uint64, 1),
    "offsets": (np.uint32, 1),
    "rows": (np.uint16, 1),
    "frequencies": (np.uint8, 1),
    "pairs": (np.uint8, 2),
    "bits": (np.uint64, 2),
    "vectors": (np.int8, 2),
    "scales": (np.float32, 1),
    "roles": (np.uint8, 1),
    "families": (np.uint8, 1),
    "files": (np.uint32, 1),
    "titles": (np.uint64, 1),
    "homes": (np.uint64, 1),
    "stems": (np.uint64, 2),
    "folders": (np.uint64, 2),
    "noted": (np.uint32, 1),
    "summary_bits": (np.uint64, 2),
    "summary_vectors": (np.int8, 2),
    "summary_scales": (np.float32, 1),
    **{name: (kind, 1) for name, kind in NAME_ARRAYS.items()},
}
"""The arrays of a segment as they are saved: type and number of axes."""


Part = tuple[Segment, NDArray[np.bool_]]
"""A segment, and which of its rows are deleted."""


@dataclass(frozen=True, slots=True)
class View:
    """One consistent state of the arrays, which a search keeps while others move on. `mean_length` is in terms.

    `chunks` is how many there are to be searched; the segments of a store that is searched in place hold only
    those that a search has to do with, and none before it."""

    segments: tuple[Segment, ...]
    deleted: tuple[NDArray[np.bool_], ...]
    version: int
    model: Model | None
    last_chunk: int
    removals: int
    mean_length: float = 1.0
    chunks: int = 0

    @classmethod
    def of(
        cls, parts: Sequence[Part], version: int, model: Model | None, last_chunk: int, removals: int
    ) -> View:
        """The state that these segments make."""
        rows = sum(len(segment) for segment, _ in parts)
        terms = sum(int(segment.lengths.sum(dtype=np.int64)) for segment, _ in parts)
        segments, deleted = zip(*parts, strict=True) if parts else ((), ())
        mean = max(terms / max(rows, 1), 1.0)
        return cls(segments, deleted, version, model, last_chunk, removals, mean, rows)

    @property
    def parts(self) -> list[Part]:
        """The segments, each with its deleted rows."""
        return list(zip(self.segments, self.deleted, strict=True))

    @property
    def rows(self) -> int:
        """Rows in all segments, removed ones included."""
        return sum(len(segment) for segment in self.segments)


def build_segment(feed: Sequence[FeedRow], terms: Terms, dimensions: int, path_weight: float) -> Segment:
    """Rows from the store become a segment: analyse the texts, invert them, quantise the vectors."""
    found = find_terms(feed, terms)
    return Segment(
        chunk_ids=np.fromiter((item.chunk_id for item in feed), np.int64, len(feed)),
        document_ids=np.fromiter((item.document_id for item in feed), np.int64, len(feed)),
        code=np.fromiter((item.kind == "code" for item in feed), np.bool_, len(feed)),
        lengths=found.lengths,
        **invert(found.numbers, found.owners),
        pairs=mark_pairs(feed),
        **quantise(*combine_vectors(feed, dimensions, path_weight)),
        **describe_files(feed, terms),
    )


def merge_segments(segments: Sequence[Segment], deleted: Sequence[NDArray[np.bool_]]) -> Segment:
    """Several segments as one, without the rows marked deleted. Linear: nothing is sorted again."""
    keep = [~gone for gone in deleted]

    def stack(name: str, axis: int = 0) -> Any:
        parts = [
            np.compress(kept, getattr(segment, name), axis=axis)
            for segment, kept in zip(segments, keep, strict=True)
        ]
        return np.ascontiguousarray(np.concatenate(parts, axis=axis))

    rowwise = ("chunk_ids", "document_ids", "code", "lengths", "vectors", "scales", "roles", "families")
    return Segment(
        **{name: stack(name) for name in rowwise},
        pairs=stack("pairs", axis=1),
        bits=stack("bits", axis=1),
        **_merge_postings(segments, keep),
        **_merge_files(segments, keep),
        **_merge_summaries(segments, keep),
        names=merge_names([segment.names for segment in segments], keep),
    )


def _merge_files(segments: Sequence[Segment], keep: Sequence[NDArray[np.bool_]]) -> dict[str, Any]:
    files = []
    tables: dict[str, list[NDArray[np.uint64]]] = {name: [] for name in ("titles", "homes", "stems", "folders")}
    base = 0
    for segment, kept in zip(segments, keep, strict=True):
        alive = np.zeros(len(segment.stems), np.bool_)
        alive[segment.files[kept]] = True
        files.append((np.cumsum(alive) - 1 + base)[segment.files[kept]].astype(np.uint32))
        for name, parts in tables.items():
            parts.append(getattr(segment, name)[alive])
        base += int(alive.sum())
    return {"files": np.concatenate(files), **{name: np.concatenate(parts) for name, parts in tables.items()}}


def _merge_summaries(segments: Sequence[Segment], keep: Sequence[NDArray[np.bool_]]) -> dict[str, Any]:
    noted, bits, vectors, scales = [], [], [], []
    base = 0
    for segment, kept in zip(segments, keep, strict=True):
        alive = kept[segment.noted]
        noted.append((np.cumsum(kept) - 1 + base)[segment.noted[alive]].astype(np.uint32))
        bits.append(segment.summary_bits[:, alive])
        vectors.append(segment.summary_vectors[alive])
        scales.append(segment.summary_scales[alive])
        base += int(kept.sum())
    return {
        "noted": np.concatenate(noted),
        "summary_bits": np.ascontiguousarray(np.concatenate(bits, axis=1)),
        "summary_vectors": np.concatenate(vectors),
        "summary_scales": np.concatenate(scales),
    }


def _merge_postings(segments: Sequence[Segment], keep: Sequence[NDArray[np.bool_]]) -> dict[str, Any]:
    """Each segment's postings of a term follow those of the segment before; every posting is moved once."""
    terms = np.unique(np.concatenate([segment.terms for segment in segments]))
    sizes = np.zeros(len(terms), np.int64)
    parts = []
    base = 0
    for segment, kept in zip(segments, keep, strict=True):
        alive = kept[segment.rows]
        place = np.searchsorted(terms, segment.terms)
        count = np.diff(np.concatenate(([0], np.cumsum(alive)))[segment.offsets])
        sizes[place] += count
        parts.append((segment, alive, place, count, (np.cumsum(kept) - 1 + base).astype(np.uint32)))
        base += int(kept.sum())
    cursor = np.concatenate(([0], np.cumsum(sizes)))[:-1]
    rows = np.empty(int(sizes.sum()), row_type(base))
    frequencies = np.empty(len(rows), np.uint8)
    for segment, alive, place, count, renumbered in parts:
        # Where each term's run begins in the merged arrays, less where it begins here: one shift a posting.
        begin = np.cumsum(count) - count
        target = np.repeat(cursor[place] - begin, count) + np.arange(int(count.sum()))
        rows[target] = renumbered[segment.rows[alive]]
        frequencies[target] = segment.frequencies[alive]
        cursor[place] += count
    used = sizes > 0
    return {
        "terms": terms[used],
        "offsets": np.concatenate(([0], np.cumsum(sizes[used]))).astype(np.uint32),
        "rows": rows,
        "frequencies": frequencies,
    }


def save_segment(segment: Segment, file: Path) -> None:
    """Write a segment's arrays into a new file."""
    write_arrays(
        file, {name: getattr(segment.names if name in NAME_ARRAYS else segment, name) for name in ARRAYS}
    )


def load_segment(file: Path, rows: int) -> Segment:
    """Map a segment's file into memory. Raises ValueError or OSError when it cannot be what was saved."""
    arrays, watched = map_watched(file)
    if set(arrays) != set(ARRAYS):
        raise ValueError(f"{file} does not hold the arrays of a segment")
    for name, array in arrays.items():
        kind, axes = ARRAYS[name]
        if array.ndim != axes or array.dtype not in ((kind, np.uint32) if name == "rows" else (kind,)):
            raise ValueError(f"{name} in {file} is not the array that was saved")
    names = Names(**{name: arrays.pop(name) for name in NAME_ARRAYS})
    seen = np.zeros(len(arrays["terms"]), np.bool_)
    segment = Segment(**arrays, names=names, file=file, watched=watched, checked_terms=seen)
    by_row = (
        segment.chunk_ids,
        segment.document_ids,
        segment.code,
        segment.lengths,
        segment.vectors,
        segment.scales,
        segment.pairs.T,
        segment.bits.T,
        segment.roles,
        segment.families,
        segment.files,
    )
    if any(len(array) != rows for array in by_row):
        raise ValueError(f"{file} holds another number of rows than the manifest says")
    whole = len(segment.offsets) == len(segment.terms) + 1 and len(segment.rows) == len(segment.frequencies)
    if (
        not whole
        or segment.offsets[0] != 0
        or segment.offsets[-1] != len(segment.rows)
        or np.any(segment.offsets[1:] < segment.offsets[:-1])
        or len(segment.pairs) != PAIR_BYTES
    ):
        raise ValueError(f"{file} holds arrays that do not belong together")
    size = segment.vectors.shape[1]
    if segment.summary_vectors.shape[1] != size or any(
        len(bits) != -(-size // 64) for bits in (segment.bits, segment.summary_bits)
    ):
        raise ValueError(f"{file} holds vectors of two sizes")
    noted = (segment.summary_vectors, segment.summary_scales, segment.summary_bits.T)
    if any(len(array) != len(segment.noted) for array in noted) or not (
        len(segment.stems) == len(segment.folders) == len(segment.titles) == len(segment.homes)
    ):
        raise ValueError(f"{file} holds arrays that do not belong together")
    _check_names(names, file)
    return segment


def _check_names(names: Names, file: Path) -> None:
    for prefix in ("defined", "used"):
        lengths = {len(getattr(names, name)) for name in NAME_ARRAYS if name.startswith(prefix)}
        if len(lengths) > 1:
            raise ValueError(f"{file} holds names that do not belong together")
