"""Limits of work: whether anyone still waits for it, how long one file may take, how much is remembered.

Threads cannot be ended, so loops ask.

A server sets a check for each request (`wanted_while`); threads that a request starts inherit it. Without one, as in a
program that uses the library, `check_wanted` does nothing.

`parse_timeout_s` limits how long one file may take on its way in. Formats that need a library are read in a process
that can be killed; all others are read here, so each loop over foreign text looks at the clock. The limit belongs to
the thread that reads the file.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Generic, TypeVar

from outcrop.errors import Cancelled, ParseError
from outcrop.system.dataclass import dataclass

_check: ContextVar[Callable[[], None] | None] = ContextVar("outcrop_wanted", default=None)


def check_wanted() -> None:
    """Raise what the check of the current request raises once its client has left or its time is up."""
    check = _check.get()
    if check is not None:
        check()


@contextmanager
def wanted_while(check: Callable[[], None]) -> Iterator[None]:
    """Within the block, and in threads that take over its context, `check_wanted` calls this."""
    before = _check.set(check)
    try:
        yield
    finally:
        _check.reset(before)


EVERY: Final = 1024
"""Short steps, such as lines, between two looks at the clock. A look takes 0.2 µs, a line about one."""

_Item = TypeVar("_Item")


@dataclass(slots=True)
class _Limit:
    timeout_s: float
    end: float


_limit: ContextVar[_Limit | None] = ContextVar("limit", default=None)


@contextmanager
def limit_time(timeout_s: float) -> Iterator[None]:
    """Limit the work in this block to so many seconds; a limit that is already running stays in force."""
    if _limit.get() is not None:
        yield
        return
    token = _limit.set(_Limit(timeout_s, time.monotonic() + timeout_s))
    try:
        yield
    finally:
        _limit.reset(token)


def restart_limit() -> None:
    """Restart the clock: until now this thread waited for other files."""
    limit = _limit.get()
    if limit is not None:
        limit.end = time.monotonic() + limit.timeout_s


def check_time() -> None:
    """Raise ParseError when the time is up; does nothing outside of `limit_time`."""
    limit = _limit.get()
    if limit is not None and time.monotonic() > limit.end:
        raise ParseError(over_time(limit.timeout_s))


def timed(items: Iterable[_Item]) -> Iterator[_Item]:
    """The items, checking the clock every so often."""
    if _limit.get() is None:
        yield from items
        return
    for number, item in enumerate(items):
        if not number % EVERY:
            check_time()
        yield item


def over_time(timeout_s: float) -> str:
    """What is said of a file that took too long."""
    return f"took longer than {timeout_s:g} s to read; split it or raise parse_timeout_s"


K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Keeps the most recently used entries, bounded in number and in total weight. Safe for threads. A bound on their
    number alone is none where one entry can be as large as a request. What weighs more than a tenth of the whole is not
    kept: it would push out everything else."""

    def __init__(self, most_entries: int, most_weight: int) -> None:
        self._most_entries = most_entries
        self._most_weight = most_weight
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = threading.Lock()
        self.weight = 0  # of all entries together

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[K]:
        with self._lock:
            return iter(tuple(self._entries))

    def clear(self) -> None:
        """Drop every entry."""
        with self._lock:
            self._entries.clear()
            self.weight = 0

    def get(self, key: K) -> V | None:
        """The entry; it becomes the most recently used one."""
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                return None
            self._entries.move_to_end(key)
            return found[0]

    def put(self, key: K, value: V, weight: int) -> None:
        """Store an entry under its key, and evict the least recently used ones."""
        with self._lock:
            self._drop(key)
            if weight * 10 > self._most_weight:
                return
            self._entries[key] = (value, weight)
            self.weight += weight
            while len(self._entries) > self._most_entries or self.weight > self._most_weight:
                self._drop(next(iter(self._entries)))

    def _drop(self, key: K) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.weight -= entry[1]


class Clock:
    """Milliseconds of each step, and the place where a cancelled search stops."""

    def __init__(self, stopped: Callable[[], bool] | None) -> None:
        self._stopped = stopped
        self._start = self._last = time.perf_counter()
        self._laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """A step is done; raise Cancelled if nobody waits for the rest."""
        now = time.perf_counter()
        self._laps[name] = round(1000 * (now - self._last), 3)
        self._last = now
        if self._stopped is not None and self._stopped():
            raise Cancelled("the search was cancelled")
        check_wanted()

    def done(self) -> dict[str, float]:
        """The time of each step, and of all."""
        return {**self._laps, "total": round(1000 * (time.perf_counter() - self._start), 3)}
