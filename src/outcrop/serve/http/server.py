"""The process that serves: a socket, uvicorn with time limits of our own, and an orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from outcrop.errors import ConfigError
from outcrop.serve.http.app import make_app
from outcrop.serve.http.limits import ACCEPTED_AT_ONCE, READ_S, make_room, most_connections
from outcrop.serve.state import State
from outcrop.workers.process import kill_children

log = logging.getLogger(__name__)

KEEP_ALIVE_S: Final = 30
"""How long an idle connection is kept (not measured): somebody may think between two queries."""
GRACE_S: Final = 2
"""How long requests may go on at shutdown (not measured): long work is in jobs, which resume at the next start."""
STOP_S: Final = 4.0
"""How long the end as a whole may take; then the process leaves at once, which costs no more than a kill at any other
time: what was committed is kept, a job goes on at the next start. Within 5 s, the rest for a busy machine."""
BACKLOG: Final = 1024


class TimedProtocol(H11Protocol):
    """HTTP/1.1 that closes a connection whose request does not come: uvicorn itself waits for ever."""

    _coming: asyncio.TimerHandle | None = None
    _since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client connected: its first request is due."""
        super().connection_made(transport)
        self._await_request()
        most = self.limit_concurrency
        if most is not None:
            others = (one for one in self.connections if isinstance(one, TimedProtocol) and one is not self)
            has_place = len(self.connections) <= most or make_room(others)
            # uvicorn answers 503 to every request where the limit is 0, and to none where there is none.
            self.limit_concurrency = None if has_place else 0
        self._since = self.loop.time()

    def on_response_complete(self) -> None:
        """An answer is out: the next request may come."""
        self._since = self.loop.time()
        super().on_response_complete()

    def waiting_since(self) -> float | None:
        """When it began to wait for the rest of a request, between two requests as well; None while it does not."""
        has_all = self.conn.their_state not in (h11.IDLE, h11.SEND_BODY)
        return None if has_all or self.transport.is_closing() else self._since

    def drop(self) -> None:
        """Close the connection, dropping what was still to be sent."""
        self.connections.discard(self)  # it is closed a moment later, and until then would count
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Bytes came; until they are a request's whole head the clock runs on from the first of them."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._cancel()
        elif self._coming is None and self.timeout_keep_alive_task is None:
            self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client left."""
        self._cancel()
        super().connection_lost(exc)

    def _await_request(self) -> None:
        self._coming = self.loop.call_later(READ_S, self.transport.close)

    def _cancel(self) -> None:
        if self._coming is not None:
            self._coming.cancel()
            self._coming = None


class _Server(uvicorn.Server):
    """uvicorn's server, which ends streams and jobs first and does not die of the signal that ended it."""

    def __init__(self, config: uvicorn.Config, state: State) -> None:
        super().__init__(config)
        self._state = state
        self._last_call: threading.Thread | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """SIGINT and SIGTERM end the server; the caller closes the index afterwards."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve. uvicorn has one number for how many clients queue and how many are accepted in one go."""
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(BACKLOG)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End, and see to it that nothing holds that up: a thread that does not look up cannot be ended otherwise."""
        super().handle_exit(sig, frame)
        if self._last_call is None:
            self._last_call = threading.Thread(target=_leave_after, args=(STOP_S,), daemon=True)
            self._last_call.start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin nothing new, then end as uvicorn does."""
        self._state.jobs.close()
        await super().shutdown(sockets)


def _leave_after(seconds: float) -> None:
    """End this process, whatever it is doing."""
    time.sleep(seconds)
    log.warning("work was under way that did not stop within %.0f s; the server ends without it", seconds)
    kill_children()
    os._exit(0)


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; ConfigError when the address cannot be had."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        # With the protocol named asyncio sends small packets at once; without it an answer waits 40 ms for an ACK.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"{host!r} is no address of this machine") from error
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(
                f"port {port} is taken, perhaps by an `outcrop serve` that runs already; choose another with --port, "
                "0 for any that is free"
            ) from error
        raise ConfigError(f"cannot listen on {host} port {port}: {error.strerror}") from error
    return listening


def url_of(listening: socket.socket, host: str) -> str:
    """The server's address, as typed into a browser."""
    port = listening.getsockname()[1]
    if host in {"0.0.0.0", "::", ""}:  # noqa: S104 - compared with, not listened on
        host = "127.0.0.1"
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def serve(state: State, listening: socket.socket, *, workers: int | None = None) -> None:
    """Serve until SIGINT or SIGTERM; with `workers`, so many processes do the searching (see `make_app`)."""
    _send_logs_to_ours()
    most = most_connections()
    config = uvicorn.Config(
        make_app(state, workers=workers),
        http=TimedProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # anybody could claim to be somebody else
        limit_concurrency=most,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
        backlog=min(ACCEPTED_AT_ONCE, most),
    )
    _Server(config, state).run(sockets=[listening])


def _send_logs_to_ours() -> None:
    """What uvicorn warns of ends up where the rest of the log does."""
    ours, theirs = logging.getLogger("outcrop"), logging.getLogger("uvicorn")
    theirs.propagate = False
    theirs.handlers = ours.handlers
    theirs.setLevel(max(logging.WARNING, ours.getEffectiveLevel()))
