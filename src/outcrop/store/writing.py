"""What happens inside a write transaction: documents come, change and go with all that hangs on them."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import apsw

from outcrop.errors import MissingVectors, StoreError
from outcrop.records import DocumentWrite, Model, Vector
from outcrop.store import filling, keywords, vectors
from outcrop.store.rows import fetch, join_headings, join_names, split_text, stated_date

_INSERT_CHUNK = """
INSERT INTO chunks (id, document_id, position, start_offset, end_offset, tokens, page, line_start, line_end,
                    heading_path, text_key, gap, text)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

_INSERT_NOTES = """
INSERT INTO notes (chunk_id, symbol, kind, signature, summary, summary_key, names) VALUES (?, ?, ?, ?, ?, ?, ?)
"""

_COLUMNS = (
    "collection, uri, path, origin, root, kind, title, meta, sha256, mtime_ns, size, dated_at, created_at,"
    " updated_at, chunk_count, char_count, path_key, tail, language, role"
)
_INSERT_DOCUMENT = f"INSERT INTO documents ({_COLUMNS}) VALUES ({', '.join('?' * 20)}) RETURNING id"
_UPDATE_DOCUMENT = f"UPDATE documents SET ({_COLUMNS}) = ({', '.join('?' * 20)}) WHERE id = ?"


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
        _check_shape(write)
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
        rows += _chunk_rows(write, document_id, first, gaps)
        notes += _note_rows(write, first)
    connection.executemany("INSERT INTO tags (document_id, tag) VALUES (?, ?)", tags)
    connection.executemany(_INSERT_CHUNK, rows)
    connection.executemany(_INSERT_NOTES, notes)
    keywords.add_rows(connection, ((row[0], row[-1]) for row in rows))
    vectors.drop_unreferenced(connection, abandoned)
    lacking = [id_ for id_, (write, _) in zip(ids, writes, strict=True) if not missing.isdisjoint(_keys(write))]
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


def _check_shape(write: DocumentWrite) -> None:
    """Chunks must be cut from the text they claim to be cut from: the text is rebuilt from them."""
    if len(write.text_keys) != len(write.chunks):
        raise StoreError(f"{write.file.uri}: {len(write.chunks)} chunks came with {len(write.text_keys)} keys")
    if write.summary_keys and len(write.summary_keys) != len(write.chunks):
        raise StoreError(
            f"{write.file.uri}: {len(write.chunks)} chunks came with {len(write.summary_keys)} summaries"
        )
    text = write.document.text
    for chunk in write.chunks:
        if not 0 <= chunk.start <= chunk.end or text[chunk.start : chunk.end] != chunk.text:
            raise StoreError(f"{write.file.uri}: chunk {chunk.index} is not what its offsets say")


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
    needed = {key for write in writes for key in _keys(write)}
    given = needed & new_vectors.keys()
    came = vectors.missing(connection, model_id, given) if filling.is_any_waiting(connection) else set()
    vectors.add(connection, model_id, model, {key: new_vectors[key] for key in given})
    return vectors.missing(connection, model_id, needed - given), came


def _keys(write: DocumentWrite) -> set[bytes]:
    """The keys of all vectors that a document has; an empty one: the model uses no paths, the chunk has no summary."""
    return {*write.text_keys, *write.summary_keys, write.path_key} - {b""}


def _put_row(
    connection: apsw.Connection, write: DocumentWrite, old_id: int | None, tail: str, now: float
) -> int:
    created_at = now if write.created_at is None else write.created_at
    updated_at = now if write.updated_at is None else write.updated_at
    if old_id is not None:
        created_at, before = fetch(
            connection, "SELECT created_at, updated_at FROM documents WHERE id = ?", (old_id,)
        )[0]
        updated_at = max(now, math.nextafter(before, math.inf))  # later even when the clock was set back
    file, document = write.file, write.document
    values = (
        *(write.collection, file.uri, file.path, file.origin, file.root, document.kind, document.title),
        *(json.dumps(dict(document.meta), ensure_ascii=False), write.sha256, file.mtime_ns, file.size),
        *(stated_date(document.meta), created_at, updated_at, len(write.chunks), len(document.text)),
        *(write.path_key, tail, document.outline.language if document.outline else "", document.role),
    )
    if old_id is None:
        return int(fetch(connection, _INSERT_DOCUMENT, values)[0][0])
    connection.execute(_UPDATE_DOCUMENT, (*values, old_id))
    return old_id


def _chunk_rows(
    write: DocumentWrite, document_id: int, first_id: int, gaps: Sequence[str]
) -> list[tuple[Any, ...]]:
    return [
        (
            *(first_id + i, document_id, chunk.index, chunk.start, chunk.end, chunk.tokens, chunk.page),
            *(chunk.line_start, chunk.line_end, join_headings(chunk.heading_path), key, gap, chunk.text),
        )
        for i, (chunk, key, gap) in enumerate(zip(write.chunks, write.text_keys, gaps, strict=True))
    ]


def _note_rows(write: DocumentWrite, first_id: int) -> list[tuple[Any, ...]]:
    keys = write.summary_keys or (b"",) * len(write.chunks)
    return [
        (first_id + i, code.symbol, code.kind, code.signature, code.summary, key, join_names(code))
        for i, (chunk, key) in enumerate(zip(write.chunks, keys, strict=True))
        if (code := chunk.code) is not None
    ]
