"""Secrets that a name tells: `password = "…"`, `api_key: …`, `Authorization: Bearer …`.

What stands after such a name is mostly no secret: a variable, a type, a word in a manual. So the value has to look as
if chance had made it; a password that is a plain word stays.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterator
from typing import Final

from outcrop.deadline import timed
from outcrop.mask.judge import MASK, is_expression, is_filler_word, looks_like_password, looks_random

Span = tuple[int, int]

_LONGEST: Final = 4096
"""Characters of a value: some tokens have a thousand and more, what is longer is data."""

# From the end of a name's telling word to the value. A type may stand before the sign: `token: str = "…"`.
_SIGN: Final = (
    rb"(?:[\"'],(?=[ \t]*[\"'])|[\w.-]{0,24}+(?:\\?[\"'`])?[\])]?(?:\*\*)?[ \t]{0,8}+"
    rb"(?::[ \t]?[\w\[\]&.|<>?' ]{1,32}+=(?=[ \t]*[bru]{0,2}[\"'`])"
    rb"|=(?![=~])>?|:(?!:)=?|>(?=[^\s<>=])|\((?=[\"'])|\|(?!\|)|(?<=[ \t])(?=')))(?:\*\*)?[ \t]{0,8}+"
)
_QUOTED: Final = rf"(?:[bBrRuU]{{0,2}}|@)\\?(?:[\"'`]{{3}}|[\"'`])([^\"'`\n\\]{{8,{_LONGEST}}}+)(?=\\?[\"'`])"
_TOKEN: Final = re.compile(rf"{_QUOTED}|([A-Za-z0-9+/=_.~%-]{{16,}}+)", re.ASCII)
_AFTER_TOKEN: Final = frozenset(("", *" \t\n\r\f\v\"'`,;:&#)}]<|\\"))
# Without quotes it ends at the next part of a query: `password=…&user=…`.
_PASSWORD: Final = re.compile(rf"{_QUOTED}|((?:[^\s\"'`,;<>|\\(&]|&(?![\w.-]{{1,30}}=)){{8,}}+)", re.ASCII)
_AFTER_PASSWORD: Final = frozenset(("", *" \t\n\r\f\v\"',;<&|"))
_SCHEME: Final = re.compile(
    rf"[\"'`]?(?:(?i:bearer|token|apikey|bot)[ \t]+(?P<token>[\w.~+/=-]{{16,{_LONGEST}}}+)"
    rf"|(?i:basic)[ \t]+(?P<basic>[\w+/=-]{{8,{_LONGEST}}}+))(?!\*)",
    re.ASCII,
)
# Of Azure's shared access signatures: 32 bytes in base64, in a URL.
_SIGNATURE: Final = re.compile(r"(?:[A-Za-z0-9+/]|%2[BbFf]){43}(?:=|%3[Dd])")

# What makes a key a secret one, right before the word; a primary or a public key is none.
_SECRET_KEY: Final = re.compile(
    rb"(?:api|access|account|admin|app|application|auth|authentication|client|consumer|cookie|deploy|encryption|hmac|"
    rb"ingest|integration|jwt|license|master|private|root|secret|service|session|shared|sharedaccess|signing|storage|"
    rb"subscription|webhook|write)[_. -]?\Z"
)
# Tokens that say where to go on, or which public key it is, not who one is; and the last part of an ARN.
_NO_SECRET: Final = re.compile(
    rb"(?:page|next|continuation|cursor|resume|sync|csrf|xsrf|public|key|[^ ]:)[_. -]?\Z"
)
# Names of tokens so particular that even a UUID is a secret there; elsewhere it is the number of a request.
_OF_ACCESS: Final = re.compile(rb"(?:api|access|app|auth|bearer|bot|client|deploy|personal|refresh)[_. -]?\Z")
# A name that goes on so names something about the secret.
_ABOUT: Final = re.compile(
    rb"(?:[\w.-]*[_.-])?(?:id|name|hash|hashed|digest|sha\d*|md5|fingerprint|checksum|url|uri|path|file|type|version|arn|"
    rb"count|length|size|hint|regex|pattern|prefix|field|class|label|ref|iv|salt|manager|date|time|datetime|expiry|expires|"
    rb"expiration|ttl|cache[_.-]?key)s?(?![\w.-])|iz"
)
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_PRIVATE_NUMBER: Final = 64
"""Digits of a private key that is written as a number: 256 bits. Shorter ones without quotes are just numbers."""


def find_assigned(text: str, data: bytes) -> Iterator[Span]:
    """Where values of names that tell of a secret stand; `data` is the text in lower case, a byte a character."""
    for word, pattern, find in _RULES:
        if word not in data:
            continue
        done = 0
        for match in timed(pattern.finditer(data)):
            if match.start() < done or _ABOUT.match(data, match.end(1)):
                continue
            before = data[max(0, match.start() - 16) : match.start()]
            span, done = find(text, match.end(), before)
            if span is not None:
                yield span


# Where the secret stands, and up to where the text has been looked at: names in a value are not looked at again, or a
# text that is all names would take forever.
_Seen = tuple[Span | None, int]


def _find_password(text: str, at: int, _before: bytes) -> _Seen:
    return _value(text, at, _PASSWORD, _AFTER_PASSWORD, looks_like_password)


def _find_token(text: str, at: int, before: bytes) -> _Seen:
    if _NO_SECRET.search(before):
        return None, at
    is_secret = looks_random if _OF_ACCESS.search(before) else _is_token
    return _value(text, at, _TOKEN, _AFTER_TOKEN, is_secret)


def _find_key(text: str, at: int, before: bytes) -> _Seen:
    if not _SECRET_KEY.search(before):
        return None, at
    return _value(text, at, _TOKEN, _AFTER_TOKEN, looks_random)


def _find_header(text: str, at: int, _before: bytes) -> _Seen:
    found = _SCHEME.match(text, at)
    if found is None:
        return None, at
    kind = found.lastgroup or ""
    is_secret = (_is_basic if kind == "basic" else looks_random)(found[kind])
    return found.span(kind) if is_secret else None, found.end()


def _find_signature(text: str, at: int, _before: bytes) -> _Seen:
    found = _SIGNATURE.match(text, at)
    return (None, at) if found is None else (found.span(), found.end())


_Find = Callable[[str, int, bytes], _Seen]
# A word that is looked for first, because that is fast; a pattern from the telling word (group 1) to the value.
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
    (b"authorization", re.compile(rb"(authorization)" + _SIGN), _find_header),
    (b"sig=", re.compile(rb"(sig)="), _find_signature),
)


def _value(
    text: str, at: int, pattern: re.Pattern[str], after: frozenset[str], is_secret: Callable[[str], bool]
) -> _Seen:
    """The secret that begins here: what stands in quotes, or up to one of the characters that may come `after`."""
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
    if MASK * 4 in value or " " in value or is_expression(value) or not is_secret(value):
        return None, seen
    return (start, end), seen


def _is_token(value: str) -> bool:
    return not _UUID.search(value) and looks_random(value)


def _is_basic(value: str) -> bool:
    """Whether this is a user and a password as HTTP writes them."""
    altchars = b"-_" if "-" in value or "_" in value else None
    try:
        decoded = b64decode(value + "=" * (-len(value) % 4), altchars=altchars)
    except (NotBase64, ValueError):
        return False
    _, colon, password = decoded.partition(b":")
    return bool(colon) and decoded.isascii() and not is_filler_word(password.decode("ascii"))
