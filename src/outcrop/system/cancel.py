"""Whether anyone still wants the result: loops ask, so that work for a client that has left stops.

A server sets a check for each request (`wanted_while`); threads that a request starts inherit it. Without one, as in a
program that uses the library, `check_wanted` does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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
