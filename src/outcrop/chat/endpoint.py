"""A chat model behind an OpenAI-compatible endpoint: `POST {base_url}/chat/completions`, streamed.

Text is passed on as it comes, tool calls once they are complete. Every failure becomes one ChatError whose message says
what to do next.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from itertools import chain
from typing import Any, Final

from outcrop.errors import Cancelled, ChatError, ConfigError
from outcrop.system.dataclass import dataclass
from outcrop.system.exchange import FAILURES, Exchange, Head, Stop, TooMuch, TooSlow
from outcrop.system.remote import Again, Remote, Retries

_RETRY_DELAY_S: Final = 2.0
"""The longest pause before the one retry; the shortest is half of it."""
_LONGEST_DELAY_S: Final = 10.0
"""A person waits: a server that wants a longer pause is an error that says how long."""
_MAX_CALLS: Final = 16
"""Calls that one message may make; a model that asks for more is in a loop."""
_MAX_ARGUMENT_CHARACTERS: Final = 20_000
"""A query and a number need a hundred; what is longer is cut, and the model is told that it is no JSON."""
_THOUGHTS: Final = ("reasoning_content", "reasoning", "thinking")
"""Where servers put a model's reasoning. Not shown, but a sign of life."""

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


class Malformed(Exception):
    """A frame that breaks the protocol."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool the model wants called, with its arguments as it wrote them."""

    id: str
    name: str
    arguments: str


class ToolsRefused(ChatError):
    """The model or its server does not take tools; ask without."""


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

    def __repr__(self) -> str:
        return f"ChatEndpoint({self.model!r}, {self._remote.address!r})"

    def stream(
        self, messages: Sequence[Payload], *, options: Payload | None = None, stopped: Stop | None = None
    ) -> Generator[str | Ended, None, None]:
        """The text of the answer as it comes, then Ended. `options` go into the request as they are (tools).

        A failure before the first word that may pass is tried once more. Raises ChatError, ToolsRefused when the
        request has tools and they are refused, and Cancelled soon after `stopped` returns True."""
        request = {"model": self.model, "messages": list(messages), "stream": True, **(options or {})}
        # A lone surrogate cannot be sent; json would write it as an escape that servers refuse.
        body = json.dumps(request, ensure_ascii=False).encode("utf-8", "replace")
        retries = Retries(1, _LONGEST_DELAY_S, _RETRY_DELAY_S, partial(_pause, stopped=stopped))
        while True:
            try:
                yield from self._attempt(body, "tools" in request, stopped)
            except Again as failure:
                if not retries.wait(failure):
                    raise ChatError(
                        f"{self._remote.address} cannot answer now ({failure}): wait a little and ask again"
                    ) from failure
            else:
                return

    def _attempt(
        self, body: bytes, with_tools: bool, stopped: Stop | None
    ) -> Generator[str | Ended, None, None]:
        limits = self._limits
        reading = Reading()
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
                    self._refuse(head, exchange.explanation(time.monotonic() + limits.connect_s), with_tools)
                for data in self._frames(exchange, head, reading):
                    if text := reading.take(data):
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


@dataclass(slots=True)
class _Part:
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class Reading:
    """One message as far as it has come. `started`: the model said, thought or called something."""

    started: bool = False
    finish: str = ""
    frames: int = 0
    _calls: list[_Part] = field(default_factory=list)
    _by_index: dict[int, _Part] = field(default_factory=dict)

    def take(self, data: bytes) -> str:
        """Add a frame; return the text it adds to the answer, if any. Raises Malformed or ServerSays."""
        frame = _load(data)
        self.frames += 1
        if frame.get("error"):
            raise ServerSays(data)
        choices = frame.get("choices") or []
        if not isinstance(choices, list):
            raise Malformed
        if not choices:
            return ""  # how many tokens were used, and other remarks
        choice = choices[0]
        said = (choice.get("delta") or choice.get("message") or {}) if isinstance(choice, dict) else None
        if not isinstance(said, dict):
            raise Malformed
        if isinstance(finish := choice.get("finish_reason"), str) and finish:
            self.finish = finish
        self._take_calls(said.get("tool_calls") or [])
        text = said.get("content") or said.get("refusal") or ""
        if not isinstance(text, str):
            raise Malformed
        if text or self._calls or any(said.get(name) for name in _THOUGHTS):
            self.started = True
        return text

    def calls(self) -> tuple[Call, ...]:
        """The message's calls in order; each has an id, the model's or ours."""
        return tuple(
            Call(part.id or f"call_{number}", part.name, part.arguments)
            for number, part in enumerate(self._calls)
        )

    def _take_calls(self, fragments: Any) -> None:
        if not isinstance(fragments, list) or not all(isinstance(item, dict) for item in fragments):
            raise Malformed
        for fragment in fragments:
            function = fragment.get("function") or {}
            if not isinstance(function, dict):
                raise Malformed
            part = self._part_of(fragment, function)
            if part is None:
                continue
            part.id = part.id or _text(fragment.get("id"))
            part.name = part.name or _text(function.get("name"))
            part.arguments += _arguments(function.get("arguments"))
            part.arguments = part.arguments[:_MAX_ARGUMENT_CHARACTERS]

    def _part_of(self, fragment: dict[str, Any], function: dict[str, Any]) -> _Part | None:
        """The call a fragment belongs to: that of its index, unless it has another id, since some servers number all
        calls 0; without an index the latest, unless it names a function itself."""
        index, name, named = fragment.get("index"), _text(function.get("name")), _text(fragment.get("id"))
        known = self._by_index.get(index) if isinstance(index, int) else None
        if known is None and not isinstance(index, int) and self._calls and not name:
            known = self._calls[-1]
        if known is not None and not (name and named and known.id and named != known.id):
            return known
        if len(self._calls) == _MAX_CALLS:
            return None
        part = _Part()
        self._calls.append(part)
        if isinstance(index, int):
            self._by_index[index] = part
        return part


class ServerSays(Exception):
    """A frame that reports an error; `data` is the frame."""

    def __init__(self, data: bytes) -> None:
        super().__init__("the server reports an error")
        self.data = data


def _load(data: bytes) -> dict[str, Any]:
    try:
        frame = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Malformed from error
    if not isinstance(frame, dict):
        raise Malformed
    return frame


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _arguments(value: Any) -> str:
    """Arguments are JSON as text, in pieces; some servers send the object itself."""
    return json.dumps(value) if isinstance(value, dict) else _text(value)
