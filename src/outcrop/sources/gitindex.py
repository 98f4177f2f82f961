"""Tracked files as recorded in git's index, read from `.git/index`.

Read by hand because git must not be started: a repository's own configuration can run programs. The layout follows
git's documentation (gitformat-index): versions 2, 3 and 4, for SHA-1 and SHA-256. It is all or nothing: a damaged file,
a split index (part of it in another file) and a sparse one (folders in place of their files) give None.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from struct import error as struct_error
from typing import Literal

from outcrop.errors import SourceError
from outcrop.sources.files import read_plain
from outcrop.system.dataclass import dataclass

Algorithm = Literal["sha1", "sha256"]
"""How a repository names its objects."""

# A million files take about 100 MB; a larger index would take longer to read than the walk it is for.
_MAX_INDEX_BYTES = 256 * 1024 * 1024
# In version 4 names share prefixes at almost no cost, so a small file can expand to gigabytes of names. Every entry
# takes at least 63 bytes, which allows names of 250 bytes on average; those of large repositories have 60.
_NAMES_PER_BYTE = 4
_DIGEST_BYTES = {"sha1": 20, "sha256": 32}
_VERSIONS = (2, 3, 4)
_NAME_BYTES = 0xFFF  # longer names are terminated by a NUL
_EXTENDED, _STAGE = 0x4000, 0x3000
_INTENT_TO_ADD = 0x2000
_MODE_KIND = 0o170000
_PLAIN = 0o100000

_HEADER = Struct(">4sII")
# From the ten numbers at the start of an entry: mtime (seconds, nanoseconds), mode and size.
_STAT = Struct(">8xII8xI8xI")
_STAT_BYTES = _STAT.size
_SHORT = Struct(">H")
_LONG = Struct(">I")


@dataclass(frozen=True, slots=True)
class TrackedFile:
    """An entry of the index. `size` and `mtime_ns` are the working file's when git last looked at it (modulo 2³²
    bytes and seconds); `conflicted` means that a merge left several versions."""

    blob: str
    mode: int
    size: int
    mtime_ns: int
    intent_to_add: bool = False
    conflicted: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it is a file with content, rather than a link or a submodule."""
        return self.mode & _MODE_KIND == _PLAIN


@dataclass(frozen=True, slots=True)
class Tracked:
    """All entries of one index by path below the repository's top. Entries are decoded on demand."""

    algorithm: Algorithm
    written_ns: int
    _data: bytes
    _offsets: dict[bytes, int]
    _names: list[bytes]
    held_bytes: int = 0
    """The size of the file and of all names: the memory this takes, apart from a constant per entry."""

    def __len__(self) -> int:
        return len(self._offsets)

    def __contains__(self, path: str) -> bool:
        return _key(path) in self._offsets

    def __iter__(self) -> Iterator[str]:
        return (name.decode("utf-8", "surrogateescape") for name in self._offsets)

    def get(self, path: str) -> TrackedFile | None:
        """The entry of a path; None when git does not track it."""
        at = self._offsets.get(_key(path))
        if at is None:
            return None
        seconds, nanoseconds, mode, size = _STAT.unpack_from(self._data, at)
        digest = at + _STAT_BYTES
        end = digest + _DIGEST_BYTES[self.algorithm]
        (flags,) = _SHORT.unpack_from(self._data, end)
        extended = _SHORT.unpack_from(self._data, end + 2)[0] if flags & _EXTENDED else 0
        return TrackedFile(
            blob=self._data[digest:end].hex(),
            mode=mode,
            size=size,
            mtime_ns=seconds * 1_000_000_000 + nanoseconds,
            intent_to_add=bool(extended & _INTENT_TO_ADD),
            conflicted=bool(flags & _STAGE),
        )

    def holds_below(self, folder: str) -> bool:
        """Whether anything below a folder (a path that ends with a slash) is tracked."""
        key = _key(folder)
        at = bisect_left(self._names, key)
        return at < len(self._names) and self._names[at].startswith(key)

    def proves_unchanged(self, path: str, mtime_ns: int, size: int) -> bool:
        """Whether a stat alone shows that the file is what the index records. Same rule as git's: time and size are
        those in the index, and the file is older than the index, so that no change can hide within the same clock tick.
        False only means that the content must be compared."""
        at = self._offsets.get(_key(path))
        if at is None:
            return False
        seconds, nanoseconds, mode, recorded = _STAT.unpack_from(self._data, at)
        if recorded != size & 0xFFFFFFFF or seconds != mtime_ns // 1_000_000_000 & 0xFFFFFFFF:
            return False
        if mode & _MODE_KIND != _PLAIN:
            return False
        if nanoseconds == mtime_ns % 1_000_000_000:
            older = mtime_ns < self.written_ns
        else:  # some programs record whole seconds only
            older = nanoseconds == 0 and mtime_ns // 1_000_000_000 < self.written_ns // 1_000_000_000
        end = at + _STAT_BYTES + _DIGEST_BYTES[self.algorithm]
        (flags,) = _SHORT.unpack_from(self._data, end)
        # An extended entry may record nothing yet (`git add -N`); a conflict records several versions.
        return older and not flags & (_EXTENDED | _STAGE)


