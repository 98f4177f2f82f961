"""The seam between finding and ranking: what an index answers, wherever its arrays live.

`SearchArrays` keeps arrays of the whole index in this process and on disk, `DatabaseSearch` asks a store that is
searched in place. Either way the result is a `Matches`, and everything after that is the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import field
from typing import Protocol

import numpy as np

from outcrop.index.bm25 import LexicalQuery
from outcrop.index.describe import Declared
from outcrop.index.graph import Graph
from outcrop.index.query import Query
from outcrop.index.segment import View
from outcrop.records import Filter, SearchMode, StoredChunk, Vector
from outcrop.records.candidates import Candidates
from outcrop.system.arrays import NDArray
from outcrop.system.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Matches:
    """What came up for a query: rows of `view`, which `found`, `declared` and `words` speak of. `words` is None for a
    search by meaning alone, `vector` for one by words alone. All rows hold the `phrases`. `filtered_out` means that no
    chunk passes the filter, so that nothing could be found. `read` has chunks that ranking read, by id. `unread` is how
    many rows might hold the phrases too and were not read."""

    view: View
    words: LexicalQuery | None
    found: Candidates
    declared: Declared
    phrases: tuple[str, ...] = ()
    filtered_out: bool = False
    vector: Vector | None = None
    read: Mapping[int, StoredChunk] = field(default_factory=dict)
    unread: int = 0


class Index(Protocol):
    """What is searched. Safe for threads."""

    def refresh(self) -> View:
        """The state of the index now: the same object until it changes."""

    def snapshot(self, view: View) -> AbstractContextManager[View]:
        """Everything asked inside sees one state of the index: this one, or the later one that it returns."""

    def find(
        self, view: View, query: Query, where: Filter, mode: SearchMode, vector: Vector | None, pool: int
    ) -> Matches:
        """The rows worth ranking: the best `pool` of each leg, those that declare a name of the query, and the rows
        beside them. All of them pass the filter and hold every phrase, but for rows that only say what stands beside.
        """

    def weigh(self, view: View, text: str) -> dict[int, float]:
        """The terms of a query with their weights."""

    def count_terms(self, terms: Collection[int]) -> Mapping[int, int]:
        """How many chunks hold each of some terms, among them perhaps some that were removed lately."""

    def steps(
        self, view: View, chunk_ids: NDArray[np.int64], asked: Collection[str] = ()
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """The edges of the reference graph that leave some chunks: from which, to which, and how heavy; those by a name
        that is `asked` for weigh more."""

    def find_titled(self, view: View, titles: Collection[int], most: int) -> list[tuple[int, int, int]]:
        """(title, document id, its first chunk) of the prose that bears one of these titles (see `spoken_number`), at
        most `most` of each in each part of the index."""

    def add_rows(self, seen: Matches, chunk_ids: NDArray[np.int64], where: Filter) -> Matches:
        """Those of some other chunks, ascending, that pass a filter, as rows found for the same query; the view and the
        words may have grown, and what they said of former rows still stands."""

    def passing(self, chunk_ids: NDArray[np.int64], where: Filter) -> NDArray[np.bool_]:
        """Which of some chunks are there and pass a filter."""

    def declaring(self, name: str) -> list[int]:
        """The chunks that declare a name, whatever its case."""

    def whole(self) -> Graph:
        """The reference graph of the whole index as it is now. It is held in memory: tens of gigabytes where there are
        a hundred million chunks."""

    def warm(self) -> None:
        """Load what the first search would wait for."""

    def save(self) -> None:
        """After writes: keep what is derived where the next process, and the next search, find it."""

    def save_along(self) -> None:
        """In the middle of many writes: keep what would take memory, or be lost; the rest is for `save` at the end."""

    def save_after_search(self) -> None:
        """The same for what a search had to catch up with; a search never waits for that."""

    def purge(self) -> None:
        """Forget what was removed for good, wherever it is still kept."""

    def renew(self) -> None:
        """After the index was given vectors of another model, or some that were lost: take them over."""

    def rebuild(self) -> View:
        """Make all that is derived again from the store."""

    def mend(self, error: IndexError) -> View:
        """After rows proved to be missing: make what is derived again, if it can be damaged; else raises the error."""

    def check(self) -> Iterator[str]:
        """Problems of what is derived, in words."""

    def bytes_on_disk(self) -> int:
        """Size of the files beside the database."""
