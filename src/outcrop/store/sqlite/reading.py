"""Reading chunks: their rows, and their texts from the blocks (see text_blocks.py)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final

import apsw

from outcrop.records import DocumentWrite, FeedRow
from outcrop.store.quantized import unpack_halves
from outcrop.store.rows import code_notes, fetch, join_text, split_headings
from outcrop.store.sqlite.text_blocks import BlockEntries, Entry, TextBlocks, unpack_block, unpack_texts
from outcrop.store.sqlite.vectors import ACTIVE_BASE
from outcrop.text.phrases import phrase_finder

_COLUMNS: Final = (
    "c.id, c.document_id, c.position, c.start_offset, c.end_offset, c.tokens, c.line_start, c.line_end, c.page"
)
_BEFORE: Final = "(SELECT max(first_chunk) FROM text_blocks WHERE first_chunk <= {})"
"""SQL for the block that holds a chunk."""
_READ_AT_ONCE: Final = 2048
"""Chunks whose texts are looked through for a phrase at a time: bounds memory."""


_SOME: Final = f"first_chunk IN (SELECT {_BEFORE.format('j.value')} FROM json_each(?) j)"
_BETWEEN: Final = f"first_chunk BETWEEN {_BEFORE.format('?1')} AND ?2"


def entries_of(connection: apsw.Connection, chunk_ids: Iterable[int]) -> TextBlocks[Entry]:
    """The entries of some chunks."""
    return TextBlocks(_blocks(connection, _SOME, json.dumps(sorted(chunk_ids))), BlockEntries)


def _blocks(connection: apsw.Connection, condition: str, *values: str | int) -> list[tuple[int, bytes]]:
    return fetch(
        connection,
        f"SELECT first_chunk, packed FROM text_blocks WHERE {condition} ORDER BY first_chunk",
        values,
    )


def chunk_rows(connection: apsw.Connection, source: str, value: str | int) -> list[tuple[Any, ...]]:
    """The chunks that a join of `chunks c` finds, as `rows.CHUNK_COLUMNS` with `rows.NOTE_COLUMNS` after them."""
    rows = fetch(connection, f"SELECT {_COLUMNS} FROM {source}", (value,))
    entries = entries_of(connection, {row[0] for row in rows})
    found = []
    for row in rows:
        entry = entries[row[0]]
        found.append((*row[:5], entry.text, row[5], entry.headings, *row[6:9], entry.gap, *entry.notes))
    return found


def read_text(connection: apsw.Connection, document_id: int, tail: str) -> str:
    """The text of a document, whose chunks are followed by `tail`."""
    rows = fetch(
        connection,
        "SELECT start_offset, id FROM chunks WHERE document_id = ? ORDER BY position",
        (document_id,),
    )
    entries = entries_of(connection, (id_ for _, id_ in rows))
    found = ((start, entries[id_]) for start, id_ in rows)
    return join_text(((start, entry.gap, entry.text) for start, entry in found), tail)


def feed_rows(connection: apsw.Connection, after_chunk: int, limit: int) -> list[FeedRow]:
    """What `Store.feed` promises. Chunks of one document share their path vector."""
    rows = fetch(
        connection,
        "SELECT c.id, c.document_id, d.kind, d.title, d.path, d.language, d.role, v.vector, s.vector, p.vector"
        " FROM chunks c CROSS JOIN documents d ON d.id = c.document_id"
        f" LEFT JOIN vectors v ON v.id = {ACTIVE_BASE} + c.content_id"
        f" LEFT JOIN vectors s ON s.id = {ACTIVE_BASE} + c.summary_id"
        f" LEFT JOIN vectors p ON p.id = {ACTIVE_BASE} + d.path_id"
        " WHERE c.id > ? ORDER BY c.id LIMIT ?",
        (after_chunk, limit),
    )
    if not rows:
        return []
    entries = TextBlocks(_blocks(connection, _BETWEEN, rows[0][0], rows[-1][0]), unpack_block)
    texts, summaries = unpack_halves([row[7] for row in rows]), unpack_halves([row[8] for row in rows])
    owners = {row[1]: row[9] for row in rows}
    paths = dict(zip(owners, unpack_halves(list(owners.values())), strict=True))
    fed = []
    for row, text, summary in zip(rows, texts, summaries, strict=True):
        chunk_id, document_id, kind, title, path, language, role = row[:7]
        entry = entries[chunk_id]
        fed.append(
            FeedRow(
                *(chunk_id, document_id, kind, title, split_headings(entry.headings), path, entry.text),
                *(text, paths[document_id], summary, language, role, code_notes(entry.notes)),
            )
        )
    return fed


def export_writes(connection: apsw.Connection, after: int, limit: int) -> list[tuple[int, DocumentWrite]]:
    """What `Store.export` promises."""
    from outcrop.store.exporting import DOCUMENT_COLUMNS, as_writes, first_batch

    sizes = "SELECT id, chunk_count, char_count FROM documents WHERE id > ? ORDER BY id LIMIT ?"
    ids = json.dumps(first_batch(connection.execute(sizes, (after, limit))))
    mine = "IN (SELECT value FROM json_each(?))"
    columns = DOCUMENT_COLUMNS.replace(
        "path_key", "coalesce((SELECT key FROM contents WHERE id = path_id), x'')"
    )
    return as_writes(
        fetch(connection, f"SELECT {columns} FROM documents WHERE id {mine} ORDER BY id", (ids,)),
        fetch(connection, f"SELECT document_id, tag FROM tags WHERE document_id {mine}", (ids,)),
        _export_chunks(connection, f"c.document_id {mine} ORDER BY c.document_id, c.position", ids),
    )


def _export_chunks(connection: apsw.Connection, condition: str, ids: str) -> Iterator[tuple[Any, ...]]:
    """The chunks as `exporting.CHUNK_COLUMNS`."""
    rows = fetch(
        connection,
        f"SELECT {_COLUMNS}, k.key, s.key FROM chunks c JOIN contents k ON k.id = c.content_id"
        f" LEFT JOIN contents s ON s.id = c.summary_id WHERE {condition}",
        (ids,),
    )
    entries = entries_of(connection, {row[0] for row in rows})
    for row in rows:
        entry = entries[row[0]]
        yield (
            *(*row[1:5], entry.text, row[5], entry.headings, *row[6:9], entry.gap, *row[9:11]),
            *entry.notes,
        )


def find_summaries(connection: apsw.Connection, keys: Collection[bytes]) -> list[tuple[bytes, bytes, str]]:
    """(text key, summary key, summary) of the chunks of code with these text keys, each once."""
    rows = fetch(
        connection,
        "SELECT k.key, s.key, min(c.id) FROM contents k JOIN chunks c ON c.content_id = k.id"
        " JOIN contents s ON s.id = c.summary_id"
        " WHERE k.key IN (SELECT unhex(value) FROM json_each(?)) GROUP BY k.id, s.id",
        (json.dumps([key.hex() for key in keys]),),
    )
    entries = entries_of(connection, (row[2] for row in rows))
    return [(text_key, summary_key, entries[id_].summary or "") for text_key, summary_key, id_ in rows]


def find_phrase(connection: apsw.Connection, words: Sequence[str], among: Sequence[int] | None) -> list[int]:
    """The chunks, of some or of all, whose text holds these words in this order, ascending."""
    if among is None:
        among = [id_ for (id_,) in fetch(connection, "SELECT id FROM chunks")]
    wanted, holds = sorted(among), phrase_finder(words)
    found: list[int] = []
    for start in range(0, len(wanted), _READ_AT_ONCE):
        part = wanted[start : start + _READ_AT_ONCE]
        known = fetch(
            connection,
            "SELECT id FROM chunks WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
            (json.dumps(part),),
        )
        texts = TextBlocks(_blocks(connection, _SOME, json.dumps(part)), unpack_texts)
        found += (id_ for (id_,) in known if holds(texts[id_]))
    return found
