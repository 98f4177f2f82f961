"""How a process and its workers talk: a JSON header and raw bytes, each with its length.

Nothing is pickled, but for what those who read files for a run bring back (`spread/order.py` and `spread/reader.py` say
why).

frame = header length (4 bytes, big endian) · payload length (4 bytes) · header (JSON) · payload
"""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO

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
