"""A model held in the worker process for as long as the object that uses it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence

from outcrop.embed.running.graph import Graph
from outcrop.embed.running.requests import Item
from outcrop.embed.running.runner import Runner, shared_runner
from outcrop.records import Matrix


class HeldModel:
    """Begins to load when it is made; is let go by `close` or when nobody has it any more. Use after close loads it
    again."""

    def __init__(self, graph: Graph, runner: Runner | None = None) -> None:
        self._graph = graph
        self._runner = runner or shared_runner()
        self._lock = threading.Lock()
        self._letting_go: weakref.finalize[[Graph], HeldModel] | None = None
        self._hold()

    def run(self, items: Sequence[Item], *, urgent: bool = False, seconds: float | None = None) -> Matrix:
        """One row an item; with `seconds`, rows of as many of the first as are done by then."""
        self._hold()
        return self._runner.run(self._graph, items, urgent=urgent, seconds=seconds)

    def width(self) -> int:
        """Wait until it is loaded; how many numbers it makes of an item."""
        self._hold()
        return self._runner.width(self._graph)

    def close(self) -> None:
        """Let it go; requests of other threads end with an error."""
        with self._lock:
            held, self._letting_go = self._letting_go, None
        if held is not None and held.detach():
            self._runner.release(self._graph)

    def _hold(self) -> None:
        with self._lock:
            if self._letting_go is None:
                self._runner.hold(self._graph)
                self._letting_go = weakref.finalize(self, self._runner.release_later, self._graph)
                self._letting_go.atexit = False  # the runner ends by itself
