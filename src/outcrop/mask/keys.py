"""Find keys of a known form. They are long words, so only the long words of a text are examined."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from outcrop.mask.formats import BY_BEFORE, BY_BEGINNING, WORD, Beside, Format
from outcrop.mask.randomness import MASK, is_filler
from outcrop.system.deadline import timed

Span = tuple[int, int]

BESIDE: Final = 300
"""How far a secret may be from its key id: a few lines of configuration (not measured)."""

_BREAK: Final = b"\1"
_BREAKS: Final = bytes(character not in WORD for character in range(256))
# The end of an escape may look like part of the word: `\n` in a string, `%3D` in a URL.
_ESCAPES: Final = {"\\": 1, "%": 2}
_BEGINNINGS: Final = np.zeros(1 << 16, np.bool_)
_BEGINNINGS[[int.from_bytes(pair.encode(), "big") for pair in BY_BEGINNING]] = True
_BEFORES: Final = np.zeros(1 << 8, np.bool_)
_BEFORES[[ord(character) for character in (*BY_BEFORE, *_ESCAPES)]] = True


def find_known(text: str, data: bytes) -> Iterator[Span]:
    """Find keys of a known form; `data` is the same text, one byte per character."""
    done = 0
    looked: dict[Beside, int] = {}
    for start in timed(_likely_words(data)):
        before = text[start - 1 : start]
        # What follows a masked key was not a key before masking either.
        if start < done or before == MASK:
            continue
        found = _match(text, start, before)
        if found is None and before in _ESCAPES:
            found = _match(text, start + _ESCAPES[before], "")
        if found is not None:
            kind, around, secret = found
            done = around[1]
            if secret[0] < secret[1]:
                yield secret
            if kind.beside is not None:
                yield from _find_beside(text, kind.beside, around, looked)


def _match(text: str, start: int, before: str) -> tuple[Format, Span, Span] | None:
    """The key that begins here: its kind, its span, and the span of its secret part."""
    for family in (BY_BEGINNING.get(text[start : start + 2]), BY_BEFORE.get(before)):
        match = family.pattern.match(text, start) if family else None
        if family is None or match is None:
            continue
        group = match.lastindex or 0
        kind, secret = family.kinds[group - 1], match[group]
        if not secret or not (is_filler(secret) or (kind.check and not kind.check(secret))):
            return kind, match.span(), match.span(group)
    return None


def _find_beside(text: str, beside: Beside, around: Span, looked: dict[Beside, int]) -> Iterator[Span]:
    """The secret that goes with a key. No stretch is read twice: `looked` says how far each kind has been read."""
    start, end = around
    first, last = max(start - BESIDE, looked.get(beside, 0)), end + BESIDE
    looked[beside] = last
    for match in beside.pattern.finditer(text, first, last + 1):
        # a match that ends beyond the window may be truncated
        if match.end() <= last and beside.check(match[1]) and not start <= match.start() < end:
            yield match.span(1)


def _likely_words(data: bytes) -> list[int]:
    """Start offsets of long words that begin like a key, or follow what keys follow.

    Four characters are compared at a time: a word of SHORTEST characters holds four aligned groups of four in a row,
    and few shorter ones do.
    """
    marks = _BREAK * 4 + data.translate(_BREAKS) + _BREAK * (4 + -len(data) % 4)
    quads = np.frombuffer(marks, np.uint32) == 0
    if len(quads) < 4:
        return []
    inside = quads[:-3] & quads[1:-2] & quads[2:-1] & quads[3:]
    at = 4 * (np.flatnonzero(inside[1:] > inside[:-1]) + 1)  # the first group is never inside: it is padding
    if not len(at):
        return []
    ends = np.frombuffer(marks, np.uint8)
    one = ends[at - 1] == 0
    two = one & (ends[at - 2] == 0)
    three = two & (ends[at - 3] == 0)
    starts = at - 4 - one - two - three
    characters = np.frombuffer(data, np.uint8)
    pairs = characters[starts].astype(np.uint16) << 8 | characters[starts + 1]
    likely = _BEGINNINGS[pairs] | _BEFORES[characters[starts - 1]]
    found: list[int] = starts[likely].tolist()
    return found
