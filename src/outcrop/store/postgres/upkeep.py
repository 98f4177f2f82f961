"""What keeps the lookups of search fast: the vector index, long lists, fresh statistics; and how they are made again.

Nothing here is needed for a right answer: what is fresh is searched too, only slower. So one process does it and the
others go on; an advisory lock says who.
"""

from __future__ import annotations

import logging
from typing import Final

from psycopg import errors, sql

from outcrop.records.derived import Deriver
from outcrop.store.postgres.connections import Connection, Connections
from outcrop.store.postgres.deriving import FEED_ROWS, derive_chunks, feed_points, join_lists
from outcrop.store.postgres.vectors import (
    Kind,
    Tuning,
    VectorIndex,
    active_model,
    chosen,
    fresh,
    index_name,
    index_sql,
    list_count,
    points,
    vector_indexes,
)

log = logging.getLogger(__name__)

FRESH_ROWS: Final = 10_000
"""Fresh vectors that a search compares one by one, in some milliseconds; more are moved into the index."""
MOVED_AT_ONCE: Final = 2_000
"""Vectors moved in one transaction: each takes about a millisecond to find its place in the index."""
SHRUNK_SHARE: Final = 0.5
"""An index that has lost half of its vectors is rebuilt. With three in ten deleted and vacuumed its answers are as good
as before (`benchmarks.postgres`), so this is for space and speed (not measured)."""
LISTS_AFTER_WRITES: Final = 128
"""Writes after which short lists are looked for: a search reads one list a write for each common word until then."""
BUILD_MEMORY: Final = "1GB"
"""For building an index: what does not fit is built several times slower. The graph of a million vectors of 256
dimensions takes about that much."""
GROWN_SHARE: Final = 2.0
"""An IVFFlat index has as many lists as its vectors called for when it was built; at twice as many it is rebuilt
(not measured)."""

_GROWING: Final = ("documents", "tags", "chunks", "notes", "vectors", "rows", "postings", "declared")
_LOCK_CLASS: Final = 0x4F555444


def settle(connections: Connections, tuning: Tuning) -> None:
    """Do the upkeep that is worth doing, unless another process is at it."""
    if not connections.read(lambda connection: _is_worth_it(connection, tuning)):
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
        active = active_model(connection)
        assert active is not None  # noqa: S101  else it was not worth it, and a model only makes way for another
        _move_fresh(connection, active[0])
        _keep_index(connection, points(active[0]), tuning)
    _join_lists(connections)


def _is_worth_it(connection: Connection, tuning: Tuning) -> bool:
    active = active_model(connection)
    if active is None:
        return False
    there = vector_indexes(connection, points(active[0]))
    usable = [index.kind for index in there if index.valid]
    wanted = [chosen(tuning, there)] if there or _has_many(connection, points(active[0])) else []
    return (
        _has_many(connection, fresh(active[0]))
        or _writes_since(connection) >= LISTS_AFTER_WRITES
        or any(_is_outdated(connection, points(active[0]), index) for index in there)
        or usable != wanted  # another kind, or a build that was interrupted
        or _has_changed(connection)
    )


def _has_many(connection: Connection, table: str) -> bool:
    """Whether a table has enough vectors for an index to pay."""
    row = connection.execute(
        sql.SQL("SELECT count(*) FROM (SELECT 1 FROM {} LIMIT %s) few").format(sql.Identifier(table)),
        (FRESH_ROWS,),
    ).fetchone()
    return row is not None and int(row[0]) >= FRESH_ROWS


def _has_changed(connection: Connection) -> bool:
    """Whether so many chunks came or went that the planner should look again. The server does so by itself too, but a
    minute later: until then it may read a whole table for thirty rows. Changes are counted a second late, so for a
    table that the planner takes for empty the rows themselves are asked."""
    row = connection.execute(
        """SELECT n_mod_since_analyze > 1000 + 0.1 * n_live_tup
            OR reltuples < 1 AND EXISTS (SELECT FROM chunks OFFSET 1000)
        FROM pg_stat_user_tables JOIN pg_class ON oid = relid WHERE relid = 'chunks'::regclass"""
    ).fetchone()
    return bool(row and row[0])


def _writes_since(connection: Connection) -> int:
    row = connection.execute("SELECT version - lists_joined FROM state").fetchone()
    return int(row[0]) if row else 0


