"""Vectors by content address, one set a model; which model is searched, where its points lie, and by which index.

A table of points has one index, never two: the planner would take either, and not the better one. Only while one
replaces the other are there both.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Final, Literal

import numpy as np
from psycopg import sql

from outcrop.contracts import Embedded
from outcrop.records import Model, Vector
from outcrop.store.postgres.connections import Connection
from outcrop.store.postgres.policies import grant_as_chunks, restrict
from outcrop.store.postgres.values import copy_rows
from outcrop.store.rows import vector_blobs
from outcrop.system.dataclass import dataclass

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
    rows = ((model_id, key, blob) for key, blob in zip(keys, blobs, strict=True))
    copy_rows(connection, "vectors (model_id, key, vector)", ["int4", "bytea", "bytea"], rows)


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
    """Up to `limit` (key, id), of one document or of all, that have no vector of `model`, oldest first."""
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


Kind = Literal["hnsw", "ivfflat"]
"""HNSW finds more of the nearest for the same time: for 5 ms of CPU .95 of the 200 nearest, IVFFlat .83. IVFFlat is
built in half the time, takes a third less room and is vacuumed in a second instead of minutes (200 000 real vectors,
`benchmarks/postgres/vectors.py`)."""
DEFAULT: Final[Kind] = "hnsw"

M: Final = 16
EF_CONSTRUCTION: Final = 64

EF_A_HIT: Final = 2.0
"""Candidates a query keeps for each chunk it is asked for: of the 200 nearest, 400 finds .95 and 200 only .89, for 5
and 3 ms of CPU."""
MIN_EF: Final = 40
MAX_EF: Final = 1000
"""pgvector's own default and limit."""

ROWS_A_LIST: Final = 450
"""Vectors a list of an IVFFlat index, on average, up to a million vectors; beyond that their square root, as pgvector
advises. Measured with that many."""
PROBED_SHARE: Final = 0.1
"""Lists that a query reads. A twentieth finds .83 of the 200 nearest for the price at which HNSW finds .95; a tenth
takes twice that."""
MAX_LISTS: Final = 32_768


@dataclass(frozen=True, slots=True)
class Tuning:
    """What the operator of an index says of its vectors. No kind: the one that is there, or else the default."""

    kind: Kind | None = None
    effort: float = 1.0


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """An index of a table of vectors; `built_of` is how many there were then, None if it was not noted."""

    name: str
    kind: Kind
    valid: bool
    built_of: int | None


def vector_indexes(connection: Connection, table: str) -> list[VectorIndex]:
    """The vector indexes of a table, valid ones first."""
    rows = connection.execute(
        "SELECT c.relname, a.amname, i.indisvalid, obj_description(c.oid, 'pg_class')::bigint"
        " FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam"
        " WHERE i.indrelid = to_regclass(%s) AND a.amname IN ('hnsw', 'ivfflat')"
        " ORDER BY NOT i.indisvalid, c.oid",
        (table,),
    )
    return [VectorIndex(*row) for row in rows]


def chosen(tuning: Tuning, there: list[VectorIndex]) -> Kind:
    """The kind that a table should have: what the operator says, else what it has."""
    found: Kind = next((index.kind for index in there if index.valid), DEFAULT)
    return tuning.kind or found


def index_name(table: str, kind: Kind) -> str:
    """What the index of a table is called."""
    return f"{table}_{kind}"


def list_count(rows: int) -> int:
    """Lists of an IVFFlat index of that many vectors."""
    many = rows / ROWS_A_LIST if rows <= 1_000_000 else max(1_000_000 / ROWS_A_LIST, math.sqrt(rows))
    return max(1, min(MAX_LISTS, round(many)))


def index_sql(table: str, kind: Kind, rows: int, *, concurrently: bool) -> sql.Composed:
    """The statement that makes the index of a table of so many vectors."""
    how = (
        f"hnsw (embedding halfvec_cosine_ops) WITH (m = {M}, ef_construction = {EF_CONSTRUCTION})"
        if kind == "hnsw"
        else f"ivfflat (embedding halfvec_cosine_ops) WITH (lists = {list_count(rows)})"
    )
    return sql.SQL("CREATE INDEX {} {} ON {} USING {}").format(
        sql.SQL("CONCURRENTLY" if concurrently else ""),
        sql.Identifier(index_name(table, kind)),
        sql.Identifier(table),
        sql.SQL(how),
    )


def reach(index: VectorIndex, count: int, effort: float) -> tuple[str, int]:
    """The setting, and its value, with which a query finds the `count` nearest of an index."""
    if index.kind == "hnsw":
        return "hnsw.ef_search", max(MIN_EF, min(MAX_EF, round(EF_A_HIT * effort * count)))
    lists = list_count(index.built_of or 0)
    return "ivfflat.probes", max(1, min(lists, math.ceil(PROBED_SHARE * effort * lists)))
