"""Chat servers that people run on their own machine: found at the ports they use unless told otherwise."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Final

from outcrop.system.dataclass import dataclass

PORTS: Final = {"ollama": ("Ollama", 11434), "llama.cpp": ("llama.cpp", 8080), "lmstudio": ("LM Studio", 1234)}
TIMEOUT_S: Final = 1.0
"""This machine answers at once, or nobody is there. For connecting, and for the whole answer."""
MAX_BYTES: Final = 1 << 20
MAX_MODELS: Final = 100


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server that answers on this machine, and the models it has."""

    name: str
    title: str
    models: tuple[str, ...]


def local_url(name: str) -> str:
    """The address of one of these servers."""
    return f"http://127.0.0.1:{PORTS[name][1]}/v1"


def find_local_servers(ports: Mapping[str, tuple[str, int]] = PORTS) -> tuple[LocalServer, ...]:
    """Those that answer with at least one model. Nothing but this machine is asked."""
    with ThreadPoolExecutor(len(ports)) as pool:
        models = pool.map(lambda entry: _ask_models(entry[1]), ports.values())
        found = zip(ports.items(), models, strict=True)
        return tuple(LocalServer(name, title, own) for (name, (title, _)), own in found if own)


def _ask_models(port: int) -> tuple[str, ...]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    try:
        connection.connect()
        with _ended_in_time(connection.sock):
            connection.request("GET", "/v1/models")
            answer = connection.getresponse()
            return tuple(_names(json.loads(answer.read(MAX_BYTES)))) if answer.status == 200 else ()
    except (
        OSError,
        http.client.HTTPException,
        ValueError,
        RecursionError,
    ):  # nobody there, or something else at that port
        return ()
    finally:
        connection.close()


@contextmanager
def _ended_in_time(opened: socket.socket) -> Iterator[None]:
    """Shut the socket down once the time is up: its own timeout is for each read, which a server that drips its answer
    byte by byte never meets."""

    def end() -> None:
        with suppress(OSError):  # the other side was faster
            opened.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(TIMEOUT_S, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _names(data: object) -> Iterator[str]:
    rows = data.get("data") if isinstance(data, dict) else None
    for row in rows[:MAX_MODELS] if isinstance(rows, list) else ():
        if isinstance(row, dict) and isinstance(row.get("id"), str) and row["id"].strip():
            yield row["id"][:200]
