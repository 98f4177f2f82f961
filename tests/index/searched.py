"""A store that is searched in place, honest and small: SQLite, with what is derived of its chunks in memory.

Everything is derived anew when something was written, and every answer is exact. `Both` searches one such store in
both ways.
"""

from __future__ import annotations

import re
import threading
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import outcrop
from outcrop.config import load_config
from outcrop.contracts import Embedder
from outcrop.index.arrays import SearchArrays
from outcrop.read.search import Retriever
from outcrop.records import Filter, Matrix, Model, Trust, Vector
from outcrop.records.derived import ChunkRows, DeclaredRows, Derived, Deriver, TermRows, Totals, pack_words
from outcrop.store.postgres.in_place.derive import SearchDeriver
from outcrop.store.postgres.in_place.search import DatabaseSearch
from outcrop.store.sqlite.connections import Connections
from outcrop.store.sqlite.store import SqliteStore
from outcrop.text.terms import Terms

Ids = NDArray[np.int64]
EVERYTHING = Filter()


@dataclass(frozen=True)
class State:
    """What is derived of all chunks at one version, and where they stand."""

    made: Derived
    chunk_ids: Ids
    document_ids: Ids
    positions: NDArray[np.int32]
    code: NDArray[np.bool_]
    words: Sequence[bytes]


class SearchedSqlite(SqliteStore):
    """The `SearchableStore` contract; `settled` and `rederived` count how often those were asked for."""

    def __init__(self, path: Path, deriver: Deriver) -> None:
        super().__init__(Connections(path, read_only=False, busy_timeout_s=30.0))
        self._deriver = deriver
        self._states: dict[int, State] = {}
        self._making = threading.Lock()
        self.settled = self.rederived = 0

    def _state(self) -> State:
        with self._making, self.snapshot():
            version = self.version()
            state = self._states.get(version) or self._derive()
            self._states = {version: state}
            return state

    def _derive(self) -> State:
        feed = self.feed(0, 60_000)
        model = self.active_model()
        made = self._deriver.derive(feed, model.dimensions if model else 0)
        ids = [row.chunk_id for row in feed]
        positions = {chunk.id: chunk.index for chunk in self.chunks(ids)}
        term = np.repeat(made.terms, np.diff(made.offsets))
        order = np.argsort(made.rows, kind="stable")
        cut = np.searchsorted(made.rows[order], np.arange(1, len(feed)))
        parts = zip(np.split(term[order], cut), np.split(made.frequencies[order], cut), strict=True)
        return State(
            made,
            np.array(ids, np.int64),
            np.array([row.document_id for row in feed], np.int64),
            np.array([positions[id_] for id_ in ids], np.int32),
            np.array([row.kind == "code" for row in feed], np.bool_),
            [pack_words(*part) for part in parts] if feed else [],
        )

    def totals(self) -> Totals:
        lengths = self._state().made.lengths
        return Totals(len(lengths), int(lengths.sum(dtype=np.int64)))

    def term_counts(self, terms: Collection[int]) -> dict[int, int]:
        return {term: len(found.chunk_ids) for term, found in self.term_rows(terms).items()}

    def term_rows(self, terms: Collection[int], collections: Sequence[str] = ()) -> dict[int, TermRows]:
        state = self._state()
        made = state.made
        inside = np.isin(state.document_ids, self.select(Filter(collections=tuple(collections))))
        found = {}
        for term in terms:
            place = np.flatnonzero(made.terms == np.uint64(term))
            if len(place):
                run = slice(int(made.offsets[place[0]]), int(made.offsets[place[0] + 1]))
                rows, frequencies = made.rows[run], made.frequencies[run]
                rows, frequencies = rows[inside[rows]], frequencies[inside[rows]]
                lengths = np.minimum(made.lengths[rows], 65_535).astype(np.uint16)
                found[term] = TermRows(state.chunk_ids[rows], frequencies, lengths)
        return found

    def nearest(
        self, vector: Vector, count: int, where: Filter = EVERYTHING, among: Ids | None = None
    ) -> tuple[Ids, NDArray[np.float32]]:
        state = self._state()
        made = state.made
        cosine = made.vectors.astype(np.float32) @ vector
        summary = made.summary_vectors.astype(np.float32) @ vector
        cosine[made.noted] = np.maximum(cosine[made.noted], summary)
        may = np.isin(state.document_ids, self.select(where))
        if among is not None:
            may &= np.isin(state.chunk_ids, among)
        best = np.flatnonzero(may)
        best = best[np.argsort(-cosine[best], kind="stable")[:count]]
        return state.chunk_ids[best], cosine[best]

    def narrow(self, where: Filter, most: int) -> Ids | None:
        state = self._state()
        found = state.chunk_ids[np.isin(state.document_ids, self.select(where))]
        return found if len(found) <= most else None

    def passing(self, chunk_ids: Ids, where: Filter) -> Ids:
        state = self._state()
        may = np.isin(state.document_ids, self.select(where)) & np.isin(state.chunk_ids, chunk_ids)
        return state.chunk_ids[may]

    def chunk_rows(self, chunk_ids: Ids, around: int = 0) -> ChunkRows:
        state = self._state()
        rows = set(np.flatnonzero(np.isin(state.chunk_ids, chunk_ids)).tolist())
        for row in sorted(rows):
            for step in range(-around, around + 1) if not state.code[row] else ():
                there = row + step
                if 0 <= there < len(state.chunk_ids) and state.document_ids[there] == state.document_ids[row]:
                    rows.add(there)
        return self._rows(state, np.array(sorted(rows), np.intp))

    def chunk_facts(self, chunk_ids: Ids) -> ChunkRows:
        state = self._state()
        return self._rows(state, np.flatnonzero(np.isin(state.chunk_ids, chunk_ids)), bare=True)

    def document_facts(self, document_ids: Ids) -> ChunkRows:
        state = self._state()
        return self._rows(state, np.flatnonzero(np.isin(state.document_ids, document_ids)), bare=True)

    def _rows(self, state: State, rows: NDArray[np.intp], *, bare: bool = False) -> ChunkRows:
        made = state.made
        noted = np.flatnonzero(np.isin(made.noted, rows))
        return ChunkRows(
            state.chunk_ids[rows],
            state.document_ids[rows],
            state.positions[rows],
            state.code[rows],
            made.lengths[rows],
            [b""] * len(rows) if bare else [state.words[row] for row in rows.tolist()],
            [made.facts[row] for row in rows.tolist()],
            made.vectors[rows[:0] if bare else rows],
            np.searchsorted(rows, made.noted[noted[:0] if bare else noted]).astype(np.uint32),
            made.summary_vectors[noted[:0] if bare else noted],
        )

    def declaring(self, names: Collection[int], most: int) -> DeclaredRows:
        declared = self._state().made.declared
        found = [np.flatnonzero(declared[:, 0] == np.uint64(name))[:most] for name in sorted(names)]
        return self._declared(np.concatenate(found) if found else np.zeros(0, np.intp))

    def declared_in(self, chunk_ids: Ids) -> DeclaredRows:
        state = self._state()
        rows = state.made.declared[:, 1].astype(np.intp)
        return self._declared(np.flatnonzero(np.isin(state.chunk_ids[rows], chunk_ids)))

    def _declared(self, places: NDArray[np.intp]) -> DeclaredRows:
        state = self._state()
        names, rows, scopes, kinds, marks = state.made.declared[places].T
        return DeclaredRows(
            names,
            state.chunk_ids[rows.astype(np.intp)],
            state.document_ids[rows.astype(np.intp)],
            scopes,
            kinds.astype(np.uint8),
            marks.astype(np.uint8),
        )

    def settle(self) -> None:
        self.settled += 1

    def rederive(self) -> None:
        self.rederived += 1
        with self._making:
            self._states.clear()


