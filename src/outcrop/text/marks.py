"""Marks for fences around text that somebody else wrote, so that nothing in it can pass for the end of the fence."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection

MARK_BYTES = 12
"""96 random bits: nobody guesses them, and they cost a model few tokens."""


def draw_mark(
    texts: Collection[str], size: int = MARK_BYTES, draw: Callable[[int], str] = secrets.token_hex
) -> str:
    """A random word that none of the texts holds. Their authors cannot have known it either."""
    mark = draw(size)
    while any(mark in text for text in texts):
        mark = draw(size)
    return mark
