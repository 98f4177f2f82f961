"""Many arrays in one file, mapped into memory at once.

A segment has some thirty arrays, and an index of a million chunks some twenty segments: as many files would cost a
start half a second, and every process hundreds of file descriptors. The file begins with what it holds, as JSON with a
checksum of its own; then come the arrays, each at a round address, and the checksums of their blocks of 4 KiB.

A search reads a few rows of arrays that take hundreds of megabytes, so a checksum of the whole would cost more than
the search. Blocks are as large as the pages that are read from the disk anyway, and each is checked when it is first
used. The checksum is a sum of 64-bit words, each times an odd number of its own, modulo 2**64: a change of any one word
changes it, and numpy does it at 11 GB/s where zlib.crc32 does 4 and blake2b 0.9 (`python -m benchmarks.checksums`).
It guards against disks and programs gone wrong, not against people who can write to the file.
"""

from __future__ import annotations

import json
import mmap
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from outcrop.system.arrays import NDArray
from outcrop.system.private import open_new

_MAGIC: Final = b"outcrop\x02"
_HEAD: Final = struct.Struct("<8sII")
_ALIGNED: Final = 64
"""Bytes of a cache line."""

_SUMS: Final = "checksums"
"""The array that holds the checksums of the blocks of all others, in their order."""

Arrays = dict[str, NDArray[Any]]

BLOCK_BYTES: Final = 4096
_WORDS: Final = BLOCK_BYTES // 8


