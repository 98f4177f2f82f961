"""Segments become one segment, without the rows that are gone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from outcrop.index import names
from outcrop.index.columns import row_type
from outcrop.index.segment import ROWWISE, Part, Segment
from outcrop.system.arrays import NDArray
from outcrop.system.machine import return_memory

POSTINGS_AT_ONCE: Final = 1 << 18
"""Postings that are moved together: all five million of a full segment at once would take 120 MB beside it."""


LARGE_ROWS: Final = 8_192
"""From so many rows on a merge takes tens of megabytes, for which what was freed before makes room."""


def merge_parts(parts: Sequence[Part]) -> Segment:
    """Several segments as one, without their deleted rows."""
    if sum(len(segment) for segment, _ in parts) >= LARGE_ROWS:
        return_memory()
    return merge_segments(*zip(*parts, strict=True))


def merge_segments(segments: Sequence[Segment], deleted: Sequence[NDArray[np.bool_]]) -> Segment:
    """Several segments as one, without the rows marked deleted. Linear: nothing is sorted again."""
    keep = [~gone for gone in deleted]

    def stack(name: str, axis: int = 0) -> Any:
        parts = [
            np.compress(kept, getattr(segment, name), axis=axis)
            for segment, kept in zip(segments, keep, strict=True)
        ]
        return np.ascontiguousarray(np.concatenate(parts, axis=axis))

    return Segment(
        **{name: stack(name) for name in ROWWISE},
        pairs=stack("pairs", axis=1),
        bits=stack("bits", axis=1),
        **_merge_postings(segments, keep),
        **_merge_files(segments, keep),
        **_merge_summaries(segments, keep),
        names=names.merge_names([segment.names for segment in segments], keep),
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


def _blocks(offsets: NDArray[np.uint32]) -> Iterator[tuple[int, int]]:
    """Ranges of terms that have some postings together, or a term that has more alone; at least one range."""
    first, last = 0, len(offsets) - 1
    while True:
        most = int(offsets[first]) + POSTINGS_AT_ONCE
        end = min(last, max(first + 1, int(np.searchsorted(offsets, most, "right")) - 1))
        yield first, end
        if end == last:
            return
        first = end


def _count_kept(segment: Segment, kept: NDArray[np.bool_], first: int, end: int) -> NDArray[np.int64]:
    """How many postings of each of these terms are of rows that are kept."""
    begin = int(segment.offsets[first])
    alive = kept[segment.rows[begin : int(segment.offsets[end])]]
    offsets = segment.offsets[first : end + 1].astype(np.int64) - begin
    counted: NDArray[np.int64] = np.diff(np.concatenate(([0], np.cumsum(alive)))[offsets])
    return counted


def _merge_postings(segments: Sequence[Segment], keep: Sequence[NDArray[np.bool_]]) -> dict[str, Any]:
    """Each segment's postings of a term follow those of the segment before; every posting is moved once."""
    terms = np.unique(np.concatenate([segment.terms for segment in segments]))
    sizes = np.zeros(len(terms), np.int64)
    parts = []
    base = 0
    for segment, kept in zip(segments, keep, strict=True):
        place = np.searchsorted(terms, segment.terms)
        offsets = segment.offsets.astype(np.int64)
        count = offsets[1:] - offsets[:-1]
        if not kept.all():
            count = np.concatenate([_count_kept(segment, kept, *block) for block in _blocks(segment.offsets)])
        sizes[place] += count
        parts.append((segment, kept, place, count, (np.cumsum(kept) - 1 + base).astype(np.uint32)))
        base += int(kept.sum())
    cursor = np.concatenate(([0], np.cumsum(sizes)))[:-1]
    rows = np.empty(int(sizes.sum()), row_type(base))
    frequencies = np.empty(len(rows), np.uint8)
    for segment, kept, place, count, renumbered in parts:
        for first, end in _blocks(segment.offsets):
            span = slice(int(segment.offsets[first]), int(segment.offsets[end]))
            alive = kept[segment.rows[span]]
            # Where each term's run begins in the merged arrays, less where it begins here: one shift a posting.
            block = count[first:end]
            begin = np.cumsum(block) - block
            target = np.repeat(cursor[place[first:end]] - begin, block) + np.arange(int(block.sum()))
            rows[target] = renumbered[segment.rows[span][alive]]
            frequencies[target] = segment.frequencies[span][alive]
        cursor[place] += count
    used = sizes > 0
    return {
        "terms": terms[used],
        "offsets": np.concatenate(([0], np.cumsum(sizes[used]))).astype(np.uint32),
        "rows": rows,
        "frequencies": frequencies,
    }
