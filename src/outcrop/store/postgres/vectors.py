"""Vectors by content address, one set a model; which model is searched, and where its points lie."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import numpy as np
from psycopg import sql

from outcrop.records import Model, Vector
from outcrop.store.postgres.connections import Connection
from outcrop.store.postgres.policies import grant_as_chunks, restrict
from outcrop.store.shaping import vector_blobs
from outcrop.store.sql import Embedded

ACTIVE: Final = "(SELECT active_model FROM state)"
"""SQL for the id of the active model; NULL in a new database."""


def active_model(connection: Connection) -> tuple[int, Model] | None:
    """The active model and its id."""
    row = connection.execute(f"SELECT id, name, version, dimensions FROM models WHERE id = {ACTIVE}").fetchone()
    return (row[0], Model(*row[1:])) if row else None


def find_model(connection: Connection, model: Model) -> int | None:
    """The id of a model, if any of its vectors were ever kept."""
    row = connection.execute(
        "SELECT id FROM models WHERE name = %s AND version = %s AND dimensions = %s",
        (model.name, model.version, model.dimensions),
    ).fetchone()
    return row[0] if row else None


def ensure_model(connection: Connection, model: Model) -> int:
    """The id of a model, created if need be."""
    found = find_model(connection, model)
    if found is not None:
        return found
    row = connection.execute(
        "INSERT INTO models (name, version, dimensions) VALUES (%s, %s, %s) RETURNING id",
        (model.name, model.version, model.dimensions),
    ).fetchone()
    assert row is not None, "the row was just inserted"  # noqa: S101 - tells mypy, cannot fail
    return int(row[0])


def add(connection: Connection, model_id: int, model: Model, vectors: Mapping[bytes, Vector]) -> None:
    """Keep vectors as float16; a key that is there already stays as it is."""
    fresh = missing(connection, model_id, vectors.keys())
    if not fresh:
        return
    keys = [key for key in vectors if key in fresh]
    blobs = vector_blobs(model, [vectors[key] for key in keys])
    with connection.cursor().copy("COPY vectors (model_id, key, vector) FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(["int4", "bytea", "bytea"])
        for key, blob in zip(keys, blobs, strict=True):
            copy.write_row((model_id, key, blob))


def kept(connection: Connection, model_id: int | None, keys: Collection[bytes]) -> dict[bytes, Vector]:
    """Those vectors of a model that are stored."""
    rows = connection.execute(
        "SELECT key, vector FROM vectors WHERE key = ANY (%s) AND model_id = %s",
        (list(keys), model_id),
        binary=True,
    )
    return {bytes(key): np.frombuffer(blob, "<f2").astype(np.float32) for key, blob in rows}


def missing(connection: Connection, model_id: int | None, keys: Collection[bytes]) -> set[bytes]:
    """Those of `keys` that have no vector of this model."""
    rows = connection.execute(
        "SELECT key FROM vectors WHERE key = ANY (%s) AND model_id = %s", (list(keys), model_id), binary=True
    )
    return set(keys).difference(bytes(key) for (key,) in rows)


_USED: Final[Mapping[Embedded, tuple[str, str, str, str]]] = {
    "text": ("chunks", "text_key", "id", "document_id = %s"),
    "summary": (
        *("notes", "summary_key", "chunk_id"),
        "chunk_id IN (SELECT id FROM chunks WHERE document_id = %s)",
    ),
    "path": ("documents", "path_key", "id", "id = %s"),
}
"""Where the key of a vector stands: the table, its column, the column of the id, and which rows are a document's."""


def unembedded(
    connection: Connection, what: Embedded, model: Model, limit: int, document: int | None
) -> list[tuple[bytes, int]]:
    """Up to `limit` (key, id) of texts, summaries or paths, of one document or of all, that have no vector of `model`,
    oldest first."""
    table, key, id_, mine = _USED[what]
    values: list[str | int] = [model.name, model.version, model.dimensions]
    if document is not None:
        values.append(int(document))
    rows = connection.execute(
        f"SELECT {key}, {id_} FROM {table} t WHERE length({key}) > 0 AND NOT EXISTS (SELECT 1 FROM vectors"
        f" WHERE key = t.{key} AND model_id = (SELECT id FROM models WHERE name = %s AND version = %s"
        f" AND dimensions = %s)) {'' if document is None else f'AND {mine}'} ORDER BY {id_} LIMIT %s",
        (*values, limit),
        binary=True,
    )
    return [(bytes(found), number) for found, number in rows]


def count_missing(connection: Connection, model_id: int) -> list[int]:
    """How many chunks, summaries and paths have no vector of this model."""
    counts = []
    for table, key, _, _ in _USED.values():
        row = connection.execute(
            f"SELECT count(*) FROM {table} t WHERE length({key}) > 0 AND NOT EXISTS"
            f" (SELECT 1 FROM vectors WHERE key = t.{key} AND model_id = %s)",
            (model_id,),
        ).fetchone()
        counts.append(int(row[0]) if row else 0)
    return counts


def referenced(connection: Connection, keys: Collection[bytes]) -> set[bytes]:
    """Those of `keys` that a chunk, a summary or a path uses."""
    rows = connection.execute(
        "SELECT k FROM unnest(%s::bytea[]) AS k WHERE EXISTS (SELECT 1 FROM chunks WHERE text_key = k)"
        " OR EXISTS (SELECT 1 FROM notes WHERE summary_key = k) OR EXISTS (SELECT 1 FROM documents WHERE path_key = k)",
        (list(keys),),
        binary=True,
    )
    return {bytes(key) for (key,) in rows}


def drop_unreferenced(connection: Connection, candidates: Collection[bytes]) -> None:
    """Delete, of every model, the vectors of those candidates that nothing uses any more."""
    gone = set(candidates) - referenced(connection, candidates)
    if gone:
        connection.execute("DELETE FROM vectors WHERE key = ANY (%s)", (list(gone),))


def drop_other_models(connection: Connection, model_id: int) -> None:
    """Delete every other model with all its vectors and points."""
    others = connection.execute("DELETE FROM models WHERE id != %s RETURNING id", (model_id,)).fetchall()
    connection.execute("DELETE FROM vectors WHERE model_id != %s", (model_id,))
    for (other,) in others:
        for table in (points(other), fresh(other)):
            connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(table)))


# ------------------------------------------------------------------ points

MAX_INLINE: Final = 2000
"""Half floats of that many dimensions stay in the row, uncompressed: a search reads them all the time. Two such rows
fit into a page."""


def points(model_id: int) -> str:
    """The name of the table of a model's indexed vectors."""
    return f"points_{int(model_id)}"


def fresh(model_id: int) -> str:
    """The name of the table of vectors that are not indexed yet."""
    return f"fresh_{int(model_id)}"


def make_points(connection: Connection, model_id: int, dimensions: int) -> None:
    """Make both tables of a model, which becomes active once in its life; whoever may read chunks may read them."""
    for table in (points(model_id), fresh(model_id)):
        name = sql.Identifier(table)
        connection.execute(
            sql.SQL(
                "CREATE TABLE {} (chunk_id bigint NOT NULL, part smallint NOT NULL, collection_id int NOT NULL,"
                " document_id bigint NOT NULL, embedding halfvec({}) NOT NULL,"
                " PRIMARY KEY (chunk_id, part, collection_id))"
            ).format(name, sql.Literal(int(dimensions)))
        )
        if dimensions <= MAX_INLINE:
            connection.execute(sql.SQL("ALTER TABLE {} ALTER COLUMN embedding SET STORAGE PLAIN").format(name))
        restrict(connection, table)
        grant_as_chunks(connection, table)
