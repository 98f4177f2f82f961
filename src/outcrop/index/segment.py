"""A segment: the search arrays of some thousands of chunks, immutable once made.

Rows are chunks in ascending order of id. For the words: an inverted index (terms, offsets, rows, frequencies), the
length of each chunk and, for phrases, which words may stand side by side in it (see `phrasing`). For the meaning: one
sign bit a dimension (see `legs`), stored column by column so that a scan is a few operations over contiguous memory,
and the same vectors in eight bits for exact rescoring; the summaries of code have vectors of their own, `noted`
says of which rows. For code: the names it declares and uses (see `names`), what its file is called and what it is for.

Segments are derived from the database and never the truth: they can be thrown away and made again.

A search reads a few rows of arrays that take hundreds of megabytes, so a checksum of the whole would cost more than
the search. Blocks of 4 KiB are as large as the pages that are read from the disk anyway, and each is checked when
first used. The checksum is a sum of 64-bit words, each times an odd number of its own, modulo 2**64: a change of any
one word changes it, and numpy does it at 11 GB/s where zlib.crc32 does 4 and blake2b 0.9 (`benchmarks.checksums`). It
guards against disks and programs gone wrong, not against people who can write to the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Final

import numpy as np

from outcrop.index.names import Names
from outcrop.records import Model
from outcrop.system.arrays import NDArray
from outcrop.system.dataclass import dataclass

BLOCK_BYTES: Final = 4096
_WORDS: Final = BLOCK_BYTES // 8


def _scatter(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers that look random: the finalizer of splitmix64. (np.random takes 8 ms to import.)"""
    mixed = numbers * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


_FACTORS: Final = _scatter(np.arange(1, _WORDS + 1, dtype=np.uint64)) | np.uint64(1)


