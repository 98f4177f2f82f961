"""More connections than a process may open files: those that wait for their client make room for those that ask."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import httpx
import pytest

from outcrop.serve.http.limits import CONNECTIONS, READ_S, make_room, most_connections

FILES = 256
PATIENCE_S = 0.75 * READ_S
"""Less than after which a half-sent request is given up anyway."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real server in a process that may open 256 files."""
    folder = tmp_path_factory.mktemp("few")
    command = [sys.executable, "-m", "outcrop", "--db", str(folder / "i.db"), "serve", "--port", "0", "--json"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OUTCROP_")}
    script = f'ulimit -n {FILES}; exec "$@"'
    with subprocess.Popen(
        ["sh", "-c", script, "sh", *command],
        stdout=subprocess.PIPE,
        text=True,
        env={**clean, "HOME": str(folder)},
    ) as running:
        assert running.stdout is not None
        try:
            yield json.loads(running.stdout.readline())["url"].rstrip("/")
        finally:
            running.terminate()


@contextmanager
def holding(url: str, sent: bytes, count: int) -> Iterator[None]:
    """So many clients that send this and wait."""
    host, _, port = url.removeprefix("http://").partition(":")
    with ExitStack() as held:
        for _ in range(count):
            client = held.enter_context(socket.create_connection((host, int(port)), timeout=60))
            client.sendall(sent)
        yield


HEAD = b"POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET /healthz HTTP/1.1\r\nHost: loc", HEAD + b"Content-Length: 50\r\n\r\n{"],
    ids=["nothing", "half a head", "half a body"],
)
def test_half_sent_requests_do_not_keep_others_out(server: str, sent: bytes) -> None:
    with holding(server, sent, 2 * FILES):
        assert httpx.get(f"{server}/healthz", timeout=PATIENCE_S).status_code == 200
        found = httpx.post(f"{server}/api/search", json={"query": "anything"}, timeout=PATIENCE_S)
        assert found.status_code == 200


def open_stream(held: ExitStack, url: str) -> httpx.Response:
    """A stream that an agent listens to: a request that is whole and goes on."""
    http = held.enter_context(httpx.Client(timeout=60))
    asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    opened = http.post(
        f"{url}/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked},
        headers={"Accept": "application/json, text/event-stream"},
    )
    session = opened.headers["mcp-session-id"]
    return held.enter_context(
        http.stream("GET", f"{url}/mcp", headers={"Accept": "text/event-stream", "Mcp-Session-Id": session})
    )


def test_with_every_connection_busy_the_next_client_is_told_to_retry(server: str) -> None:
    most = FILES // 4
    with ExitStack() as held:
        for _ in range(most):
            assert open_stream(held, server).status_code == 200
        assert httpx.get(f"{server}/healthz", timeout=PATIENCE_S).status_code == 503
    for _ in range(100):
        if httpx.get(f"{server}/healthz", timeout=60).status_code == 200:
            return
    raise AssertionError("the server did not recover")


@pytest.mark.parametrize(
    ("files", "most"),
    [(64, 16), (256, 64), (1024, 768), (4096, CONNECTIONS), (resource.RLIM_INFINITY, CONNECTIONS), (10, 8)],
)
def test_the_connection_limit_follows_the_process_limit(
    monkeypatch: pytest.MonkeyPatch, files: int, most: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _what: (files, files))
    assert most_connections() == most


@dataclass
class Fake:
    """A connection that only says whether it waits."""

    since: float | None
    is_dropped: bool = False

    def waiting_since(self) -> float | None:
        return self.since

    def drop(self) -> None:
        self.is_dropped = True


def test_the_longest_waiting_connection_is_dropped_and_a_busy_one_stays() -> None:
    many = [Fake(3.0), Fake(None), Fake(1.0), Fake(2.0)]
    assert make_room(many)
    assert [one.is_dropped for one in many] == [False, False, True, False]
    working = [Fake(None), Fake(None)]
    assert not make_room(working)
    assert not any(one.is_dropped for one in working)
