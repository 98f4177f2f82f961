"""Which roles may read an index, and which of its collections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from psycopg import sql

from outcrop.errors import NotFound
from outcrop.store.postgres.connections import Connection
from outcrop.store.postgres.values import to_text
from outcrop.store.postgres.vectors import active_model, fresh, points

_READABLE: Final = (
    *("state", "history", "settings", "folders", "models", "schema_version", "collections", "tenants"),
    *("manifests", "manifest_documents"),
    *("pending", "removals", "documents", "tags", "meta_values", "chunks", "notes", "vectors"),
    *("rows", "postings", "declared"),
)


def grant(connection: Connection, role: str, collections: Sequence[str] = ()) -> None:
    """Let a role read these collections, or all there are and will be; on top of what it may read already."""
    who = sql.Identifier(role)
    schema = connection.execute("SELECT current_schema()").fetchone() or ("",)
    connection.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(sql.Identifier(schema[0]), who))
    for table in _readable(connection):
        connection.execute(sql.SQL("GRANT SELECT ON {} TO {}").format(sql.Identifier(table), who))
    ids: list[int | None] = [None]
    if collections:
        rows = connection.execute(
            "SELECT name, id FROM collections WHERE name = ANY (%s)", ([to_text(name) for name in collections],)
        )
        known: dict[str, int] = dict(rows.fetchall())
        for name in collections:
            if to_text(name) not in known:
                raise NotFound(
                    f"there is no collection {name!r} to grant; there are: {', '.join(known) or 'none'}"
                )
        ids = list(known.values())
    for id_ in ids:
        connection.execute(
            "INSERT INTO tenants (role, collection_id) SELECT %(role)s, %(id)s WHERE NOT EXISTS (SELECT 1 FROM tenants"
            " WHERE role = %(role)s AND collection_id IS NOT DISTINCT FROM %(id)s::int)",
            {"role": role, "id": id_},
        )


def revoke(connection: Connection, role: str) -> int:
    """Let a role see nothing any more; how many grants there were. Of a dropped role only the name is taken back, which
    a new role may be given."""
    if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone():
        for table in _readable(connection):
            connection.execute(
                sql.SQL("REVOKE ALL ON {} FROM {}").format(sql.Identifier(table), sql.Identifier(role))
            )
    return connection.execute("DELETE FROM tenants WHERE role = %s", (role,)).rowcount


def _readable(connection: Connection) -> tuple[str, ...]:
    active = active_model(connection)
    return (*_READABLE, *((points(active[0]), fresh(active[0])) if active else ()))


def grants(connection: Connection) -> list[tuple[str, str | None]]:
    """(role, collection) of every grant; None stands for all collections."""
    rows = connection.execute(
        "SELECT t.role, c.name FROM tenants t LEFT JOIN collections c ON c.id = t.collection_id ORDER BY 1, 2"
    )
    return [(role, name) for role, name in rows]
