"""The tables, and the numbered steps by which an older database becomes a current one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import apsw

from outcrop.errors import NewerDatabase, StoreError
from outcrop.records.meta import Meta, load_meta
from outcrop.store.rows import fetch, meta_rows

log = logging.getLogger(__name__)

APPLICATION_ID = 0x4F555443
"""`OUTC` in ASCII, in the file's header, so that another program's database is not taken for an index."""

Migration = Callable[[apsw.Connection], None]
"""One step from schema version n to n + 1, run inside the transaction that also sets the version."""

# Why it looks like this:
# - AUTOINCREMENT where an id leaves the store: ids are never used again, so arrays made of them stay true.
# - documents.tail comes last in its row: reading other columns skips its overflow pages.
# - A text is kept once: each chunk holds its text and the gap before it, the document what follows the last. Both are
#   packed, some chunks of a document in one block (chunks.py).
# - documents_by_path covers every column a filter looks at, so `select` never reads the wide table.
# - A content address stands in one place, contents, where it has a number; vectors is a plain rowid table that is only
#   appended to (vectors.py).
# - A document stands in pending while a vector of its own is still to be made: that is the queue, and what tells a
#   document that waits from one that was damaged.
# - history draws a number for each version: a database restored from a copy and written again reaches the same
#   versions by another way, and what was derived from the first must not be taken for the second's.
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

CREATE TABLE folders (
    collection TEXT NOT NULL,
    root TEXT NOT NULL,
    tags TEXT NOT NULL,
    survey TEXT NOT NULL,
    PRIMARY KEY (collection, root)
) STRICT;
CREATE TABLE history (version INTEGER PRIMARY KEY, mark INTEGER NOT NULL) STRICT;
CREATE TABLE identity (value TEXT NOT NULL) STRICT;

CREATE TABLE models (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    UNIQUE (name, version, dimensions)
) STRICT;

CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection TEXT NOT NULL,
    uri TEXT NOT NULL,
    path TEXT NOT NULL,
    origin TEXT NOT NULL,
    root TEXT,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    meta TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    mtime_ns INTEGER,
    size INTEGER,
    dated_at REAL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    chunk_count INTEGER NOT NULL,
    char_count INTEGER NOT NULL,
    path_id INTEGER,
    language TEXT NOT NULL,
    role TEXT NOT NULL,
    tail TEXT NOT NULL,
    UNIQUE (collection, uri)
) STRICT;
CREATE INDEX documents_by_path
    ON documents (collection, path, kind, language, dated_at, mtime_ns, created_at);
CREATE INDEX documents_by_path_id ON documents (path_id) WHERE path_id IS NOT NULL;

CREATE TABLE tags (
    document_id INTEGER NOT NULL,
    tag TEXT NOT NULL,
    PRIMARY KEY (document_id, tag)
) STRICT, WITHOUT ROWID;
CREATE INDEX tags_by_tag ON tags (tag);

CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    start_offset INTEGER NOT NULL,
    end_offset INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    page INTEGER,
    line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL,
    content_id INTEGER NOT NULL,
    summary_id INTEGER,
    UNIQUE (document_id, position)
) STRICT;
CREATE INDEX chunks_by_content ON chunks (content_id);
CREATE INDEX chunks_by_summary ON chunks (summary_id) WHERE summary_id IS NOT NULL;

CREATE TABLE text_blocks (first_chunk INTEGER PRIMARY KEY, packed BLOB NOT NULL) STRICT;
CREATE TABLE contents (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE) STRICT;
CREATE TABLE vectors (id INTEGER PRIMARY KEY, vector BLOB NOT NULL) STRICT;
CREATE TABLE pending (document_id INTEGER PRIMARY KEY) STRICT;
CREATE TABLE removals (seq INTEGER PRIMARY KEY AUTOINCREMENT, chunk_id INTEGER NOT NULL) STRICT;

INSERT INTO meta (key, value) VALUES ('version', 1);
INSERT INTO history (version, mark) VALUES (1, random());
INSERT INTO identity (value) VALUES (lower(hex(randomblob(16))));
"""


def _create_tables(connection: apsw.Connection) -> None:
    connection.execute(_TABLES).fetchall()


