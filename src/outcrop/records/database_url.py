"""The address of a Postgres database: what `--db postgresql://…` says, with its password kept out of sight.

The form is libpq's: several hosts, sockets, and parameters such as `sslmode` or `target_session_attrs`, go through as
they are. One parameter is ours, `schema`. The usual URL has no password: libpq looks in PGPASSWORD and ~/.pgpass.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Final
from urllib.parse import unquote

from outcrop.errors import ConfigError
from outcrop.system.dataclass import dataclass
from outcrop.text.pattern import pattern

DEFAULT_SCHEMA: Final = "outcrop"
LOOKS_LIKE: Final = "postgresql://user@host:5432/database?schema=team"
"""What error messages show."""

_SCHEMES: Final = ("postgresql://", "postgres://")
_ANY_SCHEME: Final = re.compile(r"(?:postgres|postgresql):|[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_BAD_ESCAPE: Final = pattern(r"%(?![0-9A-Fa-f]{2})|%00")
_HOST: Final = pattern(r"(?:\[[0-9A-Fa-f:.]+(?:%25[^\]]*)?\]|[^\[\]:@/?#,]*)(?::[0-9]*)?")
_SCHEMA: Final = pattern(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")  # 63 bytes is all that Postgres keeps of a name
_SECRETS: Final = ("password", "sslpassword", "oauth_client_secret")


@dataclass(frozen=True, slots=True, repr=False)
class DatabaseUrl:
    """A Postgres database and the schema of the index in it. Its parts are kept as they were written, %xx and all.
    `str()` and `repr()` never show a password. Make one with `DatabaseUrl.parse`."""

    user: str
    password: str = field(repr=False)
    hosts: str
    database: str
    parameters: tuple[tuple[str, str], ...]
    schema: str = DEFAULT_SCHEMA

    @classmethod
    def parse(cls, text: str) -> DatabaseUrl:
        """A URL as people write it; ConfigError, which does not repeat it, when it is not one."""
        rest = next((text[len(scheme) :] for scheme in _SCHEMES if text.startswith(scheme)), None)
        if rest is None:
            raise _refusal("it does not begin with postgresql://")
        if not rest.isprintable() or " " in rest or _BAD_ESCAPE.search(rest):
            raise _refusal("spaces and other special characters are written as %20 and the like")
        # As libpq does: whoever comes before the first @, if that stands before the first slash.
        user, password = "", ""
        if "@" in rest.partition("/")[0]:
            credentials, _, rest = rest.partition("@")
            user, _, password = credentials.partition(":")
            if "?" in credentials or "#" in credentials:
                raise _refusal("in a name or a password, write ? as %3F and # as %23")
        place, _, query = rest.partition("?")
        hosts, _, database = place.partition("/")
        if "@" in place or "/" in database or not all(_HOST.fullmatch(host) for host in hosts.split(",")):
            raise _refusal("in a name or a password, write @ as %40, : as %3A and / as %2F")
        parameters, schema = _read_parameters(query)
        return cls(user, password, hosts, database, parameters, schema)

    def __str__(self) -> str:
        hidden = tuple((name, "***" if name in _SECRETS else value) for name, value in self.parameters)
        return replace(self, password=self.password and "***", parameters=hidden).whole()

    def __repr__(self) -> str:
        return f"DatabaseUrl({str(self)!r})"

    def uri(self) -> str:
        """What libpq connects to, the password included; it knows nothing of our schema. Never for showing."""
        credentials = f"{self.user}:{self.password}" if self.password else self.user
        start = f"{credentials}@" if credentials else ""
        return _join(f"{_SCHEMES[0]}{start}{self.hosts}/{self.database}", self.parameters)

    def whole(self) -> str:
        """What `parse` reads as this very address again, the password included. Never for showing."""
        own = () if self.schema == DEFAULT_SCHEMA else (("schema", self.schema),)
        uri = self.uri()
        return _join(uri, own, "&" if "?" in uri else "?")

    def has_password(self) -> bool:
        """Whether there is anything in it that others must not read."""
        return self != self.without_password()

    def without_password(self) -> DatabaseUrl:
        """The same without what others must not read, for a file that they may."""
        kept = tuple((name, value) for name, value in self.parameters if name not in _SECRETS)
        return replace(self, password="", parameters=kept)

    def folder_name(self) -> str:
        """A name for what this machine keeps of this index: the same for every user and password."""
        said = dict(self.parameters)  # which, for libpq, go before what comes in front of them
        user = said.get("user", self.user)
        place = (said.get("host", self.hosts), said.get("dbname", self.database) or user, self.schema)
        where = json.dumps([*place, *(said.get(name) for name in ("hostaddr", "port", "service"))])
        import hashlib  # with OpenSSL; the command line imports this module to show its help

        mark = hashlib.sha256(where.encode()).hexdigest()[:12]
        words = (re.sub(r"[^A-Za-z0-9]+", "-", unquote(part)).strip("-") for part in place)
        return f"{'-'.join(filter(None, words))[:80]}-{mark}"


def has_scheme(text: str) -> bool:
    """Whether this is meant as a URL, valid or not, and not as a file."""
    return _ANY_SCHEME.match(text) is not None


def _read_parameters(query: str) -> tuple[tuple[tuple[str, str], ...], str]:
    """The parameters for libpq, and our schema."""
    schema = None
    others: list[tuple[str, str]] = []
    for part in query.split("&") if query else ():
        name, equals, value = part.partition("=")
        if not name or not equals or "=" in value:
            raise _refusal("after the ? come name=value pairs, with & between them")
        if name != "schema":
            others.append((name, value))
        elif schema is not None or not _SCHEMA.fullmatch(value):
            raise _refusal(
                "a schema is one name of lower-case letters, digits and _ that does not begin with a digit or pg_"
            )
        else:
            schema = value
    return tuple(others), schema or DEFAULT_SCHEMA


def _join(start: str, parameters: Sequence[tuple[str, str]], mark: str = "?") -> str:
    return start + (mark + "&".join(f"{name}={value}" for name, value in parameters) if parameters else "")


def _refusal(why: str) -> ConfigError:
    return ConfigError(f"this is not the address of a Postgres database: {why}. One looks like {LOOKS_LIKE}")
