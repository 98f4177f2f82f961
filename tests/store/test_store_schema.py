"""Migrations of a SQLite index: an older database becomes a current one, or stays what it was.

There is one version so far, so the steps are those of example_steps.py.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from tests.store.builders import make_code, make_write, put
from tests.store.example_steps import STEPS, add_shelf, registered

from outcrop.errors import NewerDatabase, StoreError
from outcrop.store.sqlite.schema import APPLICATION_ID, MIGRATIONS, migrate, schema_version
from outcrop.store.sqlite.store import open_sqlite

ROOT = Path(__file__).parents[2]
VERSION = len(MIGRATIONS)
NEXT = VERSION + len(STEPS)


def schema_of(db: Path) -> list[tuple[object, ...]]:
    raw = apsw.Connection(str(db))
    rows = raw.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY name").fetchall()
    raw.close()
    return rows


def content_of(db: Path) -> list[object]:
    """Everything a store gives back of its documents."""
    store = open_sqlite(db)
    assert list(store.check()) == []
    found = [*store.export(0, 99), *store.pending(), *[row.chunk_id for row in store.feed(0, 99)]]
    store.close()
    return found


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """An index of the current version, which is an old one where the example steps are registered."""
    db = tmp_path / "old.db"
    store = open_sqlite(db)
    put(store, make_write("notes/a.md", "One apple.\n\nTwo pears.\n"), make_code())
    store.close()
    return db


@pytest.fixture
def steps() -> Iterator[None]:
    with registered():
        yield


def test_an_old_index_opens_with_everything_in_it_and_is_written_to(old: Path) -> None:
    before = content_of(old)
    with registered():
        assert content_of(old) == before
        store = open_sqlite(old)
        assert store.stats().schema_version == NEXT
        put(store, make_write("b.md"))
        assert list(store.check()) == []
        store.close()
    raw = apsw.Connection(str(old))
    shelves = raw.execute("SELECT path, shelf FROM documents ORDER BY id").fetchall()
    raw.close()
    assert shelves == [
        ("notes/a.md", "main/notes/a.md"),
        ("src/pool.py", "main/src/pool.py"),
        ("b.md", None),
    ]


def test_a_migrated_index_has_the_schema_of_a_new_one(old: Path, tmp_path: Path, steps: None) -> None:
    for db in (old, tmp_path / "new.db"):
        open_sqlite(db).close()
    assert schema_of(old) == schema_of(tmp_path / "new.db")


def test_a_step_runs_once(old: Path) -> None:
    ran: list[int] = []

    def count(connection: apsw.Connection) -> None:
        ran.append(1)
        add_shelf(connection)

    raw = apsw.Connection(str(old))
    with registered([count]):
        for _ in range(2):
            migrate(raw)
    assert ran == [1]
    assert raw.pragma("user_version") == VERSION + 1
    assert raw.pragma("application_id") == APPLICATION_ID
    assert raw.execute("SELECT count(shelf), count(*) FROM documents").fetchall() == [(0, 2)]
    raw.close()


def test_a_newer_index_is_refused_with_what_to_do_and_stays_as_it_is(old: Path) -> None:
    with registered():
        open_sqlite(old).close()
    before = old.read_bytes()
    for read_only in (False, True):
        with pytest.raises(
            NewerDatabase,
            match=rf"has schema version {NEXT}, this Outcrop knows up to {VERSION}: upgrade Outcrop, or choose another",
        ):
            open_sqlite(old, read_only=read_only)
    assert old.read_bytes() == before


def test_a_step_that_fails_leaves_the_database_as_the_step_before_it_did(old: Path) -> None:
    def fail(connection: apsw.Connection) -> None:
        connection.execute("DELETE FROM documents")
        raise ZeroDivisionError

    content = content_of(old)
    with registered([fail]), pytest.raises(ZeroDivisionError):
        open_sqlite(old)
    assert content_of(old) == content
    with registered([add_shelf, fail]), pytest.raises(ZeroDivisionError):
        open_sqlite(old)
    raw = apsw.Connection(str(old))
    assert raw.pragma("user_version") == VERSION + 1
    raw.close()
    with registered():
        assert content_of(old) == content


def test_a_migration_killed_at_any_statement_is_resumed_by_the_next_open(old: Path, tmp_path: Path) -> None:
    before = content_of(old)
    copies = tmp_path / "copies"
    copies.mkdir()
    command = [sys.executable, "-m", "tests.store.child", "migrate-killed", str(old), str(copies)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=300)
    killed = sorted(copies.glob("*.db"))
    assert len(killed) > 5, "two transactions of several statements"
    reached = []
    for copy in killed:
        raw = apsw.Connection(str(copy))
        reached.append(raw.pragma("user_version"))
        raw.close()
        with registered():
            assert content_of(copy) == before
            store = open_sqlite(copy)
            assert store.stats().schema_version == NEXT
            store.close()
    assert reached == sorted(reached)
    assert set(reached) == {VERSION, VERSION + 1}, "each step is there as a whole or not at all"


def test_a_reader_asks_for_an_upgrade_and_leaves_the_index_as_it_is(old: Path, steps: None) -> None:
    before = schema_of(old)
    with pytest.raises(StoreError, match="once for writing"):
        open_sqlite(old, read_only=True)
    assert schema_of(old) == before


def test_an_older_database_is_not_upgraded_by_a_reader(db: Path) -> None:
    raw = apsw.Connection(str(db))
    raw.pragma("application_id", APPLICATION_ID)
    raw.close()
    with pytest.raises(StoreError, match="once for writing"):
        open_sqlite(db, read_only=True)


def test_several_processes_may_create_the_database_at_once(db: Path) -> None:
    command = [sys.executable, "-m", "tests.store.child", "read", str(db), "60"]
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
