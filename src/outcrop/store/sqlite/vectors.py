"""Vectors by content address, one set a model; which model is searched, and which documents wait for vectors.

A content is whatever has a vector: the text of a chunk, a summary, a path. Its address is a key of 16 random bytes,
which is looked up here and nowhere else: rows that refer to a content have its number, so that what is written stays
together (at a million chunks an index over the keys of chunks costs a page for each new one). A vector's id is the
number of its model and of its content in one: a table that is only appended to, and needs no index.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Final

import apsw

from outcrop.contracts import Embedded
from outcrop.records import Model, Vector
from outcrop.store.quantized import check_vectors, pack_vectors, unpack_vectors
from outcrop.store.rows import fetch

ACTIVE: Final = "(SELECT value FROM meta WHERE key = 'active_model')"
"""SQL for the id of the active model; NULL in a new database."""
MODEL_SHIFT: Final = 40
"""Bits of a content's number, so a million million contents."""
ACTIVE_BASE: Final = f"({ACTIVE} << {MODEL_SHIFT})"
"""SQL for what the id of a vector of the active model has above the number of its content."""

_ROWS_AT_ONCE: Final = (
    4096  # 4 MB of float32 at 256 dimensions: large enough to amortise, small enough to forget
)

REFERENCED: Final = (
    "SELECT content_id FROM chunks WHERE content_id IN (SELECT value FROM json_each(?1))"
    " UNION SELECT summary_id FROM chunks WHERE summary_id IN (SELECT value FROM json_each(?1))"
    " UNION SELECT path_id FROM documents WHERE path_id IN (SELECT value FROM json_each(?1))"
)


def active_model(connection: apsw.Connection) -> tuple[int, Model] | None:
    """The active model and its id."""
    row = fetch(connection, f"SELECT id, name, version, dimensions FROM models WHERE id = {ACTIVE}")
    return (row[0][0], Model(*row[0][1:])) if row else None


def find_model(connection: apsw.Connection, model: Model) -> int | None:
    """The id of a model, if any of its vectors were ever kept."""
    row = fetch(
        connection,
        "SELECT id FROM models WHERE name = ? AND version = ? AND dimensions = ?",
        (model.name, model.version, model.dimensions),
    )
    return row[0][0] if row else None


def ensure_model(connection: apsw.Connection, model: Model) -> int:
    """The id of a model, created if need be."""
    connection.execute(
        "INSERT INTO models (name, version, dimensions) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (model.name, model.version, model.dimensions),
    )
    found = find_model(connection, model)
    assert found is not None, "the row was just inserted"  # noqa: S101 - tells mypy, cannot fail
    return found


def set_active(connection: apsw.Connection, model_id: int) -> None:
    """Make this the model whose vectors are searched."""
    connection.execute(
        "INSERT INTO meta (key, value) VALUES ('active_model', ?)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (model_id,),
    )


# ------------------------------------------------------------------ contents


def find_contents(connection: apsw.Connection, keys: Collection[bytes]) -> dict[bytes, int]:
    """The numbers of those contents that are known."""
    found = connection.execute(
        "SELECT key, id FROM contents WHERE key IN (SELECT unhex(value) FROM json_each(?))", (_json_keys(keys),)
    )
    return dict(found)


def ensure_contents(connection: apsw.Connection, keys: Collection[bytes]) -> dict[bytes, int]:
    """The numbers of these contents; new ones are noted."""
    numbers = find_contents(connection, keys)
    ((last,),) = fetch(connection, "SELECT coalesce(max(id), 0) FROM contents")
    # In order of the keys: neighbours in the index are written one after the other.
    new = sorted(set(keys).difference(numbers))
    fresh = dict(zip(new, range(last + 1, last + 1 + len(new)), strict=True))
    connection.executemany("INSERT INTO contents (key, id) VALUES (?, ?)", fresh.items())
    return numbers | fresh


def drop_unreferenced(connection: apsw.Connection, candidates: Collection[int]) -> None:
    """Delete those of these contents that nothing uses any more, with their vectors of every model."""
    used = {number for (number,) in connection.execute(REFERENCED, (json.dumps(list(candidates)),))}
    gone = json.dumps(sorted(set(candidates) - used))
    connection.execute(
        f"DELETE FROM vectors WHERE id IN (SELECT (m.id << {MODEL_SHIFT}) + j.value FROM models m, json_each(?) j)",
        (gone,),
    )
    connection.execute("DELETE FROM contents WHERE id IN (SELECT value FROM json_each(?))", (gone,))


