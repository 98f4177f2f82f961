"""Row-level security: which rows of an index a role may read, and what the planner may know of the others.

A granted role can run any SQL it likes, so nothing here trusts the session of whoever asks. Names are bound when a
policy or a function is made, not when it runs: a temporary table called `tenants` is just a table. What rows hold is
kept out of the statistics too, since `EXPLAIN` shows estimates made from the rows of everybody.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from psycopg import sql

from outcrop.store.postgres.connections import Connection

# Which collections the user of the connection may see. The owner of the tables sees all, whatever is written here; any
# other role needs a row in `tenants`: one with a collection, or one without for all of them. The body is SQL that is
# parsed once, here (BEGIN ATOMIC), so it refers to these very tables; no search path can lead it to others. It runs as
# the caller, who sees no other role's rows of `tenants`.
_VISIBLE: Final = """
CREATE FUNCTION {schema}.visible_collections() RETURNS pg_catalog.int4[] LANGUAGE sql STABLE
SET search_path TO pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT CASE
        WHEN EXISTS (SELECT 1 FROM {schema}.tenants t WHERE t.role = current_user AND t.collection_id IS NULL)
        THEN (SELECT pg_catalog.array_agg(c.id) FROM {schema}.collections c)
        ELSE (SELECT pg_catalog.array_agg(t.collection_id) FROM {schema}.tenants t WHERE t.role = current_user)
    END;
END
"""
_BY_COLLECTION_TABLES: Final = ("documents", "tags", "chunks", "notes", "rows", "postings", "declared")
_BY_COLLECTION: Final = "collection_id = ANY ((SELECT {schema}.visible_collections())::int[])"
# A role that may read all: asked once a query, not once a row, and asked first, since the rest is several times slower.
_ALL: Final = (
    "EXISTS (SELECT 1 FROM {schema}.tenants t WHERE t.role = current_user AND t.collection_id IS NULL)"
)

# Rows without the id of a collection. Vectors are shared by equal contents: a role sees those its rows refer to. Of
# folders it sees those of its collections (with their tags, commits and changed files), and of the settings only those
# that name the model: a setting that is not named here is for the owner alone.
_OTHER_TABLES: Final[Mapping[str, str]] = {
    "tenants": "role = current_user",
    "collections": (
        "EXISTS (SELECT 1 FROM {schema}.tenants t WHERE t.role = current_user"
        " AND coalesce(t.collection_id, collections.id) = collections.id)"
    ),
    "vectors": (
        f"{_ALL} OR EXISTS (SELECT 1 FROM {{schema}}.chunks c WHERE c.text_key = vectors.key)"
        " OR EXISTS (SELECT 1 FROM {schema}.documents d WHERE d.path_key = vectors.key)"
        " OR EXISTS (SELECT 1 FROM {schema}.notes n WHERE n.summary_key = vectors.key)"
    ),
    "pending": f"{_ALL} OR EXISTS (SELECT 1 FROM {{schema}}.documents d WHERE d.id = pending.document_id)",
    "folders": f"{_ALL} OR EXISTS (SELECT 1 FROM {{schema}}.collections c WHERE c.name = folders.collection)",
    "settings": f"{_ALL} OR name = 'model' OR starts_with(name, 'model ')",
}

_MANIFEST_TABLES: Final[Mapping[str, str]] = {
    "manifests": f"{_ALL} OR EXISTS (SELECT 1 FROM {{schema}}.collections c WHERE c.name = manifests.collection)",
    "manifest_documents": (
        f"{_ALL} OR EXISTS (SELECT 1 FROM {{schema}}.manifests m WHERE m.id = manifest_documents.manifest_id)"
    ),
}

# Columns that are never sampled: from the estimates of `EXPLAIN … WHERE title < 'm'` a patient role could otherwise
# read sampled values letter by letter, no matter whose rows hold them. The hash of a word is as good as the word to
# anyone who hashes a dictionary. Content keys are sampled: nobody can make one without the text.
_UNSAMPLED: Final[Mapping[str, tuple[str, ...]]] = {
    "tenants": ("role",),
    "collections": ("name",),
    "settings": ("name", "value"),
    "folders": ("collection", "root", "tags", "survey"),
    "documents": ("collection", "uri", "path", "root", "title", "meta", "sha256", "tail"),
    "tags": ("tag",),
    "chunks": ("heading_path", "gap", "text"),
    "notes": ("symbol", "signature", "summary", "names"),
    "rows": ("words", "facts"),
    "postings": ("term", "packed"),
    "declared": ("name", "scope"),
}


def secure_tables(connection: Connection) -> None:
    """Give every table its policy, and keep what rows hold out of the statistics."""
    connection.execute(sql.SQL(_VISIBLE).format(schema=_schema(connection)))
    for table in _BY_COLLECTION_TABLES:
        restrict(connection, table)
    for table, condition in _OTHER_TABLES.items():
        _add_policy(connection, table, condition)
    _keep_unsampled(connection, _UNSAMPLED)


def secure_manifests(connection: Connection) -> None:
    """The same for the tables of manifests; whoever may read chunks may read them."""
    for table, condition in _MANIFEST_TABLES.items():
        _add_policy(connection, table, condition)
        grant_as_chunks(connection, table)
    _keep_unsampled(connection, {"manifests": ("collection", "name", "repository", "branch", "revision")})


def secure_meta_values(connection: Connection) -> None:
    """The same for what is looked up of metadata."""
    restrict(connection, "meta_values")
    grant_as_chunks(connection, "meta_values")
    _keep_unsampled(connection, {"meta_values": ("key", "text", "number", "folded")})


def _keep_unsampled(connection: Connection, tables: Mapping[str, tuple[str, ...]]) -> None:
    for table, columns in tables.items():
        for column in columns:
            connection.execute(
                sql.SQL("ALTER TABLE {} ALTER COLUMN {} SET STATISTICS 0").format(
                    sql.Identifier(table), sql.Identifier(column)
                )
            )


def restrict(connection: Connection, table: str) -> None:
    """Let a role see those rows of a table whose collection it was given."""
    _add_policy(connection, table, _BY_COLLECTION)


def grant_as_chunks(connection: Connection, table: str) -> None:
    """Whoever may read chunks may read a table."""
    grants = connection.execute(
        "SELECT grantee, string_agg(privilege_type, ', ') FROM information_schema.role_table_grants"
        " WHERE table_schema = current_schema() AND table_name = 'chunks' AND grantee != current_user GROUP BY grantee"
    ).fetchall()
    for grantee, privileges in grants:
        who = sql.SQL("PUBLIC") if grantee == "PUBLIC" else sql.Identifier(grantee)
        connection.execute(
            sql.SQL("GRANT {} ON {} TO {}").format(sql.SQL(privileges), sql.Identifier(table), who)
        )


def _add_policy(connection: Connection, table: str, condition: str) -> None:
    name = sql.Identifier(table)
    schema = _schema(connection)
    connection.execute(sql.SQL("ALTER TABLE {}.{} ENABLE ROW LEVEL SECURITY").format(schema, name))
    connection.execute(
        sql.SQL("CREATE POLICY by_collection ON {}.{} USING ({})").format(
            schema, name, sql.SQL(condition).format(schema=schema)
        )
    )


def _schema(connection: Connection) -> sql.Identifier:
    row = connection.execute("SELECT current_schema()").fetchone()
    assert row is not None  # noqa: S101  tells mypy: a SELECT without FROM has a row
    return sql.Identifier(row[0])
