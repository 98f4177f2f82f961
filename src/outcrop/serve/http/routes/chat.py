"""Chat over HTTP: one question, its events as they happen. When the client is gone, so is the request to the model."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response, StreamingResponse

from outcrop.chat import Chat, Event, Failed, Mode, event_name, open_chat
from outcrop.chat.endpoint import ChatEndpoint
from outcrop.chat.local import LocalServer, find_local_servers, local_url
from outcrop.records import Message
from outcrop.serve.http.answers import (
    SILENCE_S,
    STILL_HERE,
    answer,
    documented,
    frame,
    problems,
    shape,
    streamed,
)
from outcrop.serve.http.problems import Refused
from outcrop.serve.http.schema import Names, Strict
from outcrop.serve.state import State

_log = logging.getLogger(__name__)

MAX_CHATS: Final = 16
"""Answers written at a time. Each has a thread; a model on one's own machine writes one or two at a time anyway."""
_LOOK_S: Final = 0.25
"""How often a quiet stream looks whether its reader is still there."""
_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""Proxies must neither keep an answer nor hold it back until it is whole."""


class ChatMessage(Strict):
    """A message of the conversation."""

    role: Literal["system", "user", "assistant"]
    content: Annotated[str, Field(max_length=100_000)]


class ChatBody(Strict):
    """A conversation whose last message is the user's question."""

    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=500)]
    mode: Mode = Field(
        default="context", description="Sources before the question, a tool to search with, or neither."
    )
    collections: Names = Field(default=[], description="Only these collections are searched.")
    budget_tokens: int | None = Field(
        default=None, ge=1, le=100_000, description="The most that the sources of one search come to."
    )
    server: Literal["ollama", "llama.cpp", "lmstudio"] | None = Field(
        default=None,
        description="A server on this machine, as GET /api/chat/servers names it, instead of the one set.",
    )
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        default=None, description="The model of `server`."
    )


def chat_router(state: State) -> APIRouter:
    """`POST /api/chat` and `GET /api/chat/servers`."""
    router = APIRouter(prefix="/api", tags=["chat"])
    slots = threading.BoundedSemaphore(MAX_CHATS)

    @router.post(
        "/chat",
        response_class=StreamingResponse,
        responses={**streamed("sources", "delta", "tool", "notice", "done", "error"), **problems(413, 415)},
    )
    async def chat(body: ChatBody, request: Request) -> Response:
        """Ask the chat model, grounded in what the index says. 503 where no chat model is set."""
        gone = threading.Event()
        if body.server and body.model:  # the key that is set is for another server
            opened = Chat(state.engine, ChatEndpoint(body.model, local_url(body.server)))
        else:
            opened = open_chat(state.engine)
        events = opened.ask(
            [Message(message.role, message.content) for message in body.messages],
            body.mode,
            body.collections,
            body.budget_tokens,
            lambda: gone.is_set() or state.jobs.is_closing,
        )
        if not slots.acquire(blocking=False):
            raise Refused(429, f"{MAX_CHATS} answers are being written already: wait for one to end")
        told = _follow(events, slots)
        return StreamingResponse(_frames(told, request, gone), media_type="text/event-stream", headers=_HEADERS)

    @router.get("/chat/servers", **documented(200, shape("LocalServers", servers=tuple[LocalServer, ...])))
    def servers() -> Response:
        """Chat servers that answer on this machine at their usual ports: Ollama, llama.cpp, LM Studio."""
        return answer({"servers": find_local_servers()})

    return router


def _follow(events: Iterator[Event], slots: threading.BoundedSemaphore) -> asyncio.Queue[Event | None]:
    """Read the events in a thread, which frees its slot at the end; None comes after the last."""
    loop = asyncio.get_running_loop()
    told: asyncio.Queue[Event | None] = asyncio.Queue()

    def tell(event: Event | None) -> None:
        with contextlib.suppress(RuntimeError):  # the server is down: nobody listens
            loop.call_soon_threadsafe(told.put_nowait, event)

    def read() -> None:
        try:
            for event in events:
                tell(event)
        except Exception:  # noqa: BLE001 - the outermost handler of this thread: its reader must not wait for ever
            _log.exception("a chat broke")
            tell(Failed("something unexpected went wrong: look into the server's log, and ask again"))
        finally:
            slots.release()
            tell(None)

    threading.Thread(target=read, name="outcrop-chat-reader", daemon=True).start()
    return told


async def _frames(
    told: asyncio.Queue[Event | None], request: Request, gone: threading.Event
) -> AsyncIterator[bytes]:
    """The events as frames. However this ends, the model's request ends with it."""
    sent = looked = time.monotonic()
    try:
        while True:
            now = time.monotonic()
            if now - looked >= _LOOK_S:
                looked = now
                if await request.is_disconnected():
                    return
            try:
                event = await asyncio.wait_for(told.get(), _LOOK_S)
            except TimeoutError:
                if now - sent > SILENCE_S:
                    sent = now
                    yield STILL_HERE
                continue
            if event is None:
                return
            sent = now
            yield frame(event_name(event), event)
    finally:
        gone.set()
