"""How the tables come to be: by several at once, and never over somebody else's."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from tests.postgres.server import PostgresServer
from tests.store.builders import make_write, put
from tests.store.example_steps import STEPS, registered
from tests.store.places import open_at_url

from outcrop.errors import NewerDatabase, NotFound, StoreError
from outcrop.records.database_url import DatabaseUrl
from outcrop.records.derived import Deriver
from outcrop.store.postgres import open_postgres, schema

ROOT = Path(__file__).parents[2]
_OPEN = """
import sys
sys.path.insert(0, sys.argv[2])
from tests.store.builders import make_write, put
from tests.store.example_steps import STEPS, registered
from tests.store.places import open_at_url
store = open_at_url(sys.argv[1])
put(store, make_write(sys.argv[3], f"written by {sys.argv[3]}"))
store.close()
"""


def test_many_processes_make_the_tables_at_once(postgres_url: str) -> None:
    children = [
        subprocess.Popen(
            [sys.executable, "-c", _OPEN, postgres_url, str(ROOT), f"{i}.md"], stderr=subprocess.PIPE
        )
        for i in range(4)
    ]
    said = [child.communicate(timeout=60)[1] for child in children]
    assert [child.returncode for child in children] == [0] * 4, said
    store = open_at_url(postgres_url)
    assert store.stats().documents == 4
    assert list(store.check()) == []
    store.close()


def test_a_process_that_waited_for_another_to_create_the_tables_creates_none(postgres_url: str) -> None:
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with ThreadPoolExecutor(1) as pool, connect(postgres_url) as first:
        with first.transaction():
            schema.migrate(first, DatabaseUrl.parse(postgres_url).schema)  # which nobody sees yet
            second = pool.submit(open_at_url, postgres_url)
            while first.execute(waiting).fetchone() == (0,):
                assert not second.done()
                time.sleep(0.01)
        store = second.result(60)
    assert store.stats().documents == 0
    store.close()


def connect(url: str) -> psycopg.Connection[tuple[object, ...]]:
    parsed = DatabaseUrl.parse(url)
    return psycopg.connect(parsed.uri(), autocommit=True, options=f"-c search_path={parsed.schema},public")


def test_a_newer_schema_is_left_alone(postgres_url: str) -> None:
    open_at_url(postgres_url).close()
    with connect(postgres_url) as connection:
        connection.execute("UPDATE schema_version SET version = 99")
    with pytest.raises(NewerDatabase, match="upgrade Outcrop"):
        open_at_url(postgres_url)


def test_tables_of_another_program_are_left_alone(postgres_url: str) -> None:
    name = DatabaseUrl.parse(postgres_url).schema
    with connect(postgres_url) as connection:
        connection.execute(f"CREATE SCHEMA {name}; CREATE TABLE mine (x int)".encode())
    with pytest.raises(StoreError, match="another program"):
        open_at_url(postgres_url)
    with connect(postgres_url) as connection:
        assert connection.execute("SELECT count(*) FROM mine").fetchone() == (0,)


def test_a_step_that_fails_leaves_the_schema_as_it_was(postgres_url: str) -> None:
    store = open_at_url(postgres_url)
    put(store, make_write())

    def fail(connection: psycopg.Connection[tuple[object, ...]]) -> None:
        connection.execute("DROP TABLE notes CASCADE")
        raise RuntimeError("no")

    with registered([fail], schema), pytest.raises(RuntimeError):
        open_at_url(postgres_url)
    assert store.stats().schema_version == len(schema.MIGRATIONS)
    assert list(store.check()) == []
    store.close()


def test_a_migration_that_is_killed_is_resumed_by_the_next_open(postgres_url: str) -> None:
    store = open_at_url(postgres_url)
    put(store, make_write("a.md"), make_write("b.md"))
    before = store.export(0, 9)
    version = store.stats().schema_version
    for point in ("begun", "changed"):
        command = [sys.executable, "-m", "tests.store.child", "migrate-postgres", postgres_url, point]
        assert subprocess.run(command, cwd=ROOT, check=False, timeout=100).returncode == -signal.SIGKILL
        with connect(postgres_url) as connection:
            reached = connection.execute("SELECT version FROM schema_version").fetchall()
            shelves = connection.execute("SELECT count(shelf) FROM documents").fetchall()
        assert (reached, shelves) == ([(version + 1,)], [(0,)]), "the first step is done, the second is not"
    with registered(STEPS, schema):
        migrated = open_at_url(postgres_url)
        assert migrated.stats().schema_version == version + 2
        assert migrated.export(0, 9) == before
        put(migrated, make_write("c.md"))
        assert list(migrated.check()) == []
        migrated.close()
    with connect(postgres_url) as connection:
        rows = connection.execute("SELECT path, shelf FROM documents ORDER BY id").fetchall()
    assert rows == [("a.md", "main/a.md"), ("b.md", "main/b.md"), ("c.md", None)]
    with pytest.raises(NewerDatabase, match="upgrade Outcrop"):
        open_at_url(postgres_url)
    store.close()


def test_a_database_without_the_extension_says_what_to_do(postgres_server: PostgresServer) -> None:
    postgres_server.execute(
        "CREATE DATABASE bare OWNER outcrop", "CREATE ROLE guest LOGIN PASSWORD 'secret'", database="postgres"
    )
    try:
        postgres_server.execute("GRANT CREATE ON DATABASE bare TO guest", database="bare")
        start, _, _ = postgres_server.url().rpartition("/")
        place = start.rpartition("@")[2]
        with pytest.raises(StoreError, match="CREATE EXTENSION vector"):
            open_at_url(f"postgresql://guest:secret@{place}/bare")
        with pytest.raises(StoreError, match="createdb"):
            open_at_url(f"{start}/nowhere")
    finally:
        postgres_server.execute("DROP DATABASE bare WITH (FORCE)", "DROP ROLE guest", database="postgres")


@pytest.fixture
def bare(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of a database of its own, without the extension."""
    postgres_server.execute("CREATE DATABASE bare OWNER outcrop", database="postgres")
    yield postgres_server.url().rpartition("/")[0] + "/bare"
    postgres_server.execute("DROP DATABASE bare WITH (FORCE)", database="postgres")


