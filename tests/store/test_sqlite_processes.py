"""Many threads and processes on one SQLite file, and what is left when one of them is killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest
from tests.store.builders import make_write, put

from outcrop.errors import DatabaseBusy, StoreError
from outcrop.records import Filter
from outcrop.store.sqlite import SqliteStore, open_sqlite

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
        started = time.monotonic()
        assert pool.submit(lambda: len(sqlite.feed(0, 10))).result() == 2
        assert pool.submit(sqlite.version).result() == version
        assert time.monotonic() - started < 5, "a reader waited for the writer"
    assert output(child("read", db)).split() == ["1", str(version)]
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


def test_two_processes_write_at_once_and_nothing_is_lost(db: Path) -> None:
    writers = [child("write", db, name, 50) for name in ("x", "y")]  # both also create the database
    for writer in writers:
        output(writer)
    store = open_sqlite(db)
    assert {info.path for info in store.documents()} == {f"{n}-{i}.md" for n in "xy" for i in range(20)}
    assert store.stats().chunks == 40 * 12
    assert list(store.check()) == []
    store.close()


def test_a_killed_writer_leaves_all_or_nothing_of_each_document(db: Path) -> None:
    rng = random.Random(7)
    for number in range(10):
        writer = child("write", db, f"round{number}", 10_000)
        assert writer.stdout is not None
        said = [writer.stdout.readline()]  # it is at work now
        time.sleep(rng.uniform(0, 0.06))
        writer.send_signal(signal.SIGKILL)
        with writer:
            said += writer.stdout.readlines()
        acknowledged = len([line for line in said if line.endswith("\n")])
        store = open_sqlite(db)
        assert list(store.check()) == []
        mine = [info for info in store.documents() if info.path.startswith(f"round{number}-")]
        assert len(mine) >= min(acknowledged, 20), "an acknowledged write is gone"
        latest = max(mine, key=lambda info: info.updated_at)
        assert int(store.text(latest.id).split()[1]) in (acknowledged - 1, acknowledged)
        assert all(info.chunks == 12 == len(store.chunks_of(info.id)) for info in mine)
        store.close()


def test_many_threads_read_and_write_one_store_object(sqlite: SqliteStore) -> None:
    put(sqlite, make_write("base.md"))

    def work(number: int) -> None:
        for i in range(10):
            put(sqlite, make_write(f"{number}/{i}.md", f"thread {number}\n\nround {i}"))
            with sqlite.snapshot():
                ids = sqlite.select(Filter())
                assert len(sqlite.documents()) == len(ids)
                assert sum(len(sqlite.chunks_of(int(id_))) for id_ in ids[:5]) > 0
                assert sqlite.match_phrase(f"thread {number}").size >= i + 1

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    assert sqlite.stats().documents == 61
    assert list(sqlite.check()) == []


def test_closing_while_other_threads_read_ends_in_an_error_of_ours_or_none(db: Path) -> None:
    store = open_sqlite(db)
    put(store, *(make_write(f"{i}.md") for i in range(50)))
    started = threading.Barrier(5)

    def read() -> str:
        started.wait()
        try:
            while True:
                store.documents()
                store.feed(0, 100)
        except StoreError as error:
            return str(error)

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(4)]
        started.wait()
        time.sleep(0.05)
        store.close()
        for reader in readers:
            assert str(db) in reader.result(timeout=20)


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_opens_its_own_connections(sqlite: SqliteStore) -> None:
    put(sqlite, make_write("parent.md"))
    pid = os.fork()
    if pid == 0:  # the child answers through its exit status; pytest must not run on in it
        status = 1
        try:
            put(sqlite, make_write("child.md"))
            status = 0 if sqlite.stats().documents == 2 else 2
            sqlite.close()
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    put(sqlite, make_write("parent2.md"))
    assert sqlite.stats().documents == 3
    assert list(sqlite.check()) == []
