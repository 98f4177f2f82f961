"""Which files can hold a text: a signature of the trigrams of each file, a bit for each of 8 192 hashes.

Signatures lie beside the index in segments of a thousand files, bit by bit: the files that have some trigrams are the
AND of a few rows of 128 bytes each. They are derived, never changed, and hold for a file exactly as it was when it was
read: its name, times, size and inode are the key. A file that has none, or changed since, is one to be read.

A file of 10 kB has some 2 500 trigrams, so that a quarter of its bits are set: a text of ten letters, eight trigrams,
is looked for in vain in one file of 100 000.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

import numpy as np

from outcrop.system.arrays import NDArray
from outcrop.system.private import make_folder, open_new

log = logging.getLogger(__name__)

BITS: Final = 8_192
SEGMENT: Final = 1_024
"""Files of a full segment, which then takes a megabyte."""
MIN_FILES: Final = 2_000
"""Fewer are not signed: ripgrep reads them in some 50 ms."""
MAX_SIGNED_BYTES: Final = 1 << 20
"""A larger file has nearly all bits set, and is read anyway."""
SETTLED_NS: Final = 2_000_000_000
"""A file that changed within the last two seconds could change again and keep its times."""
_ENDING: Final = ".segment"
_WIDE: Final = (b"\xff\xfe", b"\xfe\xff")
"""ripgrep decodes files that begin so: their bytes are not what it matches."""


def key_of(uri: str, state: os.stat_result) -> int:
    """What a signature holds for."""
    said = f"{uri}\0{state.st_mtime_ns}\0{state.st_ctime_ns}\0{state.st_size}\0{state.st_ino}"
    return int.from_bytes(blake2b(os.fsencode(said), digest_size=8).digest(), "little")


def hash_trigrams(data: bytes) -> NDArray[np.uint32]:
    """The bits of a text, whatever the case of its ASCII letters."""
    codes = np.frombuffer(data.lower(), np.uint8).astype(np.uint32)
    whole = codes[:-2] * np.uint32(1 << 16) + codes[1:-1] * np.uint32(1 << 8) + codes[2:]
    return np.asarray(whole * np.uint32(2_654_435_761) // np.uint32((1 << 32) // BITS), np.uint32)


def is_telling(wanted: Sequence[Iterable[str]]) -> bool:
    """Whether each of the alternatives has a text that is long enough for a trigram."""
    return bool(wanted) and all(any(len(text.encode()) >= 3 for text in texts) for texts in wanted)


class Signatures:
    """Those that lie in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def exclude(self, keys: NDArray[np.uint64], wanted: Sequence[Iterable[str]]) -> NDArray[np.bool_]:
        """Of the files with these keys, those that hold none of the alternatives: all texts of one of them."""
        rows = [_rows_of(texts) for texts in wanted]
        if not rows or not all(len(some) for some in rows):
            return np.zeros(len(keys), np.bool_)
        empty = [np.zeros(0, np.uint64)]
        for path in self._folder.glob(f"*{_ENDING}"):
            signed, bits = _read_segment(path)
            found = np.zeros(bits.shape[1], np.uint8)
            for some in rows:
                found |= np.bitwise_and.reduce(bits[some], axis=0)
            empty.append(signed[np.unpackbits(found)[: len(signed)] == 0])
        return np.isin(keys, np.concatenate(empty))

    def refresh(self, files: Mapping[str, os.stat_result]) -> int:
        """Sign what is not signed; how many were. A segment of which less than half still holds is made again."""
        keys = {key_of(uri, state): uri for uri, state in files.items()}
        covered: set[int] = set()
        for path in self._folder.glob(f"*{_ENDING}"):
            live = set(_read_segment(path)[0].tolist()) & keys.keys()
            if 2 * len(live) < SEGMENT:
                path.unlink(missing_ok=True)
            else:
                covered |= live
        before = time.time_ns() - SETTLED_NS
        waiting = [
            (key, uri)
            for key, uri in keys.items()
            if key not in covered and max(files[uri].st_mtime_ns, files[uri].st_ctime_ns) < before
        ]
        for start in range(0, len(waiting), SEGMENT):
            self._write(waiting[start : start + SEGMENT])
        return len(waiting)

    def _write(self, files: Sequence[tuple[int, str]]) -> None:
        matrix = np.zeros((-(-len(files) // 8) * 8, BITS), np.bool_)
        signed: list[int] = []
        for key, uri in files:
            data = _read(uri, key)
            if data is not None:
                matrix[len(signed), hash_trigrams(data)] = True
                signed.append(key)
        if not signed:
            return
        bits = np.packbits(matrix[: -(-len(signed) // 8) * 8], axis=0).T
        make_folder(self._folder)
        name = self._folder / secrets.token_hex(8)
        with open_new(name, like_folder=True) as file:
            file.write(np.array([len(signed), *signed], np.uint64).tobytes())
            file.write(np.ascontiguousarray(bits).tobytes())
            file.flush()
            os.fsync(file.fileno())
        name.rename(name.with_suffix(_ENDING))


def _read_segment(path: Path) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """The keys and the bits of a segment; nothing where another process made it anew, or a crash left a part."""
    try:
        whole = np.memmap(path, np.uint8, "r")
        count = int(whole[:8].view(np.uint64)[0])
        start = 8 * (count + 1)
        if len(whole) == start + BITS * -(-count // 8):
            return whole[8:start].view(np.uint64), whole[start:].reshape(BITS, -1)
    except (OSError, ValueError, IndexError) as error:
        log.debug("a segment of signatures is passed over", extra={"reason": str(error)})
    return np.zeros(0, np.uint64), np.zeros((BITS, 0), np.uint8)


def _rows_of(texts: Iterable[str]) -> NDArray[np.uint32]:
    found = [hash_trigrams(text.encode("utf-8", "surrogatepass")) for text in texts if len(text.encode()) >= 3]
    return np.unique(np.concatenate(found)) if found else np.zeros(0, np.uint32)


def _read(uri: str, key: int) -> bytes | None:
    """The bytes of a file, if it is still the one that was listed and can be signed."""
    try:
        if os.lstat(uri).st_size > MAX_SIGNED_BYTES:
            return None
        data = Path(uri).read_bytes()
        if key_of(uri, os.lstat(uri)) != key or data.startswith(_WIDE):
            return None
    except OSError:
        return None
    return data