def _scatter(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers that look random: the finalizer of splitmix64. (np.random takes 8 ms to import.)"""
    mixed = numbers * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


_FACTORS: Final = _scatter(np.arange(1, _WORDS + 1, dtype=np.uint64)) | np.uint64(1)


def count_blocks(size: int) -> int:
    """How many blocks an array of this many bytes has."""
    return -(-size // BLOCK_BYTES)


def sum_blocks(array: NDArray[Any]) -> NDArray[np.uint64]:
    """The checksum of each block of an array; what is missing of the last one counts as zeros."""
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    full = len(flat) // BLOCK_BYTES
    sums = np.zeros(count_blocks(len(flat)), np.uint64)
    sums[:full] = _words(flat, full) @ _FACTORS
    if full < len(sums):
        sums[full] = _sum_tail(flat, full)
    return sums


def _words(flat: NDArray[np.uint8], full: int) -> NDArray[np.uint64]:
    return flat[: full * BLOCK_BYTES].view(np.uint64).reshape(full, _WORDS)


def _sum_tail(flat: NDArray[np.uint8], full: int) -> np.uint64:
    tail = np.zeros(BLOCK_BYTES, np.uint8)
    rest = flat[full * BLOCK_BYTES :]
    tail[: len(rest)] = rest
    return np.uint64(tail.view(np.uint64) @ _FACTORS)


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays into a new file, with the checksums of their blocks as one array more."""
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    sums = np.concatenate([np.zeros(0, np.uint64), *map(sum_blocks, whole.values())])
    whole[_SUMS] = sums
    listed, size = [], 0
    for name, array in whole.items():
        listed.append((name, array.dtype.str, array.shape, size))
        size += -(-array.nbytes // _ALIGNED) * _ALIGNED
    header = json.dumps({"arrays": listed, "sums": zlib.crc32(sums.data if len(sums) else b"")}).encode()
    with open_new(path, like_folder=True) as file:
        file.write(_HEAD.pack(_MAGIC, len(header), zlib.crc32(header)) + header)
        file.write(bytes(-file.tell() % _ALIGNED))
        for array in whole.values():
            file.write(array.data if array.size else b"")
            file.write(bytes(-array.nbytes % _ALIGNED))


def map_arrays(path: Path) -> Arrays:
    """Map what `write_arrays` wrote. Raises ValueError or OSError when that cannot be what is there."""
    return map_watched(path)[0]


def map_watched(path: Path) -> tuple[Arrays, dict[str, Watched]]:
    """The same with what checks each array."""
    arrays, expected = _map(path)
    sums = arrays.pop(_SUMS, None)
    if sums is None or zlib.crc32(sums.data if len(sums) else b"") != expected:
        raise ValueError(f"the checksums of {path} are not what was saved")
    watched: dict[str, Watched] = {}
    start = 0
    for name, array in arrays.items():
        end = start + count_blocks(array.nbytes)
        watched[name] = Watched(array, sums[start:end], path.name, name)
        start = end
    if start != len(sums):
        raise ValueError(f"the checksums of {path} are not what was saved")
    return arrays, watched


def damaged_arrays(path: Path) -> Iterator[str]:
    """Of the arrays in a file those whose bytes are not the ones that were written; of a file that cannot be read at
    all, its name."""
    try:
        _, watched = map_watched(path)
    except (OSError, ValueError):
        yield path.name
        return
    yield from (name for name, array in watched.items() if not array.is_whole())


def _map(path: Path) -> tuple[Arrays, int]:
    with path.open("rb") as file:
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            raise ValueError(f"{path} is cut off")
        magic, length, checksum = _HEAD.unpack(head)
        header = file.read(length)
        if magic != _MAGIC or len(header) < length or zlib.crc32(header) != checksum:
            raise ValueError(f"{path} does not begin as it was saved")
        base = file.tell() + -file.tell() % _ALIGNED
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    listed = json.loads(header)
    found: Arrays = {}
    end = base
    for name, kind, shape, start in listed["arrays"]:
        dtype, count = np.dtype(kind), int(np.prod(shape, dtype=np.int64))
        end = base + start + -(-dtype.itemsize * count // _ALIGNED) * _ALIGNED
        if end > len(mapped):
            raise ValueError(f"{path} is cut off")
        array = np.frombuffer(mapped, dtype, count, base + start) if count else np.zeros(0, dtype)
        found[name] = array.reshape(shape)
    if end != len(mapped):
        raise ValueError(f"{path} is not in the shape it was saved in")
    return found, int(listed["sums"])


class Watched:
    """An array with the checksums of its blocks. A block is checked when first asked for; safe for threads, which may
    at worst check one twice."""

    def __init__(self, array: NDArray[Any], sums: NDArray[np.uint64], file: str, name: str) -> None:
        self._place = (file, name)
        self._flat = array.reshape(-1).view(np.uint8)
        self._row_bytes = array.nbytes // len(array) if len(array) else 0
        self._sums = sums
        self._seen = np.zeros(len(sums), np.bool_)

    def is_whole(self) -> bool:
        """Whether all of it is what was written. Reads what was not checked yet."""
        return bool(self._seen.all()) or self._check(np.flatnonzero(~self._seen))

    def require(self) -> None:
        """Raise DamagedArrays unless all of it is what was written."""
        if not self.is_whole():
            raise DamagedArrays(*self._place)

    def require_rows(self, rows: NDArray[np.intp]) -> None:
        """The same for the blocks that hold some rows."""
        if not len(rows) or not self._row_bytes or self._seen.all():
            return
        starts = rows.astype(np.int64) * self._row_bytes
        first, last = starts // BLOCK_BYTES, (starts + self._row_bytes - 1) // BLOCK_BYTES
        wanted = np.zeros(len(self._sums), np.bool_)
        for step in range(int((last - first).max()) + 1):
            wanted[np.minimum(first + step, last)] = True
        if not self._check(np.flatnonzero(wanted & ~self._seen)):
            raise DamagedArrays(*self._place)

    def require_slice(self, start: int, end: int) -> None:
        """The same for the blocks that hold the rows from one to before another."""
        if start >= end:
            return
        first, last = start * self._row_bytes // BLOCK_BYTES, (end * self._row_bytes - 1) // BLOCK_BYTES
        if not self._check(first + np.flatnonzero(~self._seen[first : last + 1])):
            raise DamagedArrays(*self._place)

    def _check(self, blocks: NDArray[np.intp]) -> bool:
        """Check blocks that were not yet; ascending. A few megabytes at a time, so that little memory is taken."""
        full = len(self._flat) // BLOCK_BYTES
        for start in range(0, len(blocks), 1024):
            some = blocks[start : start + 1024]
            whole = some[some < full]
            if len(whole) and whole[-1] - whole[0] + 1 == len(whole):  # side by side: no copy
                found = _words(self._flat, full)[whole[0] : whole[-1] + 1] @ _FACTORS
            else:
                found = _words(self._flat, full)[whole] @ _FACTORS
            if not np.array_equal(found, self._sums[whole]):
                return False
            if len(whole) < len(some) and _sum_tail(self._flat, full) != self._sums[full]:
                return False
            self._seen[some] = True
        return True


class DamagedArrays(IndexError):
    """An array of a file is not what was written: `file` names it."""

    def __init__(self, file: str, name: str) -> None:
        super().__init__(f"{file}/{name} is not what was saved")
        self.file = file