def count_blocks(size: int) -> int:
    """How many blocks an array of this many bytes has."""
    return -(-size // BLOCK_BYTES)


def sum_blocks(array: NDArray[Any]) -> NDArray[np.uint64]:
    """The checksum of each block of an array; what is missing of the last one counts as zeros."""
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    full = len(flat) // BLOCK_BYTES
    sums = np.zeros(count_blocks(len(flat)), np.uint64)
    sums[:full] = _words(flat, full) @ _FACTORS
    if full < len(sums):
        sums[full] = _sum_tail(flat, full)
    return sums


def _words(flat: NDArray[np.uint8], full: int) -> NDArray[np.uint64]:
    return flat[: full * BLOCK_BYTES].view(np.uint64).reshape(full, _WORDS)


def _sum_tail(flat: NDArray[np.uint8], full: int) -> np.uint64:
    tail = np.zeros(BLOCK_BYTES, np.uint8)
    rest = flat[full * BLOCK_BYTES :]
    tail[: len(rest)] = rest
    return np.uint64(tail.view(np.uint64) @ _FACTORS)


class Watched:
    """An array with the checksums of its blocks, each checked when first asked for; threads may check one twice."""

    def __init__(self, array: NDArray[Any], sums: NDArray[np.uint64], file: str, name: str) -> None:
        self._place = (file, name)
        self._flat = array.reshape(-1).view(np.uint8)
        self._row_bytes = array.nbytes // len(array) if len(array) else 0
        self._sums = sums
        self._seen = np.zeros(len(sums), np.bool_)

    def is_whole(self) -> bool:
        """Whether all of it is what was written. Reads what was not checked yet."""
        return bool(self._seen.all()) or self._check(np.flatnonzero(~self._seen))

    def require(self) -> None:
        """Raise DamagedArrays unless all of it is what was written."""
        if not self.is_whole():
            raise DamagedArrays(*self._place)

    def require_rows(self, rows: NDArray[np.intp]) -> None:
        """The same for the blocks that hold some rows."""
        if not len(rows) or not self._row_bytes or self._seen.all():
            return
        starts = rows.astype(np.int64) * self._row_bytes
        first, last = starts // BLOCK_BYTES, (starts + self._row_bytes - 1) // BLOCK_BYTES
        wanted = np.zeros(len(self._sums), np.bool_)
        for step in range(int((last - first).max()) + 1):
            wanted[np.minimum(first + step, last)] = True
        if not self._check(np.flatnonzero(wanted & ~self._seen)):
            raise DamagedArrays(*self._place)

    def require_slices(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        """The same for the blocks that hold the rows from each start to before its end, which is behind it."""
        first, last = starts * self._row_bytes // BLOCK_BYTES, (ends * self._row_bytes - 1) // BLOCK_BYTES
        wanted = np.zeros(len(self._sums) + 1, np.int32)
        np.add.at(wanted, first, 1)
        np.add.at(wanted, last + 1, -1)
        if not self._check(((wanted.cumsum()[:-1] > 0) & ~self._seen).nonzero()[0]):
            raise DamagedArrays(*self._place)

    def _check(self, blocks: NDArray[np.intp]) -> bool:
        """Check blocks that were not yet; ascending. A few megabytes at a time, so that little memory is taken."""
        full = len(self._flat) // BLOCK_BYTES
        for start in range(0, len(blocks), 1024):
            some = blocks[start : start + 1024]
            whole = some[some < full]
            if len(whole) and whole[-1] - whole[0] + 1 == len(whole):  # side by side: no copy
                found = _words(self._flat, full)[whole[0] : whole[-1] + 1] @ _FACTORS
            else:
                found = _words(self._flat, full)[whole] @ _FACTORS
            if not np.array_equal(found, self._sums[whole]):
                return False
            if len(whole) < len(some) and _sum_tail(self._flat, full) != self._sums[full]:
                return False
            self._seen[some] = True
        return True


class DamagedArrays(IndexError):
    """An array of a file is not what was written: `file` names it."""

    def __init__(self, file: str, name: str) -> None:
        super().__init__(f"{file}/{name} is not what was saved")
        self.file = file


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
    counted: dict[tuple[int, ...], Sequence[int]] = field(default_factory=dict)
    """How many rows hold each of some terms that every search asks about: those of languages."""

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
        return self.postings_of((term,)).get(term)

    def count_rows(self, terms: tuple[int, ...]) -> Sequence[int]:
        """How many rows hold each of some terms, kept for the next search: for the few that every one asks about."""
        counts = self.counted.get(terms)
        if counts is None:
            found = self.postings_of(terms)
            counts = self.counted[terms] = [len(found[term][0]) if term in found else 0 for term in terms]
        return counts

    def postings_of(self, terms: Sequence[int]) -> dict[int, Postings]:
        """The same for many terms at once: of those that some row holds."""
        wanted = np.fromiter(terms, np.uint64, len(terms))
        places = self.terms.searchsorted(wanted)
        held = (self.terms.take(places, mode="clip") == wanted).nonzero()[0] if len(self.terms) else places[:0]
        if not len(held):
            return {}
        places = places[held]
        starts, ends = self.offsets[places].astype(np.int64), self.offsets[places + 1].astype(np.int64)
        if self.watched is not None and self.checked_terms is not None:
            fresh = (~self.checked_terms[places]).nonzero()[0]
            if len(fresh):
                for name in ("rows", "frequencies"):
                    self.watched[name].require_slices(starts[fresh], ends[fresh])
                self.checked_terms[places[fresh]] = True
        rows, frequencies = self.rows, self.frequencies
        slices = zip(held.tolist(), starts.tolist(), ends.tolist(), strict=True)
        return {terms[which]: (rows[start:end], frequencies[start:end]) for which, start, end in slices}


PAIR_BYTES: Final = 48
"""Of a row, for its pairs. Of rows that hold the words of a phrase anywhere, at a million chunks, this lets a fifth
pass for two words, a fifteenth for three and a fiftieth for four (32 bytes: a quarter, a seventh, a twentieth; 64: a
sixth, a twentieth, an eightieth; as many bytes in all, shared out by the length of the texts, tell less)."""
ROWWISE: Final = ("chunk_ids", "document_ids", "code", "lengths", "vectors", "scales", "roles", "families")
"""Arrays with an entry for each row."""

Part = tuple[Segment, NDArray[np.bool_]]
"""A segment, and which of its rows are deleted."""


@dataclass(frozen=True, slots=True)
class View:
    """One consistent state of the arrays, which a search keeps while others move on. `mean_length` is in terms.
    `chunks` is how many there are to be searched; the segments of a store that is searched in place hold only those
    that a search has to do with, and none before it."""

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


def belong_together(segment: Segment, after: Segment, most: int) -> bool:
    """Whether a segment is to be merged with the next: it is not much larger, and both have `most` rows at most."""
    return len(segment) < 2 * len(after) and len(segment) + len(after) <= most
