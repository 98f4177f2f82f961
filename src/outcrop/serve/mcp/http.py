"""The server over streamable HTTP, as an ASGI app that another one routes to."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Final

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from outcrop.serve.mcp.desk import Desk
from outcrop.serve.mcp.server import make_server

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from outcrop.serve.state import State

MOST_SESSIONS: Final = 1_000
"""Clients at once; each has a task. Those that are silent for half an hour are let go."""


class McpApp:
    """The ASGI app. It answers only while `run()` is entered, and checks neither Host, Origin nor token: what routes to
    it does."""

    def __init__(self, state: State) -> None:
        server = make_server(Desk(lambda: state, read_only=state.read_only))
        self._sessions = StreamableHTTPSessionManager(server, max_sessions=MOST_SESSIONS)

    def run(self) -> AbstractAsyncContextManager[None]:
        """Serve while the block runs; once in the life of an app."""
        return self._sessions.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        await self._sessions.handle_request(scope, receive, send)


def mcp_app(state: State) -> McpApp:
    """The app over a server's state: `Route("/mcp", endpoint=app)`, and `async with app.run()` in the lifespan."""
    return McpApp(state)
