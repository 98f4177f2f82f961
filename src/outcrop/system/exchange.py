"""One HTTP request and its answer: a deadline over the whole of it, a limit on its size, and an end at any moment.

A socket's own timeout is no help here: it is for each read, so a server that drips bytes never meets it, and a read
that met it cannot go on. So a thread reads blocks into a short queue, and the caller waits for the queue, looks at the
clock and at `stopped`, and at the end shuts the socket down, which wakes the thread wherever it is.
"""

from __future__ import annotations

import contextlib
import http.client
import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Final, Self

from outcrop.errors import Cancelled
from outcrop.system.dataclass import dataclass
from outcrop.system.remote import Remote

Stop = Callable[[], bool]

_POLL_S: Final = 0.1
"""How long a wish to stop may go unnoticed: less than a person sees."""
_READ_BYTES: Final = 1 << 16
_WAITING_BLOCKS: Final = 64
"""Blocks that may wait for a slow reader, 4 MB; then the server has to."""
_ERROR_BYTES: Final = 1 << 16
"""How much is read of the explanation of an error."""


class TooSlow(Exception):
    """Nothing came in the time that was given. Not TimeoutError, by which a connection says that it did not open."""


class TooMuch(Exception):
    """The server sent more than any answer needs."""


FAILURES: Final = (TooSlow, TooMuch, OSError, http.client.HTTPException, UnicodeError)
"""What an exchange raises when it fails. UnicodeError is Python's for a host name that cannot be looked up."""


@dataclass(frozen=True, slots=True)
class Head:
    """How an answer begins."""

    status: int
    headers: http.client.HTTPMessage


@dataclass(eq=False, repr=False)
class Exchange:
    """A POST in flight. Use it as a context manager: what is still under way ends with the block. With `keep` the
    connection is used again once the whole answer has been read."""

    _remote: Remote
    _body: bytes
    _: KW_ONLY
    connect_s: float
    max_bytes: int
    stopped: Stop | None = None
    accept: str = "application/json"
    keep: bool = False

    def __post_init__(self) -> None:
        self._items: queue.Queue[Head | bytes | Exception | None] = queue.Queue(_WAITING_BLOCKS)
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._closed = False
        threading.Thread(target=self._run, name=f"outcrop-{self._remote.name}", daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End it, wherever it is."""
        with self._lock:
            self._closed = True
            if self._socket is not None:
                with contextlib.suppress(OSError):  # the other side was faster
                    # Not the method of an encrypted socket, which would pull its state from under the reading thread.
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def head(self, until: float) -> Head:
        """Status and headers, waited for until that monotonic time. Raises one of FAILURES, or Cancelled."""
        item = self._next(until)
        assert isinstance(item, Head)  # noqa: S101  the thread puts it first
        return item

    def read(self, until: float) -> bytes | None:
        """The next bytes of the body, None after the last. Raises as `head`."""
        item = self._next(until)
        assert not isinstance(item, Head)  # noqa: S101  the caller has read it before
        return item

    def body(self, until: float) -> bytes:
        """All that is left of the body. Raises as `head`."""
        return b"".join(iter(lambda: self.read(until) or b"", b""))

    def explanation(self, until: float) -> str:
        """What the server says of an error, as far as it comes in time."""
        said = bytearray()
        with contextlib.suppress(*FAILURES):  # the status tells enough
            while len(said) < _ERROR_BYTES and (block := self.read(until)) is not None:
                said += block
        return self._remote.explanation(bytes(said[:_ERROR_BYTES]))

    def _next(self, until: float) -> Head | bytes | None:
        while True:
            if self.stopped is not None and self.stopped():
                raise Cancelled(f"the {self._remote.name} request was stopped")
            left_s = until - time.monotonic()
            if left_s <= 0:
                raise TooSlow
            try:
                item = self._items.get(timeout=min(_POLL_S, left_s))
            except queue.Empty:
                continue
            if isinstance(item, ssl.SSLCertVerificationError):
                raise self._remote.distrust(item) from item
            if isinstance(item, Exception):
                raise item
            return item

    # -- the thread

    def _run(self) -> None:
        connection: http.client.HTTPConnection | None = None
        try:
            connection, response = self._ask()
            self._put(Head(response.status, response.headers))
            self._read_blocks(response)
            with self._lock:
                self._socket = None
                if self.keep and not self._closed and not response.will_close:
                    self._remote.keep(connection)
                    connection = None
            self._put(None)
        except FAILURES as error:
            self._put(error)
        finally:
            with self._lock:
                self._socket = None
            if connection is not None:
                connection.close()

    def _ask(self) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Send the request, over a kept connection where there is one, and read how the answer begins."""
        while True:
            connection, kept = self._remote.connection(self.connect_s)
            try:
                if not kept:
                    connection.connect()
                self._hold(connection.sock)
                connection.sock.settimeout(None)  # the caller has a clock and ends it
                connection.request("POST", self._remote.path, self._body, self._remote.headers(self.accept))
                return connection, connection.getresponse()
            except FAILURES:
                connection.close()
                # Servers close idle connections at will: not a failure, and each time there is one fewer.
                if not kept or self._closed:
                    raise

    def _hold(self, opened: socket.socket) -> None:
        with self._lock:
            self._socket = opened
            if self._closed:
                raise ConnectionAbortedError("nobody waits for the answer any more")

    def _read_blocks(self, response: http.client.HTTPResponse) -> None:
        size = 0
        while block := response.read1(_READ_BYTES):
            size += len(block)
            if size > self.max_bytes:
                raise TooMuch
            self._put(block)
        if response.length:
            # Unlike read, read1 says nothing of a body that ends before its announced length.
            raise http.client.IncompleteRead(b"", response.length)
        # At the end of a body of known length read1 leaves the response open, and the connection could not go on.
        response.close()

    def _put(self, item: Head | bytes | Exception | None) -> None:
        while not self._closed:
            with contextlib.suppress(queue.Full):
                self._items.put(item, timeout=_POLL_S)
                return
