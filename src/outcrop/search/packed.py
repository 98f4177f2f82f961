"""Many arrays in one file, mapped into memory at once.

A slab has some thirty arrays, and an index of a million chunks some twenty slabs: as many files would cost a start half
a second, and every process hundreds of file descriptors. The file begins with what it holds, as JSON with a checksum
of its own; then come the arrays, each at a round address.
"""

from __future__ import annotations

import json
import mmap
import struct
import zlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from outcrop.private import open_new

_MAGIC: Final = b"outcrop\x01"
_HEAD: Final = struct.Struct("<8sII")
_ALIGNED: Final = 64
"""Bytes of a cache line."""

Arrays = dict[str, NDArray[Any]]


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays into a new file."""
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    listed, size = [], 0
    for name, array in whole.items():
        listed.append((name, array.dtype.str, array.shape, size, _checksum(array)))
        size += -(-array.nbytes // _ALIGNED) * _ALIGNED
    header = json.dumps(listed).encode()
    with open_new(path, like_folder=True) as file:
        file.write(_HEAD.pack(_MAGIC, len(header), zlib.crc32(header)) + header)
        file.write(bytes(-file.tell() % _ALIGNED))
        for array in whole.values():
            file.write(array.data if array.size else b"")
            file.write(bytes(-array.nbytes % _ALIGNED))


def map_arrays(path: Path) -> Arrays:
    """Map what `write_arrays` wrote. Raises ValueError or OSError when that cannot be what is there."""
    return {name: array for name, array, _ in _map(path)}


def damaged_arrays(path: Path, names: Collection[str] | None = None) -> Iterator[str]:
    """Of the arrays in a file, or of some, those whose bytes are not the ones that were written; of a file that cannot
    be read at all, its name."""
    try:
        found = _map(path)
    except (OSError, ValueError):
        yield path.name
        return
    for name, array, checksum in found:
        if (names is None or name in names) and zlib.crc32(
            array.data.cast("B") if array.size else b""
        ) != checksum:
            yield name


def _checksum(array: NDArray[Any]) -> int:
    return zlib.crc32(array.reshape(-1).view(np.uint8).data)


def _map(path: Path) -> list[tuple[str, NDArray[Any], int]]:
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
    found = []
    end = base
    for name, kind, shape, start, expected in json.loads(header):
        dtype, count = np.dtype(kind), int(np.prod(shape, dtype=np.int64))
        end = base + start + -(-dtype.itemsize * count // _ALIGNED) * _ALIGNED
        if end > len(mapped):
            raise ValueError(f"{path} is cut off")
        array = np.frombuffer(mapped, dtype, count, base + start) if count else np.zeros(0, dtype)
        found.append((name, array.reshape(shape), expected))
    if end != len(mapped):
        raise ValueError(f"{path} is not in the shape it was saved in")
    return found
