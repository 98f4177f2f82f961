"""Find the secrets of a text, and put stars in their place there and in everything a parser took from it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from os.path import commonprefix
from typing import Final

from outcrop.mask.assignments import find_assigned, find_names, find_words
from outcrop.mask.enclosed import find_in_manifests, find_in_urls, find_private_keys
from outcrop.mask.formats import find_known
from outcrop.mask.pairs import find_in_columns, find_joined
from outcrop.mask.randomness import MASK, looks_like_password
from outcrop.records import Document, Heading, MetaValue, Outline, Scalar
from outcrop.records.meta import show_value
from outcrop.system.limits import check_time

Span = tuple[int, int]
Secret = tuple[Span, ...]
"""The spans to mask for one secret: mostly a single one; a private key has one per line."""

ROUNDS: Final = 4
"""Most passes over a text: masking a secret may expose another beside it. Random concatenations of keys took three."""

MAX_REPEATED: Final = 100
"""Most distinct secrets whose repetitions are searched for. Bounds the time for a text full of them (not measured)."""

_SEEN: Final = re.compile(r"\S")


def find_secrets(text: str) -> list[Secret]:
    """The secrets of a text in order; no two overlap. Takes time linear in its length, whatever it holds."""
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
    """A text with its secrets masked, and how many there were. Nothing moves: the text has the same length and the same
    line breaks. Masking it again changes nothing."""
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


_KNOWN_BY_CHARS: Final = 8
"""Characters that identify a secret in names and titles, which may have been truncated inside it."""
_MIN_PIECE_CHARS: Final = 6
"""Shortest piece to search for again; shorter ones, such as the end of a key, occur in other words too."""
_HEAD: Final = 64 * 1024
"""Characters at the head of a text that properties may come from. Bounds the time for a text full of keys."""


def mask_document(document: Document) -> tuple[Document, int]:
    """The document with its secrets masked in everything that is stored, shown or searched, and how many there were.
    Offsets, lines and pages do not change; a document without secrets is returned as is."""
    secrets = find_secrets(document.text)
    hidden = _Hidden(document.text, sorted(span for secret in secrets for span in secret))
    title, in_title = mask_secrets(hidden.out_of(document.title))
    meta, in_meta = _mask_meta(hidden, document)
    if not secrets and not in_title and not in_meta:
        return document, 0
    masked = replace(
        document,
        text=cover(document.text, secrets),
        title=title,
        meta=meta,
        tags=tuple(hidden.out_of(tag, 0, _HEAD) for tag in document.tags),
        headings=_mask_headings(hidden, document.headings),
        outline=None if document.outline is None else _mask_outline(hidden, document.outline),
    )
    # Title and front matter are usually part of the text and already counted there.
    return masked, len(secrets) or in_title + in_meta


class _Hidden:
    """The secrets of a text, to be masked in strings derived from it."""

    def __init__(self, text: str, spans: Sequence[Span]) -> None:
        spans = [(start, end) for start, end in spans if end - start >= _MIN_PIECE_CHARS]
        self._starts = [start for start, _ in spans]
        self._ends = [end for _, end in spans]
        self._pieces = [text[start:end] for start, end in spans]

    def out_of(self, string: str, start: int = 0, end: int | None = None) -> str:
        """The string with stars for each secret that it repeats, among those between two offsets of the text."""
        first, last = self._between(start, end)
        for piece in self._pieces[first:last]:
            at = string.find(piece[:_KNOWN_BY_CHARS])
            while at >= 0:
                length = len(commonprefix((piece, string[at:])))  # noqa: RUF071 - of characters
                string = string[:at] + MASK * length + string[at + length :]
                at = string.find(piece[:_KNOWN_BY_CHARS], at + length)
        return string

    def touches(self, start: int, end: int) -> bool:
        """Whether a part of the text overlaps a secret."""
        first, last = self._between(start, end)
        return first < last

    def _between(self, start: int, end: int | None) -> tuple[int, int]:
        first = bisect_right(self._ends, start)
        return first, len(self._starts) if end is None else max(first, bisect_left(self._starts, end))


def _mask_meta(hidden: _Hidden, document: Document) -> tuple[dict[str, MetaValue], int]:
    """Properties, which may come from outside the text; their names count as telling names."""
    meta: dict[str, MetaValue] = {}
    count = 0
    for name, value in document.meta.items():
        items = value if isinstance(value, tuple) else (value,)
        masked = tuple(_mask_item(hidden, name, item) for item in items)
        meta[name] = tuple(item for item, _ in masked) if isinstance(value, tuple) else masked[0][0]
        count += sum(found for _, found in masked)
    return meta, count


def _mask_item(hidden: _Hidden, name: str, item: Scalar) -> tuple[Scalar, int]:
    """A value, or an item of a list, and how many secrets it held; a number may be one as well as a text."""
    said, plain = f"{name}: ", item if isinstance(item, str) else show_value(item)
    masked, found = mask_secrets(said + hidden.out_of(plain, 0, _HEAD))
    shown = masked[len(said) :]
    return (item, found) if shown == plain else (shown, found or 1)


def _mask_headings(hidden: _Hidden, headings: Sequence[Heading]) -> tuple[Heading, ...]:
    ends = (*(heading.start for heading in headings[1:]), None)
    return tuple(
        replace(heading, title=hidden.out_of(heading.title, heading.start, end))
        for heading, end in zip(headings, ends, strict=False)
    )


def _mask_outline(hidden: _Hidden, outline: Outline) -> Outline:
    """Signatures and comments without secrets; references that turn out to be secrets are dropped."""
    declarations = [
        replace(
            item,
            name=hidden.out_of(item.name, item.start, item.end),
            signature=hidden.out_of(item.signature, item.start, item.end),
            doc=hidden.out_of(item.doc, item.start, item.end),
        )
        if hidden.touches(item.start, item.end)
        else item
        for item in outline.declarations
    ]
    renamed = {
        old.name: new.name
        for old, new in zip(outline.declarations, declarations, strict=True)
        if old.name != new.name
    }
    if renamed:
        declarations = [
            replace(item, scope=tuple(renamed.get(name, name) for name in item.scope)) for item in declarations
        ]
    references = tuple(
        item
        for item in outline.references
        if not hidden.touches(item.start, item.start + len(item.qualifier) + len(item.name) + 2)
    )
    return replace(outline, declarations=tuple(declarations), references=references)
