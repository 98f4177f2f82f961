"""The protocol behind a real uvicorn, in this process."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route

from outcrop.serve.mcp.http import McpApp
from outcrop.serve.state import State


@contextmanager
def served(state: State) -> Iterator[str]:
    """The address of a real server on a free port."""
    agents = McpApp(state)

    @asynccontextmanager
    async def live(_app: Starlette) -> AsyncIterator[None]:
        async with agents.run():
            yield

    app = Starlette(routes=[Route("/mcp", endpoint=agents)], lifespan=live)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none", timeout_graceful_shutdown=2))
        thread = threading.Thread(target=server.run, args=([free],))
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{free.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            thread.join()
