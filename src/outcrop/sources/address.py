"""Which URLs may be fetched: their syntax, and the network addresses they lead to."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import quote, urlsplit

from outcrop.errors import SourceError
from outcrop.system.dataclass import dataclass

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_MAX_URL = 4096  # browsers and servers stop between 2,000 and 8,000 characters
_MAX_HOST = 253  # the longest name that DNS carries
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*")
_DEFAULT_PORTS = {"http": 80, "https": 443}

# What `is_global` of some Python releases lets through, or counts as global although nothing public is there.
_NOT_PUBLIC = tuple(
    ipaddress.ip_network(network)
    for network in (
        "100.64.0.0/10",  # carrier-grade NAT
        "192.0.0.0/24",  # protocol assignments
        "192.88.99.0/24",  # 6to4 relays, retired
        "198.18.0.0/15",  # benchmarks
        "240.0.0.0/4",  # reserved
        "2001::/23",  # protocol assignments; among them Teredo, which embeds an IPv4 address
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which embeds an IPv4 address; retired
        "3fff::/20",  # documentation
    )
)
_PUBLIC_V6 = ipaddress.IPv6Network("2000::/3")  # the only block that global unicast addresses come from
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_ISATAP = (0x00005EFE, 0x02005EFE)


@dataclass(frozen=True, slots=True)
class Target:
    """A URL in its normal form: what to connect to and what to ask for."""

    scheme: str
    host: str
    port: int
    request_path: str

    @property
    def authority(self) -> str:
        """Host and port as the Host header wants them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL: lower-case scheme and host, no default port, no fragment."""
        return f"{self.scheme}://{self.authority}{self.request_path}"

    @property
    def path(self) -> str:
        """Host and path, the short name shown to people."""
        return f"{self.authority}{self.request_path.partition('?')[0]}"


def parse_url(url: str) -> Target:
    """A Target, or a SourceError that says what is wrong with the URL."""
    shown = f"{url[:100]!r}"
    if len(url) > _MAX_URL:
        raise SourceError(f"the URL {shown}… has {len(url)} characters; at most {_MAX_URL} are accepted")
    if any(char.isspace() or not char.isprintable() or char == "\\" for char in url):
        raise SourceError(f"{shown} holds a space, a backslash or a control character; percent-encode it")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise SourceError(f"{shown} is not a URL: {error}") from error
    if parts.scheme not in _DEFAULT_PORTS:
        raise SourceError(f"{shown} is not an http or https URL; only those are fetched")
    if "@" in parts.netloc:
        # Not shown: it holds a password.
        raise SourceError(
            f"the URL names a user before {parts.hostname!r}; credentials in URLs are not accepted"
        )
    if not parts.hostname or port == 0:
        raise SourceError(f"{shown} names no host or port 0; write it as https://example.com/page")
    query = f"?{_encode(parts.query)}" if parts.query else ""
    return Target(
        scheme=parts.scheme,
        host=_host(parts.hostname, shown),
        port=port or _DEFAULT_PORTS[parts.scheme],
        request_path=(_encode(parts.path) or "/") + query,
    )


def is_public(address: Address) -> bool:
    """Whether an address is on the public internet, so that fetching from it reaches nothing internal."""
    reserved = not address.is_global or any(address in network for network in _NOT_PUBLIC)
    if isinstance(address, ipaddress.IPv4Address):
        return not reserved and not address.is_multicast
    if address.ipv4_mapped is not None:
        return is_public(address.ipv4_mapped)
    if address in _NAT64:  # how IPv6-only networks reach IPv4: judge the address behind it
        return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return address in _PUBLIC_V6 and not reserved and (int(address) >> 32) & 0xFFFFFFFF not in _ISATAP


def _host(name: str, shown: str) -> str:
    """The host in ASCII: an IPv6 address in its shortest form, else a name."""
    if ":" in name:
        try:
            return str(ipaddress.IPv6Address(name if "%" not in name else ""))
        except ValueError as error:
            raise SourceError(f"{shown} names no valid IPv6 address") from error
    try:
        # The codec also knows the dots of other scripts, and rejects empty and overlong labels.
        host = name.removesuffix(".").encode("idna").decode("ascii").lower()
    except UnicodeError as error:
        raise SourceError(f"{shown} names no valid host: {error}") from error
    if len(host) > _MAX_HOST or not _HOST.fullmatch(host):
        raise SourceError(f"{shown} names no valid host")
    return host


def _encode(part: str) -> str:
    """Percent-encode what needs it, and leave alone what already is."""
    return quote(part, safe="/%:@!$&'()*+,;=~-._?")
