"""What a reranker reads in training: the engine's own excerpts, with plain words in place of its stems."""

from __future__ import annotations

from collections.abc import Sequence

from outcrop.embed.static import words
from outcrop.rank.excerpt import passage

_STEM_CHARS = 6
"""The engine compares stems; the first letters come close and need no stemmer on the machine that trains."""
_COMMON = 4
"""Shorter words are mostly common ones, and weigh little."""


def terms(text: str) -> list[str]:
    """The words of a text, cut to what they share with their other forms."""
    return [word[:_STEM_CHARS] for word in words(text)]


def make_passage(path: str, place: Sequence[str], text: str, query: str) -> str:
    """What the engine would show a reranker of this document, given this query."""
    wanted = {term: 1.0 if len(term) >= _COMMON else 0.3 for term in terms(query)}
    return passage(path, place, text, wanted, terms)
