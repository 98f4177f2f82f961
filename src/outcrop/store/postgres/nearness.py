"""Which index finds the nearest vectors on Postgres, how it is made, and how far a query searches it.

A table of vectors has one such index, never two: the planner would take either, and not the better one. Only while one
replaces the other are there both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

from psycopg import sql

from outcrop.store.postgres.connections import Connection

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
