"""Many arrays in one file, mapped into memory at once.

A segment has some thirty arrays, and an index of a million chunks some twenty segments: as many files would cost a
start half a second, and every process hundreds of file descriptors. The file begins with what it holds, as JSON with a
checksum of its own; then come the arrays, each at a round address, and the checksums of their blocks (see `blocks`).
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
from numpy.typing import NDArray

from outcrop.index.blocks import Watched, count_blocks, sum_blocks
from outcrop.system.private import open_new

_MAGIC: Final = b"outcrop\x02"
_HEAD: Final = struct.Struct("<8sII")
_ALIGNED: Final = 64
"""Bytes of a cache line."""

_SUMS: Final = "checksums"
"""The array that holds the checksums of the blocks of all others, in their order."""

Arrays = dict[str, NDArray[Any]]


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
