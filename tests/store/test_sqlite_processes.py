"""Many threads and processes on one SQLite file, and what is left when one of them is killed."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest
from tests.store.builders import make_write, put

from outcrop.errors import DatabaseBusy
from outcrop.store.sqlite.store import SqliteStore, open_sqlite

ROOT = Path(__file__).parents[2]


def child(*args: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.store.child", *map(str, args)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def output(process: subprocess.Popen[str]) -> str:
    with process:
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return out


def test_readers_in_other_threads_and_processes_see_the_old_state_while_a_write_is_under_way(
    sqlite: SqliteStore, db: Path
) -> None:
    put(sqlite, make_write("a.md"))
    version = sqlite.version()
    other = apsw.Connection(str(db))
    other.execute("BEGIN IMMEDIATE; DELETE FROM chunks; DELETE FROM documents").fetchall()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: len(sqlite.feed(0, 10))).result() == 2  # a reader that waits is told "busy"
        assert pool.submit(sqlite.version).result() == version
    assert output(child("read", db, "0.1")).split() == ["1", str(version)]
    other.execute("ROLLBACK")
    other.close()


def test_a_writer_waits_for_another_and_gives_up_after_the_timeout(sqlite: SqliteStore, db: Path) -> None:
    impatient = open_sqlite(db, busy_timeout_s=0.05)
    other = apsw.Connection(str(db))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(DatabaseBusy, match="try again"):
        put(impatient, make_write())
    threading.Timer(0.2, lambda: other.execute("ROLLBACK")).start()
    put(sqlite, make_write())
    put(impatient, make_write("b.md"))
    assert sqlite.stats().documents == 2
    impatient.close()
    other.close()


def test_the_connection_of_a_thread_ends_with_it(sqlite: SqliteStore) -> None:
    def count() -> int:
        return len(apsw.connections())

    sqlite.version()
    before = count()
    for _ in range(5):
        thread = threading.Thread(target=sqlite.version)
        thread.start()
        thread.join()
    assert count() == before
