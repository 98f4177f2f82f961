"""Packs of a git repository: their indexes, what they hold at an offset, and deltas.

A stranger's packs are hostile input: sizes are checked before memory is taken, and files are read rather than mapped,
so that one that is cut short under a reader is an error and not a crash.
"""

from __future__ import annotations

import os
import stat
import zlib
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

from outcrop.errors import SourceError
from outcrop.system.dataclass import dataclass

Kind = Literal["commit", "tree", "blob", "tag"]

KINDS: Final[dict[int, Kind]] = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
HEADER: Final = 64
"""Bytes that hold the head of any object, packed or loose."""
_BY_OFFSET, _BY_NAME = 6, 7
_FLAGS: Final = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NONBLOCK", "O_BINARY"))
_BLOCK: Final = 4096
_LARGE_BLOCK: Final = 256 * 1024


class MissingObject(SourceError):
    """The repository does not hold this object: it is shallow, partial or damaged."""


class ObjectTooLarge(SourceError):
    """An object larger than the caller takes."""


class Damaged(SourceError):
    """A pack or an object is not what git writes."""


class PackEntry(NamedTuple):
    """What a pack holds at an offset: its type, the size of what is packed there, where that begins, and for a delta
    the offset or the name of its base."""

    type: int
    size: int
    at: int
    base: int | bytes


@dataclass(frozen=True, slots=True)
class OpenFile:
    """An open file, closed with its last reader. It stays readable when git deletes it."""

    name: str
    handle: int
    size: int

    @classmethod
    def open(cls, path: Path) -> OpenFile:
        """Open a plain file; a pipe in its place must not hang the reader."""
        handle = os.open(path, _FLAGS)
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            os.close(handle)
            raise Damaged(f"{path} is not a plain file")
        return cls(path.name, handle, status.st_size)

    def __del__(self) -> None:
        os.close(self.handle)

    def read(self, at: int, count: int) -> bytes:
        """These bytes, all of them."""
        data = self._read_up_to(at, count)
        if len(data) != count:
            raise Damaged(f"{self.name} ends before it should")
        return data

    def _read_up_to(self, at: int, count: int) -> bytes:
        if not 0 <= at < self.size:  # an index may say anything
            return b""
        os.lseek(self.handle, at, os.SEEK_SET)  # Windows has no pread
        return os.read(self.handle, count)

    def blocks(self, at: int) -> Iterator[bytes]:
        """What follows an offset."""
        size = _BLOCK
        while block := self._read_up_to(at, size):
            yield block
            at += len(block)
            size = _LARGE_BLOCK

    def inflate(self, at: int, size: int) -> bytes:
        """The `size` bytes that are packed at an offset, neither more nor fewer."""
        unpacker, parts, room = zlib.decompressobj(), [], size + 1
        for block in self.blocks(at):
            try:
                part = unpacker.decompress(block, room)
            except zlib.error as error:
                raise Damaged(f"{self.name} is damaged at {at}: {error}") from error
            parts.append(part)
            room -= len(part)
            if unpacker.eof or room <= 0:
                break
        data = b"".join(parts)
        if len(data) != size:
            raise Damaged(f"{self.name} does not hold at {at} what it says")
        return data


