"""An address that is posted JSON, and the key that opens it: checked once, connected to, and quoted without the key.

What embedding, commenting and chat endpoints have in common; standard library only. The address is the user's own
configuration, so it may be private; redirects are nobody's configuration and are not followed. The key goes into the
Authorization header and nowhere else: not into messages, logs or `repr`.
"""

from __future__ import annotations

import email.utils
import http.client
import ipaddress
import json
import ssl
import time
from urllib.parse import SplitResult, urlsplit

from outcrop.errors import ConfigError

_QUOTED_CHARACTERS = 300
"""How much of a server's own explanation is passed on."""


class Remote:
    """One operation of an HTTP API, such as `https://host/v1` and `embeddings`.

    `purpose` is what messages call it: the `embedding` URL, the `embedding` key. Raises ConfigError for a URL or a key
    that cannot be used.
    """

    def __init__(self, base_url: str, operation: str, key: str, purpose: str) -> None:
        parts = _check_url(base_url, purpose)
        self.purpose = purpose
        self.host = parts.hostname or ""
        self.path = f"{parts.path.rstrip('/')}/{operation}"
        self._port = parts.port
        self._secure = parts.scheme == "https"
        self._key = _check_key(key.strip(), self.host, self._secure, purpose)
        self._tls: ssl.SSLContext | None = None

    @property
    def address(self) -> str:
        """Host, port and path, without scheme or credentials."""
        port = f":{self._port}" if self._port else ""
        return f"{self.host}{port}{self.path}"

    def __repr__(self) -> str:
        return f"Remote({self.address})"

    def connect(self, timeout_s: float) -> http.client.HTTPConnection:
        """A connection that opens with its first request; `timeout_s` is for each step of it."""
        if not self._secure:
            return http.client.HTTPConnection(self.host, self._port, timeout=timeout_s)
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return http.client.HTTPSConnection(self.host, self._port, timeout=timeout_s, context=self._tls)

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


def retry_after(value: str | None) -> float | None:
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


def _check_url(base_url: str, purpose: str) -> SplitResult:
    try:
        parts = urlsplit(base_url.strip())
        _ = parts.port  # raises when it is not a number
    except ValueError as error:
        raise ConfigError(f"the {purpose} URL cannot be understood: write it as https://host/v1") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"the {purpose} URL must start with http:// or https:// and name a host")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError(f"the {purpose} URL must not hold a user, a password or a query: set the key apart")
    if not parts.path.isascii() or not parts.path.isprintable() or " " in parts.path:
        raise ConfigError(f"the path of the {purpose} URL holds characters that a URL cannot have")
    return parts


def _check_key(key: str, host: str, secure: bool, purpose: str) -> str:
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigError(f"the {purpose} key holds characters a key cannot have: set it again, without quotes")
    if key and not secure and not _is_loopback(host):
        raise ConfigError(
            f"the key would travel to {host} unencrypted: use an https:// URL, or leave the key empty"
        )
    return key


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
