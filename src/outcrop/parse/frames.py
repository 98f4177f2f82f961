"""How the parser and its worker talk: a JSON header and raw bytes, each with its length; never pickle.

frame = header length (4 bytes, big endian) · payload length (4 bytes) · header (JSON) · payload
"""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO

from outcrop.records import Document, Heading

_LENGTHS = struct.Struct(">II")


def write_frame(stream: BinaryIO, header: dict[str, Any], payload: bytes = b"") -> None:
    """Send one frame."""
    encoded = json.dumps(header).encode("ascii")
    stream.write(_LENGTHS.pack(len(encoded), len(payload)))
    stream.write(encoded)
    stream.write(payload)
    stream.flush()


def read_frame(stream: BinaryIO) -> tuple[dict[str, Any], bytes]:
    """Receive one frame, or EOFError when the other side is gone."""
    header_bytes, payload_bytes = _LENGTHS.unpack(_read_exactly(stream, _LENGTHS.size))
    header = json.loads(_read_exactly(stream, header_bytes))
    return header, _read_exactly(stream, payload_bytes)


def _read_exactly(stream: BinaryIO, count: int) -> bytes:
    data = stream.read(count)
    if len(data) != count:
        raise EOFError
    return data


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
    )
