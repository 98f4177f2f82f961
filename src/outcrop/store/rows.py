"""Rows become records. The column lists stand beside the functions that read them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import apsw
import numpy as np

from outcrop.records import Chunk, CodeNotes, Definition, DocumentInfo, FeedRow, Mention, StoredChunk
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
    return DocumentInfo(*(*row[:8], tuple(json.loads(row[8])), json.loads(row[9]), *row[10:]))


def stored_chunk(row: tuple[Any, ...], documents: Mapping[int, DocumentInfo]) -> StoredChunk:
    """A StoredChunk from CHUNK_COLUMNS with NOTE_COLUMNS after them, and its document."""
    notes = code_notes(row[12:])
    return StoredChunk(*(row[0], documents[row[1]], *row[2:7], split_headings(row[7]), *row[8:12], notes))


def join_names(notes: CodeNotes) -> str:
    """The names a chunk declares and uses, as JSON."""
    return json.dumps((notes.defines, notes.mentions), separators=(",", ":"))


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
    """The ids that a query for one column `id` finds, ascending.

    They cross from SQLite as one text: 200 000 take 16 ms, against 50 ms as that many rows.
    """
    ((joined,),) = fetch(connection, f"SELECT group_concat(id) FROM ({query})", values)
    return np.sort(np.fromstring(joined or "", dtype=np.int64, sep=","))


def join_headings(path: tuple[str, ...]) -> str | None:
    """A heading path as one text; None for an empty one."""
    return _HEADINGS.join(title.replace(_HEADINGS, " ") for title in path) if path else None


def split_headings(joined: str | None) -> tuple[str, ...]:
    """What `join_headings` joined."""
    return () if joined is None else tuple(joined.split(_HEADINGS))


def stated_date(meta: Mapping[str, str]) -> float | None:
    """The date a document states for itself (`date`, ISO 8601, UTC unless it says otherwise), if it does."""
    try:
        date = datetime.fromisoformat(meta["date"].strip())
    except (KeyError, ValueError):
        return None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


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
