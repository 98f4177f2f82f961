"""Reading documents and chunks, by filters too; whatever takes several queries runs inside one snapshot."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from outcrop.errors import NotFound
from outcrop.records import DocumentInfo, DocumentWrite, Filter, StoredChunk
from outcrop.store.exporting import CHUNK_COLUMNS as EXPORT_CHUNK
from outcrop.store.exporting import DOCUMENT_COLUMNS as EXPORT_DOCUMENT
from outcrop.store.exporting import as_writes, first_batch
from outcrop.store.filters import glob_plain
from outcrop.store.postgres.connections import Connection
from outcrop.store.postgres.values import from_text, plain_row, to_text
from outcrop.store.rows import (
    CHUNK_COLUMNS,
    DOCUMENT_COLUMNS,
    NOTE_COLUMNS,
    document_info,
    join_text,
    stored_chunk,
)

_NOTES: Final = "LEFT JOIN notes n ON n.chunk_id = c.id"
CHUNKS_NAMED: Final = (
    "unnest(%s::bigint[]) WITH ORDINALITY AS j (id, place) JOIN chunks c ON c.id = j.id"
    f" {_NOTES} ORDER BY j.place"
)
"""SQL for the chunks with these ids, in their order."""
CHUNKS_OF: Final = f"chunks c {_NOTES} WHERE c.document_id = %s ORDER BY c.position"
"""SQL for the chunks of a document."""
_DOCUMENT_COLUMNS: Final = DOCUMENT_COLUMNS.replace(
    "json_group_array(tag)", "coalesce(json_agg(tag ORDER BY tag)::text, '[]')"
)


def read_rows(
    connection: Connection, query: str, values: Sequence[Any] | Mapping[str, Any] = ()
) -> list[tuple[Any, ...]]:
    """All rows of one query, texts as they were written."""
    return [plain_row(row) for row in connection.execute(query, values, binary=True).fetchall()]


def read_documents(connection: Connection, condition: str, values: Sequence[Any]) -> list[DocumentInfo]:
    """The documents `d` for which a condition holds."""
    rows = read_rows(connection, f"SELECT {_DOCUMENT_COLUMNS} FROM documents d WHERE {condition}", values)
    found = [document_info(row) for row in rows]
    # In JSON what stands for a NUL was escaped once more.
    return [replace(info, tags=tuple(from_text(tag) or "" for tag in info.tags)) for info in found]


def read_text(connection: Connection, document_id: int) -> str:
    """The whole text of a document, exactly as it was parsed."""
    tail = read_rows(connection, "SELECT tail FROM documents WHERE id = %s", (document_id,))
    if not tail:
        raise NotFound(f"there is no document {document_id}")
    pieces = read_rows(
        connection,
        "SELECT start_offset, gap, text FROM chunks WHERE document_id = %s ORDER BY position",
        (document_id,),
    )
    return join_text(((start, gap, text) for start, gap, text in pieces), tail[0][0])


def read_chunks(connection: Connection, source: str, value: object) -> list[StoredChunk]:
    """Chunks with their documents; `source` is one of the two above."""
    rows = read_rows(connection, f"SELECT {CHUNK_COLUMNS}, {NOTE_COLUMNS} FROM {source}", (value,))
    owners = sorted({row[1] for row in rows})
    documents = read_documents(connection, "d.id = ANY (%s)", (owners,)) if owners else []
    by_id = {document.id: document for document in documents}
    return [stored_chunk(row, by_id) for row in rows]


def find_summaries(connection: Connection, keys: Collection[bytes]) -> list[tuple[bytes, bytes, str]]:
    """(text key, summary key, summary) of the stored chunks of code with these text keys, each once."""
    rows = read_rows(
        connection,
        "SELECT DISTINCT c.text_key, n.summary_key, n.summary FROM chunks c JOIN notes n ON n.chunk_id = c.id"
        " WHERE c.text_key = ANY (%s) AND length(n.summary_key) > 0",
        (list(keys),),
    )
    return [(bytes(text_key), bytes(summary_key), summary) for text_key, summary_key, summary in rows]


def export_writes(connection: Connection, after: int, limit: int) -> list[tuple[int, DocumentWrite]]:
    """Documents with id above `after`, ascending, as the writes that make them again; fewer where they are long."""
    sizes = read_rows(
        connection,
        "SELECT id, chunk_count, char_count FROM documents WHERE id > %s ORDER BY id LIMIT %s",
        (after, limit),
    )
    ids = first_batch((id_, chunks, characters) for id_, chunks, characters in sizes)
    tags = read_rows(connection, "SELECT document_id, tag FROM tags WHERE document_id = ANY (%s)", (ids,))
    return as_writes(
        read_rows(
            connection, f"SELECT {EXPORT_DOCUMENT} FROM documents WHERE id = ANY (%s) ORDER BY id", (ids,)
        ),
        ((id_, tag) for id_, tag in tags),
        read_rows(
            connection,
            f"SELECT {EXPORT_CHUNK} FROM chunks c {_NOTES} WHERE c.document_id = ANY (%s)"
            " ORDER BY c.document_id, c.position",
            (ids,),
        ),
    )


_DATE: Final = "coalesce(d.dated_at, d.mtime_ns / 1e9, d.created_at)"


def filter_sql(where: Filter) -> tuple[str, list[Any]]:
    """A condition on `documents AS d`, and the values to bind in it."""
    conditions: list[str] = []
    values: list[Any] = []

    def need(condition: str, value: object) -> None:
        conditions.append(condition)
        values.append(value)

    if where.collections:
        need("d.collection = ANY (%s)", [to_text(name) for name in where.collections])
    if where.documents:
        need("d.id = ANY (%s)", [int(id_) for id_ in where.documents])
    if where.kinds:
        need("(d.kind = ANY (%s) OR d.language = ANY (%s) AND d.language != '')", list(where.kinds))
        values.append(list(where.kinds))
    for tag in dict.fromkeys(where.tags):
        need("d.id IN (SELECT document_id FROM tags WHERE tag = %s)", to_text(tag))
    if where.manifests:
        held = "SELECT document_id FROM manifest_documents WHERE manifest_id = ANY (%s)"
        need(f"(d.origin != 'tree' OR d.id IN ({held}))", [int(id_) for id_ in where.manifests])
    if where.hidden:
        need("d.id != ALL (%s)", [int(id_) for id_ in where.hidden])
    if where.since is not None:
        need(f"{_DATE} >= %s", where.since)
    if where.until is not None:
        need(f"{_DATE} < %s", where.until)
    if where.paths:  # last, so that it is asked of as few as possible
        need("d.path ~ %s", glob_plain(where.paths))
    return " AND ".join(conditions) or "true", values
