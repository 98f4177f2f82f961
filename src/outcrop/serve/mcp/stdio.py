"""The server over standard input and output: what a client starts as its own process."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

import anyio
from mcp.server.stdio import stdio_server

from outcrop.serve.mcp.server import make_server

if TYPE_CHECKING:
    from outcrop.serve.mcp.desk import Desk


def serve_stdio(desk: Desk) -> None:
    """Serve one client until it closes our input; then stop at the next safe place.

    A signal ends the process at once: a thread that waits for input cannot be woken, and nothing that was acknowledged
    is lost by it. What was going on is taken up at the next start.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        anyio.run(_serve, desk)
    finally:
        desk.close()


async def _serve(desk: Desk) -> None:
    server = make_server(desk)
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())
