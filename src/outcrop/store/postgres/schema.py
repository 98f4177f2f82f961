"""The tables on Postgres, and the numbered steps by which an older schema becomes a current one."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from typing import Final
from zlib import crc32

import psycopg
from psycopg import errors, sql

from outcrop.errors import NewerDatabase, StoreError
from outcrop.records.meta import load_meta
from outcrop.store.postgres.connections import Connection
from outcrop.store.postgres.policies import secure_manifests, secure_meta_values, secure_tables
from outcrop.store.postgres.values import copy_meta, from_text

log = logging.getLogger(__name__)

Migration = Callable[[Connection], None]
"""One step from schema version n to n + 1, run inside the transaction that also sets the version."""

MIN_PGVECTOR: Final = (0, 8, 0)
"""The first with iterative scans, without which a filtered search comes back short."""

# Why it looks like this:
# - state is one row. A write locks it, so ids and versions are given out in the order of commits: what follows the
#   database by "ids above the last one seen" misses nothing.
# - Every table that grows has collection_id in its key, so that it can be partitioned, or spread over the machines of a
#   cluster, by collection: then a collection's rows lie together and a search within one asks one machine.
# - Texts sort by code point (COLLATE "C"), as in the other store, and equality is of bytes. NUL is escaped.
# - What is derived for search stands apart (rows, postings, declared, and the points of each model) and can be made
#   again: truth and lookup are never the same column.
# - postings holds a list a row, not a posting a row: a thousand then cost 7 kB instead of 100, and are scored where
#   there is numpy. Lists are short when they are written and joined later (see deriving.py).
# - A model's vectors for search lie in two tables, points (with an index) and fresh (without): a write is never slowed
#   by the index, and a search reads all of the few that are fresh.
_TABLES = """
CREATE TABLE state (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    identity text NOT NULL,
    version bigint NOT NULL,
    last_document bigint NOT NULL,
    last_chunk bigint NOT NULL,
    last_removal bigint NOT NULL,
    active_model int,
    lists_joined bigint NOT NULL DEFAULT 0
);
CREATE TABLE history (version bigint PRIMARY KEY, mark bigint NOT NULL);
CREATE INDEX history_by_mark ON history (mark);
CREATE TABLE settings (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);
CREATE TABLE folders (
    collection text COLLATE "C" NOT NULL,
    root text COLLATE "C" NOT NULL,
    tags text NOT NULL,
    survey text NOT NULL,
    PRIMARY KEY (collection, root)
);
CREATE TABLE models (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    version text COLLATE "C" NOT NULL,
    dimensions int NOT NULL,
    UNIQUE (name, version, dimensions)
);
CREATE TABLE collections (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    chunks bigint NOT NULL DEFAULT 0,
    terms bigint NOT NULL DEFAULT 0
);
CREATE TABLE tenants (role name NOT NULL, collection_id int);

CREATE TABLE documents (
    id bigint NOT NULL,
    collection_id int NOT NULL,
    collection text COLLATE "C" NOT NULL,
    uri text COLLATE "C" NOT NULL,
    path text COLLATE "C" NOT NULL,
    origin text COLLATE "C" NOT NULL,
    root text COLLATE "C",
    kind text COLLATE "C" NOT NULL,
    title text NOT NULL,
    meta text NOT NULL,
    sha256 text NOT NULL,
    mtime_ns bigint,
    size bigint,
    dated_at float8,
    created_at float8 NOT NULL,
    updated_at float8 NOT NULL,
    chunk_count int NOT NULL,
    char_count bigint NOT NULL,
    path_key bytea NOT NULL,
    tail text NOT NULL,
    language text COLLATE "C" NOT NULL,
    role text COLLATE "C" NOT NULL,
    PRIMARY KEY (id, collection_id)
);
CREATE INDEX documents_by_uri ON documents USING hash (uri);
CREATE INDEX documents_by_collection ON documents (collection_id, id);
CREATE INDEX documents_by_path_key ON documents USING hash (path_key);

CREATE TABLE tags (
    document_id bigint NOT NULL,
    collection_id int NOT NULL,
    tag text COLLATE "C" NOT NULL,
    PRIMARY KEY (document_id, tag, collection_id)
);
CREATE INDEX tags_by_tag ON tags USING hash (tag);

