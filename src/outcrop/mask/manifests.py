"""Secrets in Kubernetes manifests: in `kind: Secret` every value of `data` is one, in base64, whatever its name."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterator
from typing import Final

from outcrop.mask.randomness import MASK, is_expression, is_filler_word, looks_like_password
from outcrop.system.deadline import timed

Span = tuple[int, int]

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
_BASE64: Final = re.compile(r"[A-Za-z0-9+/\s]{6,}={0,2}")


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
    if not _BASE64.fullmatch(value):
        return False
    try:
        decoded = b64decode("".join(value.split()), validate=True)
    except (NotBase64, ValueError):
        return False
    return not (decoded.isascii() and is_filler_word(decoded.decode("ascii")))
