"""What the routes of one application share, and the threads in which the engine, which is sync, works for them: few,
and given up when the client is gone.

Searches have threads of their own: they never wait behind a slow request, and for each other in the order in which they
came. All other routes are plain functions that FastAPI runs in its own pool. `answer_in_time` holds every request to
the rule of `serve/patience.py`.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Depends
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from outcrop.serve.background import Background
from outcrop.serve.http.metrics import Metrics
from outcrop.serve.http.problems import Refused
from outcrop.serve.http.searchers import Searchers
from outcrop.serve.patience import Patience, patience_for
from outcrop.serve.state import State
from outcrop.system.dataclass import dataclass
from outcrop.system.machine import usable_cores

THREADS: Final = 16
"""Requests worked on at a time, searches apart (not measured): most of them wait for a disk or a remote model."""

QUEUED: Final = 4
"""Searches that wait for others when processes are started for them (not measured): who types quickly makes two."""
MOST_ON_DEMAND: Final = 4
"""Processes that are started without being asked for, each of about 100 MB."""

LIGHT_MODEL: Final = "outcrop-static"
"""The model of which a process takes no more than that."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shared:
    """One application: its state, metrics, background work, and the threads of its searches."""

    state: State
    metrics: Metrics
    background: Background
    searches: CapacityLimiter
    searchers: Searchers | None = None
    """Processes that search, if the server was started with any."""

    @property
    def writes(self) -> list[Any]:
        """The dependencies of a route that writes: refused on a read-only server."""

        def require_writable() -> None:
            if self.state.read_only:
                raise Refused(403, "this server only reads; start it without --read-only", code="read_only")

        return [Depends(require_writable)]

    async def search(self, work: Callable[[], T]) -> T:
        """Do this work in one of the threads for searches; its `check_wanted()` ends it when the client has left."""
        if self.searchers is not None and self.searches.statistics().tasks_waiting >= QUEUED:
            self.searchers.demand()
        return await to_thread.run_sync(work, limiter=self.searches)


def search_threads() -> int:
    """Searches done at a time. They hold the interpreter for most of their time: more threads than cores only make
    each of them slower (`benchmarks/serve_load.py`)."""
    return max(2, min(4, usable_cores()))


def make_searchers(state: State, workers: int | None) -> Searchers | None:
    """So many processes that search; None for as many as there are cores, once searches queue. A store on a server has
    connections to be spared, and a transformer takes hundreds of megabytes in each: there none is started unasked."""
    if workers is not None:
        return Searchers(state.config, workers) if workers else None
    cores = min(usable_cores(), MOST_ON_DEMAND)
    if cores < 2 or not isinstance(state.config.db, Path):
        return None

    def is_light() -> bool:
        return bool(state.engine.parts.embedder.model.name == LIGHT_MODEL)

    return Searchers(state.config, cores, on_demand=is_light)


class TookTooLong(Exception):
    """No answer began in time; what the application still sends is dropped."""


async def answer_in_time(app: ASGIApp, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
    """Let the application answer a request with this body; TookTooLong when its answer does not begin in time.

    The application's work is told when the client leaves or the time is up, and ends at its next look. A thread cannot
    be ended from outside, so this does not wait for it.
    """
    patience, left = Patience(), asyncio.Event()
    read = begun = given_up = False

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        patience.leave()
        left.set()

    async def receive_here() -> Message:
        nonlocal read
        if not read:
            read = True
            return {"type": "http.request", "body": body, "more_body": False}
        await left.wait()
        return {"type": "http.disconnect"}

    async def send_unless_late(message: Message) -> None:
        nonlocal begun
        if not given_up:
            begun = True
            await send(message)

    with patience_for(patience):
        work = asyncio.ensure_future(app(scope, receive_here, send_unless_late))
    watcher = asyncio.create_task(watch())
    try:
        while not work.done() and not begun and patience.left_s() > 0:
            await asyncio.wait({work}, timeout=None if patience.left_s() == math.inf else patience.left_s())
        if work.done() or begun:
            await work
            return
        given_up = True
        work.add_done_callback(_forget)
        raise TookTooLong
    finally:
        watcher.cancel()
        if not given_up:
            work.cancel()  # the server is ending: it has no effect on what is done


def _forget(work: asyncio.Future[None]) -> None:
    """Retrieve the outcome of abandoned work: the event loop would complain about an unread error."""
    if not work.cancelled():
        work.exception()
