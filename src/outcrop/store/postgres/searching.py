"""How an index on Postgres is searched in place: words by their lists, vectors by an index, names by a table.

Nearest vectors come from two tables (see schema.py): through the index of the one, with iterative scans, and from all
of the other. Where a filter leaves few chunks, theirs are compared one by one and nothing is missed.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from outcrop.records import Filter, Vector
from outcrop.records.derived import ChunkRows, DeclaredRows, Deriver, TermRows, Totals
from outcrop.store.postgres import vectors as stored_vectors
from outcrop.store.postgres.deriving import in_order, unpack_lists
from outcrop.store.postgres.reading import filter_sql, read_rows
from outcrop.store.postgres.values import Half, half_matrix, half_vectors, id_array, to_text
from outcrop.system.arrays import NDArray, is_among
from outcrop.system.dataclass import dataclass
from outcrop.text.phrases import phrase_finder, phrase_words

if TYPE_CHECKING:
    from outcrop.store.postgres.connections import Connection, Connections

_EVERYTHING: Final = Filter()
SPARE: Final = 1.5
"""Points asked for each chunk that is wanted: code has two, its text's and its summary's."""

EXACT_CHUNKS: Final = 50_000
"""Chunks that pass a filter and are compared one by one, 0.4 µs each. Through the index, where one in a hundred
passes, it takes 200 to 360 ms to find them, and with less memory they are too few (`benchmarks.postgres.vectors`)."""

PHRASE_CHUNKS: Final = 500
"""Chunks whose text is read at a time to look for a phrase: bounds memory."""
READ_AT_ONCE: Final = 2000
"""Chunks that are read for a phrase without a look at the lists of its words, which may name a hundred thousand: as
many as a search has looked at (`candidates.MAX_READ_PHRASES`)."""

INDEX_SEEN_S: Final = 30.0
"""How long the kind of the vector index is remembered: a look takes a millisecond. The time itself was not measured."""


class Searching(ABC):
    """The part of a `SearchableStore` that search asks. What it is mixed into has the connections."""

    _connections: Connections
    _deriver: Callable[[], Deriver]
    _tuning: stored_vectors.Tuning
    _indexes_seen: tuple[int, float, list[stored_vectors.VectorIndex]] = (-1, 0.0, [])

    @abstractmethod
    def _look_up(self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]: ...

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[None]:
        """Everything this thread reads inside comes from one snapshot."""

    # ------------------------------------------------------------------ words

    def totals(self) -> Totals:
        rows = self._look_up(
            "SELECT coalesce(sum(chunks), 0)::bigint, coalesce(sum(terms), 0)::bigint FROM collections"
        )
        return Totals(*rows[0])

    def term_counts(self, terms: Collection[int]) -> dict[int, int]:
        rows = self._look_up(
            "SELECT t.term, l.chunks FROM unnest(%s::bigint[]) AS t (term) CROSS JOIN LATERAL"
            " (SELECT sum(count)::bigint AS chunks FROM postings WHERE term = t.term) l WHERE l.chunks IS NOT NULL",
            (id_array(terms),),
        )
        return dict(rows)

    def term_rows(self, terms: Collection[int], collections: Sequence[str] = ()) -> dict[int, TermRows]:
        values: list[Any] = [id_array(terms)]
        within = ""
        if collections:
            within = " AND collection_id IN (SELECT id FROM collections WHERE name = ANY (%s))"
            values.append([to_text(name) for name in collections])
        # One term at a time: the planner has no statistics of terms (policies.py) and takes many for the whole table.
        rows = self._look_up(
            "SELECT t.term, l.* FROM unnest(%s::bigint[]) AS t (term) CROSS JOIN LATERAL"
            " (SELECT array_agg(first_chunk ORDER BY first_chunk) AS firsts, array_agg(count ORDER BY first_chunk),"
            f" string_agg(packed, ''::bytea ORDER BY first_chunk) FROM postings WHERE term = t.term{within}) l"
            " WHERE l.firsts IS NOT NULL",
            values,
        )
        return {term: in_order(unpack_lists(firsts, counts, packed)) for term, firsts, counts, packed in rows}

    def match_phrase(self, phrase: str, among: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Ids of the chunks, of those named or of all, whose text holds these words in this order, ascending. Looked up
        in the lists of its words, then read; where few are named, they are read at once."""
        with self._connections.translated():
            phrase.encode()
        words = phrase_words(phrase)
        if not words:
            return np.zeros(0, np.int64)
        with self.snapshot():
            if among is not None and len(among) <= READ_AT_ONCE:
                likely = np.sort(among)
            else:
                likely = self._holding(self._deriver().phrase_terms(words))
                likely = likely if among is None else likely[is_among(likely, np.sort(among))]
            found: list[int] = []
            holds = phrase_finder(words)
            for start in range(0, len(likely), PHRASE_CHUNKS):
                part = likely[start : start + PHRASE_CHUNKS].tolist()
                found += (id_ for id_, text in self._texts(part) if holds(text))
        return np.array(sorted(found), np.int64)

    def _texts(self, chunk_ids: Sequence[int]) -> list[tuple[Any, ...]]:
        query = "SELECT id, text FROM chunks WHERE id = ANY (%s)"
        return self._connections.read(lambda connection: read_rows(connection, query, (chunk_ids,)))

    def _holding(self, words: Sequence[Collection[int]]) -> NDArray[np.int64]:
        """Chunks that hold, for each word, one of its terms."""
        wanted = {term for terms in words for term in terms}
        counts = self.term_counts(wanted)
        likely: NDArray[np.int64] | None = None
        for terms in sorted(words, key=lambda terms: sum(counts.get(term, 0) for term in terms)):
            found = self.term_rows(terms).values()
            ids = (
                np.unique(np.concatenate([rows.chunk_ids for rows in found]))
                if found
                else np.zeros(0, np.int64)
            )
            likely = ids if likely is None else np.intersect1d(likely, ids, assume_unique=True)
            if not len(likely):
                break
        return np.zeros(0, np.int64) if likely is None else likely

    # ------------------------------------------------------------------ vectors

    def nearest(
        self, vector: Vector, count: int, where: Filter = _EVERYTHING, among: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        active = self._connections.known("model", stored_vectors.active_model)
        if active is None or not count or not np.any(vector):
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        model = active[0]
        (half,) = half_vectors(vector[None, :].astype(np.float16))
        most = int(SPARE * count) + 1
        while True:
            found = self._nearest_points(model, half, count, most, where, among)
            ids, first = np.unique(np.array([id_ for id_, _ in found], np.int64), return_index=True)
            if len(ids) >= count or len(found) < most:
                break
            most *= 2
        # The first of each chunk is its nearest: the rows come in order.
        distance = np.array([away for _, away in found], np.float32)[first]
        order = np.lexsort((ids, distance))[:count]
        return ids[order], 1 - distance[order]

    def _nearest_points(
        self, model: int, half: Half, count: int, most: int, where: Filter, among: NDArray[np.int64] | None
    ) -> list[tuple[int, float]]:
        """Chunk and distance of the nearest points, nearest first; some of the `count` chunks twice."""
        if among is not None:
            named = "p.chunk_id = ANY (%s::bigint[])"
            return self._nearest_of(model, half, most, named, [id_array(among)])
        if not where.is_empty() and self._count_passing(where) <= EXACT_CHUNKS:
            condition, values = filter_sql(where)
            inside = f"SELECT r.chunk_id FROM documents d JOIN rows r ON r.document_id = d.id WHERE {condition}"
            return self._nearest_of(model, half, most, f"p.chunk_id IN ({inside})", values)
        condition, values = _points_filter(where)
        parts = [
            f"(SELECT p.chunk_id, p.embedding <=> %s AS away FROM {table} p WHERE {condition} ORDER BY away LIMIT %s)"
            for table in (stored_vectors.points(model), stored_vectors.fresh(model))
        ]
        bound = [half, *values, most]
        question = f"{' UNION ALL '.join(parts)} ORDER BY away LIMIT %s"
        far = [stored_vectors.reach(index, count, self._tuning.effort) for index in self._indexes_of(model)[:1]]

        def ask(connection: Connection) -> list[tuple[int, float]]:
            with connection.transaction():
                for name, value in far:
                    connection.execute("SELECT set_config(%s, %s, true)", (name, str(value)))
                return connection.execute(question, (*bound, *bound, most), binary=True).fetchall()

        return self._connections.read(ask)

    def _indexes_of(self, model: int) -> list[stored_vectors.VectorIndex]:
        """The vector indexes of a model, as they were lately: they say how far to look, not what is there."""
        seen, when, there = self._indexes_seen
        if seen != model or time.monotonic() - when > INDEX_SEEN_S:
            there = self._connections.read(
                lambda connection: stored_vectors.vector_indexes(connection, stored_vectors.points(model))
            )
            self._indexes_seen = (model, time.monotonic(), there)
        return there

    def _nearest_of(
        self, model: int, half: Half, most: int, condition: str, values: list[Any]
    ) -> list[tuple[int, float]]:
        """The same over the points `p` that meet a condition; MATERIALIZED keeps the planner off the index."""
        parts = [
            f"SELECT p.chunk_id, p.embedding FROM {table} p WHERE {condition}"
            for table in (stored_vectors.points(model), stored_vectors.fresh(model))
        ]
        rows = self._look_up(
            f"WITH few AS MATERIALIZED ({' UNION ALL '.join(parts)})"
            " SELECT chunk_id, embedding <=> %s AS away FROM few ORDER BY away LIMIT %s",
            (*values, *values, half, most),
        )
        return [(id_, away) for id_, away in rows]

    def _count_passing(self, where: Filter) -> int:
        """How many chunks pass a filter."""
        condition, values = filter_sql(where)
        rows = self._look_up(f"SELECT coalesce(sum(chunk_count), 0) FROM documents d WHERE {condition}", values)
        return int(rows[0][0])

    # ------------------------------------------------------------------ filters

    def narrow(self, where: Filter, most: int) -> NDArray[np.int64] | None:
        condition, values = filter_sql(where)
        rows = self._look_up(
            f"SELECT r.chunk_id FROM documents d JOIN rows r ON r.document_id = d.id WHERE {condition} LIMIT %s",
            (*values, most + 1),
        )
        return None if len(rows) > most else np.sort(np.array([id_ for (id_,) in rows], np.int64))

    def passing(self, chunk_ids: NDArray[np.int64], where: Filter) -> NDArray[np.int64]:
        condition, values = filter_sql(where)
        rows = self._look_up(
            "SELECT r.chunk_id FROM rows r JOIN documents d ON d.id = r.document_id"
            f" WHERE r.chunk_id = ANY (%s::bigint[]) AND {condition} ORDER BY r.chunk_id",
            (id_array(chunk_ids), *values),
        )
        return np.array([id_ for (id_,) in rows], np.int64)

    # ------------------------------------------------------------------ rows

    def chunk_rows(self, chunk_ids: NDArray[np.int64], around: int = 0) -> ChunkRows:
        chosen = "SELECT chunk_id FROM rows WHERE chunk_id = ANY (%(ids)s::bigint[])"
        if around:
            chosen += (
                " UNION SELECT b.chunk_id FROM rows a CROSS JOIN LATERAL"
                " (SELECT chunk_id FROM rows WHERE rows.document_id = a.document_id"
                " AND rows.position BETWEEN a.position - %(around)s AND a.position + %(around)s OFFSET 0) b"
                " WHERE a.chunk_id = ANY (%(ids)s::bigint[]) AND NOT a.code"
            )
        values = {"ids": id_array(chunk_ids), "around": around}
        with self.snapshot():
            # A row at a time (OFFSET keeps it so): a join is planned as a hash of the whole table, which at 20 000
            # chunks wrote a file and took five times as long.
            rows = self._look_up(
                f"WITH chosen AS MATERIALIZED ({chosen}) SELECT r.* FROM chosen CROSS JOIN LATERAL (SELECT chunk_id,"
                " document_id, position, code, length, words, facts FROM rows WHERE rows.chunk_id = chosen.chunk_id"
                " OFFSET 0) r ORDER BY r.chunk_id",
                values,
            )
            ids = [row[0] for row in rows]
            return _chunk_rows(rows, self._vectors_of(ids))

    def _vectors_of(self, chunk_ids: list[int]) -> Vectors:
        """The vectors of some chunks, by chunk and part."""
        active = self._connections.known("model", stored_vectors.active_model)
        if active is None:
            return _NO_VECTORS
        number, dimensions = active[0], active[1].dimensions
        parts = [
            f"SELECT chunk_id, part, embedding FROM {table} WHERE chunk_id = ANY (%(ids)s::bigint[])"
            for table in (stored_vectors.points(number), stored_vectors.fresh(number))
        ]
        # As one row: a thousand of their own take several milliseconds to read.
        rows = self._look_up(
            "SELECT array_agg(chunk_id), array_agg(part), string_agg(halfvec_send(embedding), ''::bytea)"
            f" FROM ({' UNION ALL '.join(parts)} ORDER BY chunk_id, part) ordered",
            {"ids": id_array(chunk_ids)},
        )
        ids, numbers, vectors = rows[0]
        if ids is None:
            return replace(_NO_VECTORS, matrix=np.zeros((0, dimensions), np.float16))
        return Vectors(np.array(ids, np.int64), np.array(numbers, np.int16), half_matrix(vectors, dimensions))

    def chunk_facts(self, chunk_ids: NDArray[np.int64]) -> ChunkRows:
        return self._facts("chunk_id", chunk_ids)

    def document_facts(self, document_ids: NDArray[np.int64]) -> ChunkRows:
        return self._facts("document_id", document_ids)

    def _facts(self, column: str, ids: NDArray[np.int64]) -> ChunkRows:
        rows = self._look_up(
            "SELECT chunk_id, document_id, position, code, length, ''::bytea, facts FROM rows"
            f" WHERE {column} = ANY (%s::bigint[]) ORDER BY chunk_id",
            (id_array(ids),),
        )
        return _chunk_rows(rows, _NO_VECTORS)

    # ------------------------------------------------------------------ names

    def declaring(self, names: Collection[int], most: int) -> DeclaredRows:
        return _declared(
            self._look_up(
                "SELECT d.* FROM unnest(%s::bigint[]) AS n (name) CROSS JOIN LATERAL"
                " (SELECT name, chunk_id, document_id, scope, kind, mark FROM declared"
                " WHERE declared.name = n.name ORDER BY chunk_id LIMIT %s) d ORDER BY d.name, d.chunk_id",
                (id_array(names), most),
            )
        )

    def declared_in(self, chunk_ids: NDArray[np.int64]) -> DeclaredRows:
        return _declared(
            self._look_up(
                "SELECT name, chunk_id, document_id, scope, kind, mark FROM declared"
                " WHERE chunk_id = ANY (%s::bigint[]) ORDER BY name, chunk_id",
                (id_array(chunk_ids),),
            )
        )


def _points_filter(where: Filter) -> tuple[str, list[Any]]:
    """A condition on points `p`: a collection is written beside each, for the rest its document is asked."""
    if where.is_empty():
        return "true", []
    if where == Filter(collections=where.collections):
        names = [to_text(name) for name in where.collections]
        return "p.collection_id = ANY (ARRAY(SELECT id FROM collections WHERE name = ANY (%s)))", [names]
    condition, values = filter_sql(where)
    return f"EXISTS (SELECT 1 FROM documents d WHERE d.id = p.document_id AND {condition})", values


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of chunks: part 0 of their texts, part 1 of their summaries."""

    chunk_ids: NDArray[np.int64]
    parts: NDArray[np.int16]
    matrix: NDArray[np.float16]


_NO_VECTORS: Final = Vectors(np.zeros(0, np.int64), np.zeros(0, np.int16), np.zeros((0, 0), np.float16))


def _chunk_rows(rows: Sequence[tuple[Any, ...]], vectors: Vectors) -> ChunkRows:
    ids = np.array([row[0] for row in rows], np.int64)
    texts, summaries = vectors.parts == 0, vectors.parts == 1
    matrix = np.zeros((len(rows), vectors.matrix.shape[1]), np.float16)
    matrix[np.searchsorted(ids, vectors.chunk_ids[texts])] = vectors.matrix[texts]
    return ChunkRows(
        chunk_ids=ids,
        document_ids=np.array([row[1] for row in rows], np.int64),
        positions=np.array([row[2] for row in rows], np.int32),
        code=np.array([row[3] for row in rows], np.bool_),
        lengths=np.array([row[4] for row in rows], np.uint32),
        words=[row[5] for row in rows],
        facts=[row[6] for row in rows],
        vectors=matrix,
        noted=np.searchsorted(ids, vectors.chunk_ids[summaries]).astype(np.uint32),
        summary_vectors=vectors.matrix[summaries],
    )


def _declared(rows: Sequence[tuple[Any, ...]]) -> DeclaredRows:
    columns = np.array(rows, np.int64).reshape(-1, 6).T
    names, chunk_ids, document_ids, scopes, kinds, marks = columns
    return DeclaredRows(
        names=names.astype(np.uint64),
        chunk_ids=chunk_ids,
        document_ids=document_ids,
        scopes=scopes.astype(np.uint64),
        kinds=kinds.astype(np.uint8),
        marks=marks.astype(np.uint8),
    )
