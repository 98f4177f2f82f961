"""Fetch one page from the web without letting its owner reach into our own network.

A name is resolved once per hop, all its addresses must be public, and the connection goes to one of exactly those. The
deadline covers everything from the first lookup to the last byte. Written by hand because HTTP clients resolve names
themselves: the address that was checked has to be the one connected to.
"""

from __future__ import annotations

import http.client
import io
import ipaddress
import queue
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from email.utils import parsedate_to_datetime
from typing import cast
from urllib.parse import quote, urljoin

from outcrop.errors import BlockedAddress, SourceError
from outcrop.records import SourceFile
from outcrop.sources.address import Address, Target, is_public, parse_url
from outcrop.system.dataclass import dataclass

_MAX_REDIRECTS = 5  # enough for a shortener, a login bounce and a canonical host together
_HEADERS_BYTES = 256 * 1024  # room for headers, and for chunk sizes between the data
_READ_BYTES = 64 * 1024
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_REQUEST_HEADERS = {
    "User-Agent": "outcrop",
    "Accept": "text/html,application/xhtml+xml,text/markdown,text/plain,application/pdf;q=0.9,*/*;q=0.5",
    "Accept-Encoding": "gzip, deflate",
    "Connection": "close",
}
_STATUS_ADVICE = {
    401: "it wants a login; save the page and add the file",
    403: "the server refuses; save the page in a browser and add the file",
    404: "there is no such page; check the address",
    410: "the page was removed",
    429: "too many requests; try again later",
    503: "the server is busy; try again later",
}


def resolve_host(host: str, port: int) -> Sequence[str]:
    """The addresses of a host, in the order the system would try them."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def connect_to(address: str, port: int, timeout_s: float) -> socket.socket:
    """A connection to an address."""
    return socket.create_connection((address, port), timeout=timeout_s)


@dataclass(frozen=True, slots=True)
class Network:
    """What a fetch needs from the system; with it, tests put a local server behind a public name."""

    resolve: Callable[[str, int], Sequence[str]] = resolve_host
    connect: Callable[[str, int, float], socket.socket] = connect_to
    tls: Callable[[], ssl.SSLContext] = ssl.create_default_context


SYSTEM = Network()
"""The real network."""


def fetch(
    url: str, *, timeout_s: float, max_bytes: int, allow_private: bool = False, network: Network = SYSTEM
) -> tuple[SourceFile, bytes]:
    """The page at a URL, within `timeout_s` in all and `max_bytes` after decompression. `uri` is the requested URL in
    its normal form, wherever redirects led. An address that is not public raises BlockedAddress unless `allow_private`;
    anything else that goes wrong raises SourceError."""
    asked = target = parse_url(url)
    deadline = _Deadline(timeout_s, asked.url)
    for _ in range(_MAX_REDIRECTS + 1):
        found = _fetch_once(target, deadline, max_bytes, allow_private, network)
        if isinstance(found, _Page):
            file = SourceFile(
                uri=asked.url,
                path=asked.path,
                origin="url",
                mtime_ns=found.mtime_ns,
                size=len(found.body),
                media_type=found.media_type,
            )
            return file, found.body
        if target.scheme == "https" and found.scheme == "http":
            raise SourceError(f"{target.url} redirects from https to {found.url}, which anybody could alter")
        target = found
    raise SourceError(f"{asked.url} redirects more than {_MAX_REDIRECTS} times; use the address it ends at")


@dataclass(frozen=True, slots=True)
class _Page:
    body: bytes
    media_type: str | None
    mtime_ns: int | None


class _Deadline:
    """A point in time after which nothing may start or go on."""

    def __init__(self, timeout_s: float, url: str) -> None:
        self._end = time.monotonic() + timeout_s
        self._message = f"{url} took longer than {timeout_s:g} s; try again or raise url_timeout_s"

    def left(self) -> float:
        """Seconds left; none is a SourceError."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise SourceError(self._message)
        return left

    def passed(self) -> SourceError:
        return SourceError(self._message)


