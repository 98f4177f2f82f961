"""A database of an earlier version becomes a current one, or stays what it was."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from tests.store.builders import make_write, put

from outcrop.errors import NewerDatabase, StoreError
from outcrop.store.schema import APPLICATION_ID, MIGRATIONS, migrate, schema_version
from outcrop.store.sqlite import SqliteStore, open_sqlite

ROOT = Path(__file__).parents[2]
VERSION_1 = Path(__file__).with_name("schema_1.sql")


def schema_of(db: Path) -> list[tuple[object, ...]]:
    raw = apsw.Connection(str(db))
    rows = raw.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY name").fetchall()
    raw.close()
    return rows


@pytest.fixture
def version_1(tmp_path: Path) -> Path:
    """A database as version 1 made it, with two documents."""
    db = tmp_path / "version_1.db"
    raw = apsw.Connection(str(db))
    raw.execute("PRAGMA auto_vacuum = incremental; PRAGMA journal_mode = wal").fetchall()
    raw.execute(VERSION_1.read_text("utf-8")).fetchall()
    raw.close()
    return db


def test_a_database_of_version_1_opens_with_all_that_is_in_it(version_1: Path) -> None:
    store = open_sqlite(version_1)
    assert store.stats().schema_version == len(MIGRATIONS)
    assert list(store.check()) == []
    first, second = store.documents()
    assert (first.path, first.tags, first.meta) == ("notes/a.md", ("blue", "red"), {"author": "Zoë"})
    assert store.text(first.id) == "One apple.\n\nTwo pears.\n"
    assert store.text(second.id) == "no chunks"
    assert [chunk.heading_path for chunk in store.chunks_of(first.id)] == [(), ("Fruit", "Pears")]
    assert [c.text for c in store.chunks(store.match_phrase("two PEARS").tolist())] == ["Two pears."]
    put(store, make_write("b.md"))
    store.close()


def test_the_first_migration_still_makes_what_version_1_was(version_1: Path, tmp_path: Path) -> None:
    db = tmp_path / "new.db"
    raw = apsw.Connection(str(db))
    migrate(raw, MIGRATIONS[:1])
    raw.close()
    assert schema_of(db) == schema_of(version_1)


def second(connection: apsw.Connection) -> None:
    connection.execute("ALTER TABLE documents ADD COLUMN language TEXT")


def test_a_second_migration_runs_once_and_keeps_the_data(version_1: Path) -> None:
    ran: list[int] = []

    def count(connection: apsw.Connection) -> None:
        ran.append(1)
        second(connection)

    raw = apsw.Connection(str(version_1))
    for _ in range(2):
        migrate(raw, [*MIGRATIONS[:1], count])
    assert ran == [1]
    assert raw.pragma("user_version") == 2
    assert raw.pragma("application_id") == APPLICATION_ID
    assert raw.execute("SELECT count(language), count(*) FROM documents").fetchall() == [(0, 2)]
    with pytest.raises(NewerDatabase):
        migrate(raw, MIGRATIONS[:1])
    raw.close()


def test_a_migration_that_fails_leaves_the_old_database(version_1: Path) -> None:
    def fail(connection: apsw.Connection) -> None:
        second(connection)
        connection.execute("DELETE FROM documents")
        raise ZeroDivisionError

    raw = apsw.Connection(str(version_1))
    before = schema_of(version_1)
    with pytest.raises(ZeroDivisionError):
        migrate(raw, [*MIGRATIONS, fail])
    raw.close()
    assert schema_of(version_1) == before
    store = open_sqlite(version_1)
    assert store.stats().documents == 2
    store.close()


def test_a_migration_killed_in_the_middle_leaves_the_old_database(sqlite: SqliteStore, db: Path) -> None:
    put(sqlite, make_write())
    before = schema_of(db)
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.child", "migrate", str(db)], cwd=ROOT, check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert schema_of(db) == before
    assert sqlite.stats().chunks == 2
    assert list(sqlite.check()) == []


def test_an_older_database_is_not_upgraded_by_a_reader(db: Path) -> None:
    raw = apsw.Connection(str(db))
    raw.pragma("application_id", APPLICATION_ID)
    raw.close()
    with pytest.raises(StoreError, match="once for writing"):
        open_sqlite(db, read_only=True)


def test_several_processes_may_create_the_database_at_once(db: Path) -> None:
    command = [sys.executable, "-m", "tests.store.child", "read", str(db)]
    children = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) for _ in range(5)]
    for process in children:
        with process:
            out, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        assert out.split() == [b"0", b"1"]


def test_a_database_that_is_being_created_just_now_is_not_taken_for_another_programs(tmp_path: Path) -> None:
    path = str(tmp_path / "new.db")
    first, second = apsw.Connection(path), apsw.Connection(path)
    first.pragma("journal_mode", "wal")
    created: list[bool] = []

    def create_in_between(_: apsw.Cursor, statement: str, __: object) -> bool:
        if "sqlite_schema" in statement and not created:
            created.append(True)
            migrate(second)
        return True

    first.exec_trace = create_in_between
    assert schema_version(first) == 0
    assert created
    first.exec_trace = None
    assert schema_version(first) == len(MIGRATIONS)
    first.close()
    second.close()
