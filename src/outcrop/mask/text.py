"""The one way in for a text: where its secrets stand, and the text with stars in their place."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Final

from outcrop.mask.assigned import find_assigned
from outcrop.mask.enclosed import find_in_urls, find_private_keys
from outcrop.mask.judge import MASK
from outcrop.mask.known import find_known

Span = tuple[int, int]

_SEEN: Final = re.compile(r"\S")


def find_secrets(text: str) -> list[tuple[Span, ...]]:
    """The secrets of a text in order, each as the stretches that have to be masked; no two overlap.

    Takes time in proportion to the length of the text, whatever it holds.
    """
    data = text.encode("latin-1", "replace")  # a byte a character: offsets are the same
    found = list(find_private_keys(text))
    taken = sorted(span for lines in found for span in lines)
    # What has a known form is masked by it, so that its prefix stays; a name or a URL around it says less.
    for spans in (find_known(text, data), find_in_urls(text), find_assigned(text, data.lower())):
        fresh = _apart(taken, sorted(spans))
        taken = sorted(taken + fresh)
        found += ((span,) for span in fresh)
    return sorted(found)


def mask_secrets(text: str) -> tuple[str, int]:
    """A text with its secrets masked, and how many there were.

    Nothing moves: the text has the same length and the same line breaks. Masking it again changes nothing.
    """
    found = find_secrets(text)
    return (cover(text, found), len(found)) if found else (text, 0)


def cover(text: str, secrets: list[tuple[Span, ...]]) -> str:
    """The text with stars for what is seen in these stretches."""
    parts: list[str] = []
    done = 0
    for start, end in sorted(span for spans in secrets for span in spans):
        parts += (text[done:start], _SEEN.sub(MASK, text[start:end]))
        done = end
    return "".join((*parts, text[done:]))


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
