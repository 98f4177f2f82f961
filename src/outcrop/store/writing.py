"""What happens inside a write transaction: documents come, change and go with all that hangs on them."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import apsw

from outcrop.errors import MissingVectors, StoreError
from outcrop.records import DocumentWrite, Model, Vector
from outcrop.store import filling, keywords, vectors
from outcrop.store.rows import fetch, split_text
from outcrop.store.shaping import (
    CHUNK_FIELDS,
    DOCUMENT_FIELDS,
    NOTE_FIELDS,
    check_shape,
    chunk_rows,
    document_row,
    keys_of,
    note_rows,
)

_INSERT_CHUNK = f"INSERT INTO chunks ({CHUNK_FIELDS}) VALUES ({', '.join('?' * 13)})"
_INSERT_NOTES = f"INSERT INTO notes ({NOTE_FIELDS}) VALUES ({', '.join('?' * 7)})"
_INSERT_DOCUMENT = f"INSERT INTO documents ({DOCUMENT_FIELDS}) VALUES ({', '.join('?' * 20)}) RETURNING id"
_UPDATE_DOCUMENT = f"UPDATE documents SET ({DOCUMENT_FIELDS}) = ({', '.join('?' * 20)}) WHERE id = ?"


def put_documents(
    connection: apsw.Connection,
    writes: Sequence[tuple[DocumentWrite, int | None]],
    new_vectors: Mapping[bytes, Vector],
    model: Model,
    *,
    later: bool = False,
) -> list[int]:
    """Insert documents or, where an id stands beside one, replace that document; their ids, in order.

    With `later` vectors may be missing; the documents that lack one wait for it.
    """
    for write, _ in writes:
        check_shape(write)
    missing, came = _put_vectors(connection, [write for write, _ in writes], new_vectors, model)
    if missing and not later:
        raise MissingVectors(frozenset(missing))
    abandoned = _clear(connection, [id_ for _, id_ in writes if id_ is not None], for_good=False)
    if came and (active := vectors.active_model(connection)):
        filling.complete_documents(connection, active[0], came)
    now = time.time()
    ids: list[int] = []
    tags: list[tuple[int, str]] = []
    rows: list[tuple[Any, ...]] = []
    notes: list[tuple[Any, ...]] = []
    last_chunk = filling.last_chunk_id(connection)
    for write, old_id in writes:
        gaps, tail = split_text(write.document.text, write.chunks)
        document_id = _put_row(connection, write, old_id, tail, now)
        ids.append(document_id)
        tags += ((document_id, tag) for tag in {*write.document.tags, *write.tags})
        first = last_chunk + 1 + len(rows)
        rows += chunk_rows(write, document_id, first, gaps)
        notes += note_rows(write, first)
    connection.executemany("INSERT INTO tags (document_id, tag) VALUES (?, ?)", tags)
    connection.executemany(_INSERT_CHUNK, rows)
    connection.executemany(_INSERT_NOTES, notes)
    keywords.add_rows(connection, ((row[0], row[-1]) for row in rows))
    vectors.drop_unreferenced(connection, abandoned)
    lacking = [
        id_ for id_, (write, _) in zip(ids, writes, strict=True) if not missing.isdisjoint(keys_of(write))
    ]
    filling.wait_for_vectors(connection, lacking)
    return ids


def remove_documents(connection: apsw.Connection, document_ids: Collection[int]) -> int:
    """Delete documents with everything that hangs on them; how many there were."""
    ids = [int(id_) for id_ in document_ids]
    path_keys = fetch(
        connection,
        "SELECT path_key FROM documents WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(ids),),
    )
    if path_keys:
        abandoned = _clear(connection, ids, for_good=True)
        connection.execute(
            "DELETE FROM documents WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(ids),)
        )
        vectors.drop_unreferenced(connection, abandoned)
    return len(path_keys)


def _clear(connection: apsw.Connection, document_ids: Sequence[int], *, for_good: bool) -> set[bytes]:
    """Remove what hangs on these documents, leaving their rows; the vector keys they held on to."""
    if not document_ids:
        return set()
    ids = json.dumps(document_ids)
    mine = "document_id IN (SELECT value FROM json_each(?))"
    abandoned = fetch(
        connection,
        f"SELECT text_key FROM chunks WHERE {mine}"
        f" UNION SELECT summary_key FROM notes WHERE chunk_id IN (SELECT id FROM chunks WHERE {mine})"
        " UNION SELECT path_key FROM documents WHERE id IN (SELECT value FROM json_each(?))",
        (ids, ids, ids),
    )
    keywords.remove_rows(connection, ids, for_good=for_good)
    connection.execute(
        f"INSERT INTO removals (chunk_id) SELECT id FROM chunks WHERE {mine} ORDER BY id", (ids,)
    )
    connection.execute(f"DELETE FROM notes WHERE chunk_id IN (SELECT id FROM chunks WHERE {mine})", (ids,))
    connection.execute(f"DELETE FROM chunks WHERE {mine}", (ids,))
    connection.execute(f"DELETE FROM tags WHERE {mine}", (ids,))
    filling.stop_waiting(connection, ids)
    return {key for (key,) in abandoned}


def _put_vectors(
    connection: apsw.Connection,
    writes: Sequence[DocumentWrite],
    new_vectors: Mapping[bytes, Vector],
    model: Model,
) -> tuple[set[bytes], set[bytes]]:
    """Keep the vectors that are there; the keys that have none, and those that documents before may have waited for."""
    active = vectors.active_model(connection)
    if active is not None and active[1] != model:
        raise StoreError(
            f"the index holds vectors of {active[1]}, this write brings vectors of {model}: "
            f"reembed the index, or go on with {active[1]}"
        )
    model_id = active[0] if active else vectors.ensure_model(connection, model)
    if active is None:
        vectors.set_active(connection, model_id)
    needed = {key for write in writes for key in keys_of(write)}
    given = needed & new_vectors.keys()
    came = vectors.missing(connection, model_id, given) if filling.is_any_waiting(connection) else set()
    vectors.add(connection, model_id, model, {key: new_vectors[key] for key in given})
    return vectors.missing(connection, model_id, needed - given), came


def _put_row(
    connection: apsw.Connection, write: DocumentWrite, old_id: int | None, tail: str, now: float
) -> int:
    before = None
    if old_id is not None:
        before = fetch(connection, "SELECT created_at, updated_at FROM documents WHERE id = ?", (old_id,))[0]
    values = document_row(write, tail, now, before)
    if old_id is None:
        return int(fetch(connection, _INSERT_DOCUMENT, values)[0][0])
    connection.execute(_UPDATE_DOCUMENT, (*values, old_id))
    return old_id
