"""Connections that are used again."""

from __future__ import annotations

import queue
import socket

from courier.errors import PoolTimeout

DEFAULT_SIZE = 8


class ConnectionPool:
    """Keeps up to `size` open connections to one host."""

    def __init__(self, host: str, port: int, size: int = DEFAULT_SIZE) -> None:
        self._address = (host, port)
        self._free: queue.LifoQueue[socket.socket | None] = queue.LifoQueue()
        for _ in range(size):
            self._free.put(None)  # a place that has no connection yet

    def acquire(self, timeout_s: float = 5.0) -> socket.socket:
        """Take a connection out of the pool, opening one where there is none.

        Waits until another caller gives one back; after `timeout_s` raises PoolTimeout.
        """
        try:
            connection = self._free.get(timeout=timeout_s)
        except queue.Empty as error:
            raise PoolTimeout(f"no connection to {self._address[0]} became free in {timeout_s} s") from error
        return connection or self._connect()

    def release(self, connection: socket.socket | None) -> None:
        """Give a connection back; None for one that broke."""
        self._free.put(connection)

    def _connect(self) -> socket.socket:
        try:
            return socket.create_connection(self._address)
        except OSError:
            self._free.put(None)
            raise
