"""The front door: one client a service."""

from __future__ import annotations

from courier.pool import ConnectionPool
from courier.retry import RetryPolicy, call_with_retries


class Client:
    """Sends requests to one host over a pool, each tried again by a policy."""

    def __init__(self, host: str, port: int = 80, policy: RetryPolicy | None = None) -> None:
        self._host = host
        self._pool = ConnectionPool(host, port)
        self._policy = policy or RetryPolicy()

    def get(self, path: str) -> bytes:
        """Fetch a path."""
        return call_with_retries(
            lambda: self._send(f"GET {path} HTTP/1.0\r\nHost: {self._host}\r\n\r\n"), self._policy
        )

    def _send(self, request: str) -> bytes:
        connection = self._pool.acquire()
        try:
            connection.sendall(request.encode())
            answer = connection.recv(65_536)
        except OSError:
            self._pool.release(None)
            raise
        self._pool.release(connection)
        return answer
