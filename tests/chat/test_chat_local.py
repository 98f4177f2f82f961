"""Chat servers of this machine are found at their ports, and whatever else answers there is passed over."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from outcrop.chat.local import MAX_MODELS, LocalServer, find_local_servers


@contextmanager
def answering(body: bytes, status: int = 200) -> Iterator[int]:
    """A server that answers every request alike; its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.path == "/v1/models"
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def test_models_of_every_server_that_answers_are_listed() -> None:
    many = json.dumps({"data": [{"id": f"model-{number}"} for number in range(MAX_MODELS + 5)]}).encode()
    bodies = {
        "ollama": json.dumps({"object": "list", "data": [{"id": "qwen3:4b"}, {"id": " "}, {}, 7]}).encode(),
        "many": many,
        "page": b"<html>not a chat server</html>",
        "strange": b'{"data": {"id": "x"}}',
        "list": b"[1, 2]",
        "nested": b"[" * 100_000,
    }
    with ExitStack() as stack:
        ports = {name: (name.title(), stack.enter_context(answering(body))) for name, body in bodies.items()}
        ports["refuses"] = ("Refuses", stack.enter_context(answering(b'{"data": [{"id": "x"}]}', 401)))
        found = find_local_servers(ports)
    assert found[0] == LocalServer("ollama", "Ollama", ("qwen3:4b",))
    assert [server.name for server in found] == ["ollama", "many"]
    assert len(found[1].models) == MAX_MODELS


def test_a_port_where_nobody_listens_is_no_server() -> None:
    with answering(b"{}") as port:
        pass
    assert find_local_servers({"gone": ("Gone", port)}) == ()


@contextmanager
def dripping(begin: bytes, drop: bytes) -> Iterator[int]:
    """A server that sends a byte every so often until its client is gone, for a minute at most; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            client, _ = listening.accept()
            with client, suppress(OSError):
                client.recv(4096)
                client.sendall(begin)
                for _ in range(600):
                    time.sleep(0.1)
                    client.sendall(drop)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


def test_a_server_that_drips_its_answer_is_left_after_its_time() -> None:
    body = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
    started = time.monotonic()
    with dripping(body, b" ") as slow_body, dripping(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x") as slow_head:
        ports = {"body": ("Body", slow_body), "head": ("Head", slow_head)}
        assert find_local_servers(ports) == ()
        assert time.monotonic() - started < 30  # a minute unless they are left
