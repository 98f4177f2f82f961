"""Find the secrets of a text and put stars in their place."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import Final

from outcrop.mask.assignments import find_assigned
from outcrop.mask.columns import find_in_columns
from outcrop.mask.enclosed import find_in_urls, find_private_keys
from outcrop.mask.keys import find_known
from outcrop.mask.manifests import find_in_manifests
from outcrop.mask.names import find_names, find_words
from outcrop.mask.pairs import find_joined
from outcrop.mask.randomness import MASK, looks_like_password
from outcrop.system.deadline import check_time

Span = tuple[int, int]
Secret = tuple[Span, ...]
"""The spans to mask for one secret: mostly a single one; a private key has one per line."""

ROUNDS: Final = 4
"""Most passes over a text with secrets: masking one may expose another beside it. Random concatenations of keys took
three."""

MAX_REPEATED: Final = 100
"""Most distinct secrets whose repetitions are searched for. Bounds the time for a text full of them (not measured)."""

_SEEN: Final = re.compile(r"\S")


def find_secrets(text: str) -> list[Secret]:
    """The secrets of a text in order; no two overlap.

    Takes time linear in the length of the text, whatever it holds.
    """
    found: list[Secret] = []
    rest = text
    for _ in range(ROUNDS):
        check_time()
        more = _look_through(rest)
        if not more:
            break
        found += more
        rest = cover(rest, more)
    if found:
        taken = sorted(span for secret in found for span in secret)
        found += ((span,) for span in _apart(taken, sorted(_find_repeated(text, found))))
    return sorted(found)


def mask_secrets(text: str) -> tuple[str, int]:
    """A text with its secrets masked, and how many there were.

    Nothing moves: the text has the same length and the same line breaks. Masking it again changes nothing.
    """
    found = find_secrets(text)
    return (cover(text, found), len(found)) if found else (text, 0)


def cover(text: str, secrets: list[Secret]) -> str:
    """The text with stars for every visible character of these secrets."""
    parts: list[str] = []
    done = 0
    for start, end in sorted(span for secret in secrets for span in secret):
        parts += (text[done:start], _SEEN.sub(MASK, text[start:end]))
        done = end
    return "".join((*parts, text[done:]))


def _look_through(text: str) -> list[Secret]:
    data = text.encode("latin-1", "replace")  # one byte per character: offsets stay the same
    found = list(find_private_keys(text))
    taken = sorted(span for lines in found for span in lines)
    # A known form comes first, so that the key's prefix is kept; a name or a URL around it says less.
    lower = data.lower()
    words = find_words(lower)
    names = find_names(lower, words)
    for spans in (
        find_known(text, data),
        find_in_urls(text),
        find_assigned(text, lower, words),
        find_in_manifests(text, lower),
        find_joined(text, lower, names),
        find_in_columns(text, lower, names),
    ):
        fresh = _apart(taken, sorted(spans))
        taken = sorted(taken + fresh)
        found += ((span,) for span in fresh)
    return found


def _find_repeated(text: str, secrets: list[Secret]) -> Iterator[Span]:
    """Further occurrences of secrets without a name or a URL around them, except secrets that could be plain words."""
    pieces = dict.fromkeys(text[secret[0][0] : secret[0][1]] for secret in secrets if len(secret) == 1)
    for piece in islice(filter(looks_like_password, pieces), MAX_REPEATED):
        check_time()
        start = text.find(piece)
        while start >= 0:
            end = start + len(piece)
            if not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()):
                yield start, end
            start = text.find(piece, end)


def _apart(taken: list[Span], spans: list[Span]) -> list[Span]:
    """The spans that overlap neither the taken ones nor one another; both lists are sorted."""
    fresh: list[Span] = []
    free = 0
    for span in spans:
        start, end = span
        at = bisect_left(taken, span)
        clear = (at == len(taken) or taken[at][0] >= end) and (at == 0 or taken[at - 1][1] <= start)
        if clear and start >= free:
            fresh.append(span)
            free = end
    return fresh
