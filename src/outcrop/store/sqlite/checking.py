"""Counts, and the full consistency check."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

import apsw

from outcrop.contracts import Embedded
from outcrop.errors import CorruptDatabase
from outcrop.records import StoreStats
from outcrop.store.rows import fetch
from outcrop.store.sql import RULES, Rule, broken_rules
from outcrop.store.sqlite.chunks import unpack_block
from outcrop.store.sqlite.vectors import ACTIVE_BASE, MODEL_SHIFT, USED

_SAID_CHARS = 300  # a damaged file makes SQLite list a hundred pages; the first few tell enough


def _unembedded(what: Embedded, sentence: str) -> Rule:
    """What must have a vector of the active model, unless its document is pending."""
    table, column, owner = USED[what]
    return (
        f"SELECT count(*) FROM {table} t WHERE t.{column} IS NOT NULL AND NOT EXISTS"
        f" (SELECT 1 FROM vectors WHERE id = {ACTIVE_BASE} + t.{column})"
        f" AND t.{owner} NOT IN (SELECT document_id FROM pending)",
        sentence,
    )


_RULES: Final[tuple[Rule, ...]] = (
    _unembedded("text", "chunks have no vector of the active model: {}"),
    _unembedded("summary", "summaries have no vector of the active model: {}"),
    _unembedded("path", "documents have no path vector of the active model: {}"),
    (
        "SELECT count(*) FROM contents k WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE content_id = k.id)"
        " AND NOT EXISTS (SELECT 1 FROM chunks WHERE summary_id = k.id)"
        " AND NOT EXISTS (SELECT 1 FROM documents WHERE path_id = k.id)",
        "contents belong to no chunk, no summary and no path: {}",
    ),
    (
        "SELECT count(*) FROM (SELECT content_id AS number FROM chunks UNION SELECT summary_id FROM chunks"
        " UNION SELECT path_id FROM documents) WHERE number NOT IN (SELECT id FROM contents)",
        "contents are not there: {}",
    ),
    (
        f"SELECT count(*) FROM vectors WHERE id & ((1 << {MODEL_SHIFT}) - 1) NOT IN (SELECT id FROM contents)",
        "vectors belong to no content: {}",
    ),
    (
        f"SELECT count(*) FROM vectors v LEFT JOIN models m ON m.id = v.id >> {MODEL_SHIFT}"
        " WHERE m.id IS NULL OR length(v.vector) != m.dimensions + 1",
        "vectors do not have the size of their model: {}",
    ),
    (
        "SELECT count(*) FROM chunks WHERE document_id NOT IN (SELECT id FROM documents)",
        "chunks belong to no document: {}",
    ),
    (
        "SELECT count(*) FROM documents d WHERE char_count != length(CAST(tail AS TEXT))"
        " + coalesce((SELECT max(end_offset) FROM chunks WHERE document_id = d.id), 0)"
        " AND instr(tail, char(0)) = 0",  # length() stops at a NUL
        "documents do not have as many characters as they should: {}",
    ),
    *RULES,
)


def find_problems(connection: apsw.Connection) -> list[str]:
    """One sentence for each thing that is wrong; run it inside a snapshot."""
    said = [str(line) for (line,) in connection.execute("PRAGMA integrity_check")]
    problems = [f"SQLite: {_shorten(line)}" for line in said if line != "ok"]
    problems += broken_rules(partial(_count, connection), _RULES)
    return problems + _find_text_problems(connection)


def _find_text_problems(connection: apsw.Connection) -> list[str]:
    """What is wrong with the texts: every block is read and compared with its chunks."""
    damaged = without = beyond = 0
    chunks = connection.execute("SELECT id, document_id, end_offset - start_offset FROM chunks ORDER BY id")
    chunk = next(chunks, None)
    for first, packed in connection.execute("SELECT first_chunk, packed FROM text_blocks ORDER BY first_chunk"):
        while chunk is not None and chunk[0] < first:
            without, chunk = without + 1, next(chunks, None)
        try:
            entries = unpack_block(packed)
        except CorruptDatabase:
            damaged += 1
            continue
        owner = chunk[1] if chunk is not None else None
        for chunk_id, entry in enumerate(entries, first):
            if chunk is None or chunk[:2] != (chunk_id, owner):
                beyond += 1
                continue
            damaged += len(entry.text) != chunk[2]
            chunk = next(chunks, None)
    while chunk is not None:
        without, chunk = without + 1, next(chunks, None)
    return [
        sentence.format(count)
        for sentence, count in (
            ("chunks have no text: {}", without),
            ("texts belong to no chunk: {}", beyond),
            ("texts are damaged: {}", damaged),
        )
        if count
    ]


def _shorten(line: str) -> str:
    return line if len(line) <= _SAID_CHARS else f"{line[:_SAID_CHARS]} … and more"


def count_everything(connection: apsw.Connection, path: Path) -> StoreStats:
    """The counts that must agree, and sizes; run it inside a snapshot."""
    count = partial(_count, connection)
    files = (path, path.with_name(path.name + "-wal"))
    return StoreStats(
        documents=count("SELECT count(*) FROM documents"),
        chunks=count("SELECT count(*) FROM chunks"),
        chunks_with_vector=count(
            f"SELECT count(*) FROM chunks c JOIN vectors v ON v.id = {ACTIVE_BASE} + c.content_id"
        ),
        vectors=count("SELECT count(*) FROM vectors"),
        bytes_on_disk=sum(file.stat().st_size for file in files if file.exists()),
        schema_version=count("PRAGMA user_version"),
    )


def _count(connection: apsw.Connection, query: str) -> int:
    return int(fetch(connection, query)[0][0])
