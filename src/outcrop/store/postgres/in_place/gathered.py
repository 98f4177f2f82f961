"""Segments of the few rows that one search needs, made from what the store returns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from typing import Any, Final

import numpy as np

from outcrop.index.columns import quantise
from outcrop.index.names import NAME_ARRAYS, Names
from outcrop.index.segment import Segment
from outcrop.records.derived import ChunkRows, DeclaredRows
from outcrop.store.postgres.in_place.derive import Facts, unpack_facts
from outcrop.system.arrays import NDArray, is_among

_NOTHING_USED: Final = {
    name: np.zeros(0, kind) for name, kind in NAME_ARRAYS.items() if not name.startswith("defined")
}


def segment_of_rows(rows: ChunkRows, terms: Collection[int], declared: DeclaredRows) -> Segment:
    """The rows as a segment that knows these terms and these declarations, and no names that are used."""
    return _segment(
        rows.chunk_ids,
        rows.document_ids,
        rows.code,
        np.arange(len(rows.chunk_ids), dtype=np.uint32),  # each row has what is known of its file by itself
        unpack_facts(rows.facts),
        names_of(rows.chunk_ids, declared, _NOTHING_USED),
        lengths=rows.lengths,
        positions=rows.positions,
        **postings_of(rows.words, terms),
        **quantise(
            rows.vectors.astype(np.float32), rows.noted, rows.summary_vectors.astype(np.float32), signs=False
        ),
    )


def segment_of_names(
    chunk_ids: NDArray[np.int64],
    document_ids: NDArray[np.int64],
    files: NDArray[np.uint32],
    facts: Facts,
    declared: DeclaredRows,
    used: dict[str, NDArray[Any]],
) -> Segment:
    """A segment that knows names only, for the reference graph; `facts` are those of files, of which `files` tells that
    of each row, and `used` has the columns of that name."""
    return _segment(
        chunk_ids,
        document_ids,
        np.ones(len(chunk_ids), np.bool_),
        files,
        facts,
        names_of(chunk_ids, declared, used),
        lengths=np.zeros(len(chunk_ids), np.uint32),
        **_NO_POSTINGS,
        **quantise(
            np.zeros((len(chunk_ids), 0), np.float32), np.zeros(0, np.uint32), np.zeros((0, 0), np.float32)
        ),
    )


def _segment(
    chunk_ids: NDArray[np.int64],
    document_ids: NDArray[np.int64],
    code: NDArray[np.bool_],
    files: NDArray[np.uint32],
    facts: Facts,
    names: Names,
    **others: Any,
) -> Segment:
    return Segment(
        chunk_ids=chunk_ids,
        document_ids=document_ids,
        code=code,
        roles=facts.roles[files],
        families=facts.families[files],
        files=files,
        titles=facts.titles,
        homes=facts.homes,
        stems=facts.stems,
        folders=facts.folders,
        names=names,
        pairs=np.zeros((0, len(chunk_ids)), np.uint8),  # phrases are looked up by the store
        packages=facts.packages,
        **others,
    )


def postings_of(words: Sequence[bytes], terms: Collection[int]) -> dict[str, Any]:
    """Which rows hold each of these terms and how often, from the packed words of each row (see `derived`)."""
    wanted = np.sort(np.fromiter(terms, np.uint64, len(terms)))
    counts = np.fromiter((len(packed) // 9 for packed in words), np.int64, len(words))
    parts = [np.frombuffer(packed, "<u8", count) for packed, count in zip(words, counts.tolist(), strict=True)]
    every = np.concatenate(parts) if parts else np.zeros(0, np.uint64)
    held = np.flatnonzero(is_among(every, wanted))
    ends = np.cumsum(counts)
    rows = np.searchsorted(ends, held, side="right")
    # Where the frequency stands among the bytes of all rows: behind the terms of its own row.
    at = held + 8 * ends[rows]
    frequencies = np.frombuffer(b"".join(words), np.uint8)[at]
    numbers = every[held]
    order = np.argsort(numbers, kind="stable")
    found, starts = np.searchsorted(wanted, numbers[order]), np.arange(len(wanted) + 1)
    return {
        "terms": wanted,
        "offsets": np.searchsorted(found, starts).astype(np.uint32),
        "rows": rows[order].astype(np.uint32),
        "frequencies": frequencies[order],
    }


_NO_POSTINGS: Final = postings_of((), ())


def names_of(chunk_ids: NDArray[np.int64], declared: DeclaredRows, used: dict[str, NDArray[Any]]) -> Names:
    """The names of rows: of the declarations those in one of the chunks, which ascend."""
    here = np.flatnonzero(is_among(declared.chunk_ids, chunk_ids))
    rows = np.searchsorted(chunk_ids, declared.chunk_ids[here])
    order = np.lexsort((rows, declared.names[here]))
    here = here[order]
    return Names(
        defined=declared.names[here],
        defined_rows=rows[order].astype(np.uint32),
        defined_scopes=declared.scopes[here],
        defined_kinds=declared.kinds[here],
        defined_marks=declared.marks[here],
        **used,
    )


def take_declared(declared: DeclaredRows, which: NDArray[np.bool_] | NDArray[np.intp]) -> DeclaredRows:
    """Some of the declarations."""
    return DeclaredRows(*(getattr(declared, column.name)[which] for column in fields(declared)))


def join_declared(some: DeclaredRows, others: DeclaredRows) -> DeclaredRows:
    """The declarations of both."""
    columns = [(getattr(some, column.name), getattr(others, column.name)) for column in fields(some)]
    return DeclaredRows(*map(np.concatenate, columns))
