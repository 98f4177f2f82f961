"""How a process and its children talk: a JSON header and raw bytes, each with its length.

frame = header length (4 bytes, big endian) · payload length (4 bytes) · header (JSON) · payload

Nothing is pickled, except by the processes that read files for an ingest (`write/reader.py` and `cluster/order.py` say
why).
"""

from __future__ import annotations

import json
import os
import signal
import struct
from typing import Any, BinaryIO

Frame = tuple[dict[str, Any], bytes]
"""A header and its payload."""

_LENGTHS = struct.Struct(">II")


def write_frame(stream: BinaryIO, header: dict[str, Any], payload: bytes = b"") -> None:
    """Send one frame."""
    encoded = json.dumps(header).encode("ascii")
    stream.write(_LENGTHS.pack(len(encoded), len(payload)))
    stream.write(encoded)
    stream.write(payload)
    stream.flush()


def read_frame(stream: BinaryIO) -> Frame:
    """Receive one frame, or EOFError when the other side is gone."""
    header_bytes, payload_bytes = _LENGTHS.unpack(_read_exactly(stream, _LENGTHS.size))
    header = json.loads(_read_exactly(stream, header_bytes))
    return header, _read_exactly(stream, payload_bytes)


def take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """In a child: where its requests come from and its answers go. Frames travel on private copies of stdin and stdout.
    A library that reads stdin finds it empty, and what it prints goes to stderr. Ctrl-C at the terminal is for the
    parent, which then closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.dup2(2, 1)
    return requests, answers


def _read_exactly(stream: BinaryIO, count: int) -> bytes:
    data = stream.read(count)
    if len(data) != count:
        raise EOFError
    return data
