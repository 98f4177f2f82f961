"""Mask a whole document: its text, and everything a parser took from it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final

from outcrop.mask.randomness import MASK
from outcrop.mask.text import Span, cover, find_secrets, mask_secrets
from outcrop.records import Document, Heading, Outline

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
                length = sum(1 for _ in takewhile(_are_same, zip(piece, string[at:], strict=False)))
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


def _mask_meta(hidden: _Hidden, document: Document) -> tuple[dict[str, str], int]:
    """Properties, which may come from outside the text; their names count as telling names."""
    meta, count = {}, 0
    for name, value in document.meta.items():
        said = f"{name}: "
        masked, found = mask_secrets(said + hidden.out_of(value, 0, _HEAD))
        meta[name] = masked[len(said) :]
        count += found + (meta[name] != value and not found)
    return meta, count


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


def _are_same(pair: tuple[str, str]) -> bool:
    return pair[0] == pair[1]
