"""The store on Postgres: any number of threads, processes and machines.

This module says what is read and in which transaction; writing.py says what a write does, searching.py how it is
searched where it lies.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from outcrop.database_url import DatabaseUrl
from outcrop.derived import Deriver
from outcrop.distinct import is_among
from outcrop.errors import NotFound, StoreError
from outcrop.phrases import holds_phrase, phrase_words
from outcrop.records import (
    CollectionInfo,
    DocumentInfo,
    DocumentWrite,
    FeedRow,
    FileState,
    Filter,
    Model,
    StoredChunk,
    StoreStats,
    Vector,
)
from outcrop.store.exporting import CHUNK_COLUMNS as EXPORT_CHUNK
from outcrop.store.exporting import DOCUMENT_COLUMNS as EXPORT_DOCUMENT
from outcrop.store.exporting import as_writes, first_batch
from outcrop.store.postgres import tenancy
from outcrop.store.postgres import vectors as stored_vectors
from outcrop.store.postgres.care import rederive, replace_points, settle
from outcrop.store.postgres.checking import count_everything, find_problems
from outcrop.store.postgres.connections import PATIENCE_S, Connection, Connections, State
from outcrop.store.postgres.deriving import FEED_TABLES
from outcrop.store.postgres.filters import filter_sql
from outcrop.store.postgres.nearness import Tuning, chosen, vector_indexes
from outcrop.store.postgres.schema import migrate, schema_version
from outcrop.store.postgres.searching import Searching
from outcrop.store.postgres.values import from_text, plain_row, register_vectors, to_text
from outcrop.store.postgres.writing import (
    complete_documents,
    find_documents,
    put_documents,
    remove_documents,
    set_active,
)
from outcrop.store.rows import (
    CHUNK_COLUMNS,
    FEED_COLUMNS,
    NOTE_COLUMNS,
    document_info,
    feed_rows,
    join_text,
    stored_chunk,
)

_EVERYTHING: Final = Filter()
_AS_IT_IS: Final = Tuning()
_NOTES: Final = "LEFT JOIN notes n ON n.chunk_id = c.id"
_DOCUMENT_COLUMNS: Final = (
    "d.id, d.collection, d.uri, d.path, d.origin, d.root, d.kind, d.title,"
    " (SELECT coalesce(json_agg(tag ORDER BY tag)::text, '[]') FROM tags WHERE document_id = d.id),"
    " d.meta, d.sha256, d.mtime_ns, d.size, d.created_at, d.updated_at, d.chunk_count, d.char_count,"
    " d.language, d.role"
)
_PHRASE_CHUNKS: Final = 500
"""Chunks whose text is read at a time to look for a phrase: bounds memory."""


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


def _version(connection: Connection) -> int:
    row = connection.execute("SELECT version FROM state").fetchone()
    if row is None:
        raise StoreError("the index is damaged: its state is missing; restore it from a backup")
    return int(row[0])


class PostgresStore(Searching):
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
        """All rows of one question, texts as they were written."""
        return [plain_row(row) for row in self._look_up(query, values)]

    def _look_up(self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
        """The same for rows without texts."""
        return self._connections.read(
            lambda connection: connection.execute(query, values, binary=True).fetchall()
        )

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
        later: bool = False,
    ) -> list[int]:
        """Insert or replace documents and remove others, in one transaction; the ids of `writes`, in order.

        Where two of `writes` name the same document, the one that comes last counts. With `later` what has no vector
        yet waits for `fill`.
        """
        last = {(write.collection, write.file.uri): write for write in writes}

        def work(connection: Connection, state: State) -> list[int]:
            known = find_documents(connection, last)
            remove_documents(connection, state, set(map(int, remove)).difference(known.values()))
            if not last:
                return []
            pairs = [(write, known.get(name)) for name, write in last.items()]
            return put_documents(connection, state, self._deriver(), pairs, vectors, model, later=later)

        id_of = dict(zip(last, self._write(work), strict=True))
        return [id_of[write.collection, write.file.uri] for write in writes]

    def move(
        self,
        document_id: int,
        write: DocumentWrite,
        vectors: Mapping[bytes, Vector],
        model: Model,
        *,
        later: bool = False,
    ) -> None:
        """As `write`, keeping the document's id and creation time; what stood under the new name goes."""

        def work(connection: Connection, state: State) -> None:
            if connection.execute("SELECT 1 FROM documents WHERE id = %s", (document_id,)).fetchone() is None:
                raise NotFound(f"there is no document {document_id} to move")
            there = find_documents(connection, [(write.collection, write.file.uri)])
            remove_documents(connection, state, set(there.values()) - {document_id})
            pairs = [(write, document_id)]
            put_documents(connection, state, self._deriver(), pairs, vectors, model, later=later)

        self._write(work)

    def touch(self, states: Mapping[int, tuple[int | None, int | None]]) -> None:
        """Remember new (mtime_ns, size) of documents whose content proved unchanged; `updated_at` stays."""
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
        """Remove documents with all that hangs on them; how many there were.

        Their rows are invisible to all from then on, and leave the disk with the next vacuum.
        """
        if not document_ids:
            return 0
        return int(
            self._write(lambda connection, state: remove_documents(connection, state, set(document_ids)))
        )

    # ------------------------------------------------------------------ summaries, vectors and models

    def summaries(self, keys: Collection[bytes]) -> list[tuple[bytes, bytes, str]]:
        """(text key, summary key, summary) of the stored chunks of code with these text keys, each once."""
        rows = self._read(
            "SELECT DISTINCT c.text_key, n.summary_key, n.summary FROM chunks c JOIN notes n ON n.chunk_id = c.id"
            " WHERE c.text_key = ANY (%s) AND length(n.summary_key) > 0",
            (list(keys),),
        )
        return [(bytes(text_key), bytes(summary_key), summary) for text_key, summary_key, summary in rows]

    def missing_vectors(self, model: Model, keys: Collection[bytes]) -> set[bytes]:
        """Those of `keys` for which there is no vector of `model`."""
        return self._connections.read(
            lambda connection: stored_vectors.missing(
                connection, stored_vectors.find_model(connection, model), keys
            )
        )

    def active_model(self) -> Model | None:
        """The model whose vectors are searched; None in a new database."""
        active = self._connections.known("model", stored_vectors.active_model)
        return active[1] if active else None

    def unembedded(self, model: Model, limit: int, document: int | None = None) -> list[tuple[bytes, int]]:
        """Up to `limit` (key, chunk id) of chunks that have no vector of `model`, oldest first."""
        return self._unembedded("text_key", "id", "chunks", "document_id = %s", model, limit, document)

    def unembedded_paths(
        self, model: Model, limit: int, document: int | None = None
    ) -> list[tuple[bytes, int]]:
        """The same for paths: (path key, document id)."""
        return self._unembedded("path_key", "id", "documents", "id = %s", model, limit, document)

    def unembedded_summaries(
        self, model: Model, limit: int, document: int | None = None
    ) -> list[tuple[bytes, int]]:
        """The same for the summaries of chunks of code: (summary key, chunk id)."""
        of = "chunk_id IN (SELECT id FROM chunks WHERE document_id = %s)"
        return self._unembedded("summary_key", "chunk_id", "notes", of, model, limit, document)

    def _unembedded(
        self, key: str, id_: str, table: str, of: str, model: Model, limit: int, document: int | None
    ) -> list[tuple[bytes, int]]:
        values: list[Any] = [model.name, model.version, model.dimensions]
        if document is not None:
            values.append(int(document))
        rows = self._read(
            f"SELECT {key}, {id_} FROM {table} t WHERE length({key}) > 0 AND NOT EXISTS (SELECT 1 FROM vectors"
            f" WHERE key = t.{key} AND model_id = (SELECT id FROM models WHERE name = %s AND version = %s"
            f" AND dimensions = %s)) {'' if document is None else f'AND {of}'} ORDER BY {id_} LIMIT %s",
            (*values, limit),
        )
        return [(bytes(found), number) for found, number in rows]

    def waiting(self, limit: int | None = None) -> list[int]:
        """Ids of the documents that were written with `later` and still lack a vector, ascending."""
        rows = self._read("SELECT document_id FROM waiting ORDER BY document_id LIMIT %s", (limit,))
        return [id_ for (id_,) in rows]

    def fill(self, model: Model, vectors: Mapping[bytes, Vector]) -> int:
        """Keep vectors that documents wait for; how many documents have all of theirs now."""

        def work(connection: Connection, state: State) -> int:
            active = stored_vectors.active_model(connection)
            if active is None or active[1] != model:
                raise StoreError(
                    f"the index is searched with {active and active[1]}, not with {model}: reembed it"
                )
            return self._keep_vectors(connection, state, active[0], model, vectors)

        return int(self._write(work))

    def add_vectors(self, model: Model, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors of a model that is not active yet; if it is, as `fill`. What nothing uses is passed over."""
        if not vectors:
            return
        self._write(
            lambda connection, state: self._keep_vectors(
                connection, state, stored_vectors.ensure_model(connection, model), model, vectors
            )
        )

    def _keep_vectors(
        self, connection: Connection, state: State, model_id: int, model: Model, vectors: Mapping[bytes, Vector]
    ) -> int:
        used = stored_vectors.referenced(connection, vectors.keys())
        came = stored_vectors.missing(connection, model_id, used)
        stored_vectors.add(connection, model_id, model, {key: vectors[key] for key in came})
        if state.active_model != model_id:
            return 0
        return complete_documents(connection, state, self._deriver(), came)

    def activate(self, model: Model) -> None:
        """Switch to `model` and drop every other model's vectors, at once. Every chunk must have its vector.

        What search looks up is made, and indexed, before the switch: those who search meanwhile do not wait.
        """

        def work(connection: Connection, state: State) -> None:
            model_id = stored_vectors.ensure_model(connection, model)
            lacking = connection.execute(
                "SELECT (SELECT count(*) FROM chunks c WHERE NOT EXISTS"
                " (SELECT 1 FROM vectors WHERE key = c.text_key AND model_id = %(model)s)),"
                " (SELECT count(*) FROM notes n WHERE length(summary_key) > 0 AND NOT EXISTS"
                " (SELECT 1 FROM vectors WHERE key = n.summary_key AND model_id = %(model)s)),"
                " (SELECT count(*) FROM documents d WHERE length(path_key) > 0 AND NOT EXISTS"
                " (SELECT 1 FROM vectors WHERE key = d.path_key AND model_id = %(model)s))",
                {"model": model_id},
            ).fetchone()
            chunks, summaries, paths = lacking or (0, 0, 0)
            if chunks or summaries or paths:
                raise StoreError(
                    f"{chunks} chunks, {summaries} summaries and {paths} paths have no vector of {model} yet;"
                    " embed them first"
                )
            if state.active_model != model_id:
                there = vector_indexes(connection, stored_vectors.points(state.active_model or 0))
                set_active(connection, state, model_id, model)
                kind = chosen(self._tuning, there)
                replace_points(connection, self._deriver(), model_id, model.dimensions, kind)
            stored_vectors.drop_other_models(connection, model_id)
            connection.execute("DELETE FROM waiting")  # all have their vectors, of this model

        self._write(work)

    # ------------------------------------------------------------------ reading

    def find(self, collection: str, uri: str) -> DocumentInfo | None:
        """The document of this name, if there is one."""
        found = self._documents("d.collection = %s AND d.uri = %s", (to_text(collection), to_text(uri)))
        return found[0] if found else None

    def document(self, document_id: int) -> DocumentInfo | None:
        """The document with this id, if there is one."""
        found = self._documents("d.id = %s", (int(document_id),))
        return found[0] if found else None

    def documents(
        self, where: Filter = _EVERYTHING, limit: int | None = None, offset: int = 0
    ) -> list[DocumentInfo]:
        """Documents by collection and path."""
        condition, values = filter_sql(where)
        return self._documents(
            f"{condition} ORDER BY d.collection, d.path, d.id LIMIT %s OFFSET %s", (*values, limit, offset)
        )

    def _documents(self, condition: str, values: Sequence[Any]) -> list[DocumentInfo]:
        rows = self._read(f"SELECT {_DOCUMENT_COLUMNS} FROM documents d WHERE {condition}", values)
        found = [document_info(row) for row in rows]
        # In JSON what stands for a NUL was escaped once more.
        return [replace(info, tags=tuple(from_text(tag) or "" for tag in info.tags)) for info in found]

    def text(self, document_id: int) -> str:
        """The whole text of a document, exactly as it was parsed."""
        with self.snapshot():
            tail = self._read("SELECT tail FROM documents WHERE id = %s", (int(document_id),))
            if not tail:
                raise NotFound(f"there is no document {document_id}")
            pieces = self._read(
                "SELECT start_offset, gap, text FROM chunks WHERE document_id = %s ORDER BY position",
                (int(document_id),),
            )
        return join_text(((start, gap, text) for start, gap, text in pieces), tail[0][0])

    def chunks(self, chunk_ids: Sequence[int]) -> list[StoredChunk]:
        """These chunks, in the order asked for; those that are gone are left out."""
        return self._chunks(
            f"unnest(%s::bigint[]) WITH ORDINALITY AS j (id, place) JOIN chunks c ON c.id = j.id {_NOTES}"
            " ORDER BY j.place",
            [int(id_) for id_ in chunk_ids],
        )

    def chunks_of(self, document_id: int) -> list[StoredChunk]:
        """The chunks of a document in order; none if there is no such document."""
        return self._chunks(f"chunks c {_NOTES} WHERE c.document_id = %s ORDER BY c.position", int(document_id))

    def _chunks(self, source: str, value: object) -> list[StoredChunk]:
        with self.snapshot():
            rows = self._read(f"SELECT {CHUNK_COLUMNS}, {NOTE_COLUMNS} FROM {source}", (value,))
            owners = sorted({row[1] for row in rows})
            documents = self._documents("d.id = ANY (%s)", (owners,)) if owners else []
        by_id = {document.id: document for document in documents}
        return [stored_chunk(row, by_id) for row in rows]

    def states(self, collection: str, root: str | None = None) -> dict[str, FileState]:
        """uri → state of every document of a collection, or of those below a root.

        Below it is what was added with this root, and files that lie in it whatever root they were added with.
        """
        condition, values = "collection = %s", [to_text(collection)]
        if root is not None:
            below = root.rstrip(os.sep)
            condition += " AND (root = %s OR (origin = 'file' AND uri > %s AND uri < %s))"
            values += [to_text(root), to_text(below + os.sep), to_text(below + chr(ord(os.sep) + 1))]
        rows = self._read(f"SELECT uri, id, mtime_ns, size, sha256 FROM documents WHERE {condition}", values)
        return {uri: FileState(id_, mtime_ns, size, sha256) for uri, id_, mtime_ns, size, sha256 in rows}

    def roots(self) -> list[tuple[str, str]]:
        """(collection, root) of every folder that documents came from."""
        rows = self._read(
            "SELECT DISTINCT collection, root FROM documents WHERE root IS NOT NULL ORDER BY collection, root"
        )
        return [(collection, root) for collection, root in rows]

    def setting(self, name: str) -> str | None:
        """A setting kept with the index."""
        rows = self._read("SELECT value FROM settings WHERE name = %s", (to_text(name),))
        return str(rows[0][0]) if rows else None

    def put_setting(self, name: str, value: str) -> None:
        """Keep a setting with the index."""

        def work(connection: Connection, _: State) -> None:
            connection.execute(
                "INSERT INTO settings (name, value) VALUES (%s, %s)"
                " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (to_text(name), to_text(value)),
            )

        self._write(work)

    def settings(self) -> dict[str, str]:
        """Every setting that is kept with the index."""
        return dict(self._read("SELECT name, value FROM settings"))

    def export(self, after: int, limit: int) -> list[tuple[int, DocumentWrite]]:
        """Documents with id above `after`, ascending, as the writes that make them again; fewer where they are long."""
        with self.snapshot():
            sizes = self._read(
                "SELECT id, chunk_count, char_count FROM documents WHERE id > %s ORDER BY id LIMIT %s",
                (int(after), limit),
            )
            ids = first_batch((id_, chunks, characters) for id_, chunks, characters in sizes)
            tags = self._read("SELECT document_id, tag FROM tags WHERE document_id = ANY (%s)", (ids,))
            return as_writes(
                self._read(f"SELECT {EXPORT_DOCUMENT} FROM documents WHERE id = ANY (%s) ORDER BY id", (ids,)),
                ((id_, tag) for id_, tag in tags),
                self._read(
                    f"SELECT {EXPORT_CHUNK} FROM chunks c {_NOTES} WHERE c.document_id = ANY (%s)"
                    " ORDER BY c.document_id, c.position",
                    (ids,),
                ),
            )

    def kept_vectors(self, model: Model, keys: Collection[bytes]) -> dict[bytes, Vector]:
        """The vectors of `model` that are kept under these keys, as float32 of the stored half floats."""
        return self._connections.read(
            lambda connection: stored_vectors.kept(
                connection, stored_vectors.find_model(connection, model), keys
            )
        )

    def collections(self) -> list[CollectionInfo]:
        """Every collection, by name."""
        rows = self._read(
            "SELECT collection, count(*), sum(chunk_count), max(updated_at) FROM documents"
            " GROUP BY collection ORDER BY collection"
        )
        return [CollectionInfo(*row) for row in rows]

    # ------------------------------------------------------------------ what search needs

    def lineage(self, version: int) -> str | None:
        """This database at that version: a name no other database and no other history of this one has."""
        rows = self._read("SELECT identity, mark FROM state, history WHERE history.version = %s", (version,))
        return f"{rows[0][0]}-{rows[0][1]}" if rows else None

    def version(self) -> int:
        """A number that changes with every committed write, by whatever process."""
        return self._connections.known("version", _version)

    def select(self, where: Filter) -> NDArray[np.int64]:
        """Ids of the documents that pass a filter, ascending."""
        condition, values = filter_sql(where)
        rows = self._look_up(f"SELECT d.id FROM documents d WHERE {condition} ORDER BY d.id", values)
        return np.array([id_ for (id_,) in rows], np.int64)

    def match_phrase(self, phrase: str, among: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Ids of the chunks, of those named or of all, whose text holds these words in this order, ascending.

        Found by the lists of its words, then read: what takes long is a phrase of common words only.
        """
        with self._connections.translated():
            phrase.encode()
        words = phrase_words(phrase)
        if not words:
            return np.zeros(0, np.int64)
        with self.snapshot():
            likely = self._holding(self._deriver().phrase_terms(words))
            if among is not None:
                likely = likely[is_among(likely, np.sort(among))]
            found: list[int] = []
            for start in range(0, len(likely), _PHRASE_CHUNKS):
                part = likely[start : start + _PHRASE_CHUNKS].tolist()
                rows = self._read("SELECT id, text FROM chunks WHERE id = ANY (%s)", (part,))
                found += (id_ for id_, text in rows if holds_phrase(text, words))
        return np.array(sorted(found), np.int64)

    def feed(self, after_chunk: int, limit: int) -> list[FeedRow]:
        """Up to `limit` chunks with id above `after_chunk`, ascending, with vectors of the active model."""
        return feed_rows(
            self._read(
                f"SELECT {FEED_COLUMNS} FROM {FEED_TABLES} WHERE c.id > %s ORDER BY c.id LIMIT %s",
                (int(after_chunk), limit),
            )
        )

    def removals(self, after: int) -> tuple[NDArray[np.int64], int]:
        """Chunk ids removed since log position `after`, and the position now."""
        with self.snapshot():
            rows = self._read("SELECT chunk_id FROM removals WHERE seq > %s ORDER BY seq", (after,))
            now = self._read("SELECT last_removal FROM state")
        return np.array([id_ for (id_,) in rows], dtype=np.int64), int(now[0][0])

    # ------------------------------------------------------------------ care

    def snapshot(self) -> contextlib.AbstractContextManager[None]:
        """Everything this thread reads inside sees one moment of the database; may be nested."""
        return self._connections.snapshot()

    def stats(self) -> StoreStats:
        """Counts of the rows that must agree, and sizes on disk."""
        with self.snapshot():
            return self._connections.read(count_everything)

    def check(self) -> Iterator[str]:
        """Problems found by a full consistency check; none when all is well."""
        with self.snapshot():
            problems = self._connections.read(find_problems)
        return iter(problems)

    def settle(self) -> None:
        """After writes: join short lists, move fresh vectors into the index or build it, if that is worth it."""
        if not self.read_only:
            settle(self._connections, self._tuning)

    def rederive(self) -> None:
        """Make all that is derived again from the truth; who searches meanwhile finds what was there."""
        self._write(lambda connection, _: rederive(connection, self._deriver()))
        self.settle()

    # ------------------------------------------------------------------ who may read

    def grant(self, role: str, collections: Sequence[str] = ()) -> None:
        """Let a role of the database read these collections, or all there are and will be."""
        self._write(lambda connection, _: tenancy.grant(connection, role, collections))

    def revoke(self, role: str) -> int:
        """Let a role see nothing any more; how many grants there were."""
        return int(self._write(lambda connection, _: tenancy.revoke(connection, role)))

    def grants(self) -> list[tuple[str, str | None]]:
        """(role, collection) of every grant; None stands for all collections."""
        return self._connections.read(tenancy.grants)

    def close(self) -> None:
        """Close every connection; using the store afterwards raises StoreError."""
        self._connections.close()
