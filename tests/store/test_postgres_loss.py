"""Connections get lost: what was asked is asked again, what was written is written once."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
from tests.postgres.server import PostgresServer, create_server, open_home
from tests.store.builders import make_write, put
from tests.store.places import open_at_url

from outcrop.errors import DatabaseBusy, DatabaseLost, StoreError
from outcrop.records.database_url import DatabaseUrl
from outcrop.store.postgres import PostgresStore, connections, open_postgres, writing
from outcrop.store.postgres.in_place.derive import SearchDeriver
from outcrop.text.terms import Terms


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    opened = open_at_url(postgres_url)
    yield opened
    opened.close()


def hurry(store: PostgresStore, seconds: float) -> None:
    """Let it give up after so long from now on; it was opened in as long as a busy machine takes."""
    store._connections._patience_s = store._connections._connections().timeout = seconds


def test_a_question_is_asked_again(store: PostgresStore, postgres_server: PostgresServer) -> None:
    (id_,) = put(store, make_write(text="still here"))
    postgres_server.cut_connections()
    assert store.text(id_) == "still here"
    postgres_server.cut_connections()
    assert store.version() > 1


def test_a_write_that_is_cut_off_is_done_again_and_once(
    store: PostgresStore, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts: list[int] = []
    real = writing.put_documents

    def cut_off(*args: object, **options: object) -> list[int]:
        ids = real(*args, **options)  # type: ignore[arg-type]
        attempts.append(1)
        if len(attempts) == 1:
            postgres_server.cut_connections()
        return ids

    monkeypatch.setattr("outcrop.store.postgres.store.put_documents", cut_off)
    put(store, make_write("a.md"))
    assert len(attempts) == 2
    assert store.stats().documents == 1
    assert list(store.check()) == []


class Cutter:
    """A way to the server that breaks after a word, such as COMMIT, has gone through, before its answer comes back."""

    def __init__(self, port: int, word: bytes = b"COMMIT") -> None:
        self._target = port
        self._word = word
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.to_cut = 0
        self._threads: list[threading.Thread] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                back = threading.Thread(target=self._forward, args=(server, client, None), daemon=True)
                back.start()
                there = threading.Thread(target=self._forward, args=(client, server, back), daemon=True)
                there.start()
                self._threads.append(there)

    def _forward(self, source: socket.socket, target: socket.socket, other: threading.Thread | None) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                cut = other is not None and self.to_cut > 0 and self._word in data
                if cut:
                    self.to_cut -= 1
                    source.shutdown(socket.SHUT_RDWR)  # the answer will have nowhere to go
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        if other is not None:  # the other half ends by the shutdown; this one closes for both
            other.join()
            source.close()
            target.close()

    def close(self) -> None:
        self._listener.close()
        for thread in self._threads:
            thread.join(60)


def test_a_write_whose_commit_was_not_heard_of_is_not_done_twice(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    open_at_url(postgres_url).close()
    cutter = Cutter(postgres_server.port)
    store = open_at_url(postgres_url.replace(f":{postgres_server.port}/", f":{cutter.port}/"))
    put(store, make_write("first.md"))
    version = store.version()
    cutter.to_cut = 1
    put(store, make_write("second.md", "Other words."))
    assert cutter.to_cut == 0
    assert store.version() == version + 1
    assert store.stats().documents == 2
    assert list(store.check()) == []
    store.close()
    cutter.close()


def test_a_connection_that_breaks_while_it_is_opened_is_closed(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    cutter = Cutter(postgres_server.port, b"SET search_path")
    cutter.to_cut = 1
    with pytest.raises(DatabaseLost, match="cannot be reached"):
        open_at_url(postgres_url.replace(f":{postgres_server.port}/", f":{cutter.port}/"))
    assert cutter.to_cut == 0
    cutter.close()


def test_an_index_that_is_dropped_meanwhile_is_reported_and_may_come_back(
    store: PostgresStore, postgres_server: PostgresServer, postgres_url: str
) -> None:
    put(store, make_write())
    postgres_server.drop(DatabaseUrl.parse(postgres_url).schema)
    with pytest.raises(DatabaseLost, match="the tables changed meanwhile"):
        store.stats()
    open_at_url(postgres_url).close()
    assert store.stats().documents == 0, "the connection was given back in order"


def test_errors_of_the_server_become_ours(store: PostgresStore) -> None:
    def fail(state: str) -> None:
        store._connections.write(
            lambda connection, _: connection.execute(
                f"DO $$ BEGIN RAISE '{state}' USING ERRCODE = '{state}'; END $$".encode()
            )
        )

    with pytest.raises(StoreError, match=r"disk of .* is full.*free some space"):
        fail("53100")
    with pytest.raises(StoreError, match=r"may not do that .*ask the owner"):
        fail("42501")
    with pytest.raises(StoreError, match="the database failed: DivisionByZero"):
        fail("22012")
    assert store.stats().documents == 0


def test_what_is_asked_again_and_again_is_asked_once_a_snapshot(store: PostgresStore) -> None:
    put(store, make_write())
    with store.snapshot(), store.snapshot():
        first = store.active_model()
        assert store.active_model() is first is not None
    assert store.active_model() is not first


def test_a_name_that_no_text_can_hold_is_refused(store: PostgresStore) -> None:
    with pytest.raises(StoreError, match="a character that cannot be stored or looked for"):
        store.find("main", "\ud800")


def test_a_pool_that_is_exhausted_is_not_taken_for_a_lost_server(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "POOL_SIZE", 1)
    busy = open_at_url(postgres_url)
    with busy.snapshot():
        hurry(busy, 0.5)
        found: list[BaseException] = []

        def ask() -> None:
            try:
                busy.version()
            except DatabaseLost as error:
                found.append(error)

        other = threading.Thread(target=ask)
        other.start()
        other.join()
    assert "all its connections are busy" in str(found[0])
    busy.close()


def test_a_server_that_comes_back_is_waited_for_and_one_that_does_not_is_reported() -> None:
    with open_home() as home:
        server = create_server(home, "restarted", durable=True)
        url = DatabaseUrl.parse(server.url("outcrop"))
        patient = open_postgres(url, lambda: SearchDeriver(Terms(), 0.0), patience_s=300.0)
        hasty = open_postgres(url, lambda: SearchDeriver(Terms(), 0.0))
        (id_,) = put(patient, make_write(text="kept"))
        hurry(hasty, 0.5)
        server.kill()
        with pytest.raises(DatabaseLost, match="cannot be reached") as refused:
            hasty.version()
        assert "?" not in str(refused.value), "libpq asks back; our message ends with what to do"
        with pytest.raises(DatabaseLost):
            put(hasty, make_write("lost.md"))
        back = threading.Timer(1.0, server.start)
        back.start()
        assert patient.text(id_) == "kept"
        put(patient, make_write("more.md", "More words."))
        back.join()
        assert patient.stats().documents == 2
        assert list(patient.check()) == []
        patient.close()
        hasty.close()


def test_a_writer_that_waits_too_long_says_so(postgres_url: str) -> None:
    first = open_at_url(postgres_url)
    put(first, make_write())
    second = open_at_url(postgres_url)
    hurry(second, 2.0)
    release, locked = threading.Event(), threading.Event()

    def hold() -> None:
        def work(connection: object, state: object) -> None:
            locked.set()
            release.wait()

        first._connections.write(work)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert locked.wait(60)
        with pytest.raises(DatabaseBusy, match="another writer"):
            put(second, make_write("b.md"))
        assert second.stats().documents == 1  # readers wait for nobody
    finally:
        release.set()
        holder.join()
    first.close()
    second.close()