@dataclass(frozen=True)
class Both:
    """One store, searched by arrays of all of it and in place."""

    store: SearchedSqlite
    embedder: Embedder
    terms: Terms
    arrays: SearchArrays
    database: DatabaseSearch

    def retrievers(self) -> tuple[Retriever, Retriever]:
        """What searches by arrays, and what searches the store; with nothing remembered yet."""
        by_arrays = Retriever(self.store, self.arrays, self.embedder, self.terms)
        return by_arrays, Retriever(self.store, self.database, self.embedder, self.terms)


class Signs:
    """Vectors that survive any rounding: the signs of sums over hashed words."""

    model = Model("signs", "1", 64)
    path_weight = 0.0
    trust = Trust(0.5, 0.5)

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        return np.stack([self._signs(text) for text in texts])

    def embed_paths(self, paths: Sequence[str]) -> Matrix:
        return self.embed_documents(paths)

    def embed_query(self, text: str) -> Vector:
        return self._signs(text) / np.float32(8)

    def _signs(self, text: str) -> Vector:
        words = re.findall(r"[a-z]+", text.lower())
        total = sum((_signs_of(word) for word in words), np.zeros(64, np.float32))
        return np.where(total >= 0, 1, -1).astype(np.float32)


@cache
def _signs_of(word: str) -> Vector:
    return np.random.default_rng(zlib.crc32(word.encode())).choice([-1.0, 1.0], 64).astype(np.float32)


SOURCES = Path(outcrop.__file__).parent
REPOSITORY = SOURCES.parents[1]
DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "benchmarks/README.md", "training/README.md")


@contextmanager
def open_both(path: Path, folders: Sequence[str], embedder: Embedder | None = None) -> Iterator[Both]:
    """An index of some code and the documents of this repository, in the collections `code` and `docs`."""
    with outcrop.Engine(load_config({"db": path}, environ={}), embedder=embedder) as kb:
        for folder in folders:
            kb.add(SOURCES / folder, collection="code")
        for document in DOCUMENTS:
            kb.add(REPOSITORY / document, collection="docs")
        model, terms = kb.parts.embedder, kb.parts.terms
        store = SearchedSqlite(path, SearchDeriver(terms, model.path_weight))
        yield Both(
            store,
            model,
            terms,
            SearchArrays(store, None, terms, model.path_weight),
            DatabaseSearch(store, terms, model.path_weight, None),
        )
        store.close()
