"""The store on SQLite: one file, any number of threads and processes.

This module says what runs in which transaction; sql.py has what both stores share, writing.py what a write does.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from outcrop.contracts import Embedded
from outcrop.errors import CorruptDatabase, NotFound
from outcrop.records import DocumentInfo, DocumentWrite, FeedRow, Filter, Model, StoredChunk, StoreStats, Vector
from outcrop.store.filters import filter_sql
from outcrop.store.rows import (
    DOCUMENT_COLUMNS,
    document_info,
    fetch,
    fetch_ids,
    require_active,
    require_complete,
    stored_chunk,
)
from outcrop.store.sql import Ask, Remove, SqlStore, T
from outcrop.store.sqlite import vectors as stored_vectors
from outcrop.store.sqlite.chunks import (
    chunk_rows,
    export_writes,
    feed_rows,
    find_phrase,
    find_summaries,
    read_text,
)
from outcrop.store.sqlite.connections import Connections
from outcrop.store.sqlite.writing import put_documents, remove_documents
from outcrop.system.arrays import NDArray
from outcrop.text.phrases import phrase_words


def open_sqlite(path: Path, *, read_only: bool = False, busy_timeout_s: float = 30.0) -> SqliteStore:
    """Open the index at `path`, creating or upgrading it unless it is to be read only."""
    return SqliteStore(Connections(path, read_only=read_only, busy_timeout_s=busy_timeout_s))


class SqliteStore(SqlStore):
    """The `Store` contract on one SQLite file. Make one with `open_sqlite`."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        # (model id) → the chunk below which every chunk was seen to have its vector: a re-embedding asks for
        # the next batch many times, and need not look at the finished ones each time. Model ids are not reused.
        self._embedded_below: dict[int, int] = {}

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
        with self._connections.writing() as connection:
            known = {
                (collection, uri): id_
                for collection, uri in last
                for (id_,) in connection.execute(
                    "SELECT id FROM documents WHERE collection = ? AND uri = ?", (collection, uri)
                )
            }
            removed = remove_documents(connection, set(remove).difference(known.values()))
            ids: list[int] = []
            if last:
                pairs = [(write, known.get(name)) for name, write in last.items()]
                ids = put_documents(connection, pairs, vectors, model, defer_embedding=defer_embedding)
        if removed:
            self._connections.purge()
        id_of = dict(zip(last, ids, strict=True))
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
        with self._connections.writing() as connection:
            if not fetch(connection, "SELECT 1 FROM documents WHERE id = ?", (document_id,)):
                raise NotFound(f"there is no document {document_id} to move")
            in_the_way = fetch(
                connection,
                "SELECT id FROM documents WHERE collection = ? AND uri = ? AND id != ?",
                (write.collection, write.file.uri, document_id),
            )
            remove_documents(connection, [id_ for (id_,) in in_the_way])
            put_documents(connection, [(write, document_id)], vectors, model, defer_embedding=defer_embedding)
        if in_the_way:
            self._connections.purge()

    def touch(self, states: Mapping[int, tuple[int | None, int | None]]) -> None:
        """As promised; the version changes, since a date filter may now choose differently."""
        if not states:
            return
        with self._connections.writing() as connection:
            connection.executemany(
                "UPDATE documents SET mtime_ns = ?, size = ? WHERE id = ?",
                [(mtime_ns, size, int(id_)) for id_, (mtime_ns, size) in states.items()],
            )

    def delete(self, document_ids: Collection[int]) -> int:
        """Remove documents with everything that belongs to them, from the disk too; how many there were."""
        if not document_ids:
            return 0
        with self._connections.writing() as connection:
            count = remove_documents(connection, set(document_ids))
        if count:
            self._connections.purge()
        return count

    # ------------------------------------------------------------------ summaries, vectors and models

    def summaries(self, keys: Collection[bytes]) -> list[tuple[bytes, bytes, str]]:
        with self._connections.reading_at_once() as connection:
            return find_summaries(connection, keys)

    def missing_vectors(self, model: Model, keys: Collection[bytes]) -> set[bytes]:
        with self._connections.reading_at_once() as connection:
            return stored_vectors.missing(connection, stored_vectors.find_model(connection, model), keys)

    def active_model(self) -> Model | None:
        with self._connections.reading() as connection:
            active = stored_vectors.active_model(connection)
            return active[1] if active else None

    def unembedded(
        self, what: Embedded, model: Model, limit: int, document: int | None = None
    ) -> list[tuple[bytes, int]]:
        with self._connections.reading_at_once() as connection:
            model_id = stored_vectors.find_model(connection, model) or 0  # 0 is no model's id
            whole = what == "text" and document is None
            below = self._embedded_below.get(model_id, 0) if whole else 0
            rows = stored_vectors.unembedded(connection, what, model_id, limit, document, below)
        if rows and model_id and whole:
            self._embedded_below[model_id] = rows[0][1]
        return rows

    def fill(self, model: Model, vectors: Mapping[bytes, Vector]) -> int:
        with self._connections.writing() as connection:
            model_id = require_active(stored_vectors.active_model(connection), model)
            return _keep_vectors(connection, model_id, model, vectors)

    def add_vectors(self, model: Model, vectors: Mapping[bytes, Vector]) -> None:
        if not vectors:
            return
        with self._connections.writing() as connection:
            _keep_vectors(connection, stored_vectors.ensure_model(connection, model), model, vectors)

    def activate(self, model: Model) -> None:
        with self._connections.writing() as connection:
            model_id = stored_vectors.ensure_model(connection, model)
            require_complete(model, stored_vectors.count_missing(connection, model_id))
            stored_vectors.set_active(connection, model_id)
            stored_vectors.drop_other_models(connection, model_id)
            connection.execute("DELETE FROM pending")  # arrays are rebuilt for another model
        self._connections.purge()

    # ------------------------------------------------------------------ reading

    def _ask(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._connections.reading() as connection:
            return fetch(connection, query.replace("%s", "?"), values)

    def _change(self, statement: str, values: Sequence[Any]) -> None:
        with self._connections.writing() as connection:
            connection.execute(statement.replace("%s", "?"), values)

    _EACH = "SELECT value FROM json_each(%s)"

    def _transact(self, work: Callable[[Ask, Remove], T]) -> T:
        removed = 0
        with self._connections.writing() as connection:

            def remove(ids: Collection[int]) -> int:
                nonlocal removed
                removed = remove_documents(connection, ids)
                return removed

            done = work(lambda query, values: fetch(connection, query.replace("%s", "?"), values), remove)
        if removed:
            self._connections.purge()
        return done

    def _filter(self, where: Filter) -> tuple[str, Sequence[Any]]:
        return filter_sql(where)

    def _documents(self, condition: str, values: Sequence[Any]) -> list[DocumentInfo]:
        rows = self._ask(f"SELECT {DOCUMENT_COLUMNS} FROM documents d WHERE {condition}", values)
        return [document_info(row) for row in rows]

    def text(self, document_id: int) -> str:
        with self._connections.reading_at_once() as connection:
            tail = fetch(connection, "SELECT tail FROM documents WHERE id = ?", (int(document_id),))
            if not tail:
                raise NotFound(f"there is no document {document_id}")
            return read_text(connection, int(document_id), tail[0][0])

    def chunks(self, chunk_ids: Sequence[int]) -> list[StoredChunk]:
        return self._chunks(
            "json_each(?) j CROSS JOIN chunks c ON c.id = j.value ORDER BY j.key",
            json.dumps([int(id_) for id_ in chunk_ids]),
        )

    def chunks_of(self, document_id: int) -> list[StoredChunk]:
        return self._chunks("chunks c WHERE c.document_id = ? ORDER BY c.position", int(document_id))

    def _chunks(self, source: str, value: str | int) -> list[StoredChunk]:
        with self._connections.reading_at_once() as connection:
            rows = chunk_rows(connection, source, value)
            owners = json.dumps(sorted({row[1] for row in rows}))
            documents = self._documents("d.id IN (SELECT value FROM json_each(?))", (owners,))
        by_id = {document.id: document for document in documents}
        return [stored_chunk(row, by_id) for row in rows]

    def collection_names(self) -> list[str]:
        """Only the names: each is looked up as the next one in the index, so that nothing else is read."""
        with self._connections.reading() as connection:
            rows = connection.execute(
                "WITH RECURSIVE named (name) AS (SELECT min(collection) FROM documents UNION ALL"
                " SELECT (SELECT min(collection) FROM documents WHERE collection > name) FROM named"
                " WHERE name IS NOT NULL) SELECT name FROM named WHERE name IS NOT NULL"
            )
            return [str(name) for (name,) in rows]

    # ------------------------------------------------------------------ what another store needs

    def export(self, after: int, limit: int) -> list[tuple[int, DocumentWrite]]:
        with self._connections.reading_at_once() as connection:
            return export_writes(connection, int(after), limit)

    def kept_vectors(self, model: Model, keys: Collection[bytes]) -> dict[bytes, Vector]:
        with self._connections.reading_at_once() as connection:
            return stored_vectors.kept(connection, stored_vectors.find_model(connection, model), keys)

    # ------------------------------------------------------------------ what search needs

    def lineage(self, version: int) -> str | None:
        with self._connections.reading() as connection:
            rows = fetch(connection, "SELECT value, mark FROM identity, history WHERE version = ?", (version,))
            return f"{rows[0][0]}-{rows[0][1]}" if rows else None

    def version(self) -> int:
        return self._connections.version()

    def select(self, where: Filter) -> NDArray[np.int64]:
        rest = where if where.where is None else replace(where, where=None)
        condition, values = filter_sql(rest)
        with self._connections.reading_at_once() as connection:

            def find(query: str, values: Sequence[object]) -> NDArray[np.int64]:
                return fetch_ids(connection, query, values)

            if where.where is None:
                return find(f"SELECT d.id FROM documents d WHERE {condition}", values)
            from outcrop.store.sqlite.meeting import find_meeting  # few filters have a condition

            if rest.is_empty():
                return find_meeting(find, where.where)
            found = find(f"SELECT d.id FROM documents d WHERE {condition}", values)
            if len(found):
                found = np.intersect1d(found, find_meeting(find, where.where), assume_unique=True)
            return found

    def match_phrase(self, phrase: str, among: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Ids of the chunks, of those named or of all, whose text holds these words in this order, ascending. Every
        text is read: the search arrays know which chunks hold the words at all."""
        with self._connections.reading_at_once() as connection:
            phrase.encode()
            words = phrase_words(phrase)
            chosen = None if among is None else among.tolist()
            found = find_phrase(connection, words, chosen) if words else []
        return np.array(found, np.int64)

    def feed(self, after_chunk: int, limit: int) -> list[FeedRow]:
        with self._connections.reading_at_once() as connection:
            return feed_rows(connection, int(after_chunk), limit)

    # ------------------------------------------------------------------ health

    def snapshot(self) -> contextlib.AbstractContextManager[None]:
        return self._connections.snapshot()

    def stats(self) -> StoreStats:
        with self._connections.reading_at_once() as connection:
            from outcrop.store.sqlite.checking import count_everything

            return count_everything(connection, self._connections.path)

    def check(self) -> Iterator[str]:
        try:
            with self._connections.reading_at_once() as connection:
                from outcrop.store.sqlite.checking import find_problems

                problems = find_problems(connection)
        except CorruptDatabase as error:
            problems = [str(error)]
        return iter(problems)

    def close(self) -> None:
        self._connections.close()


def _keep_vectors(
    connection: apsw.Connection, model_id: int, model: Model, vectors: Mapping[bytes, Vector]
) -> int:
    """Store those that something uses; how many pending documents they complete."""
    known = stored_vectors.find_contents(connection, vectors.keys())
    came = stored_vectors.missing(connection, model_id, known.keys())
    stored_vectors.add(connection, model_id, model, {known[key]: vectors[key] for key in came})
    active = stored_vectors.active_model(connection)
    if active is None or active[0] != model_id:
        return 0
    return stored_vectors.complete_documents(connection, model_id, {known[key] for key in came})
