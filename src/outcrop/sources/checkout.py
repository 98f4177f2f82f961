"""Checked-out repositories: what git tracks in each, and whether a file is what git recorded.

A file is *dirty* when its content is not what the repository's index records for it: edited and not staged, never
added, or in conflict. Changes that are staged but not committed count as clean: telling them apart would mean reading
trees from git's packs. Line endings that git would convert do not make a file dirty.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from outcrop.sources.gitindex import Algorithm, IndexTooLarge, Tracked, TrackedFile, read_index
from outcrop.sources.gitrepo import Repository, ignores_case, object_format, repository_at

_MAX_HELD_BYTES: Final = 512 * 1024 * 1024
"""Limit for the indexes of all repositories in one run: a tree can hold any number of them, each a link to the same
large one. Enough for five repositories of a million files (not measured)."""
_ALGORITHMS: Final[dict[str, Algorithm]] = {"sha1": "sha1", "sha256": "sha256"}


@dataclass(frozen=True, slots=True)
class Checkout:
    """A repository's working tree as it is now; `tracked` is None where git's index cannot be read reliably.

    `unread` says why an index that is too large was not read; empty otherwise.
    """

    repository: Repository
    tracked: Tracked | None
    ignore_case: bool
    unread: str = ""

    @property
    def top(self) -> str:
        """The folder that holds the working tree."""
        return str(self.repository.top)

    @property
    def branch(self) -> str | None:
        """The branch that is checked out; None when it is a bare commit."""
        return self.repository.branch

    @property
    def revision(self) -> str | None:
        """The commit that is checked out; None before the first one."""
        return self.repository.revision


def read_checkout(repository: Repository, room_bytes: int = _MAX_HELD_BYTES) -> Checkout:
    """A repository with what it tracks, if that fits into `room_bytes`."""
    algorithm = _ALGORITHMS.get(object_format(repository))
    unread = ""
    tracked: Tracked | None = None
    try:
        if algorithm is not None:
            tracked = read_index(repository.git_dir / "index", algorithm, room_bytes)
    except IndexTooLarge as error:
        unread = (
            f"{error}; the folder is walked without it: what git tracks does not count against ignore rules"
        )
    return Checkout(repository, tracked, ignores_case(repository), unread)


class Checkouts:
    """The repositories that files belong to, each read once. A snapshot: make a new one for every run."""

    def __init__(self) -> None:
        self._at: dict[str, Checkout | None] = {}
        self._holding: dict[str, Checkout | None] = {}
        self._room_bytes = _MAX_HELD_BYTES

    def at(self, folder: str) -> Checkout | None:
        """The checkout whose top is this folder (a real path)."""
        if folder not in self._at:
            # Most folders are not a top: one check spares the rest.
            there = os.path.lexists(f"{folder.rstrip('/')}/.git")
            repository = repository_at(Path(folder)) if there else None
            found = None if repository is None else read_checkout(repository, self._room_bytes)
            if found is not None and found.tracked is not None:
                self._room_bytes -= found.tracked.held_bytes
            self._at[folder] = found
        return self._at[folder]

    def holding(self, folder: str) -> Checkout | None:
        """The innermost checkout that this folder (a real path) is part of."""
        passed: list[str] = []
        found: Checkout | None = None
        while folder not in self._holding:
            passed.append(folder)
            found = self.at(folder)
            parent = os.path.dirname(folder)  # noqa: PTH120 - one a folder of the walk; Path is 20 times slower
            if found is not None or parent == folder:
                break
            folder = parent
        else:
            found = self._holding[folder]
        self._holding.update(dict.fromkeys(passed, found))
        return found


def blob_id(data: bytes, algorithm: Algorithm = "sha1") -> str:
    """The name git gives to a file's content."""
    digest = hashlib.new(algorithm, b"blob %d\0" % len(data), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()


def is_dirty(checkout: Checkout, path: str, data: bytes) -> bool | None:
    """Whether `data`, the content of the file at `path` below the top, differs from what the index records; None if
    unknown.

    Two of git's conversions are tried: line endings, and the pointer that git-lfs stores in place of a large file.
    Under another filter (encryption, `ident`, another encoding) a clean file counts as dirty, unless its stat already
    proved it clean.
    """
    if checkout.tracked is None:
        return None
    entry = checkout.tracked.get(path)
    return entry is None or not records(entry, data, checkout.tracked.algorithm)


def records(entry: TrackedFile, data: bytes, algorithm: Algorithm) -> bool:
    """Whether an entry of the index records this content."""
    if entry.intent_to_add or entry.conflicted or not entry.is_plain:
        return False
    if blob_id(data, algorithm) == entry.blob:
        return True
    if b"\r\n" in data and blob_id(data.replace(b"\r\n", b"\n"), algorithm) == entry.blob:
        return True
    return blob_id(_lfs_pointer(data), algorithm) == entry.blob


def _lfs_pointer(data: bytes) -> bytes:
    oid = hashlib.sha256(data).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(data)}\n".encode()
