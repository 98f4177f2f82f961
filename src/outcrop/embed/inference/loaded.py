"""A model inside the worker process, whatever runs it: one item at a time, several in parallel."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor, wait

from outcrop.errors import EmbedError
from outcrop.records import Vector


class Loaded(ABC):
    """A loaded model; `width` is the length of its answers."""

    width: int

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._pool = ThreadPoolExecutor(max(1, threads - 1))

    @abstractmethod
    def run(self, item: tuple[str, ...] | list[str]) -> Vector:
        """The answer to one item; EmbedError when it has none."""

    def run_many(self, items: list[list[str]], seconds: float) -> tuple[list[Vector], str]:
        """Rows of the first items, at least one and as many as are begun within `seconds`; and what went wrong with the
        next one, if anything did."""
        rows: dict[int, Vector] = {}
        errors: dict[int, str] = {}
        lock = threading.Lock()
        until = time.monotonic() + seconds
        begun = 0

        def work() -> None:
            nonlocal begun
            while True:
                with lock:
                    if begun == len(items) or errors or (begun and time.monotonic() >= until):
                        return
                    number = begun
                    begun += 1
                try:
                    rows[number] = self.run(items[number])
                except EmbedError as error:
                    errors[number] = str(error)

        others = [self._pool.submit(work) for _ in range(min(self._threads, len(items)) - 1)]
        work()
        wait(others)
        for other in others:
            other.result()  # any other error ends the process, whichever thread it came from
        if errors:
            first = min(errors)
            return [rows[number] for number in range(first)], errors[first]
        return [rows[number] for number in range(begun)], ""

    def close(self) -> None:
        """Let the threads go."""
        self._pool.shutdown(wait=False)