CREATE TABLE chunks (
    id bigint NOT NULL,
    collection_id int NOT NULL,
    document_id bigint NOT NULL,
    position int NOT NULL,
    start_offset bigint NOT NULL,
    end_offset bigint NOT NULL,
    tokens int NOT NULL,
    page int,
    line_start int NOT NULL,
    line_end int NOT NULL,
    heading_path text,
    text_key bytea NOT NULL,
    gap text NOT NULL,
    text text NOT NULL,
    PRIMARY KEY (id, collection_id)
);
CREATE INDEX chunks_by_document ON chunks (document_id, position);
CREATE INDEX chunks_by_text_key ON chunks USING hash (text_key);

CREATE TABLE notes (
    chunk_id bigint NOT NULL,
    collection_id int NOT NULL,
    symbol text NOT NULL,
    kind text NOT NULL,
    signature text NOT NULL,
    summary text NOT NULL,
    summary_key bytea NOT NULL,
    names text NOT NULL,
    PRIMARY KEY (chunk_id, collection_id)
);
CREATE INDEX notes_by_summary_key ON notes USING hash (summary_key);

CREATE TABLE vectors (
    model_id int NOT NULL,
    key bytea NOT NULL,
    vector bytea NOT NULL,
    PRIMARY KEY (key, model_id)
);
CREATE TABLE removals (seq bigint PRIMARY KEY, chunk_id bigint NOT NULL);
CREATE TABLE pending (document_id bigint PRIMARY KEY);

CREATE TABLE rows (
    chunk_id bigint NOT NULL,
    collection_id int NOT NULL,
    document_id bigint NOT NULL,
    position int NOT NULL,
    code boolean NOT NULL,
    length int NOT NULL,
    words bytea NOT NULL,
    facts bytea NOT NULL,
    PRIMARY KEY (chunk_id, collection_id)
);
CREATE INDEX rows_by_document ON rows (document_id, position);

CREATE TABLE postings (
    term bigint NOT NULL,
    collection_id int NOT NULL,
    first_chunk bigint NOT NULL,
    last_chunk bigint NOT NULL,
    count int NOT NULL,
    packed bytea NOT NULL,
    PRIMARY KEY (term, collection_id, first_chunk)
);
ALTER TABLE postings ALTER COLUMN packed SET STORAGE EXTERNAL;

CREATE TABLE declared (
    name bigint NOT NULL,
    collection_id int NOT NULL,
    chunk_id bigint NOT NULL,
    document_id bigint NOT NULL,
    scope bigint NOT NULL,
    kind smallint NOT NULL,
    mark smallint NOT NULL
);
CREATE INDEX declared_by_name ON declared (name, chunk_id);
CREATE INDEX declared_by_chunk ON declared (chunk_id);

