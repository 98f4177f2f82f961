"""When a failed call is tried again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from courier.errors import GaveUp

T = TypeVar("T")


@dataclass(frozen=True)
class RetryPolicy:
    """How often a call is tried, and how long to wait between attempts: the wait doubles each time."""

    attempts: int = 3
    first_wait_s: float = 1.0
    jitter: float = 0.2

    def wait_before(self, attempt: int) -> float:
        """Seconds to wait before an attempt, counted from 0; the first does not wait."""
        if attempt == 0:
            return 0.0
        return self.first_wait_s * 2 ** (attempt - 1) * (1 + self.jitter * random.random())


def call_with_retries(call: Callable[[], T], policy: RetryPolicy) -> T:
    """The result of the first attempt that does not fail with OSError; GaveUp when none is left."""
    for attempt in range(policy.attempts):
        time.sleep(policy.wait_before(attempt))
        try:
            return call()
        except OSError as error:
            last = error
    raise GaveUp(f"{policy.attempts} attempts failed") from last
