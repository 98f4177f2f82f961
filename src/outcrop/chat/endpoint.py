"""A chat model behind an OpenAI-compatible endpoint: `POST {base_url}/chat/completions`, streamed.

Text is passed on as it comes, tool calls once they are complete. Every failure becomes one ChatError whose message says
what to do next.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, Final

from outcrop.chat.reading import Call, Malformed, Reading, ServerSays
from outcrop.errors import Cancelled, ChatError, ConfigError
from outcrop.system.dataclass import dataclass
from outcrop.system.exchange import FAILURES, Exchange, Head, Stop, TooMuch, TooSlow
from outcrop.system.remote import Again, Remote, Retries

_RETRY_DELAY_S: Final = 2.0
"""The longest pause before the one retry; the shortest is half of it."""
_LONGEST_DELAY_S: Final = 10.0
"""A person waits: a server that wants a longer pause is an error that says how long."""
Payload = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how much, with the slowest honest server in mind (not measured)."""

    connect_s: float = 10.0
    """For the connection and its encryption."""
    first_token_s: float = 240.0
    """A model on a CPU is loaded and reads a full prompt before it says a word; that takes minutes."""
    idle_s: float = 60.0
    """Between two words. Comments that only keep a connection open do not count as words."""
    total_s: float = 1800.0
    line_bytes: int = 1 << 20
    total_bytes: int = 16 << 20
    """An answer of 100 000 words comes to this in frames of one token."""


class ToolsRefused(ChatError):
    """The model or its server does not take tools; ask without."""


class WishRefused(ChatError):
    """The server does not take a field that it was only wished to; ask without."""


@dataclass(frozen=True, slots=True)
class Begun:
    """The words, in lower case, that the message could have begun with, and the chance of each."""

    chances: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Ended:
    """How the model's message ended: why, and which tools it wants called."""

    finish: str
    calls: tuple[Call, ...]


