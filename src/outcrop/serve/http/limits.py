"""How much a client may send, how deep, how slowly and how often."""

from __future__ import annotations

import math
import re
import time
from collections import OrderedDict
from typing import Final

MAX_BODY_BYTES: Final = 8 * 1024 * 1024
"""The largest body. Judgement: a long book is a megabyte of text; files are indexed where they lie."""
MAX_DEPTH: Final = 32
"""How deep JSON may be nested; the deepest request of ours has five levels, an agent's arguments a few more."""
READ_S: Final = 20.0
"""How long the whole of a request may take to come. Judgement: eight megabytes over a poor line."""
CLIENTS: Final = 10_000
"""Clients whose use is remembered at a time; the one not heard of for longest is forgotten first."""

# One that does not end runs to the end of the text, and nothing is tried twice: linear whatever is sent.
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_NOT_BRACKET: Final = bytes(sorted(set(range(256)) - set(b"[]{}")))


def is_too_deep(body: bytes, limit: int = MAX_DEPTH) -> bool:
    """Whether JSON is nested deeper than the limit, told without parsing it."""
    if body.count(b"[") + body.count(b"{") <= limit:
        return False
    depth = 0
    for bracket in _STRING.sub(b"", body).translate(None, _NOT_BRACKET):
        depth += 1 if bracket in b"[{" else -1
        if depth > limit:
            return True
    return False


class RateLimit:
    """A bucket for each client that fills evenly; who has emptied it waits. Used by the event loop's thread only."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_s(self, client: str) -> int:
        """0 when this request may pass, else the seconds after which the next one may."""
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