INSERT INTO state VALUES (true, replace(gen_random_uuid()::text, '-', ''), 1, 0, 0, 0, NULL, 0);
INSERT INTO history VALUES (1, (random() * 9e18)::bigint);
"""


def _create_tables(connection: Connection) -> None:
    connection.execute(_TABLES)
    secure_tables(connection)


_MANIFESTS = """
CREATE TABLE manifests (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    collection text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    repository text COLLATE "C" NOT NULL,
    branch text COLLATE "C" NOT NULL,
    revision text COLLATE "C" NOT NULL,
    UNIQUE (collection, name)
);
CREATE TABLE manifest_documents (
    manifest_id bigint NOT NULL,
    document_id bigint NOT NULL,
    PRIMARY KEY (manifest_id, document_id)
);
"""


def _create_manifests(connection: Connection) -> None:
    connection.execute(_MANIFESTS)
    secure_manifests(connection)


_META = """
CREATE TABLE meta_values (
    document_id bigint NOT NULL,
    collection_id int NOT NULL,
    key text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    text text COLLATE "C",
    number float8,
    folded text COLLATE "C"
);
CREATE INDEX meta_values_by_document ON meta_values (document_id);
CREATE INDEX meta_values_by_text ON meta_values (key, kind, text) INCLUDE (document_id) WHERE text IS NOT NULL;
CREATE INDEX meta_values_by_number ON meta_values (key, kind, number) INCLUDE (document_id) WHERE number IS NOT NULL;
"""


def _create_meta_values(connection: Connection) -> None:
    """Older documents have metadata, which could not be looked up."""
    connection.execute(_META)
    secure_meta_values(connection)
    stored = connection.execute("SELECT id, collection_id, meta FROM documents WHERE meta != '{}'").fetchall()
    copy_meta(
        connection,
        (
            (document_id, collection_id, load_meta(from_text(meta) or ""))
            for document_id, collection_id, meta in stored
        ),
    )


MIGRATIONS: Sequence[Migration] = (_create_tables, _create_manifests, _create_meta_values)
"""Step i brings a schema of version i to version i + 1. Append; never edit one that was released.
`tests/store/example_steps.py` shows what a step looks like and how it is tested."""


def migrate(connection: Connection, schema: str) -> None:
    """Bring the schema to the current version, step by step; any number of processes may do so at once.

    They take turns by an advisory lock. Each step is one transaction, which also sets the version: killed, the next
    open resumes with the step that was not finished. A role that may not make the schema finds it made, or an error
    that says who must make it.
    """
    while schema_version(connection, schema) < len(MIGRATIONS):
        with connection.transaction():
            _take_next_step(connection, schema)


def _take_next_step(connection: Connection, schema: str) -> None:
    connection.execute(
        "SELECT pg_advisory_xact_lock(%s, %s)", (_LOCK_CLASS, crc32(schema.encode()) & 0x7FFFFFFF)
    )
    version = schema_version(connection, schema)  # another process may have been first
    if version == len(MIGRATIONS):
        return
    _ensure_extension(connection)
    if version == 0:
        connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
        connection.execute("CREATE TABLE schema_version (version int NOT NULL)")
        connection.execute("INSERT INTO schema_version VALUES (0)")
    MIGRATIONS[version](connection)
    connection.execute("UPDATE schema_version SET version = %s", (version + 1,))
    log.info("schema migrated", extra={"from_version": version, "to_version": version + 1})


_LOCK_CLASS: Final = 0x4F555443
"""`OUTC` in ASCII, so that no other program's advisory lock is taken for ours."""


def schema_version(connection: Connection, schema: str) -> int:
    """The version of the schema, 0 when it is not there; refuses what is newer than us or not ours."""
    there, tables = connection.execute(
        "SELECT to_regclass(%s) IS NOT NULL, (SELECT count(*) FROM pg_tables WHERE schemaname = %s)",
        (f'"{schema}".schema_version', schema),
    ).fetchone() or (False, 0)
    if not there:
        if tables:
            raise StoreError(
                f"the schema {schema!r} holds tables of another program; it was left alone:"
                " choose another with ?schema=NAME"
            )
        return 0
    row = connection.execute(
        sql.SQL("SELECT version FROM {}").format(sql.Identifier(schema, "schema_version"))
    ).fetchone()
    version = int(row[0]) if row else 0
    if version > len(MIGRATIONS):
        raise NewerDatabase(
            f"the schema {schema!r} has version {version}, this Outcrop knows up to {len(MIGRATIONS)}: "
            "upgrade Outcrop, or choose another with ?schema=NAME"
        )
    return version


def _ensure_extension(connection: Connection) -> None:
    row = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    if row is None:
        try:
            with connection.transaction():
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        except (errors.InsufficientPrivilege, errors.FeatureNotSupported, errors.UndefinedFile) as error:
            raise StoreError(
                "the database has no extension `vector` (pgvector) and this user cannot add it: "
                f"have CREATE EXTENSION vector run in it ({error.diag.message_primary})"
            ) from error
        except psycopg.Error as error:
            raise StoreError(f"the extension `vector` (pgvector) could not be made: {error}") from error
        row = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    version = tuple(int(part) for part in re.findall(r"\d+", row[0] if row else ""))
    if version < MIN_PGVECTOR:
        least = ".".join(map(str, MIN_PGVECTOR))
        raise StoreError(
            f"pgvector {row and row[0]} is too old, {least} is needed: upgrade it and run ALTER EXTENSION vector UPDATE"
        )
