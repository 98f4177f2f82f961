"""The one way in for a text: where its secrets stand, and the text with stars in their place."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import Final

from outcrop.mask.assigned import find_assigned
from outcrop.mask.columns import find_in_columns
from outcrop.mask.enclosed import find_in_urls, find_private_keys
from outcrop.mask.joined import find_joined
from outcrop.mask.judge import MASK, looks_like_password
from outcrop.mask.known import find_known
from outcrop.mask.manifests import find_in_manifests
from outcrop.mask.names import find_names, find_words
from outcrop.system.deadline import check_time

Span = tuple[int, int]
Secret = tuple[Span, ...]
"""The stretches of a text that have to be masked for one secret: most are one, a private key is its lines."""

ROUNDS: Final = 4
"""How often a text is looked through, if it has secrets: masking one may lay bare another beside it. Keys that were
glued together by chance took three."""

MAX_REPEATED: Final = 100
"""Different secrets that are looked for again where nothing tells of them. Bounds the time for a text full of them.
Judgement."""

_SEEN: Final = re.compile(r"\S")


def find_secrets(text: str) -> list[Secret]:
    """The secrets of a text in order; no two overlap.

    Takes time in proportion to the length of the text, whatever it holds.
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
    """The text with stars for what is seen in these stretches."""
    parts: list[str] = []
    done = 0
    for start, end in sorted(span for secret in secrets for span in secret):
        parts += (text[done:start], _SEEN.sub(MASK, text[start:end]))
        done = end
    return "".join((*parts, text[done:]))


def _look_through(text: str) -> list[Secret]:
    data = text.encode("latin-1", "replace")  # a byte a character: offsets are the same
    found = list(find_private_keys(text))
    taken = sorted(span for lines in found for span in lines)
    # What has a known form is masked by it, so that its prefix stays; a name or a URL around it says less.
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
    """Where secrets stand once more without a name or a URL that tells of them; not those that could be plain words."""
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
    """Those of some spans that overlap none of the taken ones, nor one another; both are in order."""
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