# ------------------------------------------------------------------ vectors


def add(connection: apsw.Connection, model_id: int, model: Model, vectors: Mapping[int, Vector]) -> None:
    """Keep the vectors of contents; one that is there already stays as it is."""
    numbers = sorted(vectors)
    for first in range(0, len(numbers), _ROWS_AT_ONCE):
        part = numbers[first : first + _ROWS_AT_ONCE]
        packed = pack_vectors(check_vectors(model, [vectors[number] for number in part]))
        connection.executemany(
            "INSERT INTO vectors (id, vector) VALUES (?, ?) ON CONFLICT DO NOTHING",
            zip(((model_id << MODEL_SHIFT) + number for number in part), packed, strict=True),
        )


def missing(connection: apsw.Connection, model_id: int | None, keys: Collection[bytes]) -> set[bytes]:
    """Those of `keys` that have no vector of this model."""
    if model_id is None:
        return set(keys)
    found = connection.execute(
        "SELECT k.key FROM contents k JOIN vectors v ON v.id = ? + k.id"
        " WHERE k.key IN (SELECT unhex(value) FROM json_each(?))",
        (model_id << MODEL_SHIFT, _json_keys(keys)),
    )
    return set(keys).difference(key for (key,) in found)


USED: Final[Mapping[Embedded, tuple[str, str, str]]] = {
    "text": ("chunks", "content_id", "document_id"),
    "summary": ("chunks", "summary_id", "document_id"),
    "path": ("documents", "path_id", "id"),
}
"""Where the number of a content stands: the table, its column, and the column of the document's id."""


def unembedded(
    connection: apsw.Connection, what: Embedded, model_id: int, limit: int, document: int | None, below: int
) -> list[tuple[bytes, int]]:
    """Up to `limit` (key, id) of texts, summaries or paths, of one document or of all from the id `below` on, that have
    no vector of this model, oldest first."""
    table, column, owner = USED[what]
    mine = "" if document is None else f"AND t.{owner} = {int(document)}"
    return fetch(
        connection,
        f"SELECT k.key, t.id FROM {table} t JOIN contents k ON k.id = t.{column} WHERE t.id >= ? AND NOT EXISTS"
        f" (SELECT 1 FROM vectors WHERE id = ? + t.{column}) {mine} ORDER BY t.id LIMIT ?",
        (below, model_id << MODEL_SHIFT, limit),
    )


def count_missing(connection: apsw.Connection, model_id: int) -> list[int]:
    """How many chunks, summaries and paths have no vector of this model."""
    return [
        fetch(
            connection,
            f"SELECT count(*) FROM {table} t WHERE {column} IS NOT NULL AND NOT EXISTS"
            f" (SELECT 1 FROM vectors WHERE id = ? + t.{column})",
            (model_id << MODEL_SHIFT,),
        )[0][0]
        for table, column, _ in USED.values()
    ]


def kept(connection: apsw.Connection, model_id: int | None, keys: Collection[bytes]) -> dict[bytes, Vector]:
    """The vectors of this model that are kept under these keys."""
    found = fetch(
        connection,
        "SELECT k.key, v.vector FROM contents k JOIN vectors v ON v.id = ? + k.id"
        " WHERE k.key IN (SELECT unhex(value) FROM json_each(?))",
        ((model_id or 0) << MODEL_SHIFT, _json_keys(keys)),
    )
    return dict(zip((key for key, _ in found), unpack_vectors([blob for _, blob in found]), strict=True))


def drop_other_models(connection: apsw.Connection, model_id: int) -> None:
    """Delete every other model with all its vectors."""
    connection.execute(
        "DELETE FROM vectors WHERE id < ? OR id >= ?", (model_id << MODEL_SHIFT, (model_id + 1) << MODEL_SHIFT)
    )
    connection.execute("DELETE FROM models WHERE id != ?", (model_id,))


def _json_keys(keys: Iterable[bytes]) -> str:
    return json.dumps([key.hex() for key in keys])


# ------------------------------------------------------------------ documents that wait

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

    Those get new ids, each document once and as a whole: the search arrays only take in new ids, and ranking takes
    neighbouring ids for neighbouring chunks. Until a document is complete, arrays built meanwhile search the vectors
    that it has; the others find it by its words.
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
