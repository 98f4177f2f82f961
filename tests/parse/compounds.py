"""Compound files: those that LibreOffice wrote (`samples`), and small ones of given streams."""

from __future__ import annotations

import lzma
import struct
from collections.abc import Mapping
from pathlib import Path

SAMPLES = Path(__file__).parent / "samples"
SECTOR = 512
END, TABLE, NONE = 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFF


def sample(name: str) -> bytes:
    """A file of an office program."""
    return lzma.decompress((SAMPLES / f"{name}.xz").read_bytes())


def compound(streams: Mapping[str, bytes]) -> bytes:
    """A file of these streams, each in sectors of its own, one after the other."""
    sectors: list[bytes] = []
    follows: list[int] = []

    def put(content: bytes) -> int:
        start = len(sectors)
        count = max(1, -(-len(content) // SECTOR))
        padded = content.ljust(count * SECTOR, b"\0")
        sectors.extend(padded[at : at + SECTOR] for at in range(0, len(padded), SECTOR))
        follows.extend([*range(start + 1, start + count), END])
        return start

    entries = [_entry("Root Entry", 5, END, 0, child=1)]
    for number, (name, content) in enumerate(streams.items(), 2):
        following = number if number <= len(streams) else NONE
        entries.append(_entry(name, 2, put(content), len(content), right=following))
    directory = put(b"".join(entries))
    count = next(each for each in range(1, 100) if each * SECTOR >= 4 * (len(sectors) + each))
    tables = range(len(sectors), len(sectors) + count)
    table = struct.pack(f"<{len(follows) + count}L", *follows, *[TABLE] * count).ljust(count * SECTOR, b"\xff")
    sectors.extend(table[at : at + SECTOR] for at in range(0, len(table), SECTOR))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH6x", 62, 3, 0xFFFE, 9, 6)
    header += struct.pack("<LLLLLLLLL", 0, count, directory, 0, 0, END, 0, END, 0)
    header += struct.pack("<109L", *tables, *[NONE] * (109 - count))
    return header + b"".join(sectors)


def _entry(name: str, kind: int, start: int, size: int, *, child: int = NONE, right: int = NONE) -> bytes:
    said = name.encode("utf-16-le") + b"\0\0"
    head = said.ljust(64, b"\0") + struct.pack("<HBBLLL", len(said), kind, 1, NONE, right, child)
    return head + bytes(36) + struct.pack("<LQ", start, size)
