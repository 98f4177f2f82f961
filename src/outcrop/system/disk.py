"""Locks, replacement and folders: everything in which systems differ, in one place.

The POSIX side runs in every test. The Windows side has never run on Windows here: its lock is tested against a fake of
`msvcrt`, its folders, which go by path, on Linux. Modules that only one system has are imported where they are used.
"""

from __future__ import annotations

import errno
import importlib
import os
import stat
import time
from pathlib import Path
from typing import Any, Final

WINDOWS: Final = os.name == "nt"
BINARY: Final = getattr(os, "O_BINARY", 0)
"""Without it Windows would write \\n as two bytes."""
READ: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | BINARY
"""No link is followed, and a pipe does not make us wait."""
WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0) | BINARY
LOCK: Final = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | BINARY
FILE: Final = 0o600
FOLDER: Final = 0o700
REPLACE_WAIT_S: Final = 2.0
"""How long a file on Windows may be held by a reader or a virus scanner before replacing it fails (not measured)."""
_PAUSE_S: Final = 0.005


def lock_posix(descriptor: int) -> bool:
    """Take the lock on an open file unless another process has it. It ends with the descriptor."""
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EINTR):
            return False
        raise  # such as a network drive that has no locks
    return True


def lock_windows(descriptor: int) -> bool:
    """The same by a lock on the first byte, which need not be there. Others cannot read it meanwhile."""
    msvcrt: Any = importlib.import_module("msvcrt")
    os.lseek(descriptor, 0, os.SEEK_SET)  # it locks from where the file stands
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EDEADLOCK):
            return False
        raise
    return True


try_lock: Final = lock_windows if WINDOWS else lock_posix


def wait_for_lock(descriptor: int, wait_s: float, pause_s: float = _PAUSE_S) -> bool:
    """Take the lock, trying for so long; whether that worked."""
    deadline = time.monotonic() + wait_s
    while not try_lock(descriptor):
        if time.monotonic() >= deadline:
            return False
        time.sleep(pause_s)
    return True


def replace_file(source: Path, target: Path, *, patient: bool = WINDOWS) -> None:
    """Put a finished file in the place of another, in one step: readers find the old or the new. `patient`: as long as
    somebody has the old one open Windows refuses, so it is tried again for a while."""
    deadline = time.monotonic() + REPLACE_WAIT_S
    while True:
        try:
            source.replace(target)
            return
        except PermissionError:
            if not patient or time.monotonic() >= deadline:
                raise
        time.sleep(_PAUSE_S)


def remove_unused(path: Path, *, lenient: bool = WINDOWS) -> bool:
    """Remove a file, if it is there; False where it stays. `lenient`: Windows keeps a file that a process has mapped,
    and it goes the next time."""
    try:
        path.unlink(missing_ok=True)
    except PermissionError:
        if not lenient:
            raise
        return False
    return True


class Folder:
    """An open folder; links are never followed, they raise ELOOP.

    On POSIX it is a descriptor: what is done is done in the folder that was opened, whatever is put in its place
    meanwhile. Windows opens no folders, so there everything goes `by_path`: links are looked for before each step, and
    one that is put in place between the look and the step is followed. Folders cannot be synced there; files are.
    """

    def __init__(self, path: str | Path, parent: Folder | None = None, *, by_path: bool = WINDOWS) -> None:
        self._by_path = by_path
        self._path: Path = Path(path) if parent is None else parent._path / path
        self._where: dict[str, Any] = {}
        if by_path:
            _require_folder(self._path)
        else:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
            self._descriptor = os.open(path, flags, **({} if parent is None else parent._where))
            self._where = {"dir_fd": self._descriptor}

    def _named(self, name: str) -> str:
        return str(self._path / name) if self._by_path else name

    def enter(self, name: str) -> Folder:
        """A folder in it."""
        return Folder(name, self, by_path=self._by_path)

    def names(self) -> list[str]:
        """What is in it."""
        return os.listdir(self._path if self._by_path else self._descriptor)  # noqa: PTH208 - a descriptor

    def stat(self, name: str) -> os.stat_result:
        """What is known of a file or folder in it."""
        return os.stat(self._named(name), follow_symlinks=False, **self._where)  # noqa: PTH116 - in a folder

    def open(self, name: str, flags: int) -> int:
        """Open a file in it; a new one is for its owner alone."""
        if self._by_path and (self._path / name).is_symlink():
            raise OSError(errno.ELOOP, "is a link", name)
        return os.open(self._named(name), flags, FILE, **self._where)

    def make(self, name: str) -> None:
        """Make a folder in it, for its owner alone."""
        os.mkdir(self._named(name), FOLDER, **self._where)  # noqa: PTH102 - in a folder
        self.sync()

    def remove(self, name: str) -> None:
        """Remove a file."""
        os.unlink(self._named(name), **self._where)

    def remove_folder(self, name: str) -> None:
        """Remove an empty folder."""
        os.rmdir(self._named(name), **self._where)
        self.sync()

    def rename(self, name: str, to: Folder, new: str) -> None:
        """Move a file to another folder, over what is there."""
        if self._by_path:
            replace_file(self._path / name, to._path / new)
        else:
            os.rename(name, new, src_dir_fd=self._descriptor, dst_dir_fd=to._descriptor)

    def sync(self) -> None:
        """What changed in it is on the disk."""
        if not self._by_path:
            os.fsync(self._descriptor)

    def is_same(self, other: Folder) -> bool:
        """Whether both are one folder."""
        if self._by_path:
            return self._path.samefile(other._path)
        return os.path.samestat(os.fstat(self._descriptor), os.fstat(other._descriptor))

    def close(self) -> None:
        """Let go of it."""
        if not self._by_path:
            os.close(self._descriptor)


def _require_folder(path: Path) -> None:
    status = path.lstat()
    is_junction = getattr(path, "is_junction", None)  # of Windows; Python 3.12 and newer knows them
    if stat.S_ISLNK(status.st_mode) or (is_junction is not None and is_junction()):
        raise OSError(errno.ELOOP, "is a link", str(path))
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "is not a folder", str(path))
