"""Secrets recognised by what surrounds them: private keys between their markers, passwords and webhooks in URLs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Final

from outcrop.mask.randomness import MASK, is_expression, is_filler, is_filler_word, is_of_all_kinds
from outcrop.system.deadline import timed

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
    """The base64 of each private key in a text, without line breaks, quotes and whatever else lies in between.

    Where the end marker is missing, or other text comes before it, only lines that plainly belong to the key count.
    """
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
