"""What stands before every route: who may ask, under which name, from which page, how much and how often.

One ASGI middleware, outermost, so that nothing is parsed, routed or mounted before it said yes, and every answer,
whoever made it, leaves with the same headers and is counted. The order is that of cost: names, the token, the body.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
import secrets
import time
from collections.abc import MutableMapping
from dataclasses import field
from typing import Any, Final

from anyio import CapacityLimiter, to_thread
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from outcrop.config import Config
from outcrop.errors import ConfigError
from outcrop.serve.http.limits import MAX_BODY_BYTES, READ_S, RateLimit, Shape
from outcrop.serve.http.metrics import Metrics
from outcrop.serve.http.problems import Refused, body_of
from outcrop.serve.http.work import TookTooLong, answer_in_time
from outcrop.serve.patience import OVERDUE
from outcrop.system.dataclass import dataclass

log = logging.getLogger(__name__)

CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = (
    (b"content-security-policy", CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)
_PREFLIGHT: Final = {
    "Access-Control-Allow-Methods": "GET, POST, PUT, DELETE",
    "Access-Control-Allow-Headers": "authorization, content-type, last-event-id, mcp-protocol-version, mcp-session-id",
    "Access-Control-Max-Age": "600",
}
_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_WILDCARDS: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - named so that it can be told apart
AGENTS: Final = "/mcp"
"""Sessions of agents outlive the requests that began them: `serve/mcp/server.py` limits each of their calls."""
_PAGE: Final = ("/", "/healthz", "/favicon.ico")
_WRITING: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
COUNTED_AT_ONCE: Final = 16 * 1024
"""Bytes of a body that the event loop counts itself, 3 ms at worst (nothing but short strings); more go to a thread."""
COUNTING_THREADS: Final = 2
"""Bodies that are counted at a time; they never wait for a thread that some slow request holds."""


def is_loopback(host: str) -> bool:
    """Whether a server listening there can only be reached from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def require_token(config: Config) -> None:
    """ConfigError when the server would be open to a network without a token."""
    if not config.token and not is_loopback(config.host):
        raise ConfigError(
            f"{config.host} can be reached from other machines: set a token (OUTCROP_TOKEN or --token-file), "
            "or listen on 127.0.0.1"
        )


@dataclass(frozen=True, slots=True)
class Access:
    """Who may ask, taken from the configuration."""

    token: str = field(repr=False)
    hosts: frozenset[str]
    origins: frozenset[str]

    @classmethod
    def of(cls, config: Config) -> Access:
        """As the configuration says."""
        named = {host.lower().strip("[]") for host in (config.host, *config.allowed_hosts)} - _WILDCARDS
        origins = frozenset(origin.rstrip("/").lower() for origin in config.allowed_origins)
        return cls(config.token, _LOOPBACK_NAMES | named, origins)

    def check_host(self, header: str | None, own_address: str) -> None:
        """A page of somebody else whose name was pointed at this server asks under that name: refused."""
        name = _host_name(header or "")
        if name not in self.hosts and name != own_address.lower():
            message = "this server is not known under that name; add it to allowed_hosts"
            raise Refused(403, message, code="unknown_host")

    def check_origin(self, origin: str | None, host: str) -> bool:
        """Whether the asking page is one of another, allowed origin; any but those and our own are refused."""
        if origin is None:
            return False
        origin = origin.lower()
        if origin in {f"http://{host.lower()}", f"https://{host.lower()}"}:
            return False
        if origin in self.origins:
            return True
        message = "pages of this origin may not call this server; add it to allowed_origins"
        raise Refused(403, message, code="unknown_origin")

    def check_token(self, path: str, authorization: str | None) -> None:
        """Check the token, if one is set and the path is not the bare page."""
        is_asset = path.startswith("/assets/") and ".." not in path
        if not self.token or path in _PAGE or is_asset:
            return
        scheme, _, given = (authorization or "").partition(" ")
        is_right = hmac.compare_digest(given.strip().encode(), self.token.encode())
        if scheme.lower() != "bearer" or not is_right:
            wanted = {"WWW-Authenticate": 'Bearer realm="outcrop"'}
            raise Refused(401, "show the token: Authorization: Bearer TOKEN", headers=wanted)


def _host_name(header: str) -> str:
    """The name in a Host header, without port and brackets; nothing when it is malformed."""
    if header.startswith("["):
        name, bracket, port = header[1:].partition("]")
        port = port.removeprefix(":")
        is_well_formed = bool(bracket)
    else:
        name, _, port = header.partition(":")
        is_well_formed = ":" not in port
    if not is_well_formed or (port and not port.isdecimal()):
        return ""
    return name.lower().removesuffix(".")


