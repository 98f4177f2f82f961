"""Secrets assigned to a telling name: `password = "…"`, `api_key: …`, `Authorization: Bearer …`.

Most values after such a name are not secrets but a variable, a type, a word in a manual. So the value has to look
random; a password that is a plain word stays. Names are matched in lower case, one byte per character.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from outcrop.mask import randomness
from outcrop.system.limits import timed

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
    """Whether a token of this name (in its own case) is a secret even as a UUID: `api_token`, `SNYK_TOKEN`."""
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


Span = tuple[int, int]

_LONGEST: Final = 4096
"""Most characters of a value: some tokens have over a thousand, anything longer is data."""

# From the end of a name's telling word to the value. A type may come before the sign: `token: str = "…"`.
_SIGN: Final = (
    rb"(?:[\"'],(?=[ \t]*[\"'])|[\w.-]{0,24}+(?:\\?[\"'`])?[\])]?(?:\*\*)?[ \t]{0,8}+"
    rb"(?::[ \t]?[\w\[\]&.|<>?' ]{1,32}+=(?=[ \t]*[bru]{0,2}[\"'`])"
    rb"|=(?![=~])>?|:(?!:)=?|>(?=[^\s<>=])|\((?=[\"'])|\|(?!\|)|(?<=[ \t])(?=')))(?:\*\*)?[ \t]{0,8}+"
)
_QUOTED: Final = rf"(?:[bBrRuU]{{0,2}}|@)\\?(?:[\"'`]{{3}}|[\"'`])([^\"'`\n\\]{{8,{_LONGEST}}}+)(?=\\?[\"'`])"
# Laravel puts the encoding before its key. Generated keys of 40 or more characters may hold any symbol (Django).
_TOKEN: Final = re.compile(
    rf"(?:base64:)?(?:{_QUOTED}|([A-Za-z0-9+/=_.~%-]{{16,}}+(?![!@#$^*(])|[!#-&(-\[\]-_a-z{{-~]{{40,}}+))",
    re.ASCII,
)
_AFTER_TOKEN: Final = frozenset(("", *" \t\n\r\f\v\"'`,;:&#)}]<|\\"))
# Unquoted, it ends at the next parameter of a query string: `password=…&user=…`.
_PASSWORD: Final = re.compile(rf"{_QUOTED}|((?:[^\s\"'`,;<>|\\(&]|&(?![\w.-]{{1,30}}=)){{8,}}+)", re.ASCII)
_AFTER_PASSWORD: Final = frozenset(("", *" \t\n\r\f\v\"',;<&|"))
_SCHEME: Final = re.compile(
    rf"[\"'`]?(?:(?i:bearer|token|apikey|bot)[ \t]+(?P<token>[\w.~+/=-]{{16,{_LONGEST}}}+)"
    rf"|(?i:basic)[ \t]+(?P<basic>[\w+/=-]{{8,{_LONGEST}}}+))(?!\*)",
    re.ASCII,
)
_PAIR: Final = re.compile(rf"[\"'`]?([\w+/-]{{12,{_LONGEST}}}+={{0,2}})(?![\w+/=*-])", re.ASCII)
# Azure's shared access signatures: 32 bytes in base64, in a URL.
_SIGNATURE: Final = re.compile(r"(?:[A-Za-z0-9+/]|%2[BbFf]){43}(?:=|%3[Dd])")

_PRIVATE_NUMBER: Final = 64
"""Digits of a private key written as a number: 256 bits. Shorter numbers without quotes are just numbers."""


def find_assigned(text: str, data: bytes, words: Words) -> Iterator[Span]:
    """Find secret values assigned to telling names; `data` is the text in lower case, one byte per character."""
    for word, pattern, find in _RULES:
        done = 0
        for start in timed(words[word]):
            match = pattern.match(data, start) if start >= done else None
            if match is None:
                continue
            done = match.end()
            if is_about(data, match.end(1)):
                continue
            before = data[max(0, match.start() - BEFORE) : match.start()]
            span, seen = find(text, match.span(1), match.end(), before)
            done = max(done, seen)
            if span is not None:
                yield span


# The secret's span, and how far the text has been read: names inside a value are not tried again, or a text made of
# nothing but names would take quadratic time.
_Seen = tuple[Span | None, int]


def _find_password(text: str, _name: Span, at: int, _before: bytes) -> _Seen:
    return _value(text, at, _PASSWORD, _AFTER_PASSWORD, randomness.looks_like_password)


def _find_token(text: str, name: Span, at: int, before: bytes) -> _Seen:
    if is_no_secret(before):
        return None, at
    is_secret = randomness.looks_drawn if may_be_uuid(before, text[slice(*name)]) else randomness.is_token
    return _value(text, at, _TOKEN, _AFTER_TOKEN, is_secret)


def _find_key(text: str, _name: Span, at: int, before: bytes) -> _Seen:
    if not is_secret_key(before):
        return None, at
    return _value(text, at, _TOKEN, _AFTER_TOKEN, randomness.looks_drawn)


def _find_header(text: str, _name: Span, at: int, _before: bytes) -> _Seen:
    found = _SCHEME.match(text, at)
    if found is None:
        return None, at
    kind = found.lastgroup or ""
    is_secret = (_is_basic if kind == "basic" else randomness.looks_random)(found[kind])
    return found.span(kind) if is_secret else None, found.end()


def _find_signature(text: str, _name: Span, at: int, _before: bytes) -> _Seen:
    found = _SIGNATURE.match(text, at)
    return (None, at) if found is None else (found.span(), found.end())


def _find_pair(text: str, _name: Span, at: int, before: bytes) -> _Seen:
    """Docker's and npm's `"auth": "…"`, `_auth=…`."""
    found = None if before[-1:].isalpha() else _PAIR.match(text, at)
    return (found.span(1), found.end()) if found is not None and _is_basic(found[1]) else (None, at)


_Find = Callable[[str, Span, int, bytes], _Seen]
# A word to search for first, which is fast; a pattern from the telling word (group 1) to the value; how to read it.
_RULES: Final[tuple[tuple[bytes, re.Pattern[bytes], _Find], ...]] = (
    (
        b"pass",
        re.compile(rb"(pass(?:wor[dt]|wd|phrase|code|(?<![a-z]pass)(?![a-z]|[ \t]+')))" + _SIGN),
        _find_password,
    ),
    (b"pwd", re.compile(rb"(pwd)" + _SIGN), _find_password),
    (b"secret", re.compile(rb"(secret)" + _SIGN), _find_token),
    (b"token", re.compile(rb"(token)" + _SIGN), _find_token),
    (b"key", re.compile(rb"(key)" + _SIGN), _find_key),
    (b"auth", re.compile(rb"(authorization)" + _SIGN), _find_header),
    (b"auth", re.compile(rb"(auth)" + _SIGN), _find_pair),
    (b"sig=", re.compile(rb"(sig)="), _find_signature),
)


def _value(
    text: str, at: int, pattern: re.Pattern[str], after: frozenset[str], is_secret: Callable[[str], bool]
) -> _Seen:
    """The secret that begins here: in quotes, or up to one of the characters in `after`."""
    found = pattern.match(text, at)
    if found is None:
        return None, at
    group = found.lastindex or 0
    start, end = found.span(group)
    seen = at
    if group == 2:
        seen = end
        number = text[start : start + 2] in ("0x", "0X") and end - start < 2 + _PRIVATE_NUMBER
        if number or end - start > _LONGEST or text[end : end + 1] not in after:
            return None, seen
    value = found[group]
    if value.startswith("base64:"):
        start, value = start + len("base64:"), value[len("base64:") :]
    if randomness.MASK * 4 in value or " " in value or not is_secret(value):
        return None, seen
    if randomness.is_expression(value) and not randomness.looks_generated(value):
        return None, seen
    return (start, end), seen


def _is_basic(value: str) -> bool:
    """Whether this is a user and a password as HTTP basic authentication encodes them."""
    altchars = b"-_" if "-" in value or "_" in value else None
    try:
        decoded = b64decode(value + "=" * (-len(value) % 4), altchars=altchars)
    except (NotBase64, ValueError):
        return False
    _, colon, password = decoded.partition(b":")
    return bool(colon) and decoded.isascii() and not randomness.is_filler_word(password.decode("ascii"))
