"""An address that is posted JSON, and the key that opens it: checked once, connected to, and quoted without the key.

With `exchange.py`, which sends a request, this is the one HTTP client of embedding, comments and chat. The address is
the user's own configuration, so it may be private; redirects are nobody's configuration and are not followed. The key
goes into the Authorization header and nowhere else: not into messages, logs or `repr`.
"""

from __future__ import annotations

import contextlib
import email.utils
import http.client
import ipaddress
import json
import logging
import random
import ssl
import time
from collections.abc import Callable
from typing import Final
from urllib.parse import SplitResult, urlsplit

from outcrop.errors import ConfigError, OutcropError
from outcrop.system.dataclass import dataclass

_log = logging.getLogger(__name__)

_QUOTED_CHARACTERS: Final = 300
"""How much of a server's own explanation is passed on."""
_LONGEST_DELAY_S: Final = 20.0
"""Delays double up to this: from half a second, five retries wait up to 15 s in all."""


class Again(Exception):
    """An attempt failed in a way that may pass; `after_s` is how long the server asked us to wait."""

    def __init__(self, reason: str, after_s: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.after_s = after_s

    def __str__(self) -> str:
        return (
            f"{self.reason}; it asks to wait {self.after_s:.0f} s" if self.after_s is not None else self.reason
        )


@dataclass(slots=True)
class Retries:
    """The attempts at one request: how many more there may be, and how long they may wait in all."""

    max_retries: int
    max_wait_s: float
    first_delay_s: float = 0.5
    sleep: Callable[[float], None] = time.sleep
    attempts: int = 1
    _waited_s: float = 0.0

    def wait(self, failure: Again) -> bool:
        """Wait for the next attempt; False, at once, when there is to be none."""
        delay_s = self._delay() if failure.after_s is None else failure.after_s
        self._waited_s += delay_s
        if self.attempts > self.max_retries or self._waited_s > self.max_wait_s:
            return False
        about = {"reason": failure.reason, "attempt": self.attempts, "delay_s": round(delay_s, 2)}
        _log.info("endpoint: trying again", extra=about)
        self.sleep(delay_s)
        self.attempts += 1
        return True

    def _delay(self) -> float:
        """Doubling with jitter, so that many clients do not come back at once."""
        longest = min(_LONGEST_DELAY_S, self.first_delay_s * 2 ** (self.attempts - 1))
        return random.uniform(longest / 2, longest)  # noqa: S311 - jitter, not a secret


class Remote:
    """One operation of an HTTP API, such as `https://host/v1` and `embeddings`. Safe to use from any thread. `name` is
    how its settings begin, as in `chat_url` and `chat_key`; `error` is what a failure is raised as. Raises ConfigError
    for a URL or a key that cannot be used."""

    def __init__(self, base_url: str, operation: str, key: str, name: str, error: type[OutcropError]) -> None:
        parts = _check_url(base_url, name)
        self.name = name
        self.path = f"{parts.path.rstrip('/')}/{operation}"
        self._error = error
        self._host = parts.hostname or ""
        self._port = parts.port
        self._secure = parts.scheme == "https"
        self._key = _check_key(key.strip(), self._host, self._secure, name)
        self._tls: ssl.SSLContext | None = None
        self._idle: list[http.client.HTTPConnection] = []

    @property
    def address(self) -> str:
        """Host, port and path, without scheme or credentials."""
        port = f":{self._port}" if self._port else ""
        return f"{self._host}{port}{self.path}"

    def __repr__(self) -> str:
        return f"Remote({self.address})"

    def connection(self, timeout_s: float) -> tuple[http.client.HTTPConnection, bool]:
        """A connection for one request, and whether it was kept from an earlier one; else it is still to be opened."""
        with contextlib.suppress(IndexError):
            return self._idle.pop(), True
        if not self._secure:
            return http.client.HTTPConnection(self._host, self._port, timeout=timeout_s), False
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return http.client.HTTPSConnection(self._host, self._port, timeout=timeout_s, context=self._tls), False

    def keep(self, connection: http.client.HTTPConnection) -> None:
        """Keep an open connection for the next request."""
        self._idle.append(connection)

    def close(self) -> None:
        """Close the kept connections; the remote can still be used."""
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().close()

    def headers(self, accept: str = "application/json") -> dict[str, str]:
        """What goes with every request."""
        headers = {"Content-Type": "application/json", "Accept": accept, "User-Agent": "outcrop"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        return headers

    def explanation(self, body: bytes) -> str:
        """What the server says went wrong: short, on one line, and without the key."""
        text = body.decode("utf-8", "replace")
        try:
            error = json.loads(text)["error"]
            text = f"{error['message']} {error.get('code') or ''}" if isinstance(error, dict) else str(error)
        except (ValueError, KeyError, TypeError, RecursionError):
            pass  # not OpenAI's shape: its plain words will do
        if self._key:
            text = text.replace(self._key, "***")
        return " ".join(text.split())[:_QUOTED_CHARACTERS] or "no explanation"

    def refuse(self, status: int, retry_after: str | None, said: str) -> None:
        """Raise what a status means whoever is asked; return where that depends on the question."""
        if status in (401, 403):
            # Servers quote the key back, whole or in part, so their words are not passed on.
            raise self._error(
                f"{self.address} refused the key ({status}): check that {self.name}_key is set and valid"
            )
        if status == 429 and "insufficient_quota" in said:
            raise self._error(f"{self.address}: the quota of this key is used up ({said})")
        if status in (408, 425, 429) or status >= 500:
            raise Again(f"{status}: {said}", _seconds(retry_after))
        if 300 <= status < 400:
            raise self._error(
                f"{self.address} redirects ({status}), which is not followed: set {self.name}_url to the final address"
            )

    def distrust(self, error: ssl.SSLCertVerificationError) -> OutcropError:
        """What to say of a certificate."""
        return self._error(
            f"the certificate of {self._host} is not trusted ({error.verify_message}): correct {self.name}_url, or "
            "make the certificate known to the system"
        )


def _seconds(value: str | None) -> float | None:
    """Seconds from a Retry-After header: a number or a date; None when absent or neither."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def _check_url(base_url: str, name: str) -> SplitResult:
    try:
        parts = urlsplit(base_url.strip())
        _ = parts.port  # raises when it is not a number
    except ValueError as error:
        raise ConfigError(f"{name}_url cannot be understood: write it as https://host/v1") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{name}_url must start with http:// or https:// and name a host")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError(f"{name}_url must not hold a user, a password or a query: set {name}_key instead")
    if not parts.path.isascii() or not parts.path.isprintable() or " " in parts.path:
        raise ConfigError(f"the path of {name}_url holds characters that a URL cannot have")
    return parts


def _check_key(key: str, host: str, secure: bool, name: str) -> str:
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigError(f"{name}_key holds characters a key cannot have: set it again, without quotes")
    if key and not secure and not _is_loopback(host):
        raise ConfigError(
            f"{name}_key would travel to {host} unencrypted: use an https:// URL, or leave the key empty"
        )
    return key


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
