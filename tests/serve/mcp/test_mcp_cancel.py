"""Work stops soon after its client gave it up: counted in files and requests, so that a slow machine is no excuse."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest
from mcp import Client
from tests.serve.mcp.conftest import Library, make_many
from tests.serve.mcp.serving import served

from outcrop.engine import Engine
from outcrop.records import Progress
from outcrop.serve.mcp.desk import Desk
from outcrop.serve.mcp.server import make_server

FILES, FREELY, REQUESTS, MAX_AFTER = 200, 20, 50, 10
"""Of so many files the first are read freely, then one for each request that is answered after the cancel. Work that
nothing stops reads as many as there are requests."""
WAIT_SECONDS = 120.0


class Paced:
    """Holds `Engine.sync` after some files, then lets it go on file by file."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.done = 0
        self.held = threading.Event()
        self.ended = threading.Event()
        self._turns = threading.Semaphore(0)
        sync = Engine.sync

        def paced(engine: Engine, target: Any, *, progress: Callable[[Progress], None], **more: Any) -> Any:
            try:
                return sync(engine, target, progress=lambda now: self._step(now, progress), **more)
            finally:
                self.ended.set()

        patch.setattr(Engine, "sync", paced)

    def allow(self, files: int = 1) -> None:
        self._turns.release(files)

    def _step(self, now: Progress, progress: Callable[[Progress], None]) -> None:
        progress(now)
        self.done += 1
        if self.done >= FREELY:
            self.held.set()
            assert self._turns.acquire(timeout=WAIT_SECONDS), "nothing was asked any more"


@contextmanager
def connected(library: Library, transport: str) -> Iterator[tuple[Any, str]]:
    """What a client is given to connect to, and the mode it is to speak."""
    if transport == "memory":
        desk = Desk(library.open)
        yield make_server(desk, "all"), "legacy"
        desk.close()
        return
    state = library.open()
    with served(state) as url:
        yield url, "legacy" if transport == "http" else "auto"
    state.engine.close()


@pytest.mark.parametrize("transport", ["memory", "http", "http-2026"])
def test_a_cancelled_refresh_stops_within_a_few_files(
    library: Library, transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = library.open()
    state.engine.add(library.folder)
    state.engine.close()
    make_many(library.folder, FILES)
    pace = Paced(monkeypatch)

    async def live(client: Client) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "refresh", {"path": str(library.folder)})
            assert await anyio.to_thread.run_sync(pace.held.wait, WAIT_SECONDS)
            group.cancel_scope.cancel()
        try:
            for _ in range(REQUESTS):
                await client.call_tool("status", {})
                pace.allow()
            assert FREELY <= pace.done <= FREELY + MAX_AFTER, "the work went on after it was cancelled"
        finally:
            pace.allow(FILES)  # whatever happened, no thread is left waiting
        assert await anyio.to_thread.run_sync(pace.ended.wait, WAIT_SECONDS)

    with connected(library, transport) as (server, mode):
        anyio.run(talk, server, mode, live)


async def talk(server: Any, mode: str, work: Callable[[Client], Awaitable[None]]) -> None:
    async with Client(server, mode=mode) as client:
        await work(client)
