"""How long one file may take on its way in, whatever its format: `parse_timeout_s`.

Formats that need a library are read in a process that can be killed. Everything else runs in this one, where nothing
can be killed, so each loop over foreign text looks at the clock. The limit belongs to the thread that reads the file.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, TypeVar

from outcrop.errors import ParseError

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
