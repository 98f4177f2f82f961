"""What keeps the lookups of search fast: the vector index, long lists, fresh statistics; and how they are made again.

Nothing here is needed for a right answer: what is fresh is searched too, only slower. So one process does it and the
others go on; an advisory lock says who.
"""

from __future__ import annotations

import logging
from typing import Final

from psycopg import errors, sql

from outcrop.derived import Deriver
from outcrop.store.postgres.connections import Connection, Connections
from outcrop.store.postgres.deriving import (
    FEED_ROWS,
    derive_chunks,
    feed_points,
    join_lists,
)
from outcrop.store.postgres.vectors import active_model, ensure_points, fresh, points

log = logging.getLogger(__name__)

FRESH_ROWS: Final = 10_000
"""Fresh vectors that a search compares one by one, a few milliseconds' worth; past this many they are moved into the
index."""
MOVED_AT_ONCE: Final = 2_000
"""Vectors moved in one transaction: each takes about a millisecond to find its place in the index."""
SHRUNK_SHARE: Final = 0.5
"""An index of which half is gone is built anew. With three in ten deleted and vacuumed its answers are as good as
before (`benchmarks/postgres.py`), so this is for space and speed. Judgement."""
LISTS_AFTER_WRITES: Final = 128
"""Writes after which short lists are looked for: a search reads one list a write for each common word until then."""
BUILD_MEMORY: Final = "1GB"
"""For building an index: what does not fit is built several times slower. The graph of a million vectors of 256
dimensions takes about that much."""
M: Final = 16
EF_CONSTRUCTION: Final = 64

_GROWING: Final = ("documents", "tags", "chunks", "notes", "vectors", "rows", "postings", "declared")
_LOCK_CLASS: Final = 0x4F555444


def settle(connections: Connections) -> None:
    """Do what is worth doing, unless another process is at it."""
    if not _is_worth_it(connections):
        return
    with connections.translated(), connections.connect() as connection:
        connection.execute("SET jit = off")
        held = connection.execute(
            "SELECT pg_try_advisory_lock(%s, hashtext(%s))", (_LOCK_CLASS, connections.schema)
        )
        if not (held.fetchone() or (False,))[0]:
            return
        if _has_changed(connection):
            for table in _GROWING:
                connection.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(table)))
        _move_fresh(connection)
        _build_index(connection)
        if _has_shrunk(connection):
            _rebuild_index(connection)
    _join_lists(connections)


def _is_worth_it(connections: Connections) -> bool:
    def ask(connection: Connection) -> bool:
        active = active_model(connection)
        if active is None:
            return False
        table = sql.Identifier(fresh(active[0]))
        many = connection.execute(
            sql.SQL("SELECT count(*) FROM (SELECT 1 FROM {} LIMIT %s) few").format(table), (FRESH_ROWS,)
        ).fetchone()
        return (
            (many or (0,))[0] >= FRESH_ROWS
            or _writes_since(connection) >= LISTS_AFTER_WRITES
            or _has_shrunk(connection)
            or _has_changed(connection)
        )

    return connections.read(ask)


def _has_changed(connection: Connection) -> bool:
    """Whether so many chunks came or went that the planner should look again. The server does so by itself too, but a
    minute later: until then it may read a whole table for thirty rows."""
    row = connection.execute(
        "SELECT n_mod_since_analyze > 1000 + 0.1 * n_live_tup FROM pg_stat_user_tables WHERE relid = 'chunks'::regclass"
    ).fetchone()
    return bool(row and row[0])


def _writes_since(connection: Connection) -> int:
    row = connection.execute("SELECT version - lists_joined FROM state").fetchone()
    return int(row[0]) if row else 0


def _move_fresh(connection: Connection) -> None:
    """Move fresh vectors to those that have an index, some at a time; a search sees each of them in one place."""
    active = active_model(connection)
    if active is None:
        return
    old, new = sql.Identifier(fresh(active[0])), sql.Identifier(points(active[0]))
    many = connection.execute(
        sql.SQL("SELECT count(*) FROM (SELECT 1 FROM {} LIMIT %s) few").format(old), (FRESH_ROWS,)
    ).fetchone()
    if (many or (0,))[0] < FRESH_ROWS:
        return
    # Without an index yet there is no reason to go in small steps, but to hold nobody up for long.
    last = sql.SQL(
        "SELECT max(chunk_id) FROM (SELECT chunk_id FROM {old} ORDER BY chunk_id LIMIT %s) next"
    ).format(old=old)
    move = sql.SQL(
        "WITH gone AS (DELETE FROM {old} WHERE chunk_id <= %s"
        " RETURNING chunk_id, part, collection_id, document_id, embedding) INSERT INTO {new} SELECT * FROM gone"
    ).format(old=old, new=new)
    moved = 0
    while True:
        with connection.transaction():
            # A chunk that is deleted or numbered anew meanwhile must not stay behind: writers wait a moment.
            connection.execute("SELECT 1 FROM state FOR UPDATE")
            row = connection.execute(last, (MOVED_AT_ONCE,)).fetchone()
            if row is None or row[0] is None:
                break
            moved += connection.execute(move, row).rowcount
    log.info("vectors moved into the index", extra={"vectors": moved})
    connection.execute(sql.SQL("VACUUM ANALYZE {}").format(old))  # gives back the room of what moved
    connection.execute(sql.SQL("ANALYZE {}").format(new))