# Without an index by document: whether any manifest still holds some is asked for all of them at once, and a scan of
# 125 000 rows (50 checkouts of 2 500 files) takes milliseconds.
_MANIFESTS = """
CREATE TABLE manifests (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection TEXT NOT NULL,
    name TEXT NOT NULL,
    repository TEXT NOT NULL,
    branch TEXT NOT NULL,
    revision TEXT NOT NULL,
    UNIQUE (collection, name)
) STRICT;
CREATE TABLE manifest_documents (
    manifest_id INTEGER NOT NULL,
    document_id INTEGER NOT NULL,
    PRIMARY KEY (manifest_id, document_id)
) STRICT, WITHOUT ROWID;
"""


def _create_manifests(connection: apsw.Connection) -> None:
    connection.execute(_MANIFESTS).fetchall()


# By value: what a condition looks up stands together. By document: what a write replaces. A value is text or number.
_META = """
CREATE TABLE meta_values (
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    value ANY NOT NULL,
    document_id INTEGER NOT NULL,
    folded TEXT,
    PRIMARY KEY (key, kind, value, document_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX meta_values_by_document ON meta_values (document_id);
"""
INSERT_META: Final = "INSERT INTO meta_values (document_id, key, kind, value, folded) VALUES (?, ?, ?, ?, ?)"


def _create_meta_values(connection: apsw.Connection) -> None:
    """Older documents have metadata, which could not be looked up."""
    connection.execute(_META).fetchall()
    for document_id, meta in fetch(connection, "SELECT id, meta FROM documents WHERE meta != '{}'"):
        connection.executemany(INSERT_META, meta_value_rows(document_id, load_meta(meta)))


def meta_value_rows(document_id: int, meta: Meta) -> list[tuple[int, str, str, str | float, str | None]]:
    """What is looked up of the metadata of a document, as INSERT_META takes it."""
    return [
        (document_id, key, kind, number if text is None and number is not None else text or "", folded)
        for key, kind, text, number, folded in meta_rows(meta)
    ]


MIGRATIONS: Sequence[Migration] = (_create_tables, _create_manifests, _create_meta_values)
"""Step i brings a database of version i to version i + 1. Append; never edit one that was released.
`tests/store/example_steps.py` shows what a step looks like and how it is tested."""


def schema_version(connection: apsw.Connection) -> int:
    """The version of the database's schema, 0 when it is empty; refuses what is newer than us or not ours."""
    with _one_moment(connection):  # another process may be creating the tables just now
        version, application_id = (int(connection.pragma(name)) for name in ("user_version", "application_id"))
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if application_id != APPLICATION_ID:
        if application_id or version or tables != (0,):
            raise StoreError(
                f"{connection.filename} is a SQLite database of another program; "
                "it was left alone: choose another file for the index"
            )
        return 0
    if version > len(MIGRATIONS):
        raise NewerDatabase(
            f"{connection.filename} has schema version {version}, this Outcrop knows up to {len(MIGRATIONS)}: "
            "upgrade Outcrop, or choose another file for the index"
        )
    return version


def is_current(connection: apsw.Connection) -> bool:
    """Whether the database needs no migration."""
    return schema_version(connection) == len(MIGRATIONS)


@contextmanager
def _one_moment(connection: apsw.Connection) -> Iterator[None]:
    """Everything read inside comes from one snapshot. Not the connection's own context manager: when an error has
    already ended the transaction, that one complains about the missing transaction and hides the error."""
    outermost = not connection.in_transaction
    if outermost:
        connection.execute("BEGIN")
    try:
        yield
    finally:
        if outermost and connection.in_transaction:
            connection.execute("ROLLBACK")


def migrate(connection: apsw.Connection) -> None:
    """Bring the database to the current schema, step by step; several processes may do so at once. Each step is one
    transaction, which also sets the version: killed, the next open resumes with the step that was not finished."""
    while not is_current(connection):
        _take_next_step(connection)


def _take_next_step(connection: apsw.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = schema_version(connection)  # another process may have been first
        if version < len(MIGRATIONS):
            MIGRATIONS[version](connection)
            connection.pragma("application_id", APPLICATION_ID)
            connection.pragma("user_version", version + 1)
            log.info("schema migrated", extra={"from_version": version, "to_version": version + 1})
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
