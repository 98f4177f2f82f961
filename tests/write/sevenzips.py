"""7z archives as 7-Zip writes them, with a list of files that is not packed, so that it can be changed."""

from __future__ import annotations

import lzma
import struct
import zlib
from collections.abc import Mapping

LZMA2 = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]
LZMA2_CODER = bytes((1, 0x21, 0x21, 1, 18))


def number(value: int) -> bytes:
    """As 7z has numbers; here with eight bytes where it is not small."""
    return bytes((value,)) if value < 0x80 else b"\xff" + struct.pack("<Q", value)


def framed(header: bytes, packed: bytes) -> bytes:
    """The beginning of an archive, what it holds and its list."""
    start = struct.pack("<QQL", len(packed), len(header), zlib.crc32(header))
    return b"7z\xbc\xaf\x27\x1c\0\4" + struct.pack("<L", zlib.crc32(start)) + start + packed + header


def sevenzipped(files: Mapping[str, bytes], coders: bytes = LZMA2_CODER, sizes: int = 0) -> bytes:
    """All files in one folder; `sizes` is added to the size that is told of the first."""
    content = b"".join(files.values())
    packed = lzma.compress(content, lzma.FORMAT_RAW, filters=LZMA2)
    names = b"\0" + b"".join(name.encode("utf-16-le") + b"\0\0" for name in files)
    lengths = [len(each) for each in files.values()]
    lengths[0] += sizes
    checksums = b"".join(struct.pack("<L", zlib.crc32(each)) for each in files.values())
    header = b"\1\4"
    header += b"\6" + number(0) + number(1) + b"\x09" + number(len(packed)) + b"\0"
    header += b"\7\x0b" + number(1) + b"\0" + coders + b"\x0c" + number(len(content)) + b"\0"
    header += b"\x08\x0d" + number(len(files)) + b"\x09" + b"".join(map(number, lengths[:-1]))
    header += b"\x0a\1" + checksums + b"\0\0"
    header += b"\5" + number(len(files)) + b"\x11" + number(len(names)) + names + b"\0\0"
    return framed(header, packed)