class Guard:
    """The middleware."""

    def __init__(self, app: ASGIApp, config: Config, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics
        self._access = Access.of(config)
        self._rate = RateLimit(config.requests_per_minute)
        self._counting = CapacityLimiter(COUNTING_THREADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it with the reason; either is counted."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})  # nothing here speaks it
            return
        answer, started = _Answer(scope, send), time.perf_counter()
        try:
            headers = _headers(scope)
            if self._check(scope, headers, answer):
                await answer.send_bytes(204, b"", _PREFLIGHT)
                return
            body = await _read_body(scope, headers, receive, self._counting)
            if scope["path"] == AGENTS:
                await self._app(scope, _replay(body, receive), answer.send)
            else:
                await answer_in_time(self._app, scope, body, receive, answer.send)
        except Refused as refused:
            await answer.refuse(refused)
        except TookTooLong:
            await answer.refuse(Refused(503, OVERDUE, code="overdue"))
        except Exception:  # the outermost handler: a client gets a number, the log the rest
            name = secrets.token_hex(4)
            log.exception("unexpected error", extra={"error_id": name, "path": scope["path"]})
            await answer.refuse(Refused(500, f"an unexpected error; the server's log has it as {name}"))
        finally:
            self._metrics.note_request(scope, answer.status or 500, time.perf_counter() - started)

    def _check(self, scope: Scope, headers: dict[str, str], answer: _Answer) -> bool:
        """Raises Refused; True when the request is only a browser's question whether it may ask."""
        host = headers.get("host", "")
        self._access.check_host(host, str((scope.get("server") or ("",))[0]))
        if self._access.check_origin(headers.get("origin"), host):
            answer.allowed_origin = headers["origin"]
            if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
                return True
        if scope["path"] != "/healthz":
            wait = self._rate.wait_s(str((scope.get("client") or ("",))[0]))
            if wait:
                after = {"Retry-After": str(wait)}
                raise Refused(429, f"too many requests; ask again in {wait} s", headers=after)
        self._access.check_token(scope["path"], headers.get("authorization"))
        return False


def _headers(scope: Scope) -> dict[str, str]:
    """The headers. A repeated header that must be unique is refused: two readers could pick different ones."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1")
        if key in found and key in {"host", "origin", "authorization", "content-type"}:
            raise Refused(400, f"there is more than one {key} header")
        found[key] = value.decode("latin-1")
    return found


async def _read_body(
    scope: Scope, headers: dict[str, str], receive: Receive, counting: CapacityLimiter
) -> bytes:
    """The whole body, within size, time and shape; Refused otherwise."""
    announced = headers.get("content-length", "0")
    has_body = announced != "0" or "transfer-encoding" in headers
    if not has_body:
        return b""
    if announced.isdecimal() and int(announced[:18]) > MAX_BODY_BYTES:
        raise _too_large()
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if scope["method"] in _WRITING and kind != "application/json":
        raise Refused(415, "send the body as JSON, with Content-Type: application/json")
    shape, kept, size = Shape(), bytearray(), 0
    refused: Refused | None = None
    try:
        async with asyncio.timeout(READ_S):
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refused(400, "the request ended before all of it had come")
                piece, more = message.get("body", b""), message.get("more_body", False)
                size += len(piece)
                if size > MAX_BODY_BYTES:
                    raise refused or _too_large()
                if refused is not None:
                    continue
                try:
                    await _feed(shape, piece, counting)
                except Refused as error:
                    # The rest is read, though not kept: a client that is cut off while it sends never sees the answer.
                    refused = error
                    kept.clear()
                else:
                    kept += piece
    except TimeoutError as error:
        raise Refused(408, f"the request took longer than {READ_S:.0f} s to come") from error
    if refused is not None:
        raise refused
    return bytes(kept)


async def _feed(shape: Shape, piece: bytes, counting: CapacityLimiter) -> None:
    if len(piece) > COUNTED_AT_ONCE:
        await to_thread.run_sync(shape.feed, piece, limiter=counting)
    else:
        shape.feed(piece)


def _too_large() -> Refused:
    # The rest of the body is not read: the connection cannot be used again.
    return Refused(413, f"a request may have at most {MAX_BODY_BYTES:,} bytes", headers={"Connection": "close"})


def _replay(body: bytes, receive: Receive) -> Receive:
    """Gives the body that was read, then whatever comes after it: the client's leaving."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


class _Answer:
    """Sends an answer with the headers that every answer has."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self.status = 0
        self.allowed_origin = ""

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = {name.lower() for name, _ in message.get("headers", ())}
            more = [header for header in _HEADERS if header[0] not in given]
            if b"cache-control" not in given and not self._scope["path"].startswith("/assets/"):
                more.append((b"cache-control", b"no-store"))
            if self.allowed_origin:
                more.append((b"access-control-allow-origin", self.allowed_origin.encode("latin-1")))
                more.append((b"vary", b"Origin"))
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await self._send(message)

    async def refuse(self, refused: Refused) -> None:
        if self.status:  # half an answer is out: all that is left is to end it, which the server does
            return
        body = body_of(refused.code, refused.message)
        await self.send_bytes(refused.status, body, {"Content-Type": "application/json", **refused.headers})

    async def send_bytes(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
        raw.append((b"content-length", str(len(body)).encode()))
        if status == 204:
            raw.pop()
        await self.send({"type": "http.response.start", "status": status, "headers": raw})
        await self.send({"type": "http.response.body", "body": body})
