"""Connections to SQLite: who waits for whom, and what is said when something is in the way."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import apsw
import pytest
from tests.store.builders import make_write, put
from tests.store.example_steps import registered

from outcrop.errors import DatabaseBusy, StoreError
from outcrop.store.sqlite.schema import MIGRATIONS, migrate, schema_version
from outcrop.store.sqlite.store import SqliteStore, open_sqlite


def test_waiting_too_long_for_a_writer_of_this_process_is_an_error(db: Path) -> None:
    store = open_sqlite(db, busy_timeout_s=0.1)
    locked, release = threading.Event(), threading.Event()

    def hold() -> None:
        with store._connections.writing():
            locked.set()
            release.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert locked.wait(60)
    with pytest.raises(DatabaseBusy, match="another writer is at work"):
        put(store, make_write())
    release.set()
    holder.join()
    assert len(put(store, make_write())) == 1
    store.close()


def test_a_file_system_without_shared_memory_is_warned_about_and_works(
    db: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(
        apsw, "Connection", partial(apsw.Connection, vfs="unix-none")
    )  # as on some network disks
    store = open_sqlite(db)
    assert "without shared memory" in caplog.text
    put(store, make_write())
    assert store.stats().documents == 1
    assert list(store.check()) == []
    store.close()


def open_once_free(db: Path, other: apsw.Connection) -> SqliteStore:
    """Who is patient opens it when the transaction of the other ends; who is not is told."""
    with pytest.raises(DatabaseBusy):
        open_sqlite(db, busy_timeout_s=0.05)
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(open_sqlite, db, busy_timeout_s=60.0)
        other.execute("COMMIT")
        store = opening.result(60)
    other.close()
    return store


def test_a_new_file_that_another_reads_is_waited_for(db: Path) -> None:
    other = apsw.Connection(str(db))
    other.execute("BEGIN; SELECT count(*) FROM sqlite_schema").fetchall()
    store = open_once_free(db, other)
    assert store.stats().documents == 0
    store.close()


def test_a_copy_that_another_program_writes_is_waited_for(db: Path) -> None:
    """A copy as `VACUUM INTO` makes it has no log, and where that changes SQLite does not wait for a writer."""
    store = open_sqlite(db)
    put(store, make_write(text="there"))
    store.close()
    other = apsw.Connection(str(db))
    other.pragma("journal_mode", "delete")
    other.execute("BEGIN IMMEDIATE")
    store = open_once_free(db, other)
    assert store.stats().documents == 1
    store.close()


def test_a_process_that_waited_for_another_to_migrate_does_nothing(db: Path) -> None:
    steps: list[apsw.Connection] = []
    waits = threading.Event()
    first, second = apsw.Connection(str(db)), apsw.Connection(str(db))
    first.pragma("journal_mode", "wal")

    def try_again(_tries: int) -> bool:
        waits.set()
        return True

    second.set_busy_handler(try_again)
    with ThreadPoolExecutor(1) as pool:

        def step(connection: apsw.Connection) -> None:
            steps.append(connection)
            connection.execute("CREATE TABLE made (x)")
            waiting.append(pool.submit(migrate, second))
            assert waits.wait(60)

        waiting: list[Future[None]] = []
        with registered([step]):
            migrate(first)
            for found in waiting:
                found.result(60)
            assert schema_version(second) == len(MIGRATIONS) + 1
    assert steps == [first]
    first.close()
    second.close()


def test_a_file_that_vanishes_under_a_reader_is_an_error_that_says_so(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_sqlite(db)
    (id_,) = put(store, make_write(text="there"))
    store.close()
    monkeypatch.setattr("outcrop.store.sqlite.connections.os.access", lambda _path, _mode: False)
    reader = open_sqlite(db)
    assert reader.text(id_) == "there"
    db.unlink()
    with pytest.raises(StoreError, match="cannot be opened: check that it is a file"):
        reader.text(id_)
    reader.close()


def test_errors_of_sqlite_become_ours(sqlite: SqliteStore, db: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"), sqlite._connections.reading() as connection:
        connection.execute("DELETE FROM meta")
    with (
        pytest.raises(StoreError, match="the database failed: SQLError: no such table"),
        sqlite._connections.reading() as connection,
    ):
        connection.execute("SELECT * FROM nowhere")
    with pytest.raises(StoreError, match="check the disk"), sqlite._connections.reading():
        raise apsw.IOError("disk I/O error")
    shutil.rmtree(db.parent)
    with pytest.raises(StoreError, match="check the disk"), sqlite._connections.reading():
        raise apsw.IOError("disk I/O error")


def test_a_check_of_a_damaged_file_says_so(db: Path) -> None:
    store = open_sqlite(db)
    put(store, *(make_write(f"{i}.md", f"number {i}\n\n" + "word " * 300) for i in range(40)))
    store.close()
    damaged = open_sqlite(db, read_only=True)
    half = db.stat().st_size // 2
    with db.open("r+b") as file:
        file.seek(half)
        file.write(b"\xff" * half)
    assert any("damaged" in problem for problem in damaged.check())
    damaged.close()
