"""Faults wherever something is written: in SQLite by a VFS of ours, in our own files by the calls that write.

A point is a write, a sync, a truncation, an opening for writing, a renaming or a removal of a file below a folder. They
are counted; the n-th fails, alone or with all that follow, as on a disk that is full, broken or read-only.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import apsw

Kind = Literal["full", "broken", "read-only"]
KINDS: Final[tuple[Kind, ...]] = ("full", "broken", "read-only")

_ERRNO: Final = {"full": errno.ENOSPC, "broken": errno.EIO, "read-only": errno.EROFS}
_SQLITE: Final[dict[str, type[apsw.Error]]] = {
    "full": apsw.FullError,
    "broken": apsw.IOError,
    "read-only": apsw.ReadOnlyError,
}
_VFS: Final = "outcrop-faults"
_SYSTEM: Final = apsw.vfs_names()[0]


@dataclass(slots=True)
class Faults:
    """What fails: the `at`-th point (0: none), with `lasting` all that follow too. `points` are those that came by."""

    at: int = 0
    kind: Kind = "full"
    lasting: bool = False
    below: str = ""
    points: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def reached(self, what: str, path: str) -> bool:
        """Note a point; whether it shall fail."""
        if not self.below or not path.startswith(self.below):
            return False
        self.points.append(f"{what} {Path(path).name}")
        number = len(self.points)
        if not self.at or number < self.at or (number > self.at and not self.lasting):
            return False
        self.failed.append(self.points[-1])
        return True

    def for_sqlite(self, what: str, path: str) -> None:
        """A point of SQLite's."""
        if self.reached(what, path):
            raise _SQLITE[self.kind](f"injected: {what}")

    def for_files(self, what: str, path: str) -> None:
        """A point of ours."""
        if self.reached(what, path):
            raise OSError(_ERRNO[self.kind], os.strerror(_ERRNO[self.kind]), path)


_current: Faults = Faults()


class _File(apsw.VFSFile):
    def __init__(self, filename: apsw.URIFilename | str | None, flags: list[int]) -> None:
        self._path = filename if isinstance(filename, str) else filename.filename() if filename else ""
        super().__init__(_SYSTEM, filename, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        _current.for_sqlite("write", self._path)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        _current.for_sqlite("sync", self._path)
        super().xSync(flags)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        _current.for_sqlite("truncate", self._path)
        super().xTruncate(newsize)


class _Vfs(apsw.VFS):
    def __init__(self) -> None:
        super().__init__(_VFS, _SYSTEM)

    def xOpen(self, name: apsw.URIFilename | str | None, flags: list[int]) -> _File:  # noqa: N802
        path = name if isinstance(name, str) else name.filename() if name else ""
        if flags[0] & apsw.SQLITE_OPEN_CREATE and _current.reached("open", path):
            raise apsw.CantOpenError("injected: open")
        return _File(name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        if _current.reached("delete", filename):
            raise apsw.IOError("injected: delete")
        super().xDelete(filename, syncdir)


_installed: list[Any] = []


def _install() -> None:
    """Once a process: an audit hook cannot be taken back. It does nothing while no faults are set."""
    if _installed:
        return
    _installed.append(_Vfs())
    sys.addaudithook(_hook)


def _hook(event: str, args: tuple[Any, ...]) -> None:
    """Calls that change files, which Python tells of before it makes them."""
    if not _current.below or event not in _EVENTS:
        return
    _EVENTS[event](*args)


def _opening(path: object, _mode: object, flags: int) -> None:
    if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        _current.for_files("open", _text(path))


def _naming(what: str) -> Callable[..., None]:
    return lambda path, *_: _current.for_files(what, _text(path))


_EVENTS: Final[dict[str, Callable[..., None]]] = {
    "open": _opening,
    "os.rename": _naming("rename"),
    "os.mkdir": _naming("mkdir"),
    "os.remove": _naming("remove"),
    "os.rmdir": _naming("rmdir"),
}


def _text(path: object) -> str:
    """A name without a folder is one of a folder that is open: notes are written so."""
    name = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
    return name if not name or Path(name).is_absolute() else f"{_current.below}/{name}"


@contextmanager
def inject(faults: Faults, home: Path) -> Iterator[Faults]:
    """Have points below a folder counted, and fail as told, inside."""
    global _current  # noqa: PLW0603 - what SQLite and Python call back knows no other way
    _install()
    write, fsync = os.write, os.fsync

    def writing(descriptor: int, data: Any) -> int:
        _current.for_files("write", f"{_current.below}/descriptor")
        return write(descriptor, data)

    def syncing(descriptor: int) -> None:
        _current.for_files("sync", f"{_current.below}/descriptor")
        fsync(descriptor)

    faults.below = str(home.resolve())
    _current = faults
    apsw.set_default_vfs(_VFS)
    os.write, os.fsync = writing, syncing  # type: ignore[assignment]
    try:
        yield faults
    finally:
        os.write, os.fsync = write, fsync
        apsw.set_default_vfs(_SYSTEM)
        faults.below = ""
        _current = Faults()
