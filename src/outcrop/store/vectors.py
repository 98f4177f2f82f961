"""Vectors by content address, one set a model; which model is searched."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping

import apsw
import numpy as np

from outcrop.records import Model, Vector
from outcrop.store.rows import fetch
from outcrop.store.shaping import vector_blobs

ACTIVE = "(SELECT value FROM meta WHERE key = 'active_model')"
"""SQL for the id of the active model; NULL in a new database."""

_ROWS_AT_ONCE = 4096  # 4 MB of float32 at 256 dimensions: large enough to amortise, small enough to forget


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
    """The id of a model, made on the spot if need be."""
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


def add(connection: apsw.Connection, model_id: int, model: Model, vectors: Mapping[bytes, Vector]) -> None:
    """Keep vectors as float16; a key that is there already stays as it is."""
    keys = list(vectors)
    for first in range(0, len(keys), _ROWS_AT_ONCE):
        part = keys[first : first + _ROWS_AT_ONCE]
        connection.executemany(
            "INSERT INTO vectors (model_id, key, vector) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            zip([model_id] * len(part), part, vector_blobs(model, [vectors[key] for key in part]), strict=True),
        )


def missing(connection: apsw.Connection, model_id: int | None, keys: Collection[bytes]) -> set[bytes]:
    """Those of `keys` that have no vector of this model."""
    found = connection.execute(
        "SELECT key FROM vectors WHERE key IN (SELECT unhex(value) FROM json_each(?)) AND model_id = ?",
        (_json_keys(keys), model_id),
    )
    return set(keys).difference(key for (key,) in found)


def kept(connection: apsw.Connection, model_id: int | None, keys: Collection[bytes]) -> dict[bytes, Vector]:
    """The vectors of this model that are kept under these keys."""
    found = connection.execute(
        "SELECT key, vector FROM vectors WHERE key IN (SELECT unhex(value) FROM json_each(?)) AND model_id = ?",
        (_json_keys(keys), model_id),
    )
    return {key: np.frombuffer(blob, dtype="<f2").astype(np.float32) for key, blob in found}


def referenced(connection: apsw.Connection, keys: Collection[bytes]) -> set[bytes]:
    """Those of `keys` that a chunk, a summary or a path uses."""
    rows = connection.execute(
        "SELECT text_key FROM chunks WHERE text_key IN (SELECT unhex(value) FROM json_each(?1))"
        " UNION SELECT summary_key FROM notes WHERE summary_key IN (SELECT unhex(value) FROM json_each(?1))"
        " UNION SELECT path_key FROM documents WHERE path_key IN (SELECT unhex(value) FROM json_each(?1))",
        (_json_keys(keys),),
    )
    return {key for (key,) in rows}


def drop_unreferenced(connection: apsw.Connection, candidates: Collection[bytes]) -> None:
    """Delete, of every model, the vectors of those candidates that nothing uses any more."""
    gone = set(candidates) - referenced(connection, candidates)
    connection.executemany("DELETE FROM vectors WHERE key = ?", ((key,) for key in gone))


def drop_other_models(connection: apsw.Connection, model_id: int) -> None:
    """Delete every other model with all its vectors."""
    connection.execute("DELETE FROM vectors WHERE model_id != ?", (model_id,))
    connection.execute("DELETE FROM models WHERE id != ?", (model_id,))


def _json_keys(keys: Iterable[bytes]) -> str:
    return json.dumps([key.hex() for key in keys])
