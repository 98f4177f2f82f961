"""What search looks up of a chunk, in the shape in which a database keeps it beside the truth.

A store that is searched in place (`contracts.SearchableStore`) has these rows made whenever it writes chunks, in
the same transaction, by a `Deriver` that it was given: which words and numbers they are is the business of search, how
they are kept that of the store. All of it can be made again from the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from outcrop.records import FeedRow
from outcrop.system.arrays import Columns, NDArray
from outcrop.system.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Derived:
    """Of some chunks, row i being the i-th that was fed.

    Words: for the i-th of `terms`, the slice `offsets[i]:offsets[i + 1]` of `rows` and `frequencies` tells which rows
    hold it and how often; `lengths` is how many terms a row has. Vectors have unit length, or are all zeros where there
    is none yet; `noted` tells which rows have a summary with a vector of its own. `facts` is whatever else ranking
    wants to know of a row, which the store keeps and does not read. `declared` has a line for each declaration:
    name, row, scope, kind, mark.
    """

    lengths: NDArray[np.uint32]
    terms: NDArray[np.uint64]
    offsets: NDArray[np.uint32]
    rows: NDArray[np.uint32]
    frequencies: NDArray[np.uint8]
    vectors: NDArray[np.float16]
    noted: NDArray[np.uint32]
    summary_vectors: NDArray[np.float16]
    facts: Sequence[bytes]
    declared: NDArray[np.uint64]


class Deriver(Protocol):
    """Makes what search looks up. Safe to call from any thread."""

    def derive(self, feed: Sequence[FeedRow], dimensions: int) -> Derived:
        """What search looks up of these chunks; vectors have this many dimensions."""

    def phrase_terms(self, words: Sequence[str]) -> list[frozenset[int]]:
        """For each word of a phrase (see `phrases`) the terms of which a chunk that holds the word has at least one."""


@dataclass(frozen=True, slots=True)
class Totals:
    """How many chunks an index holds, and how many terms they have together."""

    chunks: int
    terms: int


@dataclass(frozen=True, slots=True)
class TermRows(Columns):
    """The chunks that hold a term, ascending by id, how often, and how long each is (at most 65 535)."""

    chunk_ids: NDArray[np.int64]
    frequencies: NDArray[np.uint8]
    lengths: NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class ChunkRows:
    """What is kept of some chunks, in columns, ascending by chunk id. `words[i]` is packed, see `unpack_words`. `noted`
    tells which rows have a vector of their summary."""

    chunk_ids: NDArray[np.int64]
    document_ids: NDArray[np.int64]
    positions: NDArray[np.int32]
    code: NDArray[np.bool_]
    lengths: NDArray[np.uint32]
    words: Sequence[bytes]
    facts: Sequence[bytes]
    vectors: NDArray[np.float16]
    noted: NDArray[np.uint32]
    summary_vectors: NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class DeclaredRows(Columns):
    """Declarations in columns: what `Derived.declared` says, with the chunk and its document."""

    names: NDArray[np.uint64]
    chunk_ids: NDArray[np.int64]
    document_ids: NDArray[np.int64]
    scopes: NDArray[np.uint64]
    kinds: NDArray[np.uint8]
    marks: NDArray[np.uint8]


def pack_words(terms: NDArray[np.uint64], frequencies: NDArray[np.uint8]) -> bytes:
    """The terms of one chunk, ascending, and how often each stands in it."""
    return terms.astype("<u8").tobytes() + frequencies.tobytes()


def unpack_words(packed: bytes) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """What `pack_words` packed."""
    count = len(packed) // 9
    return np.frombuffer(packed, "<u8", count), np.frombuffer(packed, np.uint8, count, 8 * count)
