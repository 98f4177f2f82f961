"""The file of a segment: many arrays in one, mapped into memory at once.

A segment has some thirty arrays, and an index of a million chunks some twenty segments: as many files would cost a
start half a second, and every process hundreds of file descriptors. The file begins with what it holds, as JSON with a
checksum of its own; then come the arrays, each at a round address, and the checksums of their blocks.
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

from outcrop.index.names import NAME_ARRAYS, Names
from outcrop.index.segment import PAIR_BYTES, ROWWISE, Segment, Watched, count_blocks, sum_blocks
from outcrop.system.arrays import NDArray
from outcrop.system.private import open_new

_MAGIC: Final = b"outcrop\x02"
_HEAD: Final = struct.Struct("<8sII")
_ALIGNED: Final = 64
"""Bytes of a cache line."""

_SUMS: Final = "checksums"
"""The array that holds the checksums of the blocks of all others, in their order."""

Arrays = dict[str, NDArray[Any]]

ARRAYS: Final[dict[str, tuple[type[np.generic], int]]] = {
    "chunk_ids": (np.int64, 1),
    "document_ids": (np.int64, 1),
    "code": (np.bool_, 1),
    "lengths": (np.uint32, 1),
    "terms": (np.uint64, 1),
    "offsets": (np.uint32, 1),
    "rows": (np.uint16, 1),
    "frequencies": (np.uint8, 1),
    "pairs": (np.uint8, 2),
    "bits": (np.uint64, 2),
    "vectors": (np.int8, 2),
    "scales": (np.float32, 1),
    "roles": (np.uint8, 1),
    "families": (np.uint8, 1),
    "files": (np.uint32, 1),
    "titles": (np.uint64, 1),
    "homes": (np.uint64, 1),
    "stems": (np.uint64, 2),
    "folders": (np.uint64, 2),
    "noted": (np.uint32, 1),
    "summary_bits": (np.uint64, 2),
    "summary_vectors": (np.int8, 2),
    "summary_scales": (np.float32, 1),
    **{name: (kind, 1) for name, kind in NAME_ARRAYS.items()},
}
"""The arrays of a segment as they are saved: type and number of axes."""


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
    """The arrays of a file whose bytes are not those that were written; of an unreadable file, its name."""
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


def save_segment(segment: Segment, file: Path) -> None:
    """Write a segment's arrays into a new file."""
    write_arrays(
        file, {name: getattr(segment.names if name in NAME_ARRAYS else segment, name) for name in ARRAYS}
    )


def load_segment(file: Path, rows: int) -> Segment:
    """Map a segment's file into memory. Raises ValueError or OSError when it cannot be what was saved."""
    arrays, watched = map_watched(file)
    if set(arrays) != set(ARRAYS):
        raise ValueError(f"{file} does not hold the arrays of a segment")
    for name, array in arrays.items():
        kind, axes = ARRAYS[name]
        if array.ndim != axes or array.dtype not in ((kind, np.uint32) if name == "rows" else (kind,)):
            raise ValueError(f"{name} in {file} is not the array that was saved")
    names = Names(**{name: arrays.pop(name) for name in NAME_ARRAYS})
    seen = np.zeros(len(arrays["terms"]), np.bool_)
    segment = Segment(**arrays, names=names, file=file, watched=watched, checked_terms=seen, counted={})
    by_row = [getattr(segment, name) for name in (*ROWWISE, "files")]
    if any(len(array) != rows for array in (*by_row, segment.pairs.T, segment.bits.T)):
        raise ValueError(f"{file} holds another number of rows than the manifest says")
    whole = len(segment.offsets) == len(segment.terms) + 1 and len(segment.rows) == len(segment.frequencies)
    if (
        not whole
        or segment.offsets[0] != 0
        or segment.offsets[-1] != len(segment.rows)
        or np.any(segment.offsets[1:] < segment.offsets[:-1])
        or len(segment.pairs) != PAIR_BYTES
    ):
        raise ValueError(f"{file} holds arrays that do not belong together")
    size = segment.vectors.shape[1]
    if segment.summary_vectors.shape[1] != size or any(
        len(bits) != -(-size // 64) for bits in (segment.bits, segment.summary_bits)
    ):
        raise ValueError(f"{file} holds vectors of two sizes")
    noted = (segment.summary_vectors, segment.summary_scales, segment.summary_bits.T)
    if any(len(array) != len(segment.noted) for array in noted) or not (
        len(segment.stems) == len(segment.folders) == len(segment.titles) == len(segment.homes)
    ):
        raise ValueError(f"{file} holds arrays that do not belong together")
    _check_names(names, file)
    return segment


def _check_names(names: Names, file: Path) -> None:
    for prefix in ("defined", "used"):
        lengths = {len(getattr(names, name)) for name in NAME_ARRAYS if name.startswith(prefix)}
        if len(lengths) > 1:
            raise ValueError(f"{file} holds names that do not belong together")
