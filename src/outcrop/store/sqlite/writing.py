"""Inside a write transaction: documents are inserted, replaced and removed with everything that belongs to them."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import apsw

from outcrop.errors import MissingVectors
from outcrop.records import DocumentWrite, Model, Vector
from outcrop.store.rows import (
    DOCUMENT_FIELDS,
    DROP_EMPTY_MANIFESTS,
    check_shape,
    document_row,
    fetch,
    join_headings,
    join_names,
    keys_of,
    require_same_model,
    split_text,
)
from outcrop.store.sqlite import vectors
from outcrop.store.sqlite.chunks import Entry, pack_block, split_blocks
from outcrop.store.sqlite.schema import INSERT_META, meta_value_rows

INSERT_CHUNK: Final = (
    "INSERT INTO chunks (id, document_id, position, start_offset, end_offset, tokens, page, line_start, line_end,"
    " content_id, summary_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
INSERT_BLOCK: Final = "INSERT INTO text_blocks (first_chunk, packed) VALUES (?, ?)"
_FIELDS: Final = DOCUMENT_FIELDS.replace("path_key", "path_id")
_PATH: Final = DOCUMENT_FIELDS.split(", ").index("path_key")
_INSERT_DOCUMENT: Final = f"INSERT INTO documents ({_FIELDS}) VALUES ({', '.join('?' * 20)}) RETURNING id"
_UPDATE_DOCUMENT: Final = f"UPDATE documents SET ({_FIELDS}) = ({', '.join('?' * 20)}) WHERE id = ?"


def put_documents(
    connection: apsw.Connection,
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
    contents = vectors.ensure_contents(connection, {key for write, _ in writes for key in keys_of(write)})
    missing, came = _put_vectors(connection, contents, new_vectors, model)
    if missing and not defer_embedding:
        raise MissingVectors(frozenset(missing))
    abandoned = _clear(connection, [id_ for _, id_ in writes if id_ is not None])
    if came and (active := vectors.active_model(connection)):
        vectors.complete_documents(connection, active[0], came)
    now = time.time()
    ids: list[int] = []
    tags: list[tuple[int, str]] = []
    values: list[tuple[Any, ...]] = []
    rows: list[tuple[Any, ...]] = []
    blocks: list[tuple[int, bytes]] = []
    last_chunk = vectors.last_chunk_id(connection)
    for write, old_id in writes:
        gaps, tail = split_text(write.document.text, write.chunks)
        document_id = _put_row(connection, write, contents.get(write.path_key), old_id, tail, now)
        ids.append(document_id)
        tags += ((document_id, tag) for tag in {*write.document.tags, *write.tags})
        values += meta_value_rows(document_id, write.document.meta)
        first = last_chunk + 1 + len(rows)
        rows += _chunk_rows(write, document_id, first, contents)
        blocks += ((first + at, pack_block(part)) for at, part in split_blocks(_entries(write, gaps)))
    connection.executemany("INSERT INTO tags (document_id, tag) VALUES (?, ?)", tags)
    connection.executemany(INSERT_META, values)
    connection.executemany(INSERT_CHUNK, rows)
    connection.executemany(INSERT_BLOCK, blocks)
    vectors.drop_unreferenced(connection, abandoned)
    lacking = [
        id_ for id_, (write, _) in zip(ids, writes, strict=True) if not missing.isdisjoint(keys_of(write))
    ]
    vectors.add_pending(connection, lacking)
    return ids


def remove_documents(connection: apsw.Connection, document_ids: Collection[int]) -> int:
    """Delete documents with everything that belongs to them; how many there were."""
    ids = json.dumps([int(id_) for id_ in document_ids])
    ((count,),) = fetch(
        connection, "SELECT count(*) FROM documents WHERE id IN (SELECT value FROM json_each(?))", (ids,)
    )
    if count:
        abandoned = _clear(connection, json.loads(ids))
        connection.execute("DELETE FROM documents WHERE id IN (SELECT value FROM json_each(?))", (ids,))
        held = "document_id IN (SELECT value FROM json_each(?)) RETURNING manifest_id"
        if fetch(connection, f"DELETE FROM manifest_documents WHERE {held}", (ids,)):
            connection.execute(DROP_EMPTY_MANIFESTS)
        vectors.drop_unreferenced(connection, abandoned)
    return int(count)


def _clear(connection: apsw.Connection, document_ids: Sequence[int]) -> set[int]:
    """Remove what belongs to these documents, but not their rows; the contents they used."""
    if not document_ids:
        return set()
    ids = json.dumps(document_ids)
    mine = "document_id IN (SELECT value FROM json_each(?))"
    abandoned = fetch(
        connection,
        f"SELECT content_id FROM chunks WHERE {mine} UNION SELECT summary_id FROM chunks WHERE {mine}"
        " UNION SELECT path_id FROM documents WHERE id IN (SELECT value FROM json_each(?))",
        (ids, ids, ids),
    )
    connection.execute(
        f"INSERT INTO removals (chunk_id) SELECT id FROM chunks WHERE {mine} ORDER BY id", (ids,)
    )
    connection.execute(
        f"DELETE FROM text_blocks WHERE first_chunk IN (SELECT id FROM chunks WHERE {mine})", (ids,)
    )
    connection.execute(f"DELETE FROM chunks WHERE {mine}", (ids,))
    connection.execute(f"DELETE FROM tags WHERE {mine}", (ids,))
    connection.execute(f"DELETE FROM meta_values WHERE {mine}", (ids,))
    vectors.clear_pending(connection, ids)
    return {number for (number,) in abandoned if number is not None}


def _put_vectors(
    connection: apsw.Connection,
    contents: Mapping[bytes, int],
    new_vectors: Mapping[bytes, Vector],
    model: Model,
) -> tuple[set[bytes], set[int]]:
    """Keep the vectors that are there; the keys of those contents that have none, and the contents whose vectors
    pending documents may have lacked."""
    active = vectors.active_model(connection)
    require_same_model(active, model)
    model_id = active[0] if active else vectors.ensure_model(connection, model)
    if active is None:
        vectors.set_active(connection, model_id)
    given = contents.keys() & new_vectors.keys()
    came = vectors.missing(connection, model_id, given) if vectors.is_any_pending(connection) else set()
    vectors.add(connection, model_id, model, {contents[key]: new_vectors[key] for key in given})
    lacking = vectors.missing(connection, model_id, contents.keys() - given)
    return lacking, {contents[key] for key in came}


def _put_row(
    connection: apsw.Connection,
    write: DocumentWrite,
    path_id: int | None,
    old_id: int | None,
    tail: str,
    now: float,
) -> int:
    before = None
    if old_id is not None:
        before = fetch(connection, "SELECT created_at, updated_at FROM documents WHERE id = ?", (old_id,))[0]
    values = list(document_row(write, tail, now, before))
    values[_PATH] = path_id
    if old_id is None:
        return int(fetch(connection, _INSERT_DOCUMENT, values)[0][0])
    connection.execute(_UPDATE_DOCUMENT, (*values, old_id))
    return old_id


def _chunk_rows(
    write: DocumentWrite, document_id: int, first_id: int, contents: Mapping[bytes, int]
) -> list[tuple[Any, ...]]:
    """The rows of a document's chunks, as INSERT_CHUNK takes them."""
    summaries = write.summary_keys or (b"",) * len(write.chunks)
    return [
        (
            *(first_id + i, document_id, chunk.index, chunk.start, chunk.end, chunk.tokens, chunk.page),
            *(chunk.line_start, chunk.line_end, contents[key]),
            contents.get(summary) if chunk.code is not None else None,
        )
        for i, (chunk, key, summary) in enumerate(zip(write.chunks, write.text_keys, summaries, strict=True))
    ]


def _entries(write: DocumentWrite, gaps: Sequence[str]) -> list[Entry]:
    """The entries of a document's chunks."""
    entries = []
    for chunk, gap in zip(write.chunks, gaps, strict=True):
        headings, code = join_headings(chunk.heading_path), chunk.code
        if code is None:
            entries.append(Entry(gap, chunk.text, headings))
        else:
            notes = (code.symbol, code.kind, code.signature, code.summary, join_names(code))
            entries.append(Entry(gap, chunk.text, headings, *notes))
    return entries
