"""Which way a text runs, and the stretches of code in one that runs from the right.

Brackets, dashes and slashes at the end of a name have no direction of their own: in an Arabic sentence `getUserName()`
is shown as `()getUserName`, and `/etc/fstab` as `etc/fstab/`, unless it is kept apart from what stands around it.
`static/directions.js` does the same in the browser.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_RIGHT: Final = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff"
"""Hebrew, Arabic, Syriac, Thaana, N'Ko and others, with their digits and signs."""
_FROM_RIGHT: Final = re.compile(f"[{_RIGHT}]")
LETTER: Final = re.compile(r"[^\W\d_]")
_RUN: Final = re.compile(r"[!-~]+(?: [!-~]+)*")
_ASCII_LETTER: Final = re.compile(r"[A-Za-z]")
_PAIRS: Final = {"(": ")", "[": "]", "{": "}", "<": ">"}
_CLOSING: Final = {closing: opening for opening, closing in _PAIRS.items()}
_BESIDE: Final = frozenset(".,:;!?'\"")
"""What belongs to the sentence where it ends a stretch."""
_QUOTES: Final = frozenset("'\"")
_MAX_TRIMS: Final = 8
"""Signs taken off a stretch: more are none of a sentence, and each has the brackets counted."""


def runs_from_right(text: str) -> bool:
    """Whether a text as a whole does: its first letter decides."""
    first = None if text.isascii() else LETTER.search(text)
    return first is not None and _FROM_RIGHT.match(first.group()) is not None


def find_code(text: str) -> list[tuple[int, int]]:
    """Where names, paths and options of ASCII stand in a text that runs from the right, in order. In one that runs from
    the left they need no keeping apart, which would let two words from the right change places around one."""
    found = []
    for match in _RUN.finditer(text):
        start, end = _trim(text, *match.span())
        if _ASCII_LETTER.search(text, start, end):
            found.append((start, end))
    return found


def isolate_code(text: str, escape: Callable[[str], str]) -> str:
    """A text as HTML; in one that runs from the right each such stretch is kept apart."""
    if not runs_from_right(text):
        return escape(text)
    parts, done = [], 0
    for start, end in find_code(text):
        parts += [escape(text[done:start]), f'<bdi dir="ltr">{escape(text[start:end])}</bdi>']
        done = end
    return "".join((*parts, escape(text[done:])))


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    """A stretch without what belongs to the sentence around it: full stops, quotes, brackets around it or without a
    partner, and the hyphen that joins a Hebrew prefix to a name."""
    if start and text[start] == "-" != text[start + 1 : start + 2] and text[start - 1].isalpha():
        start += 1
    for _ in range(_MAX_TRIMS):
        if start >= end:
            break
        first, last = text[start], text[end - 1]
        if last in _BESIDE:
            end -= 1
        elif first in _QUOTES:
            start += 1
        elif _PAIRS.get(first) == last and _is_balanced(text[start + 1 : end - 1], first, last):
            start, end = start + 1, end - 1
        elif first in _PAIRS and not _is_balanced(text[start:end], first, _PAIRS[first]):
            start += 1
        elif last in _CLOSING and not _is_balanced(text[start:end], _CLOSING[last], last):
            end -= 1
        else:
            break
    return start, end


def _is_balanced(text: str, opening: str, closing: str) -> bool:
    depth = 0
    for character in text:
        depth += (character == opening) - (character == closing)
        if depth < 0:
            return False
    return depth == 0
