"""Objects of a git repository, read from its packs and loose files.

Git is never started: a stranger's repository can carry configuration that runs programs. The layout follows git's
documentation (gitformat-pack): pack indexes of version 2, whole objects, deltas by offset and by name, loose objects
and alternates, for SHA-1 and SHA-256. Every object is checked against its name, so damage cannot pass for content. A
chain of deltas is bounded in length and in bytes.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from pathlib import Path
from typing import Final

from outcrop.errors import SourceError
from outcrop.sources.checkout import Repository, object_format
from outcrop.sources.files import read_plain
from outcrop.sources.gitindex import Algorithm
from outcrop.sources.gitpacks import (
    HEADER,
    KINDS,
    Damaged,
    Kind,
    MissingObject,
    ObjectTooLarge,
    OpenFile,
    Pack,
    PackEntry,
    apply_delta,
    check_size,
)
from outcrop.system.limits import BoundedCache

MAX_OBJECT_BYTES: Final = 16 * 1024 * 1024
"""Of one object, unless the caller wants less: a tree of 300 000 files."""
_MAX_CHAIN: Final = 4096
"""Deltas on deltas: git itself writes at most 4 095."""
_MAX_CHAIN_BYTES: Final = 512 * 1024 * 1024
"""What rebuilding one object may unpack on the way: a chain of 50, git's default, of 10 MB each."""
_MAX_PACKS: Final = 200
"""Two files stay open for each. Git repacks at 50."""
_MAX_ALTERNATES: Final = 16
_CACHED_BYTES: Final = 48 * 1024 * 1024
_CACHED_OBJECTS: Final = 20_000
"""Bases of deltas that are kept: neighbours in history share them."""
_MAX_SMALL_BYTES: Final = 64 * 1024

_HEX: Final = re.compile(r"[0-9a-f]{4,64}")
_DIGEST_BYTES: Final = {"sha1": 20, "sha256": 32}


