"""Documents as header and payload, for the pipe between the parser and its worker."""

from __future__ import annotations

from typing import Any

from outcrop.records import Document, Heading


def pack_document(document: Document) -> tuple[dict[str, Any], bytes]:
    """A Document as header and payload."""
    header = {
        "kind": document.kind,
        "title": document.title,
        "headings": [[h.level, h.title, h.start] for h in document.headings],
        "pages": document.pages,
        "keys": document.keys,
        "tags": document.tags,
        "meta": dict(document.meta),
        "remark": document.remark,
    }
    return header, document.text.encode("utf-8")


def unpack_document(header: dict[str, Any], payload: bytes) -> Document:
    """The Document that `pack_document` packed."""
    return Document(
        text=payload.decode("utf-8"),
        kind=header["kind"],
        title=header["title"],
        headings=tuple(Heading(level, title, start) for level, title, start in header["headings"]),
        pages=tuple(header["pages"]),
        keys=tuple(header["keys"]),
        tags=tuple(header["tags"]),
        meta=header["meta"],
        remark=header["remark"],
    )
