"""A synchronous standby holds what was acknowledged: shown with plain psycopg, before anything of ours stands on it."""

from __future__ import annotations

import threading

import psycopg
from tests.postgres.replicas import Replicas, open_replicas


class Writer(threading.Thread):
    """Inserts ascending numbers, each a transaction, until it is told to stop or its server is gone."""

    def __init__(self, url: str, first: int) -> None:
        super().__init__(daemon=True)
        self.url, self.number = url, first
        self.acknowledged: list[int] = []
        self.enough = threading.Event()
        self.error: psycopg.Error | None = None

    def run(self) -> None:
        try:
            with psycopg.connect(self.url, autocommit=True) as connection:
                while not self.enough.is_set():
                    connection.execute("INSERT INTO numbers VALUES (%s)", (self.number,))
                    self.acknowledged.append(self.number)
                    self.number += 1
        except psycopg.Error as error:
            self.error = error


def stored(replicas: Replicas) -> set[int]:
    return {number for (number,) in replicas.standby.execute("SELECT number FROM numbers")}


def wait_for_rows(writers: list[Writer], count: int) -> None:
    while any(len(writer.acknowledged) < count for writer in writers):
        assert all(writer.is_alive() for writer in writers), [writer.error for writer in writers]
        threading.Event().wait(0.01)


def test_what_was_acknowledged_before_a_kill_is_on_the_promoted_standby() -> None:
    with open_replicas() as replicas:
        replicas.primary.execute(
            "CREATE TABLE numbers (number bigint PRIMARY KEY)", "GRANT ALL ON numbers TO PUBLIC"
        )
        writers = [Writer(replicas.url(), first) for first in (0, 1_000_000, 2_000_000)]
        for writer in writers:
            writer.start()
        wait_for_rows(writers, 50)
        replicas.kill_primary()
        for writer in writers:
            writer.join()
        assert all(isinstance(writer.error, psycopg.OperationalError) for writer in writers)
        replicas.promote()
        acknowledged = {number for writer in writers for number in writer.acknowledged}
        assert acknowledged <= stored(replicas)

        after = Writer(replicas.url(), 3_000_000)  # the same address finds the server that takes writes
        after.start()
        wait_for_rows([after], 10)
        after.enough.set()
        after.join()
        assert after.error is None
        assert set(after.acknowledged) <= stored(replicas)


def test_a_commit_waits_for_the_standby_to_show_it() -> None:
    with open_replicas("remote_apply") as replicas:
        replicas.primary.execute("CREATE TABLE numbers (number bigint PRIMARY KEY)")
        for number in range(20):
            replicas.primary.execute(f"INSERT INTO numbers VALUES ({number})")
            assert number in stored(replicas)