class ChatEndpoint:
    """One chat model. Safe to use from any thread: each request has a connection to itself."""

    def __init__(self, model: str, base_url: str, key: str = "", limits: Limits | None = None) -> None:
        if not model.strip():
            raise ConfigError(
                "no chat model is set. With Ollama: `ollama pull qwen3:4b`, then set OUTCROP_CHAT_MODEL=qwen3:4b (or "
                "chat_model in config.toml). For another OpenAI-compatible server set chat_url, and chat_key if it "
                "wants one, as well"
            )
        self.model = model.strip()
        self._remote = Remote(base_url, "chat/completions", key, "chat", ChatError)
        self._limits = limits or Limits()
        self._grants = True

    def __repr__(self) -> str:
        return f"ChatEndpoint({self.model!r}, {self._remote.address!r})"

    def stream(
        self,
        messages: Sequence[Payload],
        *,
        options: Payload | None = None,
        wishes: Payload | None = None,
        stopped: Stop | None = None,
    ) -> Generator[str | Begun | Ended, None, None]:
        """The text of the answer as it comes, then Ended. `options` go into the request as they are (tools), and so do
        `wishes`, unless the server refuses them. Where those are for `logprobs` and the server gives them, Begun comes
        before the text.

        A failure before the first word that may pass is tried once more. Raises ChatError, ToolsRefused when the
        request has tools and they are refused, and Cancelled soon after `stopped` returns True."""
        request = {"model": self.model, "messages": list(messages), "stream": True, **(options or {})}
        wished = wishes if wishes and self._grants else {}
        retries = Retries(1, _LONGEST_DELAY_S, _RETRY_DELAY_S, partial(_pause, stopped=stopped))
        while True:
            try:
                yield from self._attempt({**request, **wished}, wished, stopped)
            except WishRefused as refused:
                self._grants = not any(name in str(refused).lower() for name in wished)
                wished = {}
            except Again as failure:
                if not retries.wait(failure):
                    raise ChatError(
                        f"{self._remote.address} cannot answer now ({failure}): wait a little and ask again"
                    ) from failure
            else:
                return

    def _attempt(
        self, request: Payload, wished: Payload, stopped: Stop | None
    ) -> Generator[str | Begun | Ended, None, None]:
        limits = self._limits
        reading = Reading()
        # A lone surrogate cannot be sent; json would write it as an escape that servers refuse.
        body = json.dumps(request, ensure_ascii=False).encode("utf-8", "replace")
        try:
            with Exchange(
                self._remote,
                body,
                connect_s=limits.connect_s,
                max_bytes=limits.total_bytes,
                stopped=stopped,
                accept="text/event-stream",
            ) as exchange:
                head = exchange.head(time.monotonic() + limits.first_token_s)
                if head.status != 200:
                    said = exchange.explanation(time.monotonic() + limits.connect_s)
                    if wished and head.status in (400, 422):
                        raise WishRefused(said)
                    self._refuse(head, said, "tools" in request)
                for data in self._frames(exchange, head, reading):
                    if text := reading.take(data):
                        if reading.chances:
                            yield Begun(reading.chances)
                            reading.chances = {}
                        yield text
            self._check_end(reading)
            yield Ended(reading.finish, reading.calls())
        except (*FAILURES, Malformed, ServerSays) as error:
            raise self._explain(error, reading) from error

    # -- a stream of events, or one document

    def _frames(self, exchange: Exchange, head: Head, reading: Reading) -> Iterator[bytes]:
        """The data of each event until the one that says it is over; one JSON document is one frame."""
        limits = self._limits
        since = time.monotonic()
        end = since + limits.total_s
        if head.headers.get_content_type() == "application/json":
            body = exchange.body(min(since + limits.first_token_s, end))
            if len(body) > limits.line_bytes:
                raise TooMuch
            yield body
            reading.finish = reading.finish or "stop"
            return
        data: list[bytes] = []
        size = 0

        def until() -> float:
            return min(since + (limits.idle_s if reading.started else limits.first_token_s), end)

        # An empty line ends an event, and so does the end of the stream.
        for line in chain(self._lines(exchange, until), (b"",)):
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
                if (size := size + len(line)) > limits.line_bytes:
                    raise TooMuch
            elif not line and data:
                frame, data, size = b"\n".join(data), [], 0
                if frame.strip() == b"[DONE]":
                    reading.finish = reading.finish or "stop"
                    return
                yield frame
                since = time.monotonic()

    def _lines(self, exchange: Exchange, until: Callable[[], float]) -> Iterator[bytes]:
        rest = b""
        while (block := exchange.read(until())) is not None:
            *lines, rest = (rest + block).split(b"\n")
            yield from (line.removesuffix(b"\r") for line in lines)
            if len(rest) > self._limits.line_bytes:
                raise TooMuch
        if rest:
            yield rest

    # -- what went wrong

    def _refuse(self, head: Head, said: str, with_tools: bool) -> None:
        """Raise what a status means."""
        status, address = head.status, self._remote.address
        if with_tools and (status in (400, 422, 501) or (status in (404, 500) and "tool" in said.lower())):
            raise ToolsRefused(f"{address} does not take tools ({status}: {said})")
        if status == 404:
            raise ChatError(
                f"{address} knows no such model or path (404: {said}): check chat_model ({self.model}) and chat_url, "
                "which usually ends in /v1; Ollama gets a model by `ollama pull`"
            )
        self._remote.refuse(status, head.headers.get("Retry-After"), said)
        raise ChatError(
            f"{address} refused the request ({status}: {said}): check chat_model; if it was too long, ask with "
            "less history or a smaller chat_window_tokens"
        )

    def _check_end(self, reading: Reading) -> None:
        if not reading.frames:
            raise ChatError(
                f"{self._remote.address} did not answer as a chat endpoint does: check chat_url, which usually ends "
                "in /v1"
            )
        if not reading.finish and not reading.started:
            raise Again("the stream ended before the answer began")
        if not reading.finish:
            raise ChatError(f"{self._remote.address} ended in the middle of the answer: ask again")

    def _explain(self, error: Exception, reading: Reading) -> ChatError | Again:
        """A failure of the connection or the stream in words; Again for one that may pass and came before any text."""
        limits, reason = self._limits, f"{type(error).__name__}: {error}"
        match error:
            case TooSlow() if reading.started:
                what = (
                    f"stopped in the middle of the answer (nothing for {limits.idle_s:g} s, or more than "
                    f"{limits.total_s:g} s in all): ask again"
                )
            case TooSlow():
                what = (
                    f"said nothing within {limits.first_token_s:g} s: check that it is running and not busy, or choose "
                    "a smaller model"
                )
            case TooMuch():
                what = "sent more than any answer needs, so it was cut off: check the model and chat_url"
            case Malformed():
                what = (
                    "sent a frame that is no chat completion: check that chat_url leads to an OpenAI-compatible "
                    "endpoint, and ask again"
                )
            case ServerSays():
                said = self._remote.explanation(error.data)
                what = f"broke off with an error ({said}): ask again, or look into its log"
            case _ if reading.started:
                what = f"broke the connection in the middle of the answer ({reason}): ask again"
            case ConnectionError() | http.client.HTTPException() if not isinstance(
                error, ConnectionRefusedError
            ):
                return Again(reason)
            case _:
                what = f"cannot be reached ({reason}): start the server (Ollama: `ollama serve`), or correct chat_url"
        return ChatError(f"{self._remote.address} {what}")


def _pause(seconds: float, stopped: Stop | None) -> None:
    until = time.monotonic() + seconds
    while (left_s := until - time.monotonic()) > 0:
        if stopped is not None and stopped():
            raise Cancelled("the chat was stopped")
        time.sleep(min(0.1, left_s))
