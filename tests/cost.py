"""What work costs, told so that a slow or busy machine tells the same as a fast one."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

PATIENCE_S: Final = 60.0
"""How long a test waits for what must come: a moment where nothing is wrong, but machines can be busy."""


def calls(work: Callable[[], Any]) -> int:
    """Functions, Python's and C's, that `work` calls in this thread: a cost that no clock is needed for."""
    count = 0

    def note(_: FrameType, event: str, __: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@contextmanager
def cpu_below(seconds: float) -> Iterator[None]:
    """Fails where the block takes more of this thread's CPU time.

    For work that would take minutes or for ever were it not linear: give twenty times what it takes, since the
    slowest machines that ran these tests needed five times as long as the fastest.
    """
    started = time.thread_time()
    yield
    spent = time.thread_time() - started
    assert spent < seconds, f"{spent:.2f} s of CPU time"