def test_the_extension_is_created_with_the_tables_where_that_is_allowed(
    postgres_server: PostgresServer, bare: str
) -> None:
    open_at_url(postgres_server.admin_url("bare")).close()
    made = postgres_server.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'", database="bare")
    assert made == [(1,)]


def test_an_extension_that_is_too_old_is_reported_with_the_version_that_is_needed(
    postgres_server: PostgresServer, bare: str
) -> None:
    postgres_server.execute(
        "CREATE EXTENSION vector",
        "UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'",
        database="bare",
    )
    with pytest.raises(StoreError, match=r"pgvector 0\.7\.4 is too old, .* is needed"):
        open_at_url(bare)


def test_an_extension_that_the_server_forbids_is_reported_with_the_reason(
    postgres_server: PostgresServer, bare: str
) -> None:
    postgres_server.execute(
        "CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'extensions are made by the platform'; END $$",
        "CREATE EVENT TRIGGER refusal ON ddl_command_start WHEN TAG IN ('CREATE EXTENSION')"
        " EXECUTE FUNCTION refuse()",
        database="bare",
    )
    with pytest.raises(StoreError, match="could not be made: extensions are made by the platform"):
        open_at_url(bare)


def test_an_extension_that_was_dropped_is_reported_at_once(postgres_server: PostgresServer, bare: str) -> None:
    postgres_server.execute("CREATE EXTENSION vector", database="bare")
    store = open_at_url(bare)
    put(store, make_write())
    store.close()
    postgres_server.execute("DROP EXTENSION vector CASCADE", database="bare")
    with pytest.raises(StoreError, match="run CREATE EXTENSION vector"):
        open_at_url(bare)


def test_a_reader_creates_no_tables(postgres_url: str) -> None:
    url = DatabaseUrl.parse(postgres_url)
    with pytest.raises(StoreError, match="there is no index in"):
        open_postgres(url, no_deriver, read_only=True)
    with pytest.raises(NotFound, match="there is no index in"):
        open_postgres(url, no_deriver, create=False)
    with connect(postgres_url) as connection:
        assert connection.execute("SELECT to_regclass('state')").fetchone() == (None,)


def no_deriver() -> Deriver:
    raise AssertionError("nothing is written")


def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    with pytest.raises(StoreError, match="Check that the server runs") as caught:
        open_at_url("postgresql://me:hidden@127.0.0.1:1/db")
    assert "hidden" not in str(caught.value)
