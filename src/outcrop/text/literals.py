"""Which texts a line must hold to match a regular expression of Rust, so that most files need not be read.

The pattern is valid: ripgrep has read it. What is not understood here for sure ends the question, and then every file
is read: to require too little costs time, to require too much would lose lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_QUANTIFIERS: Final = "*+?{"
_ESCAPE: Final = re.compile(
    r"[dwsDWSBAz<>nrtfva]|b(?:\{[a-z-]+\})?|[pP](?:\{[^}]*\}|[A-Za-z])|x(?:\{[0-9A-Fa-f]+\}|[0-9A-Fa-f]{2})"
    r"|u(?:\{[0-9A-Fa-f]+\}|[0-9A-Fa-f]{4})|U(?:\{[0-9A-Fa-f]+\}|[0-9A-Fa-f]{8})"
)
"""What may follow a backslash and is no literal."""
_PUNCTUATION: Final = frozenset("!\"#$%&'()*+,-./:;=?@[\\]^_`{|}~")
_OPENING: Final = re.compile(r"\((?:\?(?:P?<[^>]+>|[imsUuR-]*:))?")
"""Of a group that says nothing about what follows it. Other flags do, and `x` gives `#` another meaning."""
_FOLDED: Final = re.compile("[^\x00-\x7f]|[kKsS]")
"""Ignoring case, these have variants outside ASCII (K is also the sign for Kelvin), or are outside themselves."""


class _Unclear(Exception):
    """The pattern has something in it that is not read here."""


def required_texts(pattern: str, *, literal: bool, ignore_case: bool) -> list[list[str]]:
    """Alternatives: in each, texts that all occur in a line that matches. None at all where nothing can be said."""
    try:
        read = [[pattern]] if literal else list(_read_alternatives(pattern))
    except _Unclear:
        return []
    if not ignore_case:
        return read
    return [[part for text in texts for part in _FOLDED.split(text)] for texts in read]


def _read_alternatives(pattern: str) -> Iterator[list[str]]:
    texts: list[str] = []
    run: list[str] = []
    at = 0

    def end_run() -> None:
        texts.append("".join(run))
        run.clear()

    while at < len(pattern):
        char = pattern[at]
        if char == "|":
            end_run()
            yield list(texts)
            texts.clear()
            at += 1
        elif char in _QUANTIFIERS:
            at = _skip_quantifier(pattern, at)
            if char != "+" and run:
                run.pop()  # it may be missing
            end_run()
        elif char == "\\" and pattern[at + 1 : at + 2] in _PUNCTUATION:
            run.append(pattern[at + 1])
            at += 2
        elif char in "\\([.^$":
            end_run()
            at = _skip_atom(pattern, at)
        else:
            run.append(char)
            at += 1
    end_run()
    yield texts


def _skip_quantifier(pattern: str, at: int) -> int:
    """Past a quantifier. One of another quantifier could allow for nothing at all: that is not read."""
    end = at + 1
    if pattern[at] == "{":
        end = pattern.find("}", at) + 1
        if not end:
            raise _Unclear
    end += pattern[end : end + 1] == "?"
    if pattern[end : end + 1] in tuple(_QUANTIFIERS):
        raise _Unclear
    return end


def _skip_atom(pattern: str, at: int) -> int:
    """Past an escape, a class, a group, or a single character that is no literal."""
    char = pattern[at]
    if char == "\\":
        escape = _ESCAPE.match(pattern, at + 1)
        if escape is None:
            raise _Unclear
        return escape.end()
    if char == "[":
        return _skip_class(pattern, at)
    return _skip_group(pattern, at) if char == "(" else at + 1


def _skip_group(pattern: str, at: int) -> int:
    opening = _OPENING.match(pattern, at)
    if opening is None or pattern.startswith("?", opening.end()):
        raise _Unclear
    at = opening.end()
    while at < len(pattern) and pattern[at] != ")":
        if pattern[at] == "\\":
            at += 2  # whatever it is, it is no bracket
        elif pattern[at] == "[":
            at = _skip_class(pattern, at)
        else:
            at = _skip_group(pattern, at) if pattern[at] == "(" else at + 1
    if at >= len(pattern):
        raise _Unclear
    return at + 1


def _skip_class(pattern: str, at: int) -> int:
    """Past a class, which may hold others; a bracket that closes at the very beginning stands for itself."""
    at += 1
    at += pattern.startswith("^", at)
    at += pattern.startswith("]", at)
    while at < len(pattern) and pattern[at] != "]":
        if pattern[at] == "\\":
            at += 2
        else:
            at = _skip_class(pattern, at) if pattern[at] == "[" else at + 1
    if at >= len(pattern):
        raise _Unclear
    return at + 1
