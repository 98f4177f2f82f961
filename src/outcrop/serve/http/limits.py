"""How much a client may send, how slowly and how often, and how many connections there may be.

A connection is an open file, and a process may have so many. When they run out nothing works any more: no client is
accepted, no database opened. A client that sends half a request and waits must not bring that about.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final, Protocol

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

MAX_BODY_BYTES: Final = 8 * 1024 * 1024
"""The largest body (not measured): a long book is a megabyte of text; files are indexed from disk."""
READ_S: Final = 20.0
"""How long a whole request may take to arrive (not measured): eight megabytes over a poor line."""
CLIENTS: Final = 10_000
"""Clients remembered at a time; the least recently seen is forgotten first."""

CONNECTIONS: Final = 1000
"""Connections at a time, if the system allows them (not measured): far more than there are people."""
RESERVED_FILES: Final = 256
"""Open files that are left for everything else: some forty threads with the three files of a database each, pipes to
child processes, the connections that are accepted in one go."""
ACCEPTED_AT_ONCE: Final = 64
"""Connections taken from the queue before those that are too many are dropped; asyncio would take a thousand."""


class RateLimit:
    """A token bucket per client. Used by the event loop's thread only."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_s(self, client: str) -> int:
        """0 when this request may pass, else the seconds until the next one may."""
        if self._per_minute <= 0:
            return 0
        now = time.monotonic()
        rate = self._per_minute / 60
        left, then = self._buckets.pop(client, (float(self._per_minute), now))
        left = min(float(self._per_minute), left + (now - then) * rate)
        wait = 0 if left >= 1 else math.ceil((1 - left) / rate)
        self._buckets[client] = (left - 1 if not wait else left, now)
        if len(self._buckets) > CLIENTS:
            self._buckets.popitem(last=False)
        return wait


class Connection(Protocol):
    """What is asked of a connection to decide whether it goes."""

    def waiting_since(self) -> float | None:
        """When it began to wait for its client to send the rest of a request; None while it does not."""

    def drop(self) -> None:
        """Close it now."""


def most_connections() -> int:
    """Connections that this process may have, by the number of files it may open."""
    if resource is None:
        return CONNECTIONS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return CONNECTIONS
    return max(8, min(CONNECTIONS, files - min(RESERVED_FILES, files * 3 // 4)))


def make_room(connections: Iterable[Connection]) -> bool:
    """Drop the connection that has waited longest for its client; False where none waits, as each has a request that
    is being answered."""
    waiting = [(since, one) for one in connections if (since := one.waiting_since()) is not None]
    if not waiting:
        return False
    min(waiting, key=lambda pair: pair[0])[1].drop()
    return True
