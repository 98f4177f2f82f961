"""A role that was granted one collection tries, with any SQL it likes, to read another one."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import errors, sql
from tests.postgres.server import PostgresServer
from tests.store.builders import make_write, put
from tests.store.places import open_at_url

from outcrop.records import Filter
from outcrop.records.database_url import DatabaseUrl
from outcrop.store.postgres import PostgresStore

Connection = psycopg.Connection[tuple[Any, ...]]
ROLE, OTHER = "mallory", "carol"
SECRET = "merger"
TABLES = ("documents", "tags", "meta_values", "chunks", "notes", "rows", "postings", "declared")


def log_in(url: str, role: str) -> Connection:
    parsed = DatabaseUrl.parse(url)
    parts = urlsplit(parsed.uri())
    place = parts.netloc.rpartition("@")[2]
    uri = urlunsplit(parts._replace(netloc=f"{role}:secret@{place}"))
    return psycopg.connect(uri, autocommit=True, options=f"-c search_path={parsed.schema},public")


@pytest.fixture
def roles(postgres_server: PostgresServer) -> Iterator[None]:
    postgres_server.execute(*(f"CREATE ROLE {role} LOGIN PASSWORD 'secret'" for role in (ROLE, OTHER)))
    yield
    for role in (ROLE, OTHER):
        postgres_server.execute(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


@pytest.fixture
def owner(postgres_url: str, roles: None) -> Iterator[PostgresStore]:
    """An index with a collection that everybody reads and one that only its owner and another role do."""
    store = open_at_url(postgres_url)
    put(
        store,
        *(make_write(f"open{i}.md", f"apples {i}", collection="shared", title=f"apple {i}") for i in range(3)),
        *(
            make_write(
                f"{SECRET}{i:03}.md",
                f"{SECRET} with rival {i:03}",
                collection="private",
                title=f"{SECRET} {i:03}",
                tags=(SECRET, f"{SECRET}-{i}"),
                meta={f"{SECRET}{i:03}": f"{SECRET} {i:03}"},
            )
            for i in range(120)
        ),
    )
    for i in range(120):
        store.put_folder(
            "private", f"/srv/{SECRET}{i:03}", tags=[f"{SECRET}{i}"], survey=f'{{"dirty": ["{SECRET}{i}.md"]}}'
        )
    store.put_folder("shared", "/srv/shared", tags=["fruit"])
    for i in range(120):
        name = f"refs/heads/{SECRET}{i:03}"
        store.put_manifest("private", name, [], repository=f"/srv/{SECRET}.git", branch=f"{SECRET}{i:03}")
    fruit = [each.id for each in store.documents(Filter(collections=("shared",)))]
    store.put_manifest("shared", "refs/heads/main", fruit, repository="/srv/shared/.git", branch="main")
    store.put_setting("model", "static")
    store.put_setting("of the owner", SECRET)
    store.grant(ROLE, ["shared"])
    store.grant(OTHER, ["private"])
    yield store
    store.close()


@pytest.fixture
def mallory(owner: PostgresStore, postgres_url: str) -> Iterator[Connection]:
    with log_in(postgres_url, ROLE) as connection:
        yield connection


def readable(connection: Connection) -> set[int]:
    """The collections of which a role can read any row in any table."""
    seen: set[int] = set()
    for table in TABLES:
        rows = connection.execute(f"SELECT DISTINCT collection_id FROM {table}".encode()).fetchall()
        seen.update(id_ for (id_,) in rows)
    return seen


# ------------------------------------------------------------------ temporary objects


def test_a_temporary_table_of_tenants_opens_nothing(owner: PostgresStore, mallory: Connection) -> None:
    before = readable(mallory)
    schema = sql.Identifier(owner._connections.schema)
    assert len(before) == 1
    mallory.execute("CREATE TEMP TABLE tenants (role name, collection_id int)")
    mallory.execute("INSERT INTO pg_temp.tenants SELECT current_user, n FROM generate_series(1, 9) n")
    mallory.execute("INSERT INTO pg_temp.tenants VALUES (current_user, NULL)")
    mallory.execute("CREATE TEMP TABLE collections AS SELECT n AS id FROM generate_series(1, 9) n")
    assert readable(mallory) == before
    for path in ("pg_temp", "pg_temp, pg_catalog", ""):
        mallory.execute("SELECT set_config('search_path', %s, false)", (path,))
        rows = mallory.execute(sql.SQL("SELECT text FROM {}.chunks").format(schema)).fetchall()
        assert len(rows) == 3


@pytest.mark.parametrize(
    "make",
    [
        "CREATE TEMP VIEW tenants AS SELECT current_user::name AS role, NULL::int AS collection_id",
        "CREATE FUNCTION pg_temp.visible_collections() RETURNS int[] LANGUAGE sql AS 'SELECT ARRAY[1, 2]'",
        "CREATE FUNCTION pg_temp.array_agg(int) RETURNS int[] LANGUAGE sql AS 'SELECT ARRAY[1, 2]'",
        "CREATE FUNCTION pg_temp.name_eq(name, name) RETURNS boolean LANGUAGE sql AS 'SELECT true';"
        " CREATE OPERATOR pg_temp.= (LEFTARG = name, RIGHTARG = name, FUNCTION = pg_temp.name_eq)",
        "CREATE FUNCTION pg_temp.int_eq(int, int) RETURNS boolean LANGUAGE sql AS 'SELECT true';"
        " CREATE OPERATOR pg_temp.= (LEFTARG = int, RIGHTARG = int, FUNCTION = pg_temp.int_eq)",
        "CREATE TYPE pg_temp.name AS (x int)",
        "CREATE DOMAIN pg_temp.int4 AS text",
        "CREATE TEMP SEQUENCE tenants",
    ],
    ids=[
        "view",
        "function",
        "aggregate",
        "operator of names",
        "operator of numbers",
        "type",
        "domain",
        "sequence",
    ],
)
def test_no_temporary_object_stands_in_for_ours(mallory: Connection, make: str) -> None:
    before = readable(mallory)
    mallory.execute(make.encode())
    mallory.execute("SELECT set_config('search_path', 'pg_temp, ' || current_setting('search_path'), false)")
    assert readable(mallory) == before


# ------------------------------------------------------------------ what runs beside a policy


def test_a_cheap_function_is_not_handed_hidden_rows(mallory: Connection) -> None:
    mallory.execute("CREATE TEMP TABLE heard (said text)")
    mallory.execute(
        "CREATE FUNCTION pg_temp.listen(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS"
        " $$ BEGIN INSERT INTO heard VALUES ($1); RETURN true; END $$"
    )
    mallory.execute("SELECT count(*) FROM chunks WHERE pg_temp.listen(text)")
    mallory.execute("CREATE TEMP VIEW through AS SELECT * FROM chunks WHERE pg_temp.listen(text)")
    mallory.execute("SELECT count(*) FROM through WHERE pg_temp.listen(text)")
    heard = mallory.execute("SELECT said FROM heard").fetchall()
    assert heard
    assert not any(SECRET in said for (said,) in heard)


@pytest.mark.parametrize(
    "question",
    [
        "SELECT count(*) FROM chunks WHERE text::int > 0",
        "SELECT count(*) FROM documents WHERE title::date > now()",
        "SELECT count(*) FROM documents WHERE 1 / (CASE WHEN title LIKE 'merger%' THEN 0 ELSE 1 END) = 1",
        "SELECT count(*) FROM tags WHERE tag::uuid IS NULL",
        "SELECT text::json FROM chunks ORDER BY text::int",
    ],
)
def test_no_error_tells_of_a_hidden_row(mallory: Connection, question: str) -> None:
    said = ""
    with contextlib.suppress(errors.DataError):  # of a row that is visible, at most
        try:
            mallory.execute(question.encode())
        except psycopg.Error as error:
            said = str(error)
            raise
    assert SECRET not in said
    assert "division by zero" not in said


def test_row_security_cannot_be_switched_off(mallory: Connection) -> None:
    mallory.execute("SET row_security = off")
    with pytest.raises(errors.InsufficientPrivilege):
        mallory.execute("SELECT text FROM chunks")
    with pytest.raises(errors.InsufficientPrivilege):
        mallory.execute("SET ROLE outcrop")


def test_nothing_can_be_written(mallory: Connection) -> None:
    for statement in (
        "INSERT INTO tenants VALUES (current_user, NULL)",
        "UPDATE tenants SET collection_id = NULL",
        "CREATE TABLE mine (x int)",
        "CREATE OR REPLACE FUNCTION visible_collections() RETURNS int[] LANGUAGE sql AS 'SELECT ARRAY[1, 2]'",
        "ALTER TABLE chunks DISABLE ROW LEVEL SECURITY",
        "DROP POLICY by_collection ON chunks",
        "CREATE STATISTICS pg_temp.s ON title, uri FROM documents",
        "SELECT * FROM chunks FOR UPDATE",
        "SELECT nextval('collections_id_seq')",
        "SELECT last_value FROM collections_id_seq",
    ):
        with pytest.raises(errors.InsufficientPrivilege):
            mallory.execute(statement.encode())


# ------------------------------------------------------------------ tables without a collection


def test_other_roles_are_not_listed(owner: PostgresStore, mallory: Connection) -> None:
    assert {role for role, _ in owner.grants()} == {ROLE, OTHER}
    assert mallory.execute("SELECT DISTINCT role FROM tenants").fetchall() == [(ROLE,)]
    assert mallory.execute("SELECT name FROM collections").fetchall() == [("shared",)]


def test_folders_of_a_hidden_collection_are_hidden(mallory: Connection) -> None:
    rows = mallory.execute("SELECT collection, root, tags, survey FROM folders").fetchall()
    assert rows == [("shared", "/srv/shared", '["fruit"]', "")]


def test_branches_of_a_hidden_collection_are_hidden(owner: PostgresStore, mallory: Connection) -> None:
    rows = mallory.execute("SELECT collection, name, repository, branch FROM manifests").fetchall()
    assert rows == [("shared", "refs/heads/main", "/srv/shared/.git", "main")]
    hidden = owner.documents(Filter(collections=("private",)))
    listed = [each.id for each in owner.manifests() if each.branch.startswith(SECRET)]
    owner.put_manifest(
        "private",
        f"refs/heads/{SECRET}000",
        [info.id for info in hidden],
        repository="/srv/x.git",
        branch=SECRET,
    )
    rows = mallory.execute("SELECT DISTINCT manifest_id FROM manifest_documents").fetchall()
    assert len(listed) == 120
    assert len(rows) == 1


def test_of_the_settings_only_those_that_name_the_model_are_shown(mallory: Connection) -> None:
    assert mallory.execute("SELECT name, value FROM settings").fetchall() == [("model", "static")]


def test_vectors_of_hidden_texts_are_hidden(owner: PostgresStore, mallory: Connection) -> None:
    (count,) = mallory.execute("SELECT count(*) FROM vectors").fetchone() or (0,)
    assert 0 < count <= 6  # of three texts and three paths
    (all_of_them,) = owner._connections.read(
        lambda c: c.execute("SELECT count(*) FROM vectors").fetchone()
    ) or (0,)
    assert all_of_them > 100


def test_pending_documents_of_others_are_hidden(owner: PostgresStore, mallory: Connection) -> None:
    model = owner.active_model()
    assert model is not None
    owner.write([make_write(f"{SECRET}-later.md", collection="private")], {}, model, defer_embedding=True)
    assert len(owner.pending()) == 1
    assert mallory.execute("SELECT * FROM pending").fetchall() == []


# ------------------------------------------------------------------ what the planner knows


def analyze(owner: PostgresStore) -> None:
    for table in (*TABLES, "vectors", "settings", "folders", "collections", "manifests", "manifest_documents"):
        owner._connections.read(lambda c, table=table: c.execute(f"ANALYZE {table}"))  # type: ignore[misc]


def estimate(connection: Connection, question: str) -> int:
    rows = connection.execute(f"EXPLAIN {question}".encode()).fetchall()
    found = [re.search(r"Scan.*rows=(\d+)", line) for (line,) in rows]
    return next(int(match[1]) for match in found if match)


def test_statistics_show_no_values_of_hidden_rows(owner: PostgresStore, mallory: Connection) -> None:
    analyze(owner)
    rows = mallory.execute("SELECT pg_stats::text FROM pg_stats WHERE schemaname = current_schema()").fetchall()
    assert not any(SECRET in row for (row,) in rows)
    for view in ("pg_statistic", "pg_statistic_ext_data"):
        with pytest.raises(errors.InsufficientPrivilege):
            mallory.execute(f"SELECT * FROM {view}".encode())


@pytest.mark.parametrize(
    ("table", "column", "values"),
    [
        ("documents", "title", ("'a'", "'merger 050'", "'merger 100'", "'z'")),
        ("documents", "uri", ("'/a'", "'/home/me/merger050.md'", "'/home/me/merger100.md'", "'/z'")),
        ("documents", "path", ("'a'", "'merger050.md'", "'merger100.md'", "'z'")),
        ("documents", "collection", ("'a'", "'private'", "'q'", "'z'")),
        ("chunks", "text", ("'a'", "'merger with rival 050'", "'merger with rival 100'", "'z'")),
        ("tags", "tag", ("'a'", "'merger'", "'z'")),
        ("postings", "term", ("-9000000000000000000", "0", "9000000000000000000")),
        ("declared", "name", ("-9000000000000000000", "0", "9000000000000000000")),
        ("meta_values", "key", ("'a'", "'merger050'", "'merger100'", "'z'")),
        ("meta_values", "text", ("'a'", "'merger 050'", "'merger 100'", "'z'")),
        ("meta_values", "folded", ("'a'", "'merger 050'", "'merger 100'", "'z'")),
        ("manifests", "collection", ("'a'", "'private'", "'q'", "'z'")),
        ("manifests", "name", ("'a'", "'refs/heads/merger050'", "'refs/heads/merger100'", "'z'")),
        ("manifests", "repository", ("'/a'", "'/srv/merger.git'", "'/z'")),
        ("manifests", "branch", ("'a'", "'merger050'", "'merger100'", "'z'")),
        ("settings", "value", ("'a'", "'merger'", "'z'")),
        ("folders", "collection", ("'a'", "'private'", "'q'", "'z'")),
        ("folders", "root", ("'/a'", "'/srv/merger050'", "'/srv/merger100'", "'/z'")),
        ("folders", "tags", ("'a'", "'[\"merger50\"]'", "'z'")),
    ],
)
def test_estimates_tell_nothing_of_hidden_values(
    owner: PostgresStore, mallory: Connection, table: str, column: str, values: tuple[str, ...]
) -> None:
    analyze(owner)
    for operator in ("=", "<"):
        questions = [f"SELECT 1 FROM {table} WHERE {column} {operator} {value}" for value in values]
        assert len({estimate(mallory, question) for question in questions}) == 1, (table, column, operator)


# ------------------------------------------------------------------ taking it back


def test_a_role_that_lost_its_grant_reads_no_table(owner: PostgresStore, mallory: Connection) -> None:
    assert owner.revoke(ROLE) == 1
    for table in (
        *TABLES,
        "settings",
        "folders",
        "state",
        "vectors",
        "tenants",
        "manifests",
        "manifest_documents",
    ):
        with pytest.raises(errors.InsufficientPrivilege):
            mallory.execute(f"SELECT * FROM {table}".encode())
    owner.grant(ROLE, ["shared"])
    assert len(readable(mallory)) == 1


def test_a_grant_of_a_role_that_is_gone_can_be_taken_back(
    postgres_server: PostgresServer, owner: PostgresStore
) -> None:
    postgres_server.execute("CREATE ROLE passer_by")
    owner.grant("passer_by")
    postgres_server.execute("DROP OWNED BY passer_by", "DROP ROLE passer_by")
    assert owner.revoke("passer_by") == 1