class IndexTooLarge(SourceError):
    """An index too large to be worth its memory."""


def read_index(file: Path, algorithm: Algorithm, room_bytes: int = _MAX_INDEX_BYTES) -> Tracked | None:
    """The entries of an index file, empty if it does not exist; None when it cannot be read reliably. Raises
    IndexTooLarge if the file or its names exceed `room_bytes`."""
    try:
        real = file.resolve()
        status = real.stat()
        if status.st_size > min(room_bytes, _MAX_INDEX_BYTES):
            raise IndexTooLarge(f"git's index is too large to be read ({status.st_size:,} bytes)")
        data = read_plain(real, status.st_size)
        offsets = _offsets(data, algorithm, room_bytes)
    except IndexTooLarge:
        raise
    except FileNotFoundError:
        return Tracked(algorithm, 0, b"", {}, [])  # nothing was ever added
    except (OSError, RuntimeError, SourceError, struct_error, IndexError, ValueError):
        return None
    # git writes them sorted, so sorting takes a single pass.
    held = len(data) + sum(map(len, offsets))
    return Tracked(algorithm, status.st_mtime_ns, data, offsets, sorted(offsets), held)


def _offsets(data: bytes, algorithm: Algorithm, room_bytes: int) -> dict[bytes, int]:
    """Where the entry of each name begins; ValueError for anything wrong or unknown."""
    digest_bytes = _DIGEST_BYTES[algorithm]
    end = len(data) - digest_bytes
    signature, version, count = _HEADER.unpack_from(data)
    if signature != b"DIRC" or version not in _VERSIONS or end < _HEADER.size:
        raise ValueError("not an index of a known version")
    checksum = data[end:]
    # A repository with index.skipHash leaves the checksum at zero.
    if checksum.strip(b"\0") and hashlib.new(algorithm, memoryview(data)[:end]).digest() != checksum:
        raise ValueError("the checksum is wrong")
    # A forged count cannot make this loop long: every entry consumes bytes.
    flags_at = _STAT_BYTES + digest_bytes
    if version == 4:
        max_bytes = min(room_bytes, _NAMES_PER_BYTE * len(data))
        offsets, at = _read_compressed(data, count, end, flags_at, max_bytes)
    else:
        offsets, at = _read_padded(data, count, end, flags_at)
    _check_extensions(data, at, end)
    return offsets


def _read_padded(data: bytes, count: int, end: int, flags_at: int) -> tuple[dict[bytes, int], int]:
    """Versions 2 and 3: each name in full, then one to eight NULs up to a multiple of eight bytes."""
    offsets: dict[bytes, int] = {}
    at = _HEADER.size
    for _ in range(count):
        high = data[at + flags_at]
        length = (high << 8 | data[at + flags_at + 1]) & _NAME_BYTES
        start = at + flags_at + (4 if high & 0x40 else 2)
        stop = start + length if length < _NAME_BYTES else data.index(b"\0", start, end)
        offsets[data[start:stop]] = at
        at += (stop - at + 8) & ~7
        if at > end:
            raise ValueError("truncated")
    return offsets, at


def _read_compressed(
    data: bytes, count: int, end: int, flags_at: int, max_bytes: int
) -> tuple[dict[bytes, int], int]:
    """Version 4: each name says how many bytes to drop from the end of the previous one, and what to append."""
    offsets: dict[bytes, int] = {}
    name = b""
    total = 0
    at = _HEADER.size
    for _ in range(count):
        high = data[at + flags_at]
        start = at + flags_at + (4 if high & 0x40 else 2)
        byte = data[start]
        start += 1
        drop = byte & 0x7F
        while byte & 0x80:
            byte = data[start]
            start += 1
            drop = (drop + 1) << 7 | byte & 0x7F
            if drop > len(name):
                raise ValueError("a name of negative length")
        if drop > len(name):
            raise ValueError("a name of negative length")
        stop = data.index(b"\0", start, end)
        total += len(name) - drop + stop - start
        if total > max_bytes:
            raise IndexTooLarge(f"the names in git's index come to more than {max_bytes:,} bytes")
        name = name[: len(name) - drop] + data[start:stop]
        offsets[name] = at
        at = stop + 1
    return offsets, at


def _check_extensions(data: bytes, at: int, end: int) -> None:
    """Reject extensions whose names begin in lower case (`link`, `sdir`): they change what the entries mean."""
    while at < end:
        if not 0x41 <= data[at] <= 0x5A:
            raise ValueError("an extension that must be understood")
        at += 8 + _LONG.unpack_from(data, at + 4)[0]
    if at != end:
        raise ValueError("truncated")


def _key(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")
