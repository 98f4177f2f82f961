"""The pool hands out no more connections than it has."""

from __future__ import annotations

import socket

import pytest

from courier.errors import PoolTimeout
from courier.pool import ConnectionPool


def test_acquire_times_out_when_all_are_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        pool = ConnectionPool("127.0.0.1", server.getsockname()[1], size=1)
        pool.acquire()
        with pytest.raises(PoolTimeout):
            pool.acquire(timeout_s=0.01)


def test_a_released_connection_is_used_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        pool = ConnectionPool("127.0.0.1", server.getsockname()[1], size=1)
        first = pool.acquire()
        pool.release(first)
        assert pool.acquire() is first
