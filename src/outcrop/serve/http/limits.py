"""How much a client may send, how slowly and how often."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from typing import Final

MAX_BODY_BYTES: Final = 8 * 1024 * 1024
"""The largest body (not measured): a long book is a megabyte of text; files are indexed from disk."""
READ_S: Final = 20.0
"""How long a whole request may take to arrive (not measured): eight megabytes over a poor line."""
CLIENTS: Final = 10_000
"""Clients remembered at a time; the least recently seen is forgotten first."""


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