class _Wire(io.RawIOBase):
    """What a server sends, within the deadline however slowly it trickles, and within a byte limit."""

    def __init__(self, sock: socket.socket, deadline: _Deadline, max_bytes: int) -> None:
        self._sock = sock
        self._deadline = deadline
        self._left = max_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        self._sock.settimeout(self._deadline.left())
        count = self._sock.recv_into(buffer)
        self._left -= count
        if self._left < 0:
            raise _TooLarge
        return count


class _TooLarge(Exception):
    """Internal signal; becomes a SourceError where the limit is known."""


class _HttpSocket:
    """The three methods http.client calls on a socket. Closing is left to whoever opened the connection."""

    def __init__(self, sock: socket.socket, deadline: _Deadline, max_bytes: int) -> None:
        self._sock = sock
        self._deadline = deadline
        self._wire = _Wire(sock, deadline, max_bytes)

    def sendall(self, data: bytes) -> None:
        self._sock.settimeout(self._deadline.left())
        self._sock.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self._wire, _READ_BYTES)

    def close(self) -> None:
        """Do nothing: http.client closes its socket while the response is still to be read."""


def _fetch_once(
    target: Target, deadline: _Deadline, max_bytes: int, allow_private: bool, network: Network
) -> _Page | Target:
    addresses = _addresses(target, deadline, allow_private, network)
    try:
        with _connection(target, addresses, deadline, network) as sock:
            return _exchange(target, sock, deadline, max_bytes)
    except _TooLarge:
        raise SourceError(
            f"{target.url} is larger than {max_bytes} bytes; raise url_max_bytes to fetch it"
        ) from None
    except TimeoutError as error:
        raise deadline.passed() from error
    except ssl.SSLCertVerificationError as error:
        raise SourceError(f"{target.url} has no valid certificate: {error.verify_message}") from error
    except (OSError, http.client.HTTPException) as error:
        reason = str(error) or type(error).__name__
        raise SourceError(
            f"{target.url} cannot be fetched: {reason}; check the address and the network"
        ) from error


def _addresses(target: Target, deadline: _Deadline, allow_private: bool, network: Network) -> list[Address]:
    """All addresses of the target; a single one that is not public blocks it."""
    answer: queue.SimpleQueue[Sequence[str] | OSError | UnicodeError] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            answer.put(network.resolve(target.host, target.port))
        except (OSError, UnicodeError) as error:
            answer.put(error)

    # The system's resolver has no timeout; one that hangs is abandoned in its thread.
    threading.Thread(target=look_up, daemon=True, name="outcrop-resolve").start()
    try:
        found = answer.get(timeout=deadline.left())
    except queue.Empty:
        raise deadline.passed() from None
    if isinstance(found, (OSError, UnicodeError)):
        raise SourceError(
            f"{target.host} has no address: {found}; check the spelling and the network"
        ) from found
    addresses = [ipaddress.ip_address(text) for text in found]
    if not addresses:
        raise SourceError(f"{target.host} has no address; check the spelling and the network")
    for address in addresses:
        if not allow_private and not is_public(address):
            raise BlockedAddress(
                f"{target.url} leads to {address}, which is not public; set allow_private_urls if you trust it"
            )
    return addresses


@contextmanager
def _connection(
    target: Target, addresses: Sequence[Address], deadline: _Deadline, network: Network
) -> Iterator[socket.socket]:
    sock = _connect(target, addresses, deadline, network)
    try:
        if target.scheme == "https":
            sock.settimeout(deadline.left())
            sock = network.tls().wrap_socket(sock, server_hostname=target.host)
        yield sock
    finally:
        sock.close()


def _connect(
    target: Target, addresses: Sequence[Address], deadline: _Deadline, network: Network
) -> socket.socket:
    *others, last = addresses
    for count, address in enumerate(others):
        # An address that drops packets must leave time for the next one.
        share = deadline.left() / (len(addresses) - count)
        with suppress(OSError):
            return network.connect(str(address), target.port, share)
    return network.connect(str(last), target.port, deadline.left())


