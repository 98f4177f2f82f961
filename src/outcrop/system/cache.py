"""A cache bounded by what it holds, for keys that somebody else chooses."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Keeps the most recently used entries, bounded in number and in total weight. Safe for threads.

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
        """Drop every entry."""
        with self._lock:
            self._entries.clear()
            self._weight = 0

    @property
    def weight(self) -> int:
        """The weight of all entries together."""
        return self._weight

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
            self._weight += weight
            while len(self._entries) > self._most_entries or self._weight > self._most_weight:
                self._drop(next(iter(self._entries)))

    def _drop(self, key: K) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._weight -= entry[1]
