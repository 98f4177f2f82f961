"""Counts, and the full consistency check: what must agree, and how to say that it does not."""

from __future__ import annotations

from pathlib import Path

import apsw

from outcrop.records import StoreStats
from outcrop.store.keywords import count_rows
from outcrop.store.rows import fetch
from outcrop.store.vectors import ACTIVE

_SAID_CHARS = 300  # a damaged file makes SQLite list a hundred pages; the first few tell enough

# Each counts rows that should not exist.
_PROBLEMS = (
    (
        "SELECT count(*) FROM chunks WHERE id NOT IN (SELECT id FROM keywords_docsize)",
        "{} chunks are not in the keyword index",
    ),
    (
        "SELECT count(*) FROM keywords_docsize WHERE id NOT IN (SELECT id FROM chunks)",
        "{} rows of the keyword index belong to no chunk",
    ),
    (
        f"SELECT count(*) FROM chunks c WHERE NOT EXISTS"
        f" (SELECT 1 FROM vectors WHERE key = c.text_key AND model_id = {ACTIVE})"
        " AND c.document_id NOT IN (SELECT document_id FROM waiting)",
        "{} chunks have no vector of the active model",
    ),
    (
        f"SELECT count(*) FROM documents d WHERE length(d.path_key) > 0 AND NOT EXISTS"
        f" (SELECT 1 FROM vectors WHERE key = d.path_key AND model_id = {ACTIVE})"
        " AND d.id NOT IN (SELECT document_id FROM waiting)",
        "{} documents have no path vector of the active model",
    ),
    (
        "SELECT count(*) FROM vectors v WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE text_key = v.key)"
        " AND NOT EXISTS (SELECT 1 FROM documents WHERE path_key = v.key)"
        " AND NOT EXISTS (SELECT 1 FROM notes WHERE summary_key = v.key)",
        "{} vectors belong to no chunk, no summary and no path",
    ),
    (
        "SELECT count(*) FROM vectors v LEFT JOIN models m ON m.id = v.model_id"
        " WHERE m.id IS NULL OR length(v.vector) != 2 * m.dimensions",
        "{} vectors do not have the size of their model",
    ),
    (
        f"SELECT count(*) FROM notes n WHERE length(n.summary_key) > 0 AND NOT EXISTS"
        f" (SELECT 1 FROM vectors WHERE key = n.summary_key AND model_id = {ACTIVE})"
        " AND n.chunk_id NOT IN"
        " (SELECT c.id FROM waiting JOIN chunks c ON c.document_id = waiting.document_id)",
        "{} summaries have no vector of the active model",
    ),
    (
        "SELECT count(*) FROM waiting WHERE document_id NOT IN (SELECT id FROM documents)",
        "{} documents that wait for vectors are not there",
    ),
    (
        "SELECT count(*) FROM notes WHERE chunk_id NOT IN (SELECT id FROM chunks)",
        "{} notes belong to no chunk",
    ),
    (
        "SELECT count(*) FROM chunks WHERE document_id NOT IN (SELECT id FROM documents)",
        "{} chunks belong to no document",
    ),
    (
        "SELECT count(*) FROM tags WHERE document_id NOT IN (SELECT id FROM documents)",
        "{} tags belong to no document",
    ),
    (
        "SELECT count(*) FROM documents d WHERE chunk_count !="
        " (SELECT count(*) FROM chunks WHERE document_id = d.id)",
        "{} documents do not have as many chunks as they should",
    ),
    (
        "SELECT count(*) FROM documents d WHERE char_count != length(CAST(tail AS TEXT))"
        " + coalesce((SELECT max(end_offset) FROM chunks WHERE document_id = d.id), 0)"
        " AND instr(tail, char(0)) = 0",  # length() stops at a NUL
        "{} documents do not have as many characters as they should",
    ),
    (
        "SELECT count(*) FROM (SELECT start_offset, end_offset, lag(start_offset) OVER"
        " (PARTITION BY document_id ORDER BY position) AS before FROM chunks)"
        " WHERE end_offset < start_offset OR start_offset < before",
        "{} chunks are out of order in their document",
    ),
    (
        "SELECT count(*) FROM removals WHERE chunk_id IN (SELECT id FROM chunks)",
        "{} chunks are listed as removed but are there",
    ),
)


def find_problems(connection: apsw.Connection) -> list[str]:
    """One sentence for each thing that is wrong; run it inside a snapshot."""
    # FTS5 notices what other connections wrote when a query opens it, not when the check does: open it first.
    fetch(connection, "SELECT rowid FROM keywords LIMIT 1")
    said = [str(line) for (line,) in connection.execute("PRAGMA integrity_check")]  # the keyword index included
    problems = [f"SQLite: {_shorten(line)}" for line in said if line != "ok"]
    for sql, sentence in _PROBLEMS:
        (count,) = fetch(connection, sql)[0]
        if count:
            problems.append(sentence.format(count))
    return problems


def _shorten(line: str) -> str:
    return line if len(line) <= _SAID_CHARS else f"{line[:_SAID_CHARS]} … and more"


def count_everything(connection: apsw.Connection, path: Path) -> StoreStats:
    """The counts that must agree, and sizes; run it inside a snapshot."""

    def count(sql: str) -> int:
        return int(fetch(connection, sql)[0][0])

    files = (path, path.with_name(path.name + "-wal"))
    return StoreStats(
        documents=count("SELECT count(*) FROM documents"),
        chunks=count("SELECT count(*) FROM chunks"),
        chunks_with_vector=count(
            f"SELECT count(*) FROM chunks c JOIN vectors v ON v.key = c.text_key AND v.model_id = {ACTIVE}"
        ),
        keyword_rows=count_rows(connection),
        vectors=count("SELECT count(*) FROM vectors"),
        bytes_on_disk=sum(file.stat().st_size for file in files if file.exists()),
        schema_version=count("PRAGMA user_version"),
    )
