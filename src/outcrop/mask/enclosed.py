"""Secrets recognised by what surrounds them: private keys between their markers, passwords and webhooks in URLs, and in
Kubernetes manifests every value of the `data` of a `kind: Secret`."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterator
from itertools import zip_longest
from typing import Final

from outcrop.mask.randomness import (
    MASK,
    is_expression,
    is_filler,
    is_filler_word,
    is_of_all_kinds,
    looks_like_password,
)
from outcrop.system.limits import timed

Span = tuple[int, int]

# ------------------------------------------------------------------ private keys

LONGEST_KEY: Final = 64 * 1024
"""Most characters of a private key; one of 16 384 bits has 13 000, a PGP key with many parts some more."""
NEAR_HEAD: Final = 200
"""How far below its first line a key with headers (`Proc-Type`, `Comment`) may begin (not measured)."""
NEAR_LINE: Final = 40
"""How far apart two lines of a key may be in code: quotes, an operator, a line break, indentation (not measured)."""

_MARK: Final = re.compile(
    r"-----(?:BEGIN (?P<private>(?:[A-Z0-9]{1,20}+ ){0,4}PRIVATE KEY(?: BLOCK)?-----)|BEGIN|(?P<end>END))"
)
_LINE: Final = re.compile(r"[A-Za-z0-9+/=]{32,}+")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/=]++")


def find_private_keys(text: str) -> Iterator[tuple[Span, ...]]:
    """The base64 of each private key in a text, without line breaks, quotes and whatever else lies in between. Where
    the end marker is missing, or other text comes before it, only lines that plainly belong to the key count."""
    if "PRIVATE KEY" not in text:
        return
    marks = list(_MARK.finditer(text))
    for mark, following in timed(zip_longest(marks, marks[1:])):
        if mark["private"] is None:
            continue
        start = mark.end()
        stop = min(following.start() if following else len(text), start + LONGEST_KEY)
        lines = _lines(text, start, stop)
        covered = sum(end - begin for begin, end in lines)
        if following and following["end"] and covered > (stop - start) / 2:
            yield tuple(found.span() for found in _BASE64.finditer(text, start, stop))
        elif lines:
            yield tuple(lines)


def _lines(text: str, start: int, stop: int) -> list[Span]:
    """The long lines of a key, for as long as they follow one another."""
    lines: list[Span] = []
    near = start + NEAR_HEAD
    for found in _LINE.finditer(text, start, stop):
        if found.start() > near or not is_of_all_kinds(found[0]):
            break
        lines.append(found.span())
        near = found.end() + NEAR_LINE
    return lines


# ------------------------------------------------------------------ URLs

MIN_PASSWORD: Final = 6
"""Shortest password in a URL: manuals write `user:pass@`, `scott:tiger@` (not measured)."""

_AFTER_SCHEME: Final = re.compile(
    r"://(?:(?P<user>[^\s:/@?#\"'`<>\\]{0,80}):(?P<password>[^\s:/?#\"'`<>\\]{1,160})@(?P<host>[\w.-]{1,100}|\[)"
    r"|hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/(?P<slack>[A-Za-z0-9+/]{30,80})"
    r"|(?:[a-z]{1,8}\.)?discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d{17,20}/(?P<discord>[\w-]{60,80}))",
    re.ASCII,
)
# Placeholders that name what belongs there: `db_password`, `uri-secret`.
_SPELLED: Final = re.compile(r"[a-z_.-]*(?:pass(?:word|wd)?|secret|token|key)[a-z_.-]*", re.IGNORECASE)
_NO_HOST: Final = re.compile(r"(?:.*\.)?example(?:\.(?:com|org|net))?\Z|host(?:name)?\Z", re.IGNORECASE)


def find_in_urls(text: str) -> Iterator[Span]:
    """Passwords and the secret parts of webhooks in the URLs of a text."""
    if "://" not in text:
        return
    for match in timed(_AFTER_SCHEME.finditer(text)):
        kind = match.lastgroup or ""
        if kind == "host":
            if _is_password(match["user"], match["password"], match["host"]):
                yield match.span("password")
        elif not is_filler(match[kind]):
            yield match.span(kind)


def _is_password(user: str, password: str, host: str) -> bool:
    if len(password) < MIN_PASSWORD or password == user or MASK * 4 in password or _NO_HOST.match(host):
        return False
    if is_filler(password, least=4) or is_expression(password) or is_filler_word(password):
        return False
    return _SPELLED.fullmatch(password) is None


# ------------------------------------------------------------------ Kubernetes

LONGEST: Final = 256 * 1024
"""Characters of a manifest read before and after its `kind`. Kubernetes accepts a megabyte of base64, people write a
few lines (not measured)."""

_KIND: Final = re.compile(
    rb"kind\\{0,2}[\"']?[ \t]{0,8}:[ \t]{0,8}\\{0,2}[\"']?secret(?:list)?\\{0,2}[\"']?[ \t]{0,8}(?=[,}\r\n#]|\Z)"
)
_DOCUMENT: Final = re.compile(r"^---", re.MULTILINE)
# `data:` and the lines below it that are indented more, or a mapping in braces.
_LINES: Final = re.compile(
    r"^(?P<indent>[ \t]*+)(?P<kind>data|stringData):[ \t]*+\n"
    r"(?P<body>(?:(?P=indent)[ \t]++[^\n]*+(?:\n|\Z)|[ \t]*+\n)*+)",
    re.MULTILINE,
)
_BRACES: Final = re.compile(
    r"(?<![A-Za-z])(?P<kind>data|stringData)\\{0,2}[\"']?\s{0,8}:\s{0,8}\{(?P<body>[^{}]*+)\}"
)
_ENTRY: Final = re.compile(
    r"(?<![\w.-])[\w.-]{1,253}\\{0,2}[\"']?[ \t]{0,8}:\s{0,8}(?:[|>][+-]?[ \t]{0,8}\n\s{0,40})?\\{0,2}[\"']?"
    r"(?P<value>[^\s\"'\\,{}]++(?:\n[ \t]+[A-Za-z0-9+/=]{20,}+(?=\s|\Z))*+)"
)
_VALUE: Final = re.compile(r"[A-Za-z0-9+/\s]{6,}={0,2}")


def find_in_manifests(text: str, data: bytes) -> Iterator[Span]:
    """Find the values of Kubernetes secrets; `data` is the text in lower case, one byte per character."""
    if b"secret" not in data or b"kind" not in data:
        return
    done = 0
    for match in timed(_KIND.finditer(data)):
        if match.start() < done:
            continue
        start, done = _document_around(text, match.start(), done)
        for pattern in (_LINES, _BRACES):
            for mapping in pattern.finditer(text, start, done):
                is_secret = _is_data if mapping["kind"] == "data" else looks_like_password
                for entry in _ENTRY.finditer(text, *mapping.span("body")):
                    value = entry["value"]
                    if MASK * 4 not in value and not is_expression(value) and is_secret(value):
                        yield entry.span("value")


def _document_around(text: str, at: int, done: int) -> Span:
    """The YAML document around this offset, as far as it is read."""
    first = max(done, at - LONGEST)
    start = max(text.rfind("\n---", first, at), first)
    end = _DOCUMENT.search(text, at, at + LONGEST)
    return start, end.start() if end else min(len(text), at + LONGEST)


def _is_data(value: str) -> bool:
    """Whether this is base64 of something other than a placeholder."""
    if not _VALUE.fullmatch(value):
        return False
    try:
        decoded = b64decode("".join(value.split()), validate=True)
    except (NotBase64, ValueError):
        return False
    return not (decoded.isascii() and is_filler_word(decoded.decode("ascii")))
