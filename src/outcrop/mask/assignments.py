"""Secrets assigned to a telling name: `password = "…"`, `api_key: …`, `Authorization: Bearer …`.

Most values after such a name are not secrets but a variable, a type, a word in a manual. So the value has to look
random; a password that is a plain word stays.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterator
from typing import Final

from outcrop.mask.names import BEFORE, Words, is_about, is_no_secret, is_secret_key, may_be_uuid
from outcrop.mask.randomness import (
    MASK,
    is_expression,
    is_filler_word,
    is_token,
    looks_drawn,
    looks_generated,
    looks_like_password,
    looks_random,
)
from outcrop.system.deadline import timed

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
    return _value(text, at, _PASSWORD, _AFTER_PASSWORD, looks_like_password)


def _find_token(text: str, name: Span, at: int, before: bytes) -> _Seen:
    if is_no_secret(before):
        return None, at
    is_secret = looks_drawn if may_be_uuid(before, text[slice(*name)]) else is_token
    return _value(text, at, _TOKEN, _AFTER_TOKEN, is_secret)


def _find_key(text: str, _name: Span, at: int, before: bytes) -> _Seen:
    if not is_secret_key(before):
        return None, at
    return _value(text, at, _TOKEN, _AFTER_TOKEN, looks_drawn)


def _find_header(text: str, _name: Span, at: int, _before: bytes) -> _Seen:
    found = _SCHEME.match(text, at)
    if found is None:
        return None, at
    kind = found.lastgroup or ""
    is_secret = (_is_basic if kind == "basic" else looks_random)(found[kind])
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
    if MASK * 4 in value or " " in value or not is_secret(value):
        return None, seen
    if is_expression(value) and not looks_generated(value):
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
    return bool(colon) and decoded.isascii() and not is_filler_word(password.decode("ascii"))
