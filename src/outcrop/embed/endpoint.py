"""An endpoint that is posted JSON and answers with JSON, tried again while that may help: embeddings and comments."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from outcrop.errors import EmbedError
from outcrop.system.exchange import Exchange, TooMuch, TooSlow
from outcrop.system.remote import Again, Remote, Retries

_MAX_RESPONSE_BYTES: Final = 256 * 1024 * 1024
"""2048 vectors of 4096 numbers in JSON are 180 MB; more than this is no answer to an embedding request."""


class Refused(Exception):
    """The endpoint will not take this request as it is (400, 413 or 422): split it, or explain why not."""


class Endpoint:
    """Posts JSON to one address. Safe to use from any thread: each request has a connection to itself. `timeout_s` is
    the limit of one attempt; `name` is how its settings begin, as in `embed_url` and `embed_key`."""

    def __init__(
        self, base_url: str, operation: str, key: str, *, name: str, timeout_s: float, retries: Retries
    ) -> None:
        self._remote = Remote(base_url, operation, key, name, EmbedError)
        self._timeout_s = timeout_s
        self._retries = retries

    @property
    def address(self) -> str:
        """Host, port and path, without scheme or credentials."""
        return self._remote.address

    def __repr__(self) -> str:
        return f"Endpoint({self.address})"

    def post(self, payload: Mapping[str, Any]) -> Any:
        """The parsed JSON answer. Raises Refused when the request itself is at fault, else EmbedError."""
        # A lone surrogate cannot be sent; json would write it as an escape that servers refuse.
        body = json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace")
        retries = replace(self._retries)
        while True:
            try:
                return self._parse(self._attempt(body))
            except Again as failure:
                if not retries.wait(failure):
                    raise EmbedError(
                        f"{self.address} did not answer after {retries.attempts} attempts: {failure}. Check that it is "
                        "running and reachable, then run the same command again: finished work is kept"
                    ) from failure

    def close(self) -> None:
        """Close idle connections; the endpoint can still be used."""
        self._remote.close()

    def _attempt(self, body: bytes) -> bytes:
        until = time.monotonic() + self._timeout_s
        try:
            with Exchange(
                self._remote, body, connect_s=self._timeout_s, max_bytes=_MAX_RESPONSE_BYTES, keep=True
            ) as exchange:
                head = exchange.head(until)
                if head.status == 200:
                    return exchange.body(until)
                said = exchange.explanation(until)
        except (TooSlow, TimeoutError) as error:
            raise Again(f"no answer within {self._timeout_s:g} s") from error
        except TooMuch as error:
            raise EmbedError(
                f"{self.address} sent more than {_MAX_RESPONSE_BYTES} bytes: check the URL"
            ) from error
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            raise Again(f"{type(error).__name__}: {error}") from error
        self._remote.refuse(head.status, head.headers.get("Retry-After"), said)
        if head.status in (400, 413, 422):
            raise Refused(f"{head.status}: {said}")
        raise EmbedError(f"{self.address} answered {head.status}: {said}. Check the URL and the model's name")

    def _parse(self, body: bytes) -> Any:
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise EmbedError(
                f"{self.address} answered with something that is not JSON: check the URL, which usually ends in /v1"
            ) from error