def _exchange(target: Target, sock: socket.socket, deadline: _Deadline, max_bytes: int) -> _Page | Target:
    connection = http.client.HTTPConnection(target.host, target.port)
    connection.sock = cast(socket.socket, _HttpSocket(sock, deadline, max_bytes + _HEADERS_BYTES))
    connection.putrequest("GET", target.request_path, skip_host=True, skip_accept_encoding=True)
    connection.putheader("Host", target.authority)
    for name, value in _REQUEST_HEADERS.items():
        connection.putheader(name, value)
    connection.endheaders()
    with connection.getresponse() as response:
        location = response.getheader("Location")
        if response.status in _REDIRECTS and location is not None:
            return _redirected(target, location)
        if response.status != http.client.OK:
            advice = _STATUS_ADVICE.get(response.status, "check the address in a browser")
            raise SourceError(f"{target.url} answers {response.status}: {advice}")
        body = _body(target, response, max_bytes)
        return _Page(body, response.getheader("Content-Type"), _modified(response.getheader("Last-Modified")))


def _redirected(target: Target, location: str) -> Target:
    # Headers arrive as Latin-1; bytes beyond ASCII are UTF-8 that the server did not encode.
    encoded = quote(location.encode("latin-1", "replace"), safe="".join(map(chr, range(0x7F))))
    try:
        return parse_url(urljoin(target.url, encoded))
    except (SourceError, ValueError) as error:
        raise SourceError(f"{target.url} redirects to a place that cannot be fetched: {error}") from error


def _body(target: Target, response: http.client.HTTPResponse, max_bytes: int) -> bytes:
    if response.length is not None and response.length > max_bytes:
        raise _TooLarge
    decode = _decoder(target, (response.getheader("Content-Encoding") or "identity").strip().lower())
    body = bytearray()
    while data := response.read(_READ_BYTES):
        body += data if decode is None else decode.feed(data, max_bytes + 1 - len(body))
        if len(body) > max_bytes:
            raise _TooLarge
    if response.length or (decode is not None and not decode.complete()):
        raise SourceError(f"{target.url} ended before it was complete; try again")
    return bytes(body)


class _Inflate:
    """gzip (also with several members) and deflate, never producing more than there is room for."""

    def __init__(self, encoding: str, url: str) -> None:
        self._gzip = encoding == "gzip"
        self._url = url
        self._stream = zlib.decompressobj(wbits=31) if self._gzip else None
        self._fed = False

    def feed(self, data: bytes, room: int) -> bytes:
        if self._stream is None:
            # Some servers omit deflate's zlib header, which has method 8 and is a multiple of 31.
            has_header = data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
            self._stream = zlib.decompressobj(wbits=15 if has_header else -15)
        self._fed = True
        out = b""
        try:
            while data and len(out) < room:
                if self._stream.eof:
                    if not self._gzip or not data.startswith(b"\x1f"):
                        break  # padding after the last member
                    self._stream = zlib.decompressobj(wbits=31)
                out += self._stream.decompress(data, room - len(out))
                data = self._stream.unconsumed_tail or self._stream.unused_data
        except zlib.error as error:
            raise SourceError(f"{self._url} sends damaged compressed data; try again") from error
        return out

    def complete(self) -> bool:
        return not self._fed or (self._stream is not None and self._stream.eof)


def _decoder(target: Target, encoding: str) -> _Inflate | None:
    if encoding in ("identity", ""):
        return None
    if encoding in ("gzip", "x-gzip", "deflate"):
        return _Inflate(encoding.removeprefix("x-"), target.url)
    raise SourceError(
        f"{target.url} is encoded as {encoding[:40]!r}, which was not asked for and cannot be read"
    )


def _modified(header: str | None) -> int | None:
    if header is None:
        return None
    try:
        return int(parsedate_to_datetime(header).timestamp()) * 1_000_000_000
    except (ValueError, TypeError, OverflowError, OSError):
        return None
