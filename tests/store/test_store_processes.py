"""Many threads and processes on one store, and what is left when one of them is killed."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.store.builders import make_write, put
from tests.store.conftest import STORES
from tests.store.places import open_at
from tests.store.test_sqlite_processes import child, output

from outcrop.contracts import Store
from outcrop.errors import StoreError
from outcrop.records import Filter
from outcrop.records.database_url import DatabaseUrl, has_scheme


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store is: a file, or a URL."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return str(tmp_path / "index.db")


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    """A new, empty store there."""
    opened = open_at(place)
    yield opened
    opened.close()


def named(place: str) -> str:
    """What a message calls it."""
    return str(DatabaseUrl.parse(place)) if has_scheme(place) else place


def test_two_processes_write_at_once_and_nothing_is_lost(place: str) -> None:
    writers = [child("write", place, name, 50) for name in ("x", "y")]  # both also create the database
    for writer in writers:
        output(writer)
    store = open_at(place)
    assert {info.path for info in store.documents()} == {f"{n}-{i}.md" for n in "xy" for i in range(20)}
    assert store.stats().chunks == 40 * 12
    assert list(store.check()) == []
    store.close()


def test_a_killed_writer_leaves_all_or_nothing_of_each_document(place: str) -> None:
    rng = random.Random(7)
    for number in range(5 if has_scheme(place) else 10):  # a child on Postgres imports twice as much
        writer = child("write", place, f"round{number}", 10_000)
        assert writer.stdout is not None
        said = [writer.stdout.readline()]  # it is at work now
        time.sleep(rng.uniform(0, 0.06))
        writer.send_signal(signal.SIGKILL)
        with writer:
            said += writer.stdout.readlines()
        acknowledged = len([line for line in said if line.endswith("\n")])
        store = open_at(place)
        assert list(store.check()) == []
        mine = [info for info in store.documents() if info.path.startswith(f"round{number}-")]
        assert len(mine) >= min(acknowledged, 20), "an acknowledged write is gone"
        latest = max(mine, key=lambda info: info.updated_at)
        assert int(store.text(latest.id).split()[1]) in (acknowledged - 1, acknowledged)
        assert all(info.chunks == 12 == len(store.chunks_of(info.id)) for info in mine)
        store.close()


def test_many_threads_read_and_write_one_store_object(store: Store) -> None:
    put(store, make_write("base.md"))

    def work(number: int) -> None:
        for i in range(10):
            put(store, make_write(f"{number}/{i}.md", f"thread {number}\n\nround {i}"))
            with store.snapshot():
                ids = store.select(Filter())
                assert len(store.documents()) == len(ids)
                assert sum(len(store.chunks_of(int(id_))) for id_ in ids[:5]) > 0
                assert store.match_phrase(f"thread {number}").size >= i + 1

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    assert store.stats().documents == 61
    assert list(store.check()) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_opens_its_own_connections(store: Store) -> None:
    put(store, make_write("parent.md"))
    pid = os.fork()
    if pid == 0:  # the child answers through its exit status; pytest must not run on in it
        status = 1
        try:
            put(store, make_write("child.md"))
            status = 0 if store.stats().documents == 2 else 2
            store.close()
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    put(store, make_write("parent2.md"))
    assert store.stats().documents == 3
    pid = os.fork()
    if pid == 0:  # one that never used it
        store.close()
        os._exit(0)
    os.waitpid(pid, 0)
    assert store.stats().documents == 3, "the connections are still its own"
    assert list(store.check()) == []


def test_closing_while_other_threads_read_ends_in_an_error_of_ours_or_none(place: str) -> None:
    store = open_at(place)
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
            assert named(place) in reader.result(timeout=60)
