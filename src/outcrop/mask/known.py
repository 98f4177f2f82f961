"""Keys of a known form: they are long words, so the long words of a text are looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from outcrop.mask.formats import BY_BEFORE, BY_BEGINNING, WORD, Beside, Format
from outcrop.mask.judge import MASK, is_filler
from outcrop.system.deadline import timed

Span = tuple[int, int]

BESIDE: Final = 300
"""How far from a key id its secret may stand: a few lines of a configuration. Judgement."""

_BREAK: Final = b"\1"
_BREAKS: Final = bytes(character not in WORD for character in range(256))
# A word may have an escape before it, which is not part of it: `\n` in a string, `%3D` in a URL.
_ESCAPES: Final = {"\\": 1, "%": 2}
_BEGINNINGS: Final = np.zeros(1 << 16, np.bool_)
_BEGINNINGS[[int.from_bytes(pair.encode(), "big") for pair in BY_BEGINNING]] = True
_BEFORES: Final = np.zeros(1 << 8, np.bool_)
_BEFORES[[ord(character) for character in (*BY_BEFORE, *_ESCAPES)]] = True


def find_known(text: str, data: bytes) -> Iterator[Span]:
    """Where keys of a known form stand in a text; `data` is the same text, a byte a character."""
    done = 0
    looked: dict[Beside, int] = {}
    for start in timed(_likely_words(data)):
        before = text[start - 1 : start]
        # What stands beside a masked key is no more a key than it was before.
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
    """The key that begins here: its kind, where it stands, and where its secret part does."""
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
    """What goes with a key. Nothing is looked at twice: `looked` is up to where it has been."""
    start, end = around
    first, last = max(start - BESIDE, looked.get(beside, 0)), end + BESIDE
    looked[beside] = last
    for match in beside.pattern.finditer(text, first, last + 1):
        # What ends beyond is seen only in part.
        if match.end() <= last and beside.check(match[1]) and not start <= match.start() < end:
            yield match.span(1)


def _likely_words(data: bytes) -> list[int]:
    """Where long words begin that begin as a key does, or stand after what a key stands after.

    Four characters are looked at at once: a word of SHORTEST characters has four times four in it that begin at a
    multiple of four, and few other words have.
    """
    marks = _BREAK * 4 + data.translate(_BREAKS) + _BREAK * (4 + -len(data) % 4)
    quads = np.frombuffer(marks, np.uint32) == 0
    if len(quads) < 4:
        return []
    inside = quads[:-3] & quads[1:-2] & quads[2:-1] & quads[3:]
    at = 4 * (np.flatnonzero(inside[1:] > inside[:-1]) + 1)  # the first is never inside: it is made of breaks
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
