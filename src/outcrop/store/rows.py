"""Rows become records, records become rows, and what either store refuses. Columns are listed where they are read."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import apsw
import numpy as np

from outcrop.errors import StoreError
from outcrop.records import (
    Chunk,
    CodeNotes,
    Definition,
    DocumentInfo,
    DocumentWrite,
    FeedRow,
    Mention,
    Model,
    StoredChunk,
    Vector,
)
from outcrop.records.meta import Meta, dump_meta, load_meta, read_values, stated_date
from outcrop.store.quantized import check_vectors, pack_vectors, unpack_vectors
from outcrop.system.arrays import NDArray

_HEADINGS = "\x1f"  # the unit separator: no heading holds it once `join_headings` is done

DOCUMENT_COLUMNS = (
    "d.id, d.collection, d.uri, d.path, d.origin, d.root, d.kind, d.title,"
    " (SELECT json_group_array(tag) FROM tags WHERE document_id = d.id),"
    " d.meta, d.sha256, d.mtime_ns, d.size, d.created_at, d.updated_at, d.chunk_count, d.char_count,"
    " d.language, d.role"
)
CHUNK_COLUMNS = (
    "c.id, c.document_id, c.position, c.start_offset, c.end_offset, c.text, c.tokens, c.heading_path,"
    " c.line_start, c.line_end, c.page, c.gap"
)
NOTE_COLUMNS = "n.symbol, n.kind, n.signature, n.summary, n.names"
FEED_COLUMNS = (
    "c.id, c.document_id, d.kind, d.title, c.heading_path, d.path, c.text, v.vector, p.vector, s.vector,"
    f" d.language, d.role, {NOTE_COLUMNS}"
)


def fetch(connection: apsw.Connection, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    """All rows of a query. Asking for all of them ends the statement, and with it the read transaction."""
    return connection.execute(sql, values).fetchall()


def document_info(row: tuple[Any, ...]) -> DocumentInfo:
    """A DocumentInfo from DOCUMENT_COLUMNS."""
    tags = tuple(json.loads(row[8])) if row[8] != "[]" else ()  # most have neither
    meta = load_meta(row[9]) if row[9] != "{}" else {}
    return DocumentInfo(*(*row[:8], tags, meta, *row[10:]))


def stored_chunk(row: tuple[Any, ...], documents: Mapping[int, DocumentInfo]) -> StoredChunk:
    """A StoredChunk from CHUNK_COLUMNS with NOTE_COLUMNS after them, and its document."""
    notes = code_notes(row[12:])
    return StoredChunk(*(row[0], documents[row[1]], *row[2:7], split_headings(row[7]), *row[8:12], notes))


def join_names(notes: CodeNotes) -> str:
    """The names a chunk declares and uses, as JSON."""
    return _NAMES.encode((notes.defines, notes.mentions))


_NAMES: Final = json.JSONEncoder(separators=(",", ":"))


def code_notes(row: Sequence[Any]) -> CodeNotes | None:
    """CodeNotes from NOTE_COLUMNS; None where a chunk has none."""
    if row[0] is None:
        return None
    defines, mentions = json.loads(row[4])
    declared = tuple(map(Definition._make, defines))
    return CodeNotes(*(*row[:4], declared, tuple(map(Mention._make, mentions))))


def feed_rows(rows: Iterable[tuple[Any, ...]]) -> list[FeedRow]:
    """FeedRows from FEED_COLUMNS; chunks of one document share their path vector."""
    fed: list[FeedRow] = []
    shared: dict[int, NDArray[np.float16] | None] = {}
    for row in rows:
        chunk_id, document_id, kind, title, headings, path, text, vector, path_vector, summary_vector = row[:10]
        if document_id not in shared:
            shared[document_id] = _vector(path_vector)
        fed.append(
            FeedRow(
                *(chunk_id, document_id, kind, title, split_headings(headings), path, text),
                *(_vector(vector), shared[document_id], _vector(summary_vector)),
                *(row[10], row[11], code_notes(row[12:])),
            )
        )
    return fed


def _vector(blob: bytes | None) -> NDArray[np.float16] | None:
    return None if blob is None else np.frombuffer(blob, dtype="<f2")


def fetch_ids(connection: apsw.Connection, query: str, values: Sequence[object]) -> NDArray[np.int64]:
    """The ids that a query for one column `id` finds, ascending. They cross from SQLite as one text: 200 000 take 16
    ms, against 50 ms as that many rows."""
    ((joined,),) = fetch(connection, f"SELECT group_concat(id) FROM ({query})", values)
    return np.sort(np.fromstring(joined or "", dtype=np.int64, sep=","))


def join_headings(path: tuple[str, ...]) -> str | None:
    """A heading path as one text; None for an empty one."""
    return _HEADINGS.join(title.replace(_HEADINGS, " ") for title in path) if path else None


def split_headings(joined: str | None) -> tuple[str, ...]:
    """What `join_headings` joined."""
    return () if joined is None else tuple(joined.split(_HEADINGS))


def split_text(text: str, chunks: Iterable[Chunk]) -> tuple[list[str], str]:
    """What lies between the chunks: the gap before each, and the tail after the last."""
    gaps: list[str] = []
    done = 0
    for chunk in chunks:
        gaps.append(text[done : chunk.start])
        done = max(done, chunk.end)
    return gaps, text[done:]


def join_text(pieces: Iterable[tuple[int, str, str]], tail: str) -> str:
    """The whole text again, from (start, gap, text) of each chunk in order; chunks may overlap."""
    parts: list[str] = []
    done = 0
    for start, gap, text in pieces:
        fresh = text[max(0, done - start) :]
        parts += (gap, fresh)
        done = max(done, start + len(text))
    return "".join((*parts, tail))


CHUNK_FIELDS: Final = (
    "id, document_id, position, start_offset, end_offset, tokens, page, line_start, line_end, heading_path,"
    " text_key, gap, text"
)
NOTE_FIELDS: Final = "chunk_id, symbol, kind, signature, summary, summary_key, names"
DOCUMENT_FIELDS: Final = (
    "collection, uri, path, origin, root, kind, title, meta, sha256, mtime_ns, size, dated_at, created_at,"
    " updated_at, chunk_count, char_count, path_key, tail, language, role"
)


DROP_EMPTY_MANIFESTS: Final = (
    "DELETE FROM manifests AS m WHERE NOT EXISTS (SELECT 1 FROM manifest_documents WHERE manifest_id = m.id)"
)
"""A branch whose documents were all removed is forgotten, so that no sync brings it back."""


def check_shape(write: DocumentWrite) -> None:
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


def require_same_model(active: tuple[int, Model] | None, model: Model) -> None:
    """Refuse a write that brings vectors of another model than the active one."""
    if active is not None and active[1] != model:
        raise StoreError(
            f"the index holds vectors of {active[1]}, this write brings vectors of {model}: "
            f"reembed the index, or go on with {active[1]}"
        )


def require_active(active: tuple[int, Model] | None, model: Model) -> int:
    """The id of a model that must be the active one."""
    if active is None or active[1] != model:
        raise StoreError(f"the index is searched with {active and active[1]}, not with {model}: reembed it")
    return active[0]


def require_complete(model: Model, missing: Sequence[int]) -> None:
    """Refuse a switch to a model of which chunks, summaries or paths have no vector."""
    if any(missing):
        chunks, summaries, paths = missing
        raise StoreError(
            f"{chunks} chunks, {summaries} summaries and {paths} paths have no vector of {model} yet;"
            " embed them first"
        )


def keys_of(write: DocumentWrite) -> set[bytes]:
    """The keys of all vectors of a document, without empty ones (a model without paths, a chunk without a summary)."""
    return {*write.text_keys, *write.summary_keys, write.path_key} - {b""}


def document_row(
    write: DocumentWrite, tail: str, now: float, before: tuple[float, float] | None
) -> tuple[Any, ...]:
    """The row of a document, as DOCUMENT_FIELDS; `before` is when the one it replaces was created and updated."""
    created_at = now if write.created_at is None else write.created_at
    updated_at = now if write.updated_at is None else write.updated_at
    if before is not None:
        created_at = before[0]
        updated_at = max(now, math.nextafter(before[1], math.inf))  # later even when the clock was set back
    file, document = write.file, write.document
    return (
        *(write.collection, file.uri, file.path, file.origin, file.root, document.kind, document.title),
        *(dump_meta(document.meta), write.sha256, file.mtime_ns, file.size),
        *(stated_date(document.meta), created_at, updated_at, len(write.chunks), len(document.text)),
        *(write.path_key, tail, document.outline.language if document.outline else "", document.role),
    )


def meta_rows(meta: Meta) -> list[tuple[str, str, str | None, float | None, str | None]]:
    """What is looked up of the metadata of a document: name, kind, text or number, and the text without case where
    that is another."""
    return list(
        dict.fromkeys(
            (key, read.kind[0], read.text, read.number, None if read.folded == read.text else read.folded)
            for key, value in meta.items()
            for read in read_values(value)
        )
    )


def chunk_rows(
    write: DocumentWrite, document_id: int, first_id: int, gaps: Sequence[str]
) -> list[tuple[Any, ...]]:
    """The rows of a document's chunks, as CHUNK_FIELDS."""
    return [
        (
            *(first_id + i, document_id, chunk.index, chunk.start, chunk.end, chunk.tokens, chunk.page),
            *(chunk.line_start, chunk.line_end, join_headings(chunk.heading_path), key, gap, chunk.text),
        )
        for i, (chunk, key, gap) in enumerate(zip(write.chunks, write.text_keys, gaps, strict=True))
    ]


def note_rows(write: DocumentWrite, first_id: int) -> list[tuple[Any, ...]]:
    """What is noted of those chunks that are code, as NOTE_FIELDS."""
    keys = write.summary_keys or (b"",) * len(write.chunks)
    return [
        (first_id + i, code.symbol, code.kind, code.signature, code.summary, key, join_names(code))
        for i, (chunk, key) in enumerate(zip(write.chunks, keys, strict=True))
        if (code := chunk.code) is not None
    ]


def vector_blobs(model: Model, rows: Sequence[Vector]) -> list[bytes]:
    """Vectors as float16, in bytes; refuses what `check_vectors` refuses. Rounded to the eight bits that a file keeps
    of them, which 16 hold exactly: the same documents rank alike wherever they are kept."""
    rounded = unpack_vectors(pack_vectors(check_vectors(model, rows)))
    return [row.tobytes() for row in rounded.astype("<f2")]
