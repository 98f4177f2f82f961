"""The server over streamable HTTP, as an ASGI app that another one routes to, and the sessions that clients have open.

The SDK refuses the next client while its table is full, and a session without requests stays in it for half an hour:
a thousand calls of `initialize` would lock every agent out. Here the one that was silent for longest makes room.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from outcrop.serve.mcp.tools import choose_tools
from outcrop.system.dataclass import dataclass

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.types import Message, Receive, Scope, Send

    from outcrop.serve.state import State

log = logging.getLogger(__name__)

MAX_SESSIONS: Final = 1_000
"""Sessions kept open, each with a task (not measured): far more than the agents at work at once."""


class Sessions:
    """The open sessions, least recently used first. Used by the event loop's thread only."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: dict[str, _Use] = {}

    def __len__(self) -> int:
        return len(self._open)

    def open(self, session: str) -> None:
        """A client opened it and has asked for nothing yet."""
        self._open[session] = _Use()

    def enter(self, session: str) -> None:
        """A request of an open session begins; until it ends the session is not idle."""
        if session in self._open:
            self._open[session].under_way += 1

    def leave(self, session: str) -> None:
        """A request of an open session ended."""
        use = self._open.pop(session, None)
        if use is not None:
            self._open[session] = _Use(True, use.under_way - 1)

    def forget(self, session: str) -> None:
        """It is closed."""
        self._open.pop(session, None)

    def take_surplus(self) -> str | None:
        """A session to be closed, if there are too many: the longest idle. Those that were never used go first, so that
        a flood of them does not drive out agents that work; one with a request under way stays."""
        if len(self) <= self._most:
            return None
        idle = [session for session, use in self._open.items() if not use.under_way]
        first = min(idle, key=lambda session: self._open[session].used, default=None)
        if first is not None:
            self.forget(first)
        return first


@dataclass(slots=True)
class _Use:
    used: bool = False
    under_way: int = 0


_HEADER: Final = b"mcp-session-id"


class McpApp:
    """The ASGI app over a server's state: `Route("/mcp", endpoint=app)`, and `async with app.run()` in the lifespan. It
    checks neither Host, Origin nor token: what routes to it does."""

    def __init__(self, state: State) -> None:
        choose_tools(state.config.tools)  # what is wrong with the setting is said now
        self._state = state
        self._open = Sessions(MAX_SESSIONS)
        self._asked, self._ready = anyio.Event(), anyio.Event()
        self._sessions: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Serve while the block runs; once in the life of an app. The SDK is loaded when the first agent comes: it is
        two fifths of what a server takes to start, and many a server never meets one."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._serve)
            yield
            group.cancel_scope.cancel()

    async def _serve(self) -> None:
        await self._asked.wait()
        sessions = await anyio.to_thread.run_sync(self._make)
        async with sessions.run():
            self._sessions = sessions
            self._ready.set()
            await anyio.sleep_forever()

    def _make(self) -> StreamableHTTPSessionManager:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from outcrop.serve.mcp.desk import Desk
        from outcrop.serve.mcp.server import make_server

        state = self._state
        server = make_server(Desk(lambda: state, read_only=state.read_only), state.config.tools)
        # Twice as many, for those that are just being opened; then the SDK says 503.
        return StreamableHTTPSessionManager(server, max_sessions=2 * MAX_SESSIONS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        self._asked.set()
        await self._ready.wait()
        session = _session_in(scope["headers"])
        self._open.enter(session)

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._note(scope["method"], session, message)
            await send(message)

        try:
            await self._handle(scope, receive, watch)
        finally:
            self._open.leave(session)
        await self._make_room(scope)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self._sessions is not None  # noqa: S101 - it is ready
        await self._sessions.handle_request(scope, receive, send)

    def _note(self, method: str, session: str, start: Message) -> None:
        """Note what the head of an answer says: a session was opened, or it is gone."""
        if session and (method == "DELETE" or start["status"] == 404):
            self._open.forget(session)
        elif not session and start["status"] < 400 and (opened := _session_in(start.get("headers", ()))):
            self._open.open(opened)

    async def _make_room(self, scope: Scope) -> None:
        """Close what is too many, as its client would: by the protocol's own DELETE."""
        while (surplus := self._open.take_surplus()) is not None:
            log.info("closing the longest idle of too many sessions")
            host = [header for header in scope["headers"] if header[0] == b"host"]
            closing = {**scope, "method": "DELETE", "headers": [*host, (_HEADER, surplus.encode("ascii"))]}
            await self._handle(closing, _no_body, _no_answer)


def _session_in(headers: object) -> str:
    """The id of a session among headers; nothing where there is none."""
    assert isinstance(headers, list | tuple)  # noqa: S101 - what ASGI has
    return next((value.decode("latin-1") for name, value in headers if name.lower() == _HEADER), "")


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _no_answer(_message: Message) -> None:
    return