def _move_fresh(connection: Connection, model: int) -> None:
    """Move fresh vectors to those that have an index, some at a time; a search sees each of them in one place."""
    if not _has_many(connection, fresh(model)):
        return
    old, new = sql.Identifier(fresh(model)), sql.Identifier(points(model))
    # In small steps even where there is no index yet, so that nobody is held up for long.
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
            # A chunk that is deleted or renumbered meanwhile must not stay behind, so writers wait briefly.
            connection.execute("SELECT 1 FROM state FOR UPDATE")
            row = connection.execute(last, (MOVED_AT_ONCE,)).fetchone()
            if row is None or row[0] is None:
                break
            moved += connection.execute(move, row).rowcount
    log.info("vectors moved into the index", extra={"vectors": moved})
    connection.execute(sql.SQL("VACUUM ANALYZE {}").format(old))  # gives back the room of what moved
    connection.execute(sql.SQL("ANALYZE {}").format(new))


def _keep_index(connection: Connection, table: str, tuning: Tuning) -> None:
    """Make sure that a table has its one index, of the right kind, while others read and write."""
    there = vector_indexes(connection, table)
    kind = chosen(tuning, there)
    kept = next((index for index in there if index.valid and index.kind == kind), None)
    for index in there:
        if not index.valid:  # a build that was interrupted leaves one that nobody uses
            _drop_index(connection, index.name)
    if kept is not None and _is_outdated(connection, table, kept):
        _rebuild_index(connection, table, kept)
    elif kept is None and _has_many(connection, table):
        _build_index(connection, table, kind)
    elif kept is None:
        return
    for index in there:
        if index.valid and index != kept:
            _drop_index(connection, index.name)


def _build_index(connection: Connection, table: str, kind: Kind) -> None:
    _prepare_build(connection)
    build = index_sql(table, kind, _count(connection, table), concurrently=True)
    try:
        connection.execute(build)
    except (errors.DiskFull, errors.OutOfMemory) as error:
        # A container's /dev/shm is often too small for several builders, which share the graph there.
        log.warning("the vector index is built by one process only: %s", error)
        _drop_index(connection, index_name(table, kind))
        connection.execute("SET max_parallel_maintenance_workers = 0")
        connection.execute(build)
    connection.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(table)))
    _note_size(connection, table, index_name(table, kind))


def _drop_index(connection: Connection, name: str) -> None:
    connection.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(sql.Identifier(name)))


def _is_outdated(connection: Connection, table: str, index: VectorIndex) -> bool:
    """Whether so many vectors were removed since an index was built (or added, for IVFFlat) that a rebuild pays."""
    row = connection.execute("SELECT reltuples FROM pg_class WHERE oid = to_regclass(%s)", (table,)).fetchone()
    if row is None or row[0] < 0 or index.built_of is None:  # the server's own estimate, below zero without one
        return False
    share = float(row[0]) / max(index.built_of, 1)
    return share < SHRUNK_SHARE or (index.kind == "ivfflat" and share > GROWN_SHARE)


def _rebuild_index(connection: Connection, table: str, index: VectorIndex) -> None:
    """Rebuild the vector index while others read and write."""
    name = sql.Identifier(index.name)
    _prepare_build(connection)
    connection.execute(sql.SQL("VACUUM ANALYZE {}").format(sql.Identifier(table)))
    if index.kind == "ivfflat":
        lists = list_count(_count(connection, table))
        connection.execute(sql.SQL("ALTER INDEX {} SET (lists = {})").format(name, sql.Literal(lists)))
    connection.execute(sql.SQL("REINDEX INDEX CONCURRENTLY {}").format(name))
    _note_size(connection, table, index.name)


def _count(connection: Connection, table: str) -> int:
    row = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))).fetchone()
    return int(row[0]) if row else 0


def _note_size(connection: Connection, table: str, index: str) -> None:
    """Remember with an index how many vectors it was built of."""
    size = sql.Literal(str(_count(connection, table)))
    connection.execute(sql.SQL("COMMENT ON INDEX {} IS {}").format(sql.Identifier(index), size))


def _prepare_build(connection: Connection) -> None:
    connection.execute(
        f"SET maintenance_work_mem = '{BUILD_MEMORY}'; SET max_parallel_maintenance_workers = 4;"
        " SET statement_timeout = 0"
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


def replace_points(
    connection: Connection, deriver: Deriver, model_id: int, dimensions: int, kind: Kind
) -> None:
    """Fill the tables of a model's vectors, which are empty, and index them, inside a transaction."""
    table = points(model_id)
    filled = feed_points(connection, deriver, table, dimensions)
    if filled >= FRESH_ROWS:
        connection.execute(f"SET LOCAL maintenance_work_mem = '{BUILD_MEMORY}'")
        connection.execute(index_sql(table, kind, filled, concurrently=False))
        _note_size(connection, table, index_name(table, kind))
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
