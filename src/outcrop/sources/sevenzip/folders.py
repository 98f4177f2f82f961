"""What a 7z archive holds packed: folders, each a stream that went through some coders, with files one after the other.

The standard library undoes nearly all that archives are packed with: LZMA, LZMA2, bzip2, deflate.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any, BinaryIO, Final, NamedTuple, Protocol

from outcrop.errors import SourceError
from outcrop.system.limits import check_wanted

MAX_WINDOW: Final = 128 * 1024**2
"""Bytes that unpacking LZMA may look back on: its highest level looks back 64 MiB, and never past the beginning."""
MAX_CODERS: Final = 4
_CHUNK: Final = 256 * 1024

_COPY, _DELTA, _LZMA2, _LZMA = b"\0", b"\x03", b"\x21", b"\x03\x01\x01"
_DEFLATE, _BZIP2, _AES = b"\x04\x01\x08", b"\x04\x02\x02", b"\x06\xf1\x07\x01"
_BRANCHES: Final = {
    b"\x03\x03\x01\x03": lzma.FILTER_X86,
    b"\x03\x03\x02\x05": lzma.FILTER_POWERPC,
    b"\x03\x03\x04\x01": lzma.FILTER_IA64,
    b"\x03\x03\x05\x01": lzma.FILTER_ARM,
    b"\x03\x03\x07\x01": lzma.FILTER_ARMTHUMB,
    b"\x03\x03\x08\x05": lzma.FILTER_SPARC,
}


class Coder(NamedTuple):
    """What a stream went through, and with which options."""

    method: bytes
    options: bytes
    inputs: int
    outputs: int


class Folder(NamedTuple):
    """Coders through which one stream was packed, the last applied first, and what the result is."""

    coders: tuple[Coder, ...]
    size: int
    streams: int
    readable: bool

    @property
    def encrypted(self) -> bool:
        """Whether a password is needed."""
        return any(coder.method == _AES for coder in self.coders)


class Part(NamedTuple):
    """A file within what a folder unpacks to."""

    size: int
    checksum: int | None


class _Unpacker(Protocol):
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def can_unpack(coders: Sequence[Coder]) -> bool:
    """Whether the standard library unpacks what went through these. It keeps the last bytes of a branch filter before
    LZMA, which has no end; LZMA2 has one."""
    *before, first = coders
    if len(coders) > MAX_CODERS:
        return False
    if first.method == _LZMA2:
        return all(each.method in _BRANCHES or each.method == _DELTA for each in before)
    return not before and first.method in (_COPY, _LZMA, _DEFLATE, _BZIP2)


def _make_unpacker(folder: Folder) -> _Unpacker:
    method = folder.coders[-1].method
    if method == _COPY:
        return _Copy()
    if method == _BZIP2:
        return bz2.BZ2Decompressor()
    if method == _DEFLATE:
        return _Deflate()
    filters = [_as_filter(coder, folder.size) for coder in folder.coders]
    return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters)


class _Copy:
    """Stored as it is."""

    def __init__(self) -> None:
        self._rest = b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        whole = self._rest + data
        self._rest = whole[max_length:]
        return whole[:max_length]


class _Deflate:
    """zlib as bz2 and lzma have it."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(-15)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


def _as_filter(coder: Coder, size: int) -> dict[str, Any]:
    options = coder.options
    if coder.method == _LZMA2 and len(options) == 1 and options[0] <= 40:
        window = (1 << 32) - 1 if options[0] == 40 else (2 | options[0] & 1) << options[0] // 2 + 11
        return {"id": lzma.FILTER_LZMA2, "dict_size": _check_window(window, size)}
    if coder.method == _LZMA and len(options) == 5 and options[0] < 225:
        lengths = {"lc": options[0] % 9, "lp": options[0] // 9 % 5, "pb": options[0] // 45}
        window = int.from_bytes(options[1:], "little")
        return {"id": lzma.FILTER_LZMA1, "dict_size": _check_window(window, size), **lengths}
    if coder.method == _DELTA and len(options) == 1:
        return {"id": lzma.FILTER_DELTA, "dist": options[0] + 1}
    if coder.method in _BRANCHES and not options:
        return {"id": _BRANCHES[coder.method]}
    raise ValueError("it does not say how it was packed")


def _check_window(window: int, size: int) -> int:
    needed = max(4096, min(window, size))
    if needed > MAX_WINDOW:
        raise SourceError(f"unpacking takes {needed >> 20} MB of memory; unpack it yourself")
    return needed


class Source:
    """What a folder holds, unpacked as far as it is wanted; `left` is what may be unpacked in all."""

    def __init__(self, stream: BinaryIO, place: int, size: int, folder: Folder, left: list[int]) -> None:
        self._stream, self._place, self._size = stream, place, size
        self._folder, self._left = folder, left
        self._at = 0

    @cached_property
    def _unpacker(self) -> _Unpacker:
        return _make_unpacker(self._folder)

    def read(self, start: int, count: int) -> bytes:
        """So many bytes from there, or less of much; what lies before is passed over."""
        while self._at < start:
            self._unpack(min(_CHUNK, start - self._at))
        found = bytearray()
        while len(found) < count:
            found += self._unpack(count - len(found))
        return bytes(found)

    def _unpack(self, count: int) -> bytes:
        """Some of what comes next."""
        check_wanted()
        packed = b""
        while not (data := self._unpacker.decompress(packed, count)):
            self._stream.seek(self._place)
            packed = self._stream.read(min(_CHUNK, self._size))
            if not packed:
                raise EOFError("it ends too early")
            self._place += len(packed)
            self._size -= len(packed)
        self._at += len(data)
        self._left[0] -= len(data)
        if self._left[0] < 0:
            raise SourceError("unpacks to far more than its size, likely a bomb; unpack it yourself")
        return data


class Content:
    """A file of a folder."""

    def __init__(self, source: Source, start: int, part: Part) -> None:
        self._source = source
        self._at, self._end = start, start + part.size
        self._checksum = part.checksum
        self._sum = 0

    def read(self, count: int) -> bytes:
        """Some bytes; none at its end, where they are compared with their checksum."""
        data = self._source.read(self._at, min(count, self._end - self._at))
        self._at += len(data)
        self._sum = zlib.crc32(data, self._sum)
        if self._at == self._end and self._checksum is not None and self._sum != self._checksum:
            raise ValueError("a file in it has changed")
        return data
