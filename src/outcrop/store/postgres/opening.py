"""Opening an index on Postgres: what is there, what this user may do, and the schema brought up to date."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from outcrop.errors import NotFound, StoreError
from outcrop.records.database_url import DatabaseUrl
from outcrop.records.derived import Deriver
from outcrop.store.postgres.connections import PATIENCE_S, Connection, Connections
from outcrop.store.postgres.schema import migrate, schema_version
from outcrop.store.postgres.store import PostgresStore
from outcrop.store.postgres.values import register_vectors
from outcrop.store.postgres.vectors import Tuning

_AS_IT_IS: Final = Tuning()


def open_postgres(
    url: DatabaseUrl,
    deriver: Callable[[], Deriver],
    *,
    read_only: bool = False,
    create: bool = True,
    tuning: Tuning = _AS_IT_IS,
    patience_s: float = PATIENCE_S,
) -> PostgresStore:
    """Open the index in a schema of a database, creating or upgrading it unless this user may only read.

    Without `create`, NotFound says that there is none.

    `deriver` gives what makes the rows that search looks up; it is asked for when something is written.
    """
    schema = url.schema
    connections = Connections(url.uri(), schema, str(url), patience_s=patience_s)
    with connections.translated(), connections.connect() as connection:
        may_write = not read_only and _may_write(connection, schema)
        if not create and schema_version(connection, schema) == 0:
            raise NotFound(f"there is no index in {connections.name} yet; `outcrop add FOLDER` makes one")
        if may_write:
            migrate(connection, schema)
        elif schema_version(connection, schema) == 0:
            raise StoreError(
                f"there is no index in {connections.name}, or this user may not see it; add something to create it"
            )
        register_vectors(connection)  # to say at once, and not with each search, that the extension is gone
    return PostgresStore(connections, deriver, read_only=not may_write, tuning=tuning)


def _may_write(connection: Connection, schema: str) -> bool:
    """Whether this user may change the index, or make it where there is none."""
    row = connection.execute(
        "SELECT CASE WHEN pg_is_in_recovery() THEN false"
        " WHEN to_regclass(%(table)s) IS NULL THEN NOT EXISTS"
        "   (SELECT 1 FROM pg_namespace WHERE nspname = %(schema)s AND NOT has_schema_privilege(oid, 'CREATE'))"
        " ELSE has_table_privilege(to_regclass(%(table)s), 'UPDATE') END",
        {"table": f'"{schema}".state', "schema": schema},
    ).fetchone()
    return bool(row and row[0])
