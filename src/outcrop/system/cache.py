"""A cache bounded by what it holds, for keys that somebody else chooses."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Keeps the entries used last, at most so many and of at most so much weight together; from any thread.

    A bound on their number alone is none where one entry can be as large as a request. What weighs more than a tenth
    of the whole is not kept: it would push out everything else.
    """

    def __init__(self, most_entries: int, most_weight: int) -> None:
        self._most_entries = most_entries
        self._most_weight = most_weight
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = threading.Lock()
        self._weight = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[K]:
        with self._lock:
            return iter(tuple(self._entries))

    def clear(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._entries.clear()
            self._weight = 0

    @property
    def weight(self) -> int:
        """Of all entries together."""
        return self._weight

    def get(self, key: K) -> V | None:
        """The entry, which is then the one used last."""
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                return None
            self._entries.move_to_end(key)
            return found[0]

    def put(self, key: K, value: V, weight: int) -> None:
        """Keep an entry, in place of one with that key, and let go of those not used for longest."""
        with self._lock:
            self._drop(key)
            if weight * 10 > self._most_weight:
                return
            self._entries[key] = (value, weight)
            self._weight += weight
            while len(self._entries) > self._most_entries or self._weight > self._most_weight:
                self._drop(next(iter(self._entries)))

    def _drop(self, key: K) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._weight -= entry[1]
