"""The store on Postgres: any number of threads, processes and machines.

This module says which query runs in which transaction; sql.py has what both stores share, reading.py what is read,
writing.py what a write does and how the model changes, searching.py how the index is searched in place.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import numpy as np

from outcrop.contracts import Embedded
from outcrop.errors import NotFound, StoreError
from outcrop.records import DocumentInfo, DocumentWrite, FeedRow, Filter, Model, StoredChunk, StoreStats, Vector
from outcrop.records.database_url import DatabaseUrl
from outcrop.records.derived import Deriver
from outcrop.store.postgres import reading, tenancy
from outcrop.store.postgres import vectors as stored_vectors
from outcrop.store.postgres.checking import count_everything, find_problems
from outcrop.store.postgres.connections import PATIENCE_S, Connection, Connections, State
from outcrop.store.postgres.deriving import FEED_TABLES
from outcrop.store.postgres.schema import migrate, schema_version
from outcrop.store.postgres.searching import Searching
from outcrop.store.postgres.upkeep import rederive, settle
from outcrop.store.postgres.values import plain_row, register_vectors, text_row
from outcrop.store.postgres.vectors import Tuning
from outcrop.store.postgres.writing import (
    fill,
    find_documents,
    keep_vectors,
    put_documents,
    remove_documents,
    switch_model,
)
from outcrop.store.rows import FEED_COLUMNS, feed_rows
from outcrop.store.sql import Ask, Remove, SqlStore
from outcrop.system.arrays import NDArray

_AS_IT_IS: Final = Tuning()
T = TypeVar("T")


def _version(connection: Connection) -> int:
    row = connection.execute("SELECT version FROM state").fetchone()
    if row is None:
        raise StoreError("the index is damaged: its state is missing; restore it from a backup")
    return int(row[0])


def open_postgres(
    url: DatabaseUrl,
    deriver: Callable[[], Deriver],
    *,
    read_only: bool = False,
    create: bool = True,
    tuning: Tuning = _AS_IT_IS,
    patience_s: float = PATIENCE_S,
) -> PostgresStore:
    """Open the index in a schema of a database, creating or upgrading it unless this user may only read.

    Without `create`, NotFound says that there is none.

    `deriver` gives what makes the rows that search looks up; it is asked for when something is written.
    """
    schema = url.schema
    connections = Connections(url.uri(), schema, str(url), patience_s=patience_s)
    with connections.translated(), connections.connect() as connection:
        may_write = not read_only and _may_write(connection, schema)
        if not create and schema_version(connection, schema) == 0:
            raise NotFound(f"there is no index in {connections.name} yet; `outcrop add FOLDER` makes one")
        if may_write:
            migrate(connection, schema)
        elif schema_version(connection, schema) == 0:
            raise StoreError(
                f"there is no index in {connections.name}, or this user may not see it; add something to create it"
            )
        register_vectors(connection)  # to say at once, and not with each search, that the extension is gone
    return PostgresStore(connections, deriver, read_only=not may_write, tuning=tuning)


def _may_write(connection: Connection, schema: str) -> bool:
    """Whether this user may change the index, or make it where there is none."""
    row = connection.execute(
        "SELECT CASE WHEN pg_is_in_recovery() THEN false"
        " WHEN to_regclass(%(table)s) IS NULL THEN NOT EXISTS"
        "   (SELECT 1 FROM pg_namespace WHERE nspname = %(schema)s AND NOT has_schema_privilege(oid, 'CREATE'))"
        " ELSE has_table_privilege(to_regclass(%(table)s), 'UPDATE') END",
        {"table": f'"{schema}".state', "schema": schema},
    ).fetchone()
    return bool(row and row[0])


class PostgresStore(SqlStore, Searching):
    """The `SearchableStore` contract on Postgres. Make one with `open_postgres`."""

    def __init__(
        self,
        connections: Connections,
        deriver: Callable[[], Deriver],
        *,
        read_only: bool = False,
        tuning: Tuning = _AS_IT_IS,
    ) -> None:
        self._connections = connections
        self._deriver = deriver
        self._tuning = tuning
        self.read_only = read_only

    def _read(self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of one query, texts as they were written."""
        return self._connections.read(lambda connection: reading.read_rows(connection, query, values))

    def _ask(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._read(query, text_row(values))

    def _change(self, statement: str, values: Sequence[Any]) -> None:
        self._write(lambda connection, _: connection.execute(statement, text_row(values)))

    _EACH = "SELECT jsonb_array_elements_text(%s::jsonb)::bigint"

    def _transact(self, work: Callable[[Ask, Remove], T]) -> T:
        def run(connection: Connection, state: State) -> T:
            def ask(statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
                done = connection.execute(statement, text_row(values))
                return [plain_row(row) for row in done.fetchall()] if done.description else []

            return work(ask, lambda ids: remove_documents(connection, state, ids))

        done: T = self._write(run)
        return done

    def _bound(self, *texts: str) -> Sequence[str]:
        return text_row(texts)

    def _filter(self, where: Filter) -> tuple[str, Sequence[Any]]:
        return reading.filter_sql(where)

    def _documents(self, condition: str, values: Sequence[Any]) -> list[DocumentInfo]:
        return self._connections.read(lambda connection: reading.read_documents(connection, condition, values))

    def _look_up(self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
        """The same for rows without texts."""
        return self._connections.read(
            lambda connection: connection.execute(query, values, binary=True).fetchall()
        )

    def _at_once(self, work: Callable[[Connection], T]) -> T:
        """Several queries in one snapshot."""
        with self.snapshot():
            return self._connections.read(work)

    def _write(self, work: Callable[[Connection, State], Any]) -> Any:
        if self.read_only:
            raise StoreError(
                f"{self._connections.name} was opened for reading only, or this user may not write"
            )
        return self._connections.write(work)

    # ------------------------------------------------------------------ writing

    def write(
        self,
        writes: Sequence[DocumentWrite],
        vectors: Mapping[bytes, Vector],
        model: Model,
        remove: Collection[int] = (),
        *,
        defer_embedding: bool = False,
    ) -> list[int]:
        last = {(write.collection, write.file.uri): write for write in writes}

        def work(connection: Connection, state: State) -> list[int]:
            known = find_documents(connection, last)
            remove_documents(connection, state, set(map(int, remove)).difference(known.values()))
            if not last:
                return []
            pairs = [(write, known.get(name)) for name, write in last.items()]
            return put_documents(
                connection, state, self._deriver(), pairs, vectors, model, defer_embedding=defer_embedding
            )

        id_of = dict(zip(last, self._write(work), strict=True))
        return [id_of[write.collection, write.file.uri] for write in writes]

    def move(
        self,
        document_id: int,
        write: DocumentWrite,
        vectors: Mapping[bytes, Vector],
        model: Model,
        *,
        defer_embedding: bool = False,
    ) -> None:
        def work(connection: Connection, state: State) -> None:
            if connection.execute("SELECT 1 FROM documents WHERE id = %s", (document_id,)).fetchone() is None:
                raise NotFound(f"there is no document {document_id} to move")
            there = find_documents(connection, [(write.collection, write.file.uri)])
            remove_documents(connection, state, set(there.values()) - {document_id})
            pairs = [(write, document_id)]
            put_documents(
                connection, state, self._deriver(), pairs, vectors, model, defer_embedding=defer_embedding
            )

        self._write(work)

    def touch(self, states: Mapping[int, tuple[int | None, int | None]]) -> None:
        if not states:
            return
        ids = [int(id_) for id_ in states]
        times, sizes = [mtime for mtime, _ in states.values()], [size for _, size in states.values()]

        def work(connection: Connection, _: State) -> None:
            connection.execute(
                "UPDATE documents d SET mtime_ns = u.mtime_ns, size = u.size"
                " FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS u (id, mtime_ns, size) WHERE d.id = u.id",
                (ids, times, sizes),
            )

        self._write(work)

    def delete(self, document_ids: Collection[int]) -> int:
        """Remove documents with everything that belongs to them; how many there were. Their rows are invisible to all
        from then on, and leave the disk with the next vacuum."""
        if not document_ids:
            return 0
        return int(
            self._write(lambda connection, state: remove_documents(connection, state, set(document_ids)))
        )

    # ------------------------------------------------------------------ summaries, vectors and models

    def summaries(self, keys: Collection[bytes]) -> list[tuple[bytes, bytes, str]]:
        return self._connections.read(lambda connection: reading.find_summaries(connection, keys))

    def missing_vectors(self, model: Model, keys: Collection[bytes]) -> set[bytes]:
        return self._connections.read(
            lambda connection: stored_vectors.missing(
                connection, stored_vectors.find_model(connection, model), keys
            )
        )

    def active_model(self) -> Model | None:
        active = self._connections.known("model", stored_vectors.active_model)
        return active[1] if active else None

    def unembedded(
        self, what: Embedded, model: Model, limit: int, document: int | None = None
    ) -> list[tuple[bytes, int]]:
        return self._connections.read(
            lambda connection: stored_vectors.unembedded(connection, what, model, limit, document)
        )

    def fill(self, model: Model, vectors: Mapping[bytes, Vector]) -> int:
        return int(
            self._write(lambda connection, state: fill(connection, state, self._deriver, model, vectors))
        )

    def add_vectors(self, model: Model, vectors: Mapping[bytes, Vector]) -> None:
        if not vectors:
            return

        def work(connection: Connection, state: State) -> int:
            model_id = stored_vectors.ensure_model(connection, model)
            return keep_vectors(connection, state, self._deriver, model_id, model, vectors)

        self._write(work)

    def activate(self, model: Model) -> None:
        """Switch to `model` and drop every other model's vectors, at once. Every chunk must have its vector. What
        search looks up is made, and indexed, before the switch: those who search meanwhile do not wait."""
        self._write(
            lambda connection, state: switch_model(connection, state, self._deriver, model, self._tuning)
        )

    # ------------------------------------------------------------------ reading

    def text(self, document_id: int) -> str:
        return self._at_once(lambda connection: reading.read_text(connection, int(document_id)))

    def chunks(self, chunk_ids: Sequence[int]) -> list[StoredChunk]:
        ids = [int(id_) for id_ in chunk_ids]
        return self._at_once(lambda connection: reading.read_chunks(connection, reading.CHUNKS_NAMED, ids))

    def chunks_of(self, document_id: int) -> list[StoredChunk]:
        return self._at_once(
            lambda connection: reading.read_chunks(connection, reading.CHUNKS_OF, int(document_id))
        )

    def export(self, after: int, limit: int) -> list[tuple[int, DocumentWrite]]:
        return self._at_once(lambda connection: reading.export_writes(connection, int(after), limit))

    def kept_vectors(self, model: Model, keys: Collection[bytes]) -> dict[bytes, Vector]:
        return self._connections.read(
            lambda connection: stored_vectors.kept(
                connection, stored_vectors.find_model(connection, model), keys
            )
        )

    def collection_names(self) -> list[str]:
        return [name for (name,) in self._read("SELECT name FROM collections WHERE chunks > 0 ORDER BY name")]

    # ------------------------------------------------------------------ what search needs

    def lineage(self, version: int) -> str | None:
        rows = self._read("SELECT identity, mark FROM state, history WHERE history.version = %s", (version,))
        return f"{rows[0][0]}-{rows[0][1]}" if rows else None

    def version(self) -> int:
        return self._connections.known("version", _version)

    def select(self, where: Filter) -> NDArray[np.int64]:
        condition, values = reading.filter_sql(where)
        rows = self._look_up(f"SELECT d.id FROM documents d WHERE {condition} ORDER BY d.id", values)
        return np.array([id_ for (id_,) in rows], np.int64)

    def feed(self, after_chunk: int, limit: int) -> list[FeedRow]:
        return feed_rows(
            self._read(
                f"SELECT {FEED_COLUMNS} FROM {FEED_TABLES} WHERE c.id > %s ORDER BY c.id LIMIT %s",
                (int(after_chunk), limit),
            )
        )

    # ------------------------------------------------------------------ health

    def snapshot(self) -> contextlib.AbstractContextManager[None]:
        return self._connections.snapshot()

    def stats(self) -> StoreStats:
        with self.snapshot():
            return self._connections.read(count_everything)

    def check(self) -> Iterator[str]:
        with self.snapshot():
            problems = self._connections.read(find_problems)
        return iter(problems)

    def settle(self) -> None:
        """After writes: join short lists, move fresh vectors into the index or build it, if that is worth it."""
        if not self.read_only:
            settle(self._connections, self._tuning)

    def rederive(self) -> None:
        self._write(lambda connection, _: rederive(connection, self._deriver()))
        self.settle()

    # ------------------------------------------------------------------ who may read

    def grant(self, role: str, collections: Sequence[str] = ()) -> None:
        self._write(lambda connection, _: tenancy.grant(connection, role, collections))

    def revoke(self, role: str) -> int:
        return int(self._write(lambda connection, _: tenancy.revoke(connection, role)))

    def grants(self) -> list[tuple[str, str | None]]:
        return self._connections.read(tenancy.grants)

    def close(self) -> None:
        self._connections.close()
