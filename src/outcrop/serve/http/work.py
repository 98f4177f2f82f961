"""The engine is sync: its work is done in threads, of which there are few, and given up when the client is gone.

Searches have threads of their own: they never wait behind a slow request, and for each other in the order in which they
came. All other routes are plain functions that FastAPI runs in its own pool.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request

from outcrop.machine import usable_cores

THREADS: Final = 16
"""Requests worked on at a time, searches apart. Judgement: most of them wait for a disk or a remote model."""

T = TypeVar("T")


def search_threads() -> int:
    """Searches done at a time. They hold the interpreter for most of their time: more threads than cores only make
    each of them slower (`benchmarks/serve_load.py`)."""
    return max(2, min(4, usable_cores()))


async def run_while_wanted(
    request: Request, limiter: CapacityLimiter, work: Callable[[Callable[[], bool]], T]
) -> T:
    """The result of some work done in a thread; the work is told when the client has left."""
    gone = threading.Event()

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        gone.set()

    watcher = asyncio.create_task(watch())
    try:
        return await to_thread.run_sync(partial(work, gone.is_set), limiter=limiter)
    finally:
        watcher.cancel()
