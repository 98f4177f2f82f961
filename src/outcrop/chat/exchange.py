"""One request in flight, read by a thread of its own: whoever waits for it can stop at any moment.

A socket's own timeout is no help here: it is for each read, so a server that drips bytes never meets it, and a read
that met it cannot go on. So the thread reads lines into a short queue, and the caller waits for the queue, looks at the
clock and at `stopped`, and at the end shuts the socket, which wakes the thread wherever it is.
"""

from __future__ import annotations

import contextlib
import http.client
import queue
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from outcrop.errors import Cancelled
from outcrop.system.remote import Remote

Stop = Callable[[], bool]

_POLL_S: Final = 0.1
"""How long a wish to stop may go unnoticed: less than a person sees."""
_WAITING_LINES: Final = 256
"""Lines that may wait for a slow reader; then the server has to."""
_READ_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how much: each is judgement, with the slowest honest server in mind."""

    connect_s: float = 10.0
    """For the connection and its encryption."""
    first_token_s: float = 240.0
    """A model on a CPU is loaded and reads a full prompt before it says a word; that takes minutes."""
    idle_s: float = 60.0
    """Between two words. Comments that only keep a connection open do not count as words."""
    total_s: float = 1800.0
    line_bytes: int = 1 << 20
    total_bytes: int = 16 << 20
    """An answer of 100 000 words comes to this in frames of one token."""


class TooSlow(Exception):
    """Nothing came in the time that was given. Not TimeoutError, by which a connection says that it did not open."""


class TooMuch(Exception):
    """The server sent a longer line, or more in all, than any answer needs."""


@dataclass(frozen=True, slots=True)
class Head:
    """How an answer begins."""

    status: int
    headers: http.client.HTTPMessage

    @property
    def is_json(self) -> bool:
        """Whether the answer is one JSON document instead of a stream."""
        return self.headers.get_content_type() == "application/json"


_Item = Head | bytes | Exception | None


class Exchange:
    """A request and its answer. Always `close` it: what is still under way ends then."""

    def __init__(self, remote: Remote, body: bytes, limits: Limits) -> None:
        self._remote = remote
        self._body = body
        self._limits = limits
        self._items: queue.Queue[_Item] = queue.Queue(_WAITING_LINES)
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._closed = False
        threading.Thread(target=self._run, name="outcrop-chat", daemon=True).start()

    def head(self, until: float, stopped: Stop | None) -> Head:
        """Status and headers, waited for until that monotonic time."""
        item = self._next(until, stopped)
        if not isinstance(item, Head):
            raise AssertionError("the head comes first")
        return item

    def line(self, until: float, stopped: Stop | None) -> bytes | None:
        """The next line without its end, None after the last. Raises TooSlow, TooMuch, Cancelled, OSError or
        HTTPException."""
        item = self._next(until, stopped)
        if isinstance(item, Head):
            raise AssertionError("the head is read before the lines")
        return item

    def close(self) -> None:
        """End it, wherever it is."""
        with self._lock:
            self._closed = True
            if self._socket is not None:
                with contextlib.suppress(OSError):  # the other side was faster
                    # Not the method of an encrypted socket, which would pull its state from under the reading thread.
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def _next(self, until: float, stopped: Stop | None) -> Head | bytes | None:
        while True:
            if stopped is not None and stopped():
                raise Cancelled("the chat was stopped")
            left_s = until - time.monotonic()
            if left_s <= 0:
                raise TooSlow
            try:
                item = self._items.get(timeout=min(_POLL_S, left_s))
            except queue.Empty:
                continue
            if isinstance(item, Exception):
                raise item
            return item

    # -- the thread

    def _run(self) -> None:
        connection = self._remote.connect(self._limits.connect_s)
        try:
            connection.connect()
            if not self._hold(connection.sock):
                return
            connection.sock.settimeout(self._limits.total_s)
            connection.request("POST", self._remote.path, self._body, self._remote.headers("text/event-stream"))
            response = connection.getresponse()
            self._put(Head(response.status, response.headers))
            self._read_lines(response)
            self._put(None)
        except (OSError, http.client.HTTPException, TooMuch) as error:
            self._put(error)
        finally:
            with self._lock:
                self._socket = None
            connection.close()

    def _hold(self, opened: socket.socket) -> bool:
        with self._lock:
            self._socket = opened
            return not self._closed

    def _read_lines(self, response: http.client.HTTPResponse) -> None:
        rest, size = b"", 0
        with response:
            while block := response.read1(_READ_BYTES):
                size += len(block)
                *lines, rest = (rest + block).split(b"\n")
                for line in lines:
                    self._put(line.removesuffix(b"\r"))
                if size > self._limits.total_bytes or len(rest) > self._limits.line_bytes:
                    raise TooMuch
            if response.length:
                # Unlike read, read1 says nothing of a body that ends before its announced length.
                raise http.client.IncompleteRead(b"", response.length)
        if rest:
            self._put(rest)

    def _put(self, item: _Item) -> None:
        while not self._closed:
            try:
                self._items.put(item, timeout=_POLL_S)
            except queue.Full:
                continue
            return
