"""Telling names: those that announce a secret. Names are matched in lower case, one byte per character."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from outcrop.system.deadline import timed

# What makes a `key` secret, right before the word; a primary or a public key is not.
_SECRET_KEY: Final = re.compile(
    rb"(?:api|access|account|admin|app|application|auth|authentication|client|consumer|cookie|deploy|encryption|hmac|"
    rb"ingest|integration|jwt|license|master|private|root|secret|server|service|session|shared|sharedaccess|signing|"
    rb"storage|subscription|webhook|write)[_. -]?\Z"
)
# Tokens that mark a position or name a public key instead of granting access; and the last part of an ARN.
_NO_SECRET: Final = re.compile(
    rb"(?:page|next|continuation|cursor|resume|sync|csrf|xsrf|public|key|[^ ]:)[_. -]?\Z"
)
# Names so specific that even a UUID is a secret there; elsewhere it identifies a request.
_OF_ACCESS: Final = re.compile(rb"(?:api|access|app|auth|bearer|bot|client|deploy|personal|refresh)[_. -]?\Z")
_OF_REQUEST: Final = re.compile(rb"(?:request|idempotency|correlation|trace|change|lock|fence)[_. -]?\Z")
# Endings of names for something about the secret, not the secret itself.
_ABOUT: Final = re.compile(
    rb"(?:[\w.-]{0,40}[_.-])?(?:id|name|hash|hashed|digest|sha\d*|md5|fingerprint|checksum|url|uri|path|file|type|version|arn|"
    rb"count|length|size|hint|regex|pattern|prefix|field|class|label|ref|iv|salt|manager|date|time|datetime|expiry|expires|"
    rb"expiration|ttl|cache[_.-]?key)s?(?![\w.-])|iz"
)

BEFORE: Final = 16
"""Characters before the telling word that are considered."""


def is_about(data: bytes, at: int) -> bool:
    """Whether the name continues as one for something about the secret: its hash, its path."""
    return _ABOUT.match(data, at) is not None


def is_secret_key(before: bytes) -> bool:
    """Whether `key` means a secret after this."""
    return _SECRET_KEY.search(before) is not None


def is_no_secret(before: bytes) -> bool:
    """Whether `token` or `secret` does not mean a secret after this."""
    return _NO_SECRET.search(before) is not None


def may_be_uuid(before: bytes, name: str) -> bool:
    """Whether a token of this name (in its original case) is a secret even if it is a UUID: `api_token`,
    `SNYK_TOKEN`."""
    if _OF_ACCESS.search(before):
        return True
    return name.isupper() and before.endswith(b"_") and not _OF_REQUEST.search(before)


class Name(NamedTuple):
    """A telling name: the span of its telling word, and what precedes it."""

    start: int
    end: int
    is_password: bool
    before: bytes


Words = Mapping[bytes, Sequence[int]]
"""Offsets of each of LOOKED_FOR in a text. Finding them is most of the work, so it is done once for all rules."""

LOOKED_FOR: Final = (b"pass", b"pwd", b"secret", b"token", b"key", b"credential", b"auth", b"sig=")

_TELLING: Final = (
    (b"pass", re.compile(rb"pass(?:wor[dt]|wd|phrase|code)")),
    (b"pwd", re.compile(rb"pwd")),
    (b"secret", re.compile(rb"secret")),
    (b"token", re.compile(rb"token")),
    (b"key", re.compile(rb"key")),
    (b"credential", re.compile(rb"credential")),
)


def find_words(data: bytes) -> Words:
    """The offsets of the words that all rules start from."""
    return {word: list(timed(_find_all(data, word))) for word in LOOKED_FOR}


def find_names(data: bytes, words: Words) -> list[Name]:
    """The telling names of a text, in order."""
    found: list[Name] = []
    for word, pattern in _TELLING:
        is_password = word.startswith(b"p")
        for start in timed(words[word]):
            match = pattern.match(data, start)
            if match is None:
                continue
            before = data[max(0, start - BEFORE) : start]
            told = is_password or (is_secret_key(before) if word == b"key" else not is_no_secret(before))
            if told and not is_about(data, match.end()):
                found.append(Name(start, match.end(), is_password, before))
    return sorted(found)


def _find_all(data: bytes, word: bytes) -> Iterator[int]:
    at = data.find(word)
    while at >= 0:
        yield at
        at = data.find(word, at + len(word))
