"""The HTTP client of embedding, comments and chat: a deadline over the whole exchange, and an end at any moment."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cost import PATIENCE_S

from outcrop.errors import Cancelled, ChatError, EmbedError
from outcrop.system.exchange import Exchange, TooMuch, TooSlow
from outcrop.system.remote import Remote

Answering = Callable[[socket.socket], None]


class Server:
    """Lets a function answer each request on a raw connection, until it returns; notes the connections."""

    def __init__(self) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}/v1"
        self.answer: Answering = lambda connection: connection.sendall(ANSWER)
        self.connections = 0
        self.hung_up = threading.Event()
        self.over = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while not self.over.is_set():
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                while b"\r\n\r\n" in connection.recv(65536):
                    self.answer(connection)
            except OSError:
                pass
        self.hung_up.set()

    def drip(self, connection: socket.socket, head: bytes, each: bytes) -> None:
        connection.sendall(head)
        while not self.over.wait(0.02):
            connection.sendall(each)


ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue"


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.over.set()
    running.listening.close()


def remote(server: Server, name: str = "chat") -> Remote:
    return Remote(server.url, "things", "", name, ChatError)


def exchange(to: Remote, **options: object) -> Exchange:
    return Exchange(to, b"", **{"connect_s": PATIENCE_S, "max_bytes": 1000, **options})  # type: ignore[arg-type]


def soon(seconds: float = PATIENCE_S) -> float:
    return time.monotonic() + seconds


def read(asked: Exchange, until: float) -> tuple[int, bytes]:
    return asked.head(until).status, asked.body(until)


def test_an_answer_is_its_head_and_then_its_body(server: Server) -> None:
    with exchange(remote(server)) as asked:
        assert read(asked, soon()) == (200, b"true")


@pytest.mark.parametrize(
    ("head", "each"),
    [
        (b"HTTP/1.1 200 OK\r\n", b"X-Slow: yes\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    ],
)
def test_a_server_that_drips_its_head_or_its_body_meets_the_deadline(
    server: Server, head: bytes, each: bytes
) -> None:
    server.answer = lambda connection: server.drip(connection, head, each)
    with pytest.raises(TooSlow), exchange(remote(server), max_bytes=10**9) as asked:
        read(asked, soon(0.4))
    assert server.hung_up.wait(PATIENCE_S)


def test_a_body_past_its_limit_is_cut_off(server: Server) -> None:
    server.answer = lambda connection: server.drip(
        connection, b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n", b"x" * 100
    )
    with pytest.raises(TooMuch), exchange(remote(server)) as asked:
        read(asked, soon())
    assert server.hung_up.wait(PATIENCE_S)


def test_a_stop_is_noticed_while_a_server_is_silent(server: Server) -> None:
    server.answer = lambda _: None
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    with pytest.raises(Cancelled), exchange(remote(server), stopped=stop.is_set) as asked:
        asked.head(soon())
    assert server.hung_up.wait(PATIENCE_S)


def test_a_connection_is_kept_where_that_is_asked_for_and_the_whole_answer_was_read(server: Server) -> None:
    to = remote(server)
    for keep, whole, connections in (
        (True, True, 1),
        (False, True, 1),  # uses the kept one, and closes it
        (True, True, 2),
        (True, False, 2),  # uses the kept one, and breaks off
        (True, True, 3),
    ):
        if not whole:
            server.answer = lambda connection: connection.sendall(ANSWER[:-1])
        with exchange(to, keep=keep) as asked:
            asked.head(soon())
            if whole:
                asked.body(soon())
        server.answer = lambda connection: connection.sendall(ANSWER)
        assert server.connections == connections
    to.close()


def test_proxies_of_the_environment_are_not_asked(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with exchange(remote(server)) as asked:
        assert asked.head(soon()).status == 200


def test_a_certificate_that_is_not_trusted_is_said_with_the_setting_to_correct(tmp_path: Path) -> None:
    subprocess.run(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test "
        "-addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem".split(),
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def shake_hands() -> None:
            connection, _ = listening.accept()
            with connection, pytest.raises(OSError):  # noqa: PT011  it is refused
                context.wrap_socket(connection, server_side=True)

        shaking = threading.Thread(target=shake_hands)
        shaking.start()
        to = Remote(f"https://127.0.0.1:{listening.getsockname()[1]}/v1", "things", "key", "embed", EmbedError)
        with (
            pytest.raises(EmbedError, match=r"certificate of 127\.0\.0\.1 is not trusted.*correct embed_url"),
            exchange(to) as asked,
        ):
            asked.head(soon())
        shaking.join()
