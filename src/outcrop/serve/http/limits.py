"""How much a client may send, in what shape, how slowly and how often, and how many connections there may be.

A connection is an open file, and a process may have so many. When they run out nothing works any more: no client is
accepted, no database opened. A client that sends half a request and waits must not bring that about.
"""

from __future__ import annotations

import codecs
import math
import re
import time
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final, Protocol

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

from outcrop.serve.http.problems import Refused

MAX_BODY_BYTES: Final = 8 * 1024 * 1024
"""The largest body (not measured): a long book is a megabyte of text; files are indexed from disk."""
READ_S: Final = 20.0
"""How long a whole request may take to arrive (not measured): eight megabytes over a poor line."""
CLIENTS: Final = 10_000
"""Clients remembered at a time; the least recently seen is forgotten first."""

CONNECTIONS: Final = 1000
"""Connections at a time, if the system allows them (not measured): far more than there are people."""
RESERVED_FILES: Final = 256
"""Open files left for the rest: forty threads with a database's three files each, pipes, what is accepted at once."""
ACCEPTED_AT_ONCE: Final = 64
"""Connections taken from the queue before those that are too many are dropped; asyncio would take a thousand."""

MAX_DEPTH: Final = 32
"""How deep JSON may be nested; the deepest request of ours has five levels, an agent's arguments a few more."""
MAX_VALUES: Final = 20_000
"""Values and members in all. The largest request of ours has 3 000 (a long conversation); checking so many unknown
members takes 30 ms."""

# Neither tries anything twice: linear whatever is sent. A string that does not end yet runs to the end of the piece.
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|(\\?)\Z)', re.DOTALL)
_REST: Final = re.compile(rb'(?:[^"\\]++|\\.)*+(?:"|(\\?)\Z)', re.DOTALL)
_NOT_COUNTED: Final = bytes(sorted(set(range(256)) - set(b"[]{},")))
_PIECE: Final = 64 * 1024
"""Bytes looked at in one go, 14 ms at worst (nothing but short strings): how far a body is read past its limit."""


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
    """Drop the connection that has waited longest for its client; False where each is being answered."""
    waiting = [(since, one) for one in connections if (since := one.waiting_since()) is not None]
    if not waiting:
        return False
    min(waiting, key=lambda pair: pair[0])[1].drop()
    return True


class Shape:
    """The depth of JSON and its number of values, counted while it arrives and without parsing it; raises Refused as
    soon as a limit is passed.

    A parser makes an object of every value, and what checks them makes more. A body of eight megabytes can be one text,
    which costs nothing, or three million empty lists, which cost seconds in which nobody else is answered.
    """

    def __init__(self, max_depth: int = MAX_DEPTH, max_values: int = MAX_VALUES) -> None:
        self._max_depth = max_depth
        self._max_values = max_values
        self._depth = 0
        self._values = 1
        self._strings = 0
        self._begun = False
        self._in_string = False
        self._escaped = False

    def feed(self, data: bytes) -> None:
        """The next bytes of a body."""
        if data and not self._begun:
            self._begun = True
            # Python's parser also reads UTF-16 and UTF-32, in which nothing of what follows would hold.
            if b"\0" in data[:4] or data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise Refused(400, "send the JSON in UTF-8")
        for start in range(0, len(data), _PIECE):
            self._count(self._outside_strings(data[start : start + _PIECE]))

    def _outside_strings(self, piece: bytes) -> bytes:
        """Brackets and commas of a piece outside strings."""
        start = 0
        if self._in_string:
            start = 1 if self._escaped else 0
            end = _REST.match(piece, start)
            assert end is not None  # noqa: S101 - it matches everything
            start = end.end()
            self._note(end)
        kept = []
        for string in _STRING.finditer(piece, start):
            kept.append(piece[start : string.start()])
            start = string.end()
            self._note(string)
        self._strings += len(kept)
        if self._strings > 2 * self._max_values:  # a member has two, its name and its value
            raise _too_many(self._max_values)
        kept.append(piece[start:])
        return b"".join(kept).translate(None, _NOT_COUNTED)

    def _note(self, string: re.Match[bytes]) -> None:
        """Whether a string goes on in the next piece, and whether its first character there is escaped."""
        self._in_string = string.group(1) is not None
        self._escaped = bool(string.group(1))

    def _count(self, marks: bytes) -> None:
        for mark in marks.translate(None, b","):
            self._depth += 1 if mark in b"[{" else -1
            if self._depth > self._max_depth:
                raise Refused(
                    413, f"the JSON is nested too deeply; give at most {MAX_DEPTH} levels", code="too_deep"
                )
        self._values += marks.count(b",") + marks.count(b"[") + marks.count(b"{")
        if self._values > self._max_values:
            raise _too_many(self._max_values)


def _too_many(most: int) -> Refused:
    return Refused(
        413, f"the JSON has too many values; send at most {most:,} in one request", code="too_many_values"
    )
