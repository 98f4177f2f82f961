"""One HTTP endpoint that is posted JSON: kept-alive connections, deadlines, retries; standard library only.

`outcrop.system.remote` knows the address and the key; this is how one goes on asking.
"""

from __future__ import annotations

import http.client
import json
import logging
import random
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from outcrop.errors import EmbedError
from outcrop.system.remote import Remote, retry_after

_log = logging.getLogger(__name__)

_FIRST_DELAY_S = 0.5
_LONGEST_DELAY_S = 20.0
"""Delays double from the first to the longest: five retries wait up to 15 s in all."""
_MAX_RESPONSE_BYTES = 256 * 1024 * 1024
"""2048 vectors of 4096 numbers in JSON are 180 MB; more than this is no answer to an embedding request."""
_READ_BYTES = 1 << 16


class Refused(Exception):
    """The endpoint will not take this request as it is (400, 413 or 422): split it, or explain why not."""


class _Retry(Exception):
    """This attempt failed in a way that may pass; `after_s` is what the server asked us to wait."""

    def __init__(self, reason: str, after_s: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.after_s = after_s


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to go on: the limit of one attempt, how many more, and the waits between them in all."""

    timeout_s: float = 30.0
    max_retries: int = 5
    max_wait_s: float = 120.0
    sleep: Callable[[float], None] = time.sleep


class Endpoint:
    """Posts JSON to one address. Safe to use from any thread: each request has a connection to itself.

    `purpose` is what messages call it: the `embedding` URL, the `embedding` key.
    """

    def __init__(
        self, base_url: str, operation: str, key: str, patience: Patience, purpose: str = "embedding"
    ) -> None:
        self._remote = Remote(base_url, operation, key, purpose)
        self._patience = patience
        self._idle: list[http.client.HTTPConnection] = []

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
        waited_s = 0.0
        for attempt in range(self._patience.max_retries + 1):
            try:
                return self._parse(*self._attempt(body))
            except _Retry as failure:
                delay_s = _delay(attempt, failure.after_s)
                waited_s += delay_s
                if attempt == self._patience.max_retries or waited_s > self._patience.max_wait_s:
                    raise EmbedError(self._given_up(failure, attempt + 1)) from failure
                _log.info(
                    "%s endpoint: trying again",
                    self._remote.purpose,
                    extra={"reason": failure.reason, "attempt": attempt + 1, "delay_s": round(delay_s, 2)},
                )
                self._patience.sleep(delay_s)
        raise AssertionError("the last attempt returns or raises")

    def close(self) -> None:
        """Close idle connections; the endpoint can still be used."""
        while True:
            try:
                self._idle.pop().close()
            except IndexError:
                return

    def _given_up(self, failure: _Retry, attempts: int) -> str:
        asked = f"; it asks to wait {failure.after_s:.0f} s" if failure.after_s is not None else ""
        return (
            f"{self.address} did not answer after {attempts} attempts: {failure.reason}{asked}. "
            "Check that it is running and reachable, then run the same command again: finished work is kept"
        )

    # -- one attempt

    def _attempt(self, body: bytes) -> tuple[int, http.client.HTTPMessage, bytes]:
        """Status, headers and body of one request, over a kept connection where there is one."""
        try:
            connection, kept = self._idle.pop(), True
        except IndexError:
            connection, kept = self._remote.connect(self._patience.timeout_s), False
        try:
            return self._exchange(connection, body)
        except TimeoutError as error:
            connection.close()
            raise _Retry(f"no answer within {self._patience.timeout_s:g} s") from error
        except ssl.SSLCertVerificationError as error:
            connection.close()
            raise EmbedError(
                f"the certificate of {self._remote.host} is not trusted ({error.verify_message}): correct the URL, or "
                "make the certificate known to the system"
            ) from error
        except (http.client.HTTPException, OSError) as error:
            connection.close()
            if kept:
                # Servers close idle connections at will: not an attempt, and each time there is one fewer.
                return self._attempt(body)
            raise _Retry(f"{type(error).__name__}: {error}") from error

    def _exchange(
        self, connection: http.client.HTTPConnection, body: bytes
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        deadline = time.monotonic() + self._patience.timeout_s
        connection.request("POST", self._remote.path, body, self._remote.headers())
        response = connection.getresponse()
        blocks: list[bytes] = []
        size = 0
        while block := response.read1(_READ_BYTES):
            blocks.append(block)
            size += len(block)
            if size > _MAX_RESPONSE_BYTES:
                connection.close()
                raise EmbedError(f"{self.address} sent more than {_MAX_RESPONSE_BYTES} bytes: check the URL")
            # The socket's own limit is for each read: a server that drips bytes would never reach it.
            if time.monotonic() > deadline:
                raise TimeoutError
        if response.length:
            # Unlike read, read1 says nothing of a body that ends before its announced length.
            raise http.client.IncompleteRead(b"", response.length)
        # At the end of a body of known length read1 leaves the response open, and the connection could not go on.
        response.close()
        if response.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        return response.status, response.headers, b"".join(blocks)

    # -- what the answer means

    def _parse(self, status: int, headers: http.client.HTTPMessage, body: bytes) -> Any:
        if status == 200:
            try:
                return json.loads(body)
            except ValueError as error:
                raise EmbedError(
                    f"{self.address} answered with something that is not JSON: check the URL, "
                    "which usually ends in /v1"
                ) from error
        if status in (401, 403):
            # Servers quote the key back, whole or in part, so their words are not passed on.
            raise EmbedError(f"{self.address} refused the key ({status}): check that it is set and valid")
        said = self._remote.explanation(body)
        if status in (400, 413, 422):
            raise Refused(f"{status}: {said}")
        if status == 429 and "insufficient_quota" in said:
            raise EmbedError(f"{self.address}: the quota of this key is used up ({said})")
        if status in (408, 425, 429) or status >= 500:
            raise _Retry(f"{status}: {said}", retry_after(headers.get("Retry-After")))
        if 300 <= status < 400:
            raise EmbedError(
                f"{self.address} redirects ({status}), which is not followed: set the URL to the final address"
            )
        raise EmbedError(f"{self.address} answered {status}: {said}. Check the URL and the model's name")


def _delay(attempt: int, after_s: float | None) -> float:
    """What the server asked for, else doubling with jitter, so that many clients do not come back at once."""
    if after_s is not None:
        return after_s
    longest = min(_LONGEST_DELAY_S, _FIRST_DELAY_S * 2**attempt)
    return random.uniform(longest / 2, longest)  # noqa: S311 - jitter, not a secret
