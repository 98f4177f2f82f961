"""A chat model behind an OpenAI-compatible endpoint: `POST {base_url}/chat/completions`, streamed.

Every way in which it can fail becomes one ChatError whose message says what to do next.
"""

from __future__ import annotations

import http.client
import json
import logging
import ssl
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from outcrop.chat.exchange import Exchange, Head, Limits, Stop, TooMuch, TooSlow
from outcrop.chat.frames import Call, Malformed, Reading, ServerSays
from outcrop.errors import Cancelled, ChatError, ConfigError
from outcrop.system.remote import Remote, retry_after

_log = logging.getLogger(__name__)

_RETRY_DELAY_S: Final = 1.0
_LONGEST_DELAY_S: Final = 10.0
"""A person waits: a server that wants a longer pause is an error that says how long."""
_ERROR_BYTES: Final = 1 << 16
"""What is read of an error's explanation."""

Payload = Mapping[str, Any]


class ToolsRefused(ChatError):
    """The model or its server does not take tools; ask without."""


class _Again(Exception):
    """This attempt failed in a way that may pass."""

    def __init__(self, reason: str, after_s: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.after_s = after_s


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
        self._remote = Remote(base_url, "chat/completions", key, "chat")
        self._limits = limits or Limits()

    def __repr__(self) -> str:
        return f"ChatEndpoint({self.model!r}, {self._remote.address!r})"

    def stream(
        self, messages: Sequence[Payload], *, options: Payload | None = None, stopped: Stop | None = None
    ) -> Generator[str | Ended, None, None]:
        """The text of the answer as it comes, then Ended. `options` go into the request as they are (tools).

        What fails before the first word, and may pass, is tried once more. Raises ChatError, ToolsRefused where the
        request has tools that are not taken, and Cancelled soon after `stopped` says so.
        """
        request = {"model": self.model, "messages": list(messages), "stream": True, **(options or {})}
        # A lone surrogate cannot be sent; json would write it as an escape that servers refuse.
        body = json.dumps(request, ensure_ascii=False).encode("utf-8", "replace")
        try:
            yield from self._attempt(body, "tools" in request, stopped)
        except _Again as first:
            delay_s = _RETRY_DELAY_S if first.after_s is None else first.after_s
            if delay_s > _LONGEST_DELAY_S:
                raise ChatError(self._given_up(first)) from first
            _log.info("chat endpoint: trying again", extra={"reason": first.reason, "delay_s": delay_s})
            _pause(delay_s, stopped)
            try:
                yield from self._attempt(body, "tools" in request, stopped)
            except _Again as second:
                raise ChatError(self._given_up(second)) from second

    def _given_up(self, failure: _Again) -> str:
        asked = f"; it asks to wait {failure.after_s:.0f} s" if failure.after_s is not None else ""
        return (
            f"{self._remote.address} cannot answer now ({failure.reason}{asked}): wait a little and ask again"
        )

    def _attempt(
        self, body: bytes, with_tools: bool, stopped: Stop | None
    ) -> Generator[str | Ended, None, None]:
        exchange = Exchange(self._remote, body, self._limits)
        reading = Reading()
        try:
            head = exchange.head(time.monotonic() + self._limits.first_token_s, stopped)
            if head.status != 200:
                self._refuse(head, self._explanation(exchange, stopped), with_tools)
            for data in self._frames(exchange, head, reading, stopped):
                if text := reading.take(data):
                    yield text
            self._check_end(reading)
            yield Ended(reading.finish, reading.calls())
        except (TooSlow, TooMuch, Malformed, ServerSays, OSError, http.client.HTTPException) as error:
            raise self._explain(error, reading) from error
        finally:
            exchange.close()

    # -- a stream of events, or one document

    def _frames(
        self, exchange: Exchange, head: Head, reading: Reading, stopped: Stop | None
    ) -> Iterator[bytes]:
        """The data of each event until the one that says it is over; one JSON document is one frame."""
        end = time.monotonic() + self._limits.total_s
        since = time.monotonic()
        data: list[bytes] = []
        size = 0
        while True:
            wait_s = self._limits.idle_s if reading.started else self._limits.first_token_s
            line = exchange.line(min(since + wait_s, end), stopped)
            if line is not None and head.is_json:
                data.append(line)
            elif line is not None and line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif not line and data:  # an empty line ends an event, and so does the end of the stream
                frame = b"\n".join(data)
                data, size = [], 0
                if frame.strip() == b"[DONE]":
                    reading.finish = reading.finish or "stop"
                    return
                yield frame
                since = time.monotonic()
            if line is None:
                if head.is_json:
                    reading.finish = reading.finish or "stop"
                return
            size += len(line) if data else 0
            if size > self._limits.line_bytes:
                raise TooMuch

    def _explanation(self, exchange: Exchange, stopped: Stop | None) -> str:
        """What a server says to an error, as far as it comes soon."""
        until = time.monotonic() + self._limits.connect_s
        said = bytearray()
        try:
            while len(said) < _ERROR_BYTES and (line := exchange.line(until, stopped)) is not None:
                said += line + b"\n"
        except (TooSlow, TooMuch, OSError, http.client.HTTPException):
            pass  # the status tells enough
        return self._remote.explanation(bytes(said[:_ERROR_BYTES]))

    # -- what went wrong

    def _refuse(self, head: Head, said: str, with_tools: bool) -> NoReturn:
        """Raise what a status means."""
        status, address = head.status, self._remote.address
        if with_tools and (status in (400, 422, 501) or (status in (404, 500) and "tool" in said.lower())):
            raise ToolsRefused(f"{address} does not take tools ({status}: {said})")
        if status in (401, 403):
            # Servers quote the key back, whole or in part, so their words are not passed on.
            raise ChatError(f"{address} refused the key ({status}): check that chat_key is set and valid")
        if status == 404:
            raise ChatError(
                f"{address} knows no such model or path (404: {said}): check chat_model ({self.model}) and chat_url, "
                "which usually ends in /v1; Ollama gets a model by `ollama pull`"
            )
        if status == 429 and "insufficient_quota" in said:
            raise ChatError(f"{address}: the quota of this key is used up ({said})")
        if status in (408, 425, 429) or status >= 500:
            raise _Again(f"{status}: {said}", retry_after(head.headers.get("Retry-After")))
        if 300 <= status < 400:
            raise ChatError(
                f"{address} redirects ({status}), which is not followed: set chat_url to the final address"
            )
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
            raise _Again("the stream ended before the answer began")
        if not reading.finish:
            raise ChatError(f"{self._remote.address} ended in the middle of the answer: ask again")

    def _explain(self, error: Exception, reading: Reading) -> ChatError | _Again:
        """A failure of the connection or the stream in words. What may pass, and cost no word yet, is worth a retry."""
        address = self._remote.address
        if isinstance(error, TooSlow):
            return self._too_slow(reading)
        if isinstance(error, TooMuch):
            return ChatError(
                f"{address} sent more than any answer needs, so it was cut off: check the model and chat_url"
            )
        if isinstance(error, Malformed):
            return ChatError(
                f"{address} sent a frame that is no chat completion: check that chat_url leads to an "
                "OpenAI-compatible endpoint, and ask again"
            )
        if isinstance(error, ServerSays):
            said = self._remote.explanation(error.data)
            return ChatError(f"{address} broke off with an error ({said}): ask again, or look into its log")
        if isinstance(error, ssl.SSLCertVerificationError):
            return ChatError(
                f"the certificate of {self._remote.host} is not trusted ({error.verify_message}): correct chat_url, or "
                "make the certificate known to the system"
            )
        reason = f"{type(error).__name__}: {error}"
        if reading.started:
            return ChatError(
                f"the connection to {address} broke in the middle of the answer ({reason}): ask again"
            )
        closed = isinstance(error, ConnectionError | http.client.HTTPException)
        if closed and not isinstance(error, ConnectionRefusedError):
            return _Again(reason)
        return ChatError(
            f"{address} cannot be reached ({reason}): start the server (Ollama: `ollama serve`), or correct chat_url"
        )

    def _too_slow(self, reading: Reading) -> ChatError:
        limits = self._limits
        if reading.started:
            return ChatError(
                f"{self._remote.address} stopped in the middle of the answer (nothing for {limits.idle_s:g} s, or more "
                f"than {limits.total_s:g} s in all): ask again"
            )
        return ChatError(
            f"{self._remote.address} said nothing within {limits.first_token_s:g} s: check that it is running and not "
            "busy, or choose a smaller model"
        )


def _pause(seconds: float, stopped: Stop | None) -> None:
    until = time.monotonic() + seconds
    while (left_s := until - time.monotonic()) > 0:
        if stopped is not None and stopped():
            raise Cancelled("the chat was stopped")
        time.sleep(min(0.1, left_s))
