"""How long a request may take: the one rule for HTTP and MCP.

Work stops when its client has left, or when REQUEST_S have passed and no answer has begun; the client is then told so
(503 over HTTP, an error over MCP), and what to do. Exempt is what reports its progress: jobs, streams, and tools that
write. Loops that may take long call `check_wanted()`, which asks the `Patience` of their request.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from outcrop.errors import Cancelled
from outcrop.system.limits import wanted_while

REQUEST_S: Final = 10.0
"""Seconds until an answer must have begun (not measured): a search takes milliseconds, and by then people have left."""
OVERDUE: Final = (
    f"this took longer than {REQUEST_S:.0f} s and was stopped: ask for less at a time, or run the command on the "
    "machine itself, where nothing limits it"
)


class Overdue(Cancelled):
    """A request ran out of time."""


class Patience:
    """How much longer one request may take. Its thread asks; the event loop reports that the client has left."""

    def __init__(self, has_left: Callable[[], bool] | None = None, *, limited: bool = True) -> None:
        self._has_left = has_left
        self._until = time.monotonic() + REQUEST_S if limited else math.inf
        self._left = False

    def leave(self) -> None:
        """The client has left."""
        self._left = True

    def lift(self) -> None:
        """Lift the time limit: this request waits for something that has its own, such as a job."""
        self._until = math.inf

    def left_s(self) -> float:
        """Seconds until it is overdue."""
        return self._until - time.monotonic()

    def check(self) -> None:
        """Raise Cancelled when nobody waits any more, Overdue when the time is up."""
        if self._left or (self._has_left is not None and self._has_left()):
            raise Cancelled("the client has left")
        if self.left_s() <= 0:
            raise Overdue(OVERDUE)


_current: ContextVar[Patience | None] = ContextVar("outcrop_patience", default=None)


@contextmanager
def patience_for(patience: Patience) -> Iterator[None]:
    """Hold the work of the block, and of tasks and threads started in it, to this patience."""
    before = _current.set(patience)
    try:
        with wanted_while(patience.check):
            yield
    finally:
        _current.reset(before)


def lift_limit() -> None:
    """Let the current request wait for as long as it needs."""
    patience = _current.get()
    if patience is not None:
        patience.lift()


def seconds_left() -> float:
    """How long the current request may still take; infinite outside of one."""
    patience = _current.get()
    return math.inf if patience is None else patience.left_s()
