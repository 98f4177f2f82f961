"""The document of a file whose pages were read: what was read takes its place between the pages that have text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from outcrop.parse.scan.engines import say_missing
from outcrop.parse.title import cut_title, file_stem, first_line
from outcrop.parse.writer import TextWriter
from outcrop.records import Document


def put_pages(document: Document, read: Mapping[int, str], path: str, max_text_chars: int) -> Document:
    """A document with the text of the pages that were read, by their numbers."""
    count = max((len(document.pages), *read))
    starts = [*document.pages, *[len(document.text)] * (count - len(document.pages))]
    writer = TextWriter(max_text_chars)
    moved: list[tuple[int, int]] = []  # where the text of each page began, and where it begins now
    for number, start in enumerate(starts, 1):
        end = starts[number] if number < count else len(document.text)
        writer.start_page()
        own = document.text[start:end].strip("\n")
        at = writer.write(read.get(number, own))
        if number not in read and own:
            moved.append((start, at))
    text = writer.finish()
    headings = tuple(
        replace(heading, start=heading.start - old + new)
        for heading in document.headings
        if (pair := next(((old, new) for old, new in reversed(moved) if old <= heading.start), None))
        for old, new in (pair,)
    )
    title = document.title
    if document.kind != "image" and not document.text:
        title = title if title != file_stem(path) else cut_title(first_line(text)) or title
    return replace(document, text=text, pages=tuple(writer.pages), headings=headings, title=title, unread=())


def leave_pages(document: Document) -> Document:
    """A document without the pages that nothing here can read, and a remark on them."""
    missing = say_missing(len(document.unread))
    return replace(document, unread=(), remark=f"{missing}; then add it again with --force")
