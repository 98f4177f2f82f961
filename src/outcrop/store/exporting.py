"""Documents as the writes that make them again, for another store."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import groupby
from operator import itemgetter
from typing import Any

import apsw

from outcrop.records import Chunk, Document, DocumentWrite, Outline, SourceFile
from outcrop.store.rows import NOTE_COLUMNS, code_notes, fetch, join_text, split_headings

BATCH_CHARACTERS = 4_000_000
BATCH_CHUNKS = 1024
"""What the documents of one answer hold together at most, unless it is a single one: bounds memory, and the transaction
that writes them. As large as a batch of an ingest."""

_MINE = "IN (SELECT value FROM json_each(?))"
_DOCUMENTS = f"""
SELECT id, collection, uri, path, origin, root, kind, title, meta, sha256, mtime_ns, size, created_at, updated_at,
       path_key, language, role, tail
FROM documents WHERE id {_MINE} ORDER BY id
"""
_CHUNKS = f"""
SELECT c.document_id, c.position, c.start_offset, c.end_offset, c.text, c.tokens, c.heading_path, c.line_start,
       c.line_end, c.page, c.gap, c.text_key, n.summary_key, {NOTE_COLUMNS}
FROM chunks c LEFT JOIN notes n ON n.chunk_id = c.id WHERE c.document_id {_MINE} ORDER BY c.document_id, c.position
"""


def export_documents(connection: apsw.Connection, after: int, limit: int) -> list[tuple[int, DocumentWrite]]:
    """The next documents by id, as many as `limit` and the size of a batch allow; run it inside a snapshot."""
    ids = json.dumps(_next_ids(connection, after, limit))
    tags: dict[int, list[str]] = defaultdict(list)
    for id_, tag in connection.execute(f"SELECT document_id, tag FROM tags WHERE document_id {_MINE}", (ids,)):
        tags[id_].append(tag)
    chunks = {id_: list(rows) for id_, rows in groupby(connection.execute(_CHUNKS, (ids,)), key=itemgetter(0))}
    return [
        (row[0], _write_of(row, tuple(sorted(tags[row[0]])), chunks.get(row[0], [])))
        for row in fetch(connection, _DOCUMENTS, (ids,))
    ]


def _next_ids(connection: apsw.Connection, after: int, limit: int) -> list[int]:
    ids: list[int] = []
    characters = chunks = 0
    sizes = "SELECT id, chunk_count, char_count FROM documents WHERE id > ? ORDER BY id LIMIT ?"
    for id_, more_chunks, more_characters in fetch(connection, sizes, (int(after), limit)):
        characters, chunks = characters + more_characters, chunks + more_chunks
        if ids and (characters > BATCH_CHARACTERS or chunks > BATCH_CHUNKS):
            break
        ids.append(id_)
    return ids


def _write_of(row: tuple[Any, ...], tags: tuple[str, ...], chunks: list[tuple[Any, ...]]) -> DocumentWrite:
    _, collection, uri, path, origin, root, kind, title, meta, sha256, mtime_ns, size = row[:12]
    created_at, updated_at, path_key, language, role, tail = row[12:]
    summary_keys = tuple(chunk[12] or b"" for chunk in chunks)
    return DocumentWrite(
        file=SourceFile(uri, path, origin, root, mtime_ns, size),
        collection=collection,
        document=Document(
            text=join_text(((chunk[2], chunk[10], chunk[4]) for chunk in chunks), tail),
            kind=kind,
            title=title,
            meta=json.loads(meta),
            outline=Outline(language) if language else None,
            role=role,
        ),
        chunks=tuple(
            Chunk(*(*chunk[1:6], split_headings(chunk[6]), *chunk[7:10], code_notes(chunk[13:])))
            for chunk in chunks
        ),
        text_keys=tuple(chunk[11] for chunk in chunks),
        path_key=path_key,
        sha256=sha256,
        tags=tags,
        summary_keys=summary_keys if any(summary_keys) else (),
        created_at=created_at,
        updated_at=updated_at,
    )
