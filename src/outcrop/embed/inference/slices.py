"""Requests to the worker process, and how they are cut into slices of work."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from outcrop.embed.transformer import ModelSpec
from outcrop.records import Vector
from outcrop.system.dataclass import dataclass

Item = tuple[str, ...]
"""A text, or a query and a text."""

_SLICE_ITEMS: Final = 64
_SLICE_CHARACTERS: Final = 100_000
"""A slice ends when its time is up; these bound the size of a frame."""


class Request:
    """What one caller waits for: a row for each item, in order."""

    def __init__(self, spec: ModelSpec, items: Sequence[Item]) -> None:
        self.spec = spec
        self.items = items
        self.rows: list[Vector] = []
        self.failures = 0
        self.error = ""
        self.given_up = False
        self.finished = threading.Event()

    @property
    def is_over(self) -> bool:
        """Whether it needs no more work."""
        return self.given_up or self.finished.is_set()

    def fail(self, error: str) -> None:
        """Finish without the rest of the rows."""
        if not self.finished.is_set():
            self.error = error
            self.finished.set()


@dataclass(frozen=True, slots=True)
class Slice:
    """Items of one or more requests for the same model; the worker does as many as fit into `seconds`."""

    spec: ModelSpec
    requests: list[Request]
    items: list[tuple[Request, Item]]
    seconds: float

    def settle(self, answer: dict[str, Any], payload: bytes) -> None:
        """Hand out what is done; the item that failed, if one did, fails its request alone."""
        done = answer.get("done", 0)
        rows = np.frombuffer(payload, np.float32).reshape(done, answer["width"])
        for row, (request, _) in zip(rows, self.items[:done], strict=True):
            request.rows.append(row)
            request.failures = 0
        if "error" in answer:
            self.items[done][0].fail(answer["error"])
        for request in self.requests:
            if len(request.rows) == len(request.items):
                request.finished.set()


class Lane:
    """A queue of requests. Used under its owner's lock."""

    def __init__(self, slice_s: float) -> None:
        self._slice_s = slice_s
        self._requests: deque[Request] = deque()
        self._reach: dict[ModelSpec, int] = {}

    def __iter__(self) -> Iterator[Request]:
        return iter([request for request in self._requests if not request.is_over])

    def append(self, request: Request) -> None:
        """Queue up."""
        self._requests.append(request)

    def cut(self) -> Slice | None:
        """The next slice: items of all requests for the first one's model, in turns; None when there are none. A
        request that was running when a worker died goes alone."""
        self._requests = deque(self)
        if not self._requests:
            return None
        head = self._requests[0]
        self._requests.rotate(-1)
        together = [head]
        if not head.failures:
            others = (request for request in self._requests if request is not head and not request.failures)
            together += [request for request in others if request.spec == head.spec]
        return Slice(head.spec, together, self._take(together), self._slice_s)

    def learn(self, piece: Slice, done: int) -> None:
        """Send twice as much next time as was done this time: the worker never runs dry, and little is sent in vain."""
        self._reach[piece.spec] = max(2 * done, _first_reach(piece.spec))

    def _take(self, requests: Sequence[Request]) -> list[tuple[Request, Item]]:
        spec = requests[0].spec
        most = min(self._reach.get(spec, _first_reach(spec)), _SLICE_ITEMS)
        items: list[tuple[Request, Item]] = []
        characters = depth = 0
        while len(items) < most and characters < _SLICE_CHARACTERS:
            waiting = [request for request in requests if len(request.rows) + depth < len(request.items)]
            if not waiting:
                break
            turn = [(request, request.items[len(request.rows) + depth]) for request in waiting]
            items += turn[: most - len(items)]
            characters += sum(len(text) for _, item in turn for text in item)
            depth += 1
        return items


def _first_reach(spec: ModelSpec) -> int:
    return 2 * spec.threads
