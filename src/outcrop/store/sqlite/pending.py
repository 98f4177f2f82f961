"""Documents that were written before their vectors, and what happens when the vectors arrive."""

from __future__ import annotations

import json
from collections.abc import Collection

import apsw

from outcrop.store.rows import fetch
from outcrop.store.sqlite.vectors import MODEL_SHIFT

_MINE = "document_id IN (SELECT value FROM json_each(?))"

# A document is complete when nothing of its own lacks a vector: no chunk, no summary, not its path.
_COMPLETED = """
WITH came (id) AS (SELECT value FROM json_each(?2))
SELECT document_id FROM pending w
WHERE document_id IN (
    SELECT c.document_id FROM came JOIN chunks c ON c.content_id = came.id
    UNION SELECT c.document_id FROM came JOIN chunks c ON c.summary_id = came.id
    UNION SELECT d.id FROM came JOIN documents d ON d.path_id = came.id
)
AND NOT EXISTS (
    SELECT 1 FROM chunks c WHERE c.document_id = w.document_id
    AND NOT EXISTS (SELECT 1 FROM vectors WHERE id = ?1 + c.content_id)
)
AND NOT EXISTS (
    SELECT 1 FROM chunks c WHERE c.document_id = w.document_id AND c.summary_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM vectors WHERE id = ?1 + c.summary_id)
)
AND NOT EXISTS (
    SELECT 1 FROM documents d WHERE d.id = w.document_id AND d.path_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM vectors WHERE id = ?1 + d.path_id)
)
ORDER BY document_id
"""


def is_any_pending(connection: apsw.Connection) -> bool:
    """Whether any document is pending; if none is, an ordinary write need not look further."""
    return bool(fetch(connection, "SELECT 1 FROM pending LIMIT 1"))


def add_pending(connection: apsw.Connection, document_ids: Collection[int]) -> None:
    """Note that these documents lack a vector."""
    connection.executemany(
        "INSERT INTO pending (document_id) VALUES (?) ON CONFLICT DO NOTHING", ((id_,) for id_ in document_ids)
    )


def clear_pending(connection: apsw.Connection, document_ids: str) -> None:
    """These documents (a JSON list) are complete, or about to go."""
    connection.execute(f"DELETE FROM pending WHERE {_MINE}", (document_ids,))


def complete_documents(connection: apsw.Connection, model_id: int, came: Collection[int]) -> int:
    """Vectors of these contents arrived: how many pending documents are complete now.

    Those are numbered anew, each as a whole and once: arrays made of the store only take in what has a new id, and
    ranking takes neighbouring ids for neighbouring chunks. What a document has before it is complete is searched by
    arrays that are made in between; the others go by its words until then.
    """
    if not came:
        return 0
    base = model_id << MODEL_SHIFT
    done = [id_ for (id_,) in fetch(connection, _COMPLETED, (base, json.dumps(sorted(came))))]
    if done:
        ids = json.dumps(done)
        _renumber(connection, ids)
        clear_pending(connection, ids)
    return len(done)


def last_chunk_id(connection: apsw.Connection) -> int:
    """The highest chunk id ever given out, deleted ones included."""
    row = fetch(connection, "SELECT seq FROM sqlite_sequence WHERE name = 'chunks'")
    return row[0][0] if row else 0


def _renumber(connection: apsw.Connection, document_ids: str) -> None:
    """New ids for all chunks of these documents (a JSON list), in order; the old ones are logged as removed."""
    old = fetch(
        connection, f"SELECT id FROM chunks WHERE {_MINE} ORDER BY document_id, position", (document_ids,)
    )
    if not old:
        return
    blocks = fetch(
        connection,
        f"SELECT first_chunk FROM text_blocks WHERE first_chunk IN (SELECT id FROM chunks WHERE {_MINE})",
        (document_ids,),
    )
    connection.executemany("INSERT INTO removals (chunk_id) VALUES (?)", sorted(old))
    first = last_chunk_id(connection) + 1
    changes = {id_: first + i for i, (id_,) in enumerate(old)}
    connection.executemany(
        "UPDATE chunks SET id = ? WHERE id = ?", ((new, id_) for id_, new in changes.items())
    )
    # The chunks of a block follow each other, before and after.
    connection.executemany(
        "UPDATE text_blocks SET first_chunk = ? WHERE first_chunk = ?",
        ((changes[id_], id_) for (id_,) in blocks),
    )
    # AUTOINCREMENT only notes the ids of inserted rows.
    connection.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'chunks'", (first + len(old) - 1,))
