"""Inside a write transaction: documents are inserted, replaced and removed with everything that belongs to them;
vectors come after their documents; the index switches to another model.

The deriver is made only where it is needed, since making it opens a model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from outcrop.errors import MissingVectors
from outcrop.records import DocumentWrite, Meta, Model, Vector
from outcrop.records.derived import Deriver
from outcrop.store.postgres import vectors as stored_vectors
from outcrop.store.postgres.connections import Connection, State
from outcrop.store.postgres.deriving import derive_chunks, forget_chunks
from outcrop.store.postgres.upkeep import replace_points
from outcrop.store.postgres.values import copy_meta, copy_rows, text_row, to_text
from outcrop.store.postgres.vectors import Tuning, chosen, vector_indexes
from outcrop.store.rows import (
    CHUNK_FIELDS,
    DOCUMENT_FIELDS,
    DROP_EMPTY_MANIFESTS,
    NOTE_FIELDS,
    check_shape,
    chunk_rows,
    document_row,
    keys_of,
    note_rows,
    require_active,
    require_complete,
    require_same_model,
    split_text,
)

_DOCUMENT_TYPES: Final = (
    "int8 int4 text text text text text text text text text int8 int8 float8 float8 float8 int4 int8 bytea text text "
    "text"
).split()
_CHUNK_TYPES: Final = "int4 int8 int8 int4 int8 int8 int4 int4 int4 int4 text bytea text text".split()
_NOTE_TYPES: Final = "int4 int8 text text text text bytea text".split()
_COMPLETED: Final = """
WITH came AS (SELECT unnest(%(came)s::bytea[]) AS key), likely AS (
    SELECT c.document_id AS id FROM came JOIN chunks c ON c.text_key = came.key
    UNION SELECT c.document_id FROM came JOIN notes n ON n.summary_key = came.key JOIN chunks c ON c.id = n.chunk_id
    UNION SELECT d.id FROM came JOIN documents d ON d.path_key = came.key
)
SELECT document_id FROM pending w JOIN likely ON likely.id = w.document_id
WHERE NOT EXISTS (
    SELECT 1 FROM chunks c WHERE c.document_id = w.document_id
    AND NOT EXISTS (SELECT 1 FROM vectors WHERE key = c.text_key AND model_id = %(model)s)
)
AND NOT EXISTS (
    SELECT 1 FROM chunks c JOIN notes n ON n.chunk_id = c.id
    WHERE c.document_id = w.document_id AND length(n.summary_key) > 0
    AND NOT EXISTS (SELECT 1 FROM vectors WHERE key = n.summary_key AND model_id = %(model)s)
)
AND NOT EXISTS (
    SELECT 1 FROM documents d WHERE d.id = w.document_id AND length(d.path_key) > 0
    AND NOT EXISTS (SELECT 1 FROM vectors WHERE key = d.path_key AND model_id = %(model)s)
)
ORDER BY document_id
"""


def put_documents(
    connection: Connection,
    state: State,
    deriver: Deriver,
    writes: Sequence[tuple[DocumentWrite, int | None]],
    new_vectors: Mapping[bytes, Vector],
    model: Model,
    *,
    defer_embedding: bool = False,
) -> list[int]:
    """Insert documents, or replace those that come with an id; their ids, in order. With `defer_embedding` vectors may
    be missing; the documents that lack one wait for it."""
    for write, _ in writes:
        check_shape(write)
    missing, came = _put_vectors(connection, state, [write for write, _ in writes], new_vectors, model)
    if missing and not defer_embedding:
        raise MissingVectors(frozenset(missing))
    old = [id_ for _, id_ in writes if id_ is not None]
    before = _times(connection, old)
    abandoned = _clear(connection, state, old)
    if came:
        complete_documents(connection, state, deriver, came)
    collections = _collections(connection, {write.collection for write, _ in writes})
    now = time.time()
    ids: list[int] = []
    documents: list[tuple[Any, ...]] = []
    tags: list[tuple[int, int, str]] = []
    known: list[tuple[int, int, Meta]] = []
    chunks: list[tuple[Any, ...]] = []
    notes: list[tuple[Any, ...]] = []
    for write, old_id in writes:
        gaps, tail = split_text(write.document.text, write.chunks)
        collection_id = collections[write.collection]
        if old_id is None:
            state.last_document += 1
        document_id = state.last_document if old_id is None else old_id
        ids.append(document_id)
        documents.append((document_id, collection_id, *document_row(write, tail, now, before.get(document_id))))
        tags += ((document_id, collection_id, tag) for tag in {*write.document.tags, *write.tags})
        known.append((document_id, collection_id, write.document.meta))
        first = state.last_chunk + 1
        chunks += ((collection_id, *row) for row in chunk_rows(write, document_id, first, gaps))
        notes += ((collection_id, *row) for row in note_rows(write, first))
        state.last_chunk += len(write.chunks)
    connection.execute("DELETE FROM documents WHERE id = ANY (%s)", (old,))
    _copy(connection, f"documents (id, collection_id, {DOCUMENT_FIELDS})", _DOCUMENT_TYPES, documents)
    _copy(connection, "tags (document_id, collection_id, tag)", ["int8", "int4", "text"], tags)
    copy_meta(connection, known)
    _copy(connection, f"chunks (collection_id, {CHUNK_FIELDS})", _CHUNK_TYPES, chunks)
    _copy(connection, f"notes (collection_id, {NOTE_FIELDS})", _NOTE_TYPES, notes)
    derive_chunks(connection, deriver, [row[1] for row in chunks])
    stored_vectors.drop_unreferenced(connection, abandoned)
    lacking = [
        id_ for id_, (write, _) in zip(ids, writes, strict=True) if not missing.isdisjoint(keys_of(write))
    ]
    if lacking:
        connection.execute("INSERT INTO pending SELECT unnest(%s::bigint[]) ON CONFLICT DO NOTHING", (lacking,))
    return ids


def remove_documents(connection: Connection, state: State, document_ids: Collection[int]) -> int:
    """Delete documents with everything that belongs to them; how many there were."""
    rows = connection.execute(
        "SELECT id FROM documents WHERE id = ANY (%s)", ([int(id_) for id_ in document_ids],)
    ).fetchall()
    ids = [id_ for (id_,) in rows]
    if ids:
        abandoned = _clear(connection, state, ids)
        connection.execute("DELETE FROM documents WHERE id = ANY (%s)", (ids,))
        if connection.execute("DELETE FROM manifest_documents WHERE document_id = ANY (%s)", (ids,)).rowcount:
            connection.execute(DROP_EMPTY_MANIFESTS)
        stored_vectors.drop_unreferenced(connection, abandoned)
    return len(ids)


def find_documents(connection: Connection, names: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """The ids of those documents that are there, by collection and uri."""
    wanted = {(to_text(collection), to_text(uri)): (collection, uri) for collection, uri in names}
    rows = connection.execute(
        "SELECT d.* FROM unnest(%s::text[]) AS u (uri) CROSS JOIN LATERAL"
        " (SELECT collection, uri, id FROM documents WHERE uri = u.uri OFFSET 0) d",
        (list({uri for _, uri in wanted}),),
    )
    return {wanted[collection, uri]: id_ for collection, uri, id_ in rows if (collection, uri) in wanted}


def complete_documents(connection: Connection, state: State, deriver: Deriver, came: Collection[bytes]) -> int:
    """Vectors with these keys arrived: how many pending documents are complete now. Those get new
    ids, each document once and as a whole: whatever follows the store only takes in new ids."""
    if not came:
        return 0
    rows = connection.execute(_COMPLETED, {"came": list(came), "model": state.active_model}).fetchall()
    done = [id_ for (id_,) in rows]
    if not done:
        return 0
    old = connection.execute(
        "SELECT id FROM chunks WHERE document_id = ANY (%s) ORDER BY document_id, position", (done,)
    ).fetchall()
    before = [id_ for (id_,) in old]
    forget_chunks(connection, before)
    _note_removals(connection, state, sorted(before))
    after = list(range(state.last_chunk + 1, state.last_chunk + 1 + len(before)))
    state.last_chunk += len(before)
    for table, column in (("chunks", "id"), ("notes", "chunk_id")):
        connection.execute(
            f"UPDATE {table} t SET {column} = u.after FROM unnest(%s::bigint[], %s::bigint[]) AS u (before, after)"
            f" WHERE t.{column} = u.before",
            (before, after),
        )
    derive_chunks(connection, deriver, after)
    connection.execute("DELETE FROM pending WHERE document_id = ANY (%s)", (done,))
    return len(done)


def _clear(connection: Connection, state: State, document_ids: Sequence[int]) -> set[bytes]:
    """Remove what belongs to these documents, but not their rows; the vector keys they used."""
    if not document_ids:
        return set()
    ids = list(document_ids)
    gone = connection.execute(
        "DELETE FROM chunks WHERE document_id = ANY (%s) RETURNING id, text_key", (ids,), binary=True
    ).fetchall()
    chunk_ids = sorted(row[0] for row in gone)
    summaries = connection.execute(
        "DELETE FROM notes WHERE chunk_id = ANY (%s) RETURNING summary_key", (chunk_ids,), binary=True
    ).fetchall()
    paths = connection.execute(
        "SELECT path_key FROM documents WHERE id = ANY (%s)", (ids,), binary=True
    ).fetchall()
    forget_chunks(connection, chunk_ids)
    _note_removals(connection, state, chunk_ids)
    connection.execute("DELETE FROM tags WHERE document_id = ANY (%s)", (ids,))
    connection.execute("DELETE FROM meta_values WHERE document_id = ANY (%s)", (ids,))
    connection.execute("DELETE FROM pending WHERE document_id = ANY (%s)", (ids,))
    return {bytes(row[-1]) for row in (*gone, *summaries, *paths)} - {b""}


def _note_removals(connection: Connection, state: State, chunk_ids: Sequence[int]) -> None:
    first = state.last_removal + 1
    state.last_removal += len(chunk_ids)
    rows = ((first + i, id_) for i, id_ in enumerate(chunk_ids))
    _copy(connection, "removals (seq, chunk_id)", ["int8", "int8"], rows)


def _times(connection: Connection, document_ids: Sequence[int]) -> dict[int, tuple[float, float]]:
    """When some documents were created and last updated."""
    rows = connection.execute(
        "SELECT id, created_at, updated_at FROM documents WHERE id = ANY (%s)", (list(document_ids),)
    )
    return {id_: (created_at, updated_at) for id_, created_at, updated_at in rows}


def _collections(connection: Connection, names: Collection[str]) -> dict[str, int]:
    """The ids of collections, created if need be."""
    found: dict[str, int] = {}
    for name in names:
        rows = connection.execute("SELECT id FROM collections WHERE name = %s", (to_text(name),)).fetchall()
        if not rows:
            rows = connection.execute(
                "INSERT INTO collections (name) VALUES (%s) RETURNING id", (to_text(name),)
            ).fetchall()
        found[name] = rows[0][0]
    return found


def _put_vectors(
    connection: Connection,
    state: State,
    writes: Sequence[DocumentWrite],
    new_vectors: Mapping[bytes, Vector],
    model: Model,
) -> tuple[set[bytes], set[bytes]]:
    """Keep the vectors that are there; the keys that have none, and those that documents before may have waited for."""
    active = stored_vectors.active_model(connection)
    require_same_model(active, model)
    model_id = active[0] if active else stored_vectors.ensure_model(connection, model)
    if active is None:
        set_active(connection, state, model_id, model)
    needed = {key for write in writes for key in keys_of(write)}
    given = needed & new_vectors.keys()
    waits = connection.execute("SELECT 1 FROM pending LIMIT 1").fetchone() is not None
    came = stored_vectors.missing(connection, model_id, given) if waits else set()
    stored_vectors.add(connection, model_id, model, {key: new_vectors[key] for key in given})
    return stored_vectors.missing(connection, model_id, needed - given), came


def set_active(connection: Connection, state: State, model_id: int, model: Model) -> None:
    """Make this the model whose vectors are searched."""
    state.active_model = model_id
    connection.execute("UPDATE state SET active_model = %s", (model_id,))
    stored_vectors.make_points(connection, model_id, model.dimensions)


def _copy(connection: Connection, target: str, types: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
    copy_rows(connection, target, types, map(text_row, rows))


def fill(
    connection: Connection,
    state: State,
    deriver: Callable[[], Deriver],
    model: Model,
    vectors: Mapping[bytes, Vector],
) -> int:
    """Store vectors of pending documents; how many documents are complete now."""
    model_id = require_active(stored_vectors.active_model(connection), model)
    return keep_vectors(connection, state, deriver, model_id, model, vectors)


def keep_vectors(
    connection: Connection,
    state: State,
    deriver: Callable[[], Deriver],
    model_id: int,
    model: Model,
    vectors: Mapping[bytes, Vector],
) -> int:
    """Store those vectors that something uses; how many pending documents they complete, if the model is active."""
    used = stored_vectors.referenced(connection, vectors.keys())
    came = stored_vectors.missing(connection, model_id, used)
    stored_vectors.add(connection, model_id, model, {key: vectors[key] for key in came})
    if state.active_model != model_id:
        return 0
    return complete_documents(connection, state, deriver(), came)


def switch_model(
    connection: Connection, state: State, deriver: Callable[[], Deriver], model: Model, tuning: Tuning
) -> None:
    """Make this the active model, build what search looks up with it, and drop the vectors of all others."""
    model_id = stored_vectors.ensure_model(connection, model)
    require_complete(model, stored_vectors.count_missing(connection, model_id))
    if state.active_model != model_id:
        there = vector_indexes(connection, stored_vectors.points(state.active_model or 0))
        set_active(connection, state, model_id, model)
        kind = chosen(tuning, there)
        replace_points(connection, deriver(), model_id, model.dimensions, kind)
    stored_vectors.drop_other_models(connection, model_id)
    connection.execute("DELETE FROM pending")  # all have their vectors, of this model