class ObjectStore:
    """The objects of one repository. Not for several threads at once."""

    def __init__(self, repository: Repository) -> None:
        self.algorithm: Algorithm = "sha256" if object_format(repository) == "sha256" else "sha1"
        self._digest = _DIGEST_BYTES[self.algorithm]
        self._folders = object_folders(repository.common_dir / "objects")
        self._packs: dict[Path, Pack] = {}
        self._bases: BoundedCache[tuple[Path, int], tuple[Kind, bytes]] = BoundedCache(
            _CACHED_OBJECTS, _CACHED_BYTES
        )
        self._scan()

    def read(self, name: str, kind: Kind, max_bytes: int = MAX_OBJECT_BYTES) -> bytes:
        """The content of an object of this kind."""
        found, data = self.read_any(name, max_bytes)
        if found != kind:
            raise Damaged(f"{name[:12]} is a {found}, not a {kind}")
        return data

    def read_any(self, name: str, max_bytes: int = MAX_OBJECT_BYTES) -> tuple[Kind, bytes]:
        """An object, checked against its name."""
        if len(name) != 2 * self._digest or not _HEX.fullmatch(name):
            raise Damaged(f"{name[:12]!r} is not the name of an object")
        raw = bytes.fromhex(name)
        found = self._find(raw, max_bytes)
        if found is None and self._scan():  # git repacked meanwhile
            found = self._find(raw, max_bytes)
        if found is None:
            raise MissingObject(
                f"{name[:12]} is not in the repository; a shallow or partial clone lacks some: `git fetch` brings them"
            )
        head = f"{found[0]} {len(found[1])}\0".encode()
        check = hashlib.new(self.algorithm, head, usedforsecurity=False)
        check.update(found[1])
        if check.digest() != raw:
            raise Damaged(f"{name[:12]} does not hold what its name says; `git fsck` tells more")
        return found

    def complete(self, prefix: str, most: int = 8) -> list[str]:
        """The names of objects that begin with these digits (four or more), at most so many."""
        if not _HEX.fullmatch(prefix):
            return []
        found = {name for pack in self._packs.values() for name in pack.complete(prefix, most)}
        for folder in self._folders:
            try:
                loose = [prefix[:2] + entry.name for entry in os.scandir(folder / prefix[:2])]
            except OSError:
                continue
            found.update(name for name in loose if name.startswith(prefix) and len(name) == 2 * self._digest)
        return sorted(found)[:most]

    def _scan(self) -> bool:
        """Look for packs; whether there are others than before."""
        found: dict[Path, Pack] = {}
        for folder in self._folders:
            try:
                files = sorted((folder / "pack").glob("*.idx"))
            except OSError:
                continue
            for index in files:
                try:
                    found[index] = self._packs.get(index) or Pack(index, self._digest)
                except FileNotFoundError:
                    continue  # git is just removing or writing it
                except OSError as error:
                    raise SourceError(f"{index} cannot be opened: {error.strerror}") from error
                if len(found) > _MAX_PACKS:
                    raise SourceError(
                        f"the repository has more than {_MAX_PACKS} packs; `git gc` makes them one"
                    )
        changed = found.keys() != self._packs.keys()
        self._packs = found
        return changed

    def _find(self, name: bytes, max_bytes: int) -> tuple[Kind, bytes] | None:
        for path, pack in self._packs.items():
            at = pack.find(name)
            if at is not None:
                return self._unpack(path, pack, at, max_bytes)
        return self._loose(name.hex(), max_bytes)

    def _loose(self, name: str, max_bytes: int) -> tuple[Kind, bytes] | None:
        for folder in self._folders:
            try:
                file = OpenFile.open(folder / name[:2] / name[2:])
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise SourceError(f"object {name[:12]} cannot be opened: {error.strerror}") from error
            return _read_loose(file, max_bytes)
        return None

    def _unpack(self, path: Path, pack: Pack, at: int, max_bytes: int) -> tuple[Kind, bytes]:
        """Follow the deltas down to a whole object, then apply them on the way back."""
        deltas: list[tuple[int, PackEntry]] = []
        unpacked = 0
        while True:
            known = self._bases.get((path, at))
            if known is not None:
                kind, data = known
                break
            entry = pack.entry(at)
            unpacked += entry.size
            check_size(entry.size, max_bytes)
            if len(deltas) > _MAX_CHAIN or unpacked > _MAX_CHAIN_BYTES:
                raise Damaged(f"{pack.pack.name} has a chain of deltas without an end at {at}")
            if entry.type in KINDS:
                kind, data = KINDS[entry.type], pack.pack.inflate(entry.at, entry.size)
                self._bases.put((path, at), (kind, data), len(data))
                break
            deltas.append((at, entry))
            if isinstance(entry.base, bytes):
                found = pack.find(entry.base)
                if found is None:
                    raise Damaged(f"{pack.pack.name} has a delta at {at} without its base")
                at = found
            else:
                at = entry.base
        for place, entry in reversed(deltas):
            data = apply_delta(data, pack.pack.inflate(entry.at, entry.size), max_bytes)
            unpacked += len(data)
            if unpacked > _MAX_CHAIN_BYTES:
                raise ObjectTooLarge(f"{pack.pack.name} has a chain of deltas at {place} that is too large")
            self._bases.put((path, place), (kind, data), len(data))
        check_size(len(data), max_bytes)
        return kind, data


def _read_loose(file: OpenFile, max_bytes: int) -> tuple[Kind, bytes]:
    """A loose object: its kind, its size and its content, packed together."""
    unpacker = zlib.decompressobj()
    try:
        head = unpacker.decompress(next(file.blocks(0), b""), HEADER)
    except zlib.error as error:
        raise Damaged(f"object {file.name[:12]} is damaged: {error}") from error
    found = re.match(rb"(commit|tree|blob|tag) (\d{1,18})\0", head)
    if found is None:
        raise Damaged(f"object {file.name[:12]} is damaged")
    size = int(found[2])
    check_size(size, max_bytes)
    whole = file.inflate(0, found.end() + size)
    return _kind(found[1]), whole[found.end() :]


def _kind(word: bytes) -> Kind:
    return next(kind for kind in KINDS.values() if kind == word.decode())


def object_folders(first: Path) -> list[Path]:
    """The folder of objects and those it borrows from."""
    found = [first]
    for folder in found:
        try:
            text = read_plain(folder / "info" / "alternates", _MAX_SMALL_BYTES)
        except SourceError:
            continue
        for line in text.decode("utf-8", "surrogateescape").splitlines():
            if not line or line.startswith("#") or "\0" in line:
                continue
            other = Path(os.path.normpath(folder / line))
            if other not in found and len(found) < _MAX_ALTERNATES:
                found.append(other)
    return found