class Pack:
    """A pack with its index of version 2: names in order, and where each object begins."""

    def __init__(self, index: Path, digest_bytes: int) -> None:
        self.index = OpenFile.open(index)
        self.pack = OpenFile.open(index.with_suffix(".pack"))
        self._digest = digest_bytes
        head = self.index.read(0, 8 + 1024)
        self._fanout = [int.from_bytes(head[at : at + 4], "big") for at in range(8, len(head), 4)]
        count = self._fanout[-1]
        min_size = 8 + 1024 + count * (digest_bytes + 8) + 2 * digest_bytes
        if head[:8] != b"\xfftOc\0\0\0\2" or self._fanout != sorted(self._fanout) or self.index.size < min_size:
            raise Damaged(f"{index.name} is not a pack index of version 2; `git gc` writes one")
        if self.pack.read(0, 4) != b"PACK":
            raise Damaged(f"{self.pack.name} is not a pack")
        self._names = 8 + 1024
        self._offsets = self._names + count * (digest_bytes + 4)
        self._long = self._offsets + 4 * count

    def _name(self, place: int) -> bytes:
        return self.index.read(self._names + place * self._digest, self._digest)

    def _first(self, prefix: bytes) -> tuple[int, int]:
        """The place of the first name that is not below a prefix, and where names with its first byte end."""
        low, end = self._fanout[prefix[0] - 1] if prefix[0] else 0, self._fanout[prefix[0]]
        size = self._digest
        if (end - low) * size > _LARGE_BLOCK:  # of a repository with millions of objects
            return low + bisect_left(range(low, end), prefix, key=self._name), end
        block = self.index.read(self._names + low * size, (end - low) * size)
        at = bisect_left(range(0, len(block), size), prefix, key=lambda place: block[place : place + size])
        return low + at, end

    def find(self, name: bytes) -> int | None:
        """Where an object begins."""
        place, end = self._first(name)
        if place >= end or self._name(place) != name:
            return None
        at = int.from_bytes(self.index.read(self._offsets + 4 * place, 4), "big")
        if at & 0x80000000:
            at = int.from_bytes(self.index.read(self._long + 8 * (at & 0x7FFFFFFF), 8), "big")
        return at

    def complete(self, prefix: str, most: int) -> list[str]:
        """Names that begin so."""
        place, end = self._first(bytes.fromhex(prefix + "0" * (len(prefix) % 2)))
        found: list[str] = []
        while place < end and len(found) < most:
            name = self._name(place).hex()
            if not name.startswith(prefix):
                break
            found.append(name)
            place += 1
        return found

    def entry(self, at: int) -> PackEntry:
        """The head of what is packed at an offset."""
        data = next(self.pack.blocks(at), b"")[:HEADER]
        try:
            byte, place = data[0], 1
            kind, size, shift = byte >> 4 & 7, byte & 15, 4
            while byte & 0x80:
                byte = data[place]
                size |= (byte & 0x7F) << shift
                place, shift = place + 1, shift + 7
            base: int | bytes = 0
            if kind == _BY_OFFSET:
                byte = data[place]
                back, place = byte & 0x7F, place + 1
                while byte & 0x80:
                    byte = data[place]
                    back, place = (back + 1) << 7 | byte & 0x7F, place + 1
                base = at - back
                if not 0 < base < at:
                    raise Damaged(f"{self.pack.name} has a delta at {at} whose base is not before it")
            elif kind == _BY_NAME:
                base = data[place : place + self._digest]
                place += self._digest
            elif kind not in KINDS:
                raise Damaged(f"{self.pack.name} holds something unknown at {at}")
        except IndexError as error:
            raise Damaged(f"{self.pack.name} ends before it should") from error
        return PackEntry(kind, size, at + place, base)


def apply_delta(base: bytes, delta: bytes, max_bytes: int) -> bytes:
    """What a delta makes of its base: runs copied from it, and runs that the delta brings."""
    try:
        source, at = _varint(delta, 0)
        size, at = _varint(delta, at)
        check_size(size, max_bytes)
        out, made = [], 0
        while at < len(delta) and made <= size:
            code = delta[at]
            at += 1
            if code & 0x80:
                numbers = [0] * 7
                for bit in range(7):
                    if code >> bit & 1:
                        numbers[bit] = delta[at]
                        at += 1
                start = int.from_bytes(bytes(numbers[:4]), "little")
                count = int.from_bytes(bytes(numbers[4:]), "little") or 0x10000
                part = base[start : start + count]
            else:
                count = code
                part = delta[at : at + count]
                at += count
            if not count or len(part) != count:
                raise Damaged("a delta copies what is not there")
            out.append(part)
            made += count
    except IndexError as error:
        raise Damaged("a delta ends before it should") from error
    if source != len(base) or made != size:
        raise Damaged("a delta does not fit its base")
    return b"".join(out)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 64:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at
    raise Damaged("a delta states a size that no object has")


def check_size(size: int, max_bytes: int) -> None:
    """Refuse an object before memory is taken for it."""
    if size > max_bytes:
        raise ObjectTooLarge(f"an object of {size:,} bytes is over the limit of {max_bytes:,}")