def _build_index(connection: Connection) -> None:
    """Build the vector index where there is none, while others read and write."""
    active = active_model(connection)
    if active is None:
        return
    name = f"{points(active[0])}_hnsw"
    row = connection.execute(
        sql.SQL(
            "SELECT (SELECT count(*) FROM (SELECT 1 FROM {} LIMIT %s) few),"
            " (SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s))"
        ).format(sql.Identifier(points(active[0]))),
        (FRESH_ROWS, name),
    ).fetchone()
    many, valid = row or (0, None)
    if valid or many < FRESH_ROWS:
        return
    if valid is False:  # a build that was interrupted leaves one that nobody uses
        connection.execute(sql.SQL("DROP INDEX CONCURRENTLY {}").format(sql.Identifier(name)))
    _prepare_build(connection)
    try:
        connection.execute(index_sql(name, points(active[0]), concurrently=True))
    except (errors.DiskFull, errors.OutOfMemory) as error:
        # A container's /dev/shm is often too small for several builders, which share the graph there.
        log.warning("the vector index is built by one process only: %s", error)
        connection.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(sql.Identifier(name)))
        connection.execute("SET max_parallel_maintenance_workers = 0")
        connection.execute(index_sql(name, points(active[0]), concurrently=True))
    connection.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(points(active[0]))))
    _note_size(connection, active[0])


def _has_shrunk(connection: Connection) -> bool:
    """Whether so much was deleted since the index was built that it is worth building anew."""
    active = active_model(connection)
    if active is None:
        return False
    row = connection.execute(
        "SELECT obj_description(to_regclass(%s), 'pg_class')::bigint, reltuples FROM pg_class"
        " WHERE oid = to_regclass(%s)",
        (f"{points(active[0])}_hnsw", points(active[0])),
    ).fetchone()
    # The number of rows is the server's own estimate, below zero while it has none.
    return row is not None and row[0] is not None and 0 <= row[1] < SHRUNK_SHARE * row[0]


def _rebuild_index(connection: Connection) -> None:
    """Build the vector index anew while others read and write."""
    active = active_model(connection)
    if active is None:
        return
    table, name = sql.Identifier(points(active[0])), sql.Identifier(f"{points(active[0])}_hnsw")
    _prepare_build(connection)
    connection.execute(sql.SQL("VACUUM {}").format(table))
    connection.execute(sql.SQL("REINDEX INDEX CONCURRENTLY {}").format(name))
    connection.execute(sql.SQL("ANALYZE {}").format(table))
    _note_size(connection, active[0])


def _note_size(connection: Connection, model: int) -> None:
    """Remember with the index how many vectors it was built of."""
    table = sql.Identifier(points(model))
    row = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(table)).fetchone()
    connection.execute(
        sql.SQL("COMMENT ON INDEX {} IS {}").format(
            sql.Identifier(f"{points(model)}_hnsw"), sql.Literal(str(row[0] if row else 0))
        )
    )


def _prepare_build(connection: Connection) -> None:
    connection.execute(
        f"SET maintenance_work_mem = '{BUILD_MEMORY}'; SET max_parallel_maintenance_workers = 4;"
        " SET statement_timeout = 0"
    )


def index_sql(name: str, table: str, *, concurrently: bool) -> sql.Composed:
    """The statement that makes a model's vector index."""
    return sql.SQL(
        "CREATE INDEX {how} {name} ON {table} USING hnsw (embedding halfvec_cosine_ops)"
        " WITH (m = {m}, ef_construction = {ef})"
    ).format(
        how=sql.SQL("CONCURRENTLY" if concurrently else ""),
        name=sql.Identifier(name),
        table=sql.Identifier(table),
        m=sql.Literal(M),
        ef=sql.Literal(EF_CONSTRUCTION),
    )


def _join_lists(connections: Connections) -> None:
    if connections.read(_writes_since) < LISTS_AFTER_WRITES:
        return

    def work(connection: Connection, _: object) -> None:
        terms = join_lists(connection)
        connection.execute("UPDATE state SET lists_joined = version + 1")
        log.info("short lists joined", extra={"terms": terms})

    connections.write(work)


# ------------------------------------------------------------------ making it again


def replace_points(connection: Connection, deriver: Deriver) -> None:
    """Fill the tables of the active model's vectors, which are empty, and index them, inside a transaction."""
    active = active_model(connection)
    if active is None:
        return
    number, model = active
    ensure_points(connection, number, model.dimensions)
    table = points(number)
    filled = feed_points(connection, deriver, table, model.dimensions)
    if filled >= FRESH_ROWS:
        connection.execute(f"SET LOCAL maintenance_work_mem = '{BUILD_MEMORY}'")
        connection.execute(index_sql(f"{table}_hnsw", table, concurrently=False))
        _note_size(connection, number)
    connection.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(table)))


def rederive(connection: Connection, deriver: Deriver) -> None:
    """Make all lookups again from the chunks, inside a write transaction."""
    active = active_model(connection)
    # DELETE, not TRUNCATE: whoever reads meanwhile goes on seeing what was there.
    for table in ("rows", "postings", "declared", *((points(active[0]), fresh(active[0])) if active else ())):
        connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
    connection.execute("UPDATE collections SET chunks = 0, terms = 0")
    last = 0
    while True:
        rows = connection.execute("SELECT id FROM chunks WHERE id > %s ORDER BY id LIMIT %s", (last, FEED_ROWS))
        ids = [id_ for (id_,) in rows]
        if not ids:
            return
        derive_chunks(connection, deriver, ids)
        last = ids[-1]
