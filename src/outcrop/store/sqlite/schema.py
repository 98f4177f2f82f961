"""The tables, and the numbered steps by which an older database becomes a current one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import apsw

from outcrop.errors import NewerDatabase, StoreError
from outcrop.store.sqlite.converting import begin_conversion, finish_conversion

log = logging.getLogger(__name__)

APPLICATION_ID = 0x4F555443
"""`OUTC` in ASCII, in the file's header, so that nobody's other database is taken for an index."""

Migration = Callable[[apsw.Connection], None]
"""One step from schema version n to n + 1, run inside the transaction that also sets the version."""

# Why it looks like this (version 4 changed what is marked so):
# - AUTOINCREMENT where an id leaves the store: ids are never used again, so arrays made of them stay true.
# - documents.tail and chunks.text (until 4) come last in their rows: reading other columns skips their overflow pages.
# - A text is kept once: each chunk holds its text and the gap before it, the document what follows the last.
# - documents_by_path covers every column a filter looks at, so `select` never reads the wide table.
# - vectors is a plain rowid table (until 4 with one index): appended, not scattered (a 512-byte row in a
#   random-order WITHOUT ROWID tree splits pages all the time).
# - history draws a number for each version: a database restored from a copy and written again reaches the same
#   versions by another way, and what was derived from the first must not be taken for the second's.
# - keywords (until 4) serves exact phrases only.
# - Marks (Mn, Mc) belong to words, else Hindi and Thai words fall apart at their vowels.
_TABLES = """
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT;

CREATE TABLE settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE history (
    version INTEGER PRIMARY KEY,
    mark INTEGER NOT NULL
) STRICT;

CREATE TABLE identity (
    value TEXT NOT NULL
) STRICT;

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
    path_key BLOB NOT NULL,
    tail TEXT NOT NULL,
    UNIQUE (collection, uri)
) STRICT;
CREATE INDEX documents_by_path
    ON documents (collection, path, kind, dated_at, mtime_ns, created_at);
CREATE INDEX documents_by_path_key ON documents (path_key);

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
    heading_path TEXT,
    text_key BLOB NOT NULL,
    gap TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (document_id, position)
) STRICT;
CREATE INDEX chunks_by_text_key ON chunks (text_key);

CREATE TABLE vectors (
    id INTEGER PRIMARY KEY,
    model_id INTEGER NOT NULL,
    key BLOB NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (key, model_id)
) STRICT;

CREATE TABLE removals (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    chunk_id INTEGER NOT NULL
) STRICT;

CREATE VIRTUAL TABLE keywords USING fts5 (
    body,
    content = '',
    detail = full,
    tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
);

INSERT INTO meta (key, value) VALUES ('version', 1);
INSERT INTO history (version, mark) VALUES (1, random());
INSERT INTO identity (value) VALUES (lower(hex(randomblob(16))));
"""


def _create_tables(connection: apsw.Connection) -> None:
    connection.execute(_TABLES).fetchall()


# Version 2, source code. A row of notes goes with its chunk. Names are JSON, not rows: fifteen a chunk would cost more
# than all the rest of the write, and only the search arrays ever look a name up. Documents of code written before are
# marked as unknown, so that the next sync reads them again and finds their declarations.
_CODE = """
ALTER TABLE documents ADD COLUMN language TEXT NOT NULL DEFAULT '';
ALTER TABLE documents ADD COLUMN role TEXT NOT NULL DEFAULT '';
UPDATE documents SET mtime_ns = NULL, size = NULL, sha256 = '' WHERE kind = 'code' AND origin = 'file';
DROP INDEX documents_by_path;
CREATE INDEX documents_by_path
    ON documents (collection, path, kind, language, dated_at, mtime_ns, created_at);

CREATE TABLE notes (
    chunk_id INTEGER PRIMARY KEY,
    symbol TEXT NOT NULL,
    kind TEXT NOT NULL,
    signature TEXT NOT NULL,
    summary TEXT NOT NULL,
    summary_key BLOB NOT NULL,
    names TEXT NOT NULL
) STRICT;
CREATE INDEX notes_by_summary_key ON notes (summary_key);
"""


def _add_code(connection: apsw.Connection) -> None:
    connection.execute(_CODE).fetchall()


# Version 3, vectors that come later. A document stands here while a vector of its own is still to be made: that is the
# queue, and what tells a document that waits from one that was damaged.
_WAITING = """
CREATE TABLE waiting (
    document_id INTEGER PRIMARY KEY
) STRICT;
"""


def _add_waiting(connection: apsw.Connection) -> None:
    connection.execute(_WAITING).fetchall()


# Version 4, an index of a million chunks. What chunks say is packed, some of a document in one block (bodies.py);
# vectors have eight bits a dimension (levels.py); a content address stands in one place, where it has a number
# (vectors.py); the words of phrases are looked up in the search arrays, and no longer in an FTS5 table. A database of
# code shrinks to less than half. This step sets the old tables aside, and `finish_conversion` empties them.
MIGRATIONS: Sequence[Migration] = (_create_tables, _add_code, _add_waiting, begin_conversion)
"""Step i brings a database of version i to version i + 1. Append; never edit one that was released. A step after the
fourth that needs chunks has to call `finish_conversion` first."""


_CONVERTED = 4
"""The version whose step leaves a conversion to be finished."""


def schema_version(connection: apsw.Connection, known: int = len(MIGRATIONS)) -> int:
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
    if version > known:
        raise NewerDatabase(
            f"{connection.filename} has schema version {version}, this Outcrop knows up to {known}: "
            "upgrade Outcrop, or choose another file for the index"
        )
    return version


@contextmanager
def _one_moment(connection: apsw.Connection) -> Iterator[None]:
    """All that is read inside is of one moment. Not the connection's own block: after an error that ended the
    transaction that says there is none, and not what the error was."""
    outermost = not connection.in_transaction
    if outermost:
        connection.execute("BEGIN")
    try:
        yield
    finally:
        if outermost and connection.in_transaction:
            connection.execute("ROLLBACK")


def migrate(connection: apsw.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the database to the current schema in one transaction, then convert what is in it, some documents at a
    time; several processes may do so at once. A kill leaves the old schema, or a conversion that the next goes on with.
    """
    version = schema_version(connection, len(migrations))
    if version != len(migrations):
        _take_steps(connection, migrations)
    if len(migrations) >= _CONVERTED:
        finish_conversion(connection)


def _take_steps(connection: apsw.Connection, migrations: Sequence[Migration]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = schema_version(connection, len(migrations))  # another process may have been first
        for step in migrations[version:]:
            step(connection)
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", len(migrations))
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    if version != len(migrations):
        log.info("schema migrated", extra={"from_version": version, "to_version": len(migrations)})
