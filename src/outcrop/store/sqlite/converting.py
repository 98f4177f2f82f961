"""From schema version 3 to 4, whose chunks are packed: some documents at a time, each time in one transaction.

The step from one version to the other sets the old tables aside; here they are emptied into the new ones. Who opens the
database goes on where another stopped, or was killed. Until it is done nobody reads or writes anything else.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import apsw
import numpy as np

from outcrop.store.exporting import first_batch
from outcrop.store.quantized import pack_vectors
from outcrop.store.rows import fetch
from outcrop.store.sqlite.text_blocks import Body, pack_block, split_blocks
from outcrop.store.sqlite.vectors import MODEL_SHIFT, ensure_contents
from outcrop.store.sqlite.writing import INSERT_BLOCK, INSERT_CHUNK

_FREED_AT_ONCE: Final = 16_384
"""Pages given back in one go, 64 MB: bounds the log."""

_BEGIN: Final = """
DROP TABLE keywords;
DROP INDEX chunks_by_text_key;
DROP INDEX notes_by_summary_key;
ALTER TABLE chunks RENAME TO chunks_3;
ALTER TABLE notes RENAME TO notes_3;
ALTER TABLE vectors RENAME TO vectors_3;

CREATE TABLE contents (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE
) STRICT;

CREATE TABLE vectors (
    id INTEGER PRIMARY KEY,
    vector BLOB NOT NULL
) STRICT;

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

CREATE TABLE blocks (
    first_chunk INTEGER PRIMARY KEY,
    packed BLOB NOT NULL
) STRICT;

INSERT INTO sqlite_sequence (name, seq) SELECT 'chunks', seq FROM sqlite_sequence WHERE name = 'chunks_3';
ALTER TABLE documents ADD COLUMN path_id INTEGER;
INSERT INTO meta (key, value) VALUES ('converting', 0);
"""
_END: Final = """
DROP TABLE chunks_3;
DROP TABLE notes_3;
DROP TABLE vectors_3;
DROP INDEX documents_by_path_key;
ALTER TABLE documents DROP COLUMN path_key;
CREATE INDEX documents_by_path_id ON documents (path_id) WHERE path_id IS NOT NULL;
DELETE FROM meta WHERE key = 'converting';
"""


def begin_conversion(connection: apsw.Connection) -> None:
    """Set the tables of version 3 aside, within the transaction that makes it version 4."""
    connection.execute(_BEGIN).fetchall()


def is_converting(connection: apsw.Connection) -> bool:
    """Whether documents of version 3 are left."""
    return _progress(connection) is not None


def finish_conversion(connection: apsw.Connection) -> None:
    """Convert what is left; several processes may do so at once."""
    converted = False
    while is_converting(connection):
        connection.execute("BEGIN IMMEDIATE")
        try:
            _convert_some(connection)
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        converted = True
    if converted:
        _give_back(connection)


def _progress(connection: apsw.Connection) -> int | None:
    """The last document that is converted; None when all are."""
    rows = fetch(connection, "SELECT value FROM meta WHERE key = 'converting'")
    return int(rows[0][0]) if rows else None


def _convert_some(connection: apsw.Connection) -> None:
    """The next documents, or the end, in the transaction of the caller."""
    done = _progress(connection)  # another process may have been faster
    if done is None:
        return
    sizes = "SELECT id, chunk_count, char_count FROM documents WHERE id > ? ORDER BY id LIMIT 1024"
    ids = first_batch(connection.execute(sizes, (done,)))
    if not ids:
        connection.execute(_END).fetchall()
        return
    documents = fetch(
        connection, "SELECT id, path_key FROM documents WHERE id BETWEEN ? AND ?", (ids[0], ids[-1])
    )
    rows = fetch(
        connection,
        "SELECT c.*, n.symbol, n.kind, n.signature, n.summary, n.names, n.summary_key FROM chunks_3 c"
        " LEFT JOIN notes_3 n ON n.chunk_id = c.id WHERE c.document_id BETWEEN ? AND ?"
        " ORDER BY c.document_id, c.position",
        (ids[0], ids[-1]),
    )
    keys = {key for row in rows for key in (row[10], row[18])} | {key for _, key in documents}
    contents = ensure_contents(connection, keys - {b"", None})
    connection.executemany(INSERT_CHUNK, ((*row[:9], contents[row[10]], contents.get(row[18])) for row in rows))
    connection.executemany(INSERT_BLOCK, _blocks(rows))
    connection.executemany(
        "UPDATE documents SET path_id = ? WHERE id = ?", ((contents.get(key), id_) for id_, key in documents)
    )
    connection.executemany(
        "INSERT INTO vectors (id, vector) VALUES (?, ?) ON CONFLICT DO NOTHING", _vectors(connection, contents)
    )
    connection.execute("UPDATE meta SET value = ? WHERE key = 'converting'", (ids[-1],))


def _blocks(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[int, bytes]]:
    """The blocks of chunks that come document by document, in order."""
    for _, chunks in groupby(rows, key=itemgetter(1)):
        # The chunks of a block have ids that follow each other, as far as anybody knows those of a document always do.
        for _, run in groupby(enumerate(chunks), key=lambda pair: pair[1][0] - pair[0]):
            bodies = [(row[0], Body(row[11], row[12], row[9], *row[13:18])) for _, row in run]
            for place, part in split_blocks([body for _, body in bodies]):
                yield bodies[place][0], pack_block(part)


def _vectors(connection: apsw.Connection, contents: dict[bytes, int]) -> Iterator[tuple[int, bytes]]:
    """The vectors of these contents, of every model, in eight bits."""
    found = fetch(
        connection,
        "SELECT v.model_id, v.key, v.vector FROM vectors_3 v JOIN models m ON m.id = v.model_id"
        " WHERE v.key IN (SELECT unhex(value) FROM json_each(?)) AND length(v.vector) = 2 * m.dimensions"
        " ORDER BY v.model_id",
        (json.dumps([key.hex() for key in contents]),),
    )
    for model_id, group in groupby(found, key=itemgetter(0)):
        rows = list(group)
        matrix = np.frombuffer(b"".join(row[2] for row in rows), "<f2").reshape(len(rows), -1)
        packed = pack_vectors(matrix.astype(np.float32))
        yield from (
            ((model_id << MODEL_SHIFT) + contents[row[1]], blob) for row, blob in zip(rows, packed, strict=True)
        )


def _give_back(connection: apsw.Connection) -> None:
    """Make the file as small as what is in it. What a reader prevents happens with a later deletion."""
    with contextlib.suppress(apsw.BusyError):
        free, before = int(connection.pragma("freelist_count")), 0
        while free and free != before:  # a database that keeps its free pages has as many as before
            connection.execute(f"PRAGMA incremental_vacuum({_FREED_AT_ONCE})").fetchall()
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            free, before = int(connection.pragma("freelist_count")), free
