"""Notes on disk: read, replaced, moved and removed so that no link leads out and nothing is lost half-way.

Every folder on the way is opened from the one above it, without following links, and what is done is done in the folder
that was opened: a link that is put in its place meanwhile changes nothing. A note is replaced by renaming a finished,
synced file over it. Writers of all processes take turns by a lock on a file in `.outcrop`, which the walk passes over.

All of this is POSIX (`dir_fd`, `flock`). On a disk without `flock`, such as some network drives, a write says so.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from outcrop.errors import Conflict, DatabaseBusy, NotAllowed, NotFound, SourceError, TooLarge
from outcrop.notes.names import fold, is_name, is_note_name, require_portable
from outcrop.system.private import FILE, FOLDER, make_folder

log = logging.getLogger(__name__)

CONTROL: Final = ".outcrop"
"""The folder with the lock and the note being written; hidden, so never a note itself."""
MAX_BYTES: Final = 1_000_000
"""The most a note may hold: about 200 000 words, more than anyone reads or an agent can take in (not measured)."""
LOCK_WAIT_S: Final = 30.0
"""How long a writer waits for the others, as for the database."""
_LOCK_PAUSE_S: Final = 0.005

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe must not make us wait
_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


class NoteFiles:
    """The notes below one folder. Paths are those of `note_path`; changes are to be made inside `locked`."""

    def __init__(self, root: Path) -> None:
        self.root = root.expanduser().resolve()

    # ------------------------------------------------------------------ reading

    def read(self, path: str) -> tuple[bytes, os.stat_result]:
        """All bytes of a note, and what one stat tells of it."""
        with _said(path), self._folders(path) as folders:
            name = _own_name(folders[-1], path.rpartition("/")[2])
            descriptor = os.open(name, _READ, dir_fd=folders[-1])
            with os.fdopen(descriptor, "rb") as stream:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    raise NotAllowed(f"{path} is not a plain file")
                content = stream.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise TooLarge(f"{path} has more than {MAX_BYTES:,} bytes, the most a note may hold; split it")
        return content, status

    def status(self, path: str) -> os.stat_result | None:
        """One stat of a note; None where there is none."""
        with _said(path):
            try:
                with self._folders(path) as folders:
                    name = _own_name(folders[-1], path.rpartition("/")[2])
                    status = os.stat(name, dir_fd=folders[-1], follow_symlinks=False)
            except (NotFound, FileNotFoundError):
                return None
        if stat.S_ISLNK(status.st_mode):
            raise NotAllowed(f"{path} is a link; links are not followed")
        return status if stat.S_ISREG(status.st_mode) else None

    def walk(self) -> tuple[dict[str, os.stat_result], bool]:
        """path → stat of every note, and whether all folders could be read."""
        found: dict[str, os.stat_result] = {}
        unread: list[OSError] = []
        try:
            root = os.open(self.root, _FOLDER)
        except OSError:
            return found, False
        try:
            for folder, folders, names, here in os.fwalk(".", dir_fd=root, onerror=unread.append):
                folders[:] = sorted(name for name in folders if is_name(name))
                for name in filter(is_note_name, names):
                    with suppress(OSError):  # gone since the folder was listed
                        status = os.stat(name, dir_fd=here, follow_symlinks=False)
                        if stat.S_ISREG(status.st_mode):
                            found[f"{folder}/{name}".removeprefix("./")] = status
        finally:
            os.close(root)
        for error in unread:
            log.warning("a folder of the knowledge base cannot be read", extra={"reason": str(error)})
        return found, not unread

    # ------------------------------------------------------------------ writing

    @contextmanager
    def locked(self, wait_s: float = LOCK_WAIT_S) -> Iterator[None]:
        """The only writer, of all threads and processes, inside."""
        with _said("the knowledge base"), ExitStack() as stack:
            make_folder(self.root)
            root = _opened(stack, os.open(self.root, _FOLDER))
            control = _opened(stack, _enter(root, CONTROL, make=True))
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            lock = _opened(stack, os.open("lock", flags, FILE, dir_fd=control))
            _wait_for(lock, wait_s)
            with suppress(FileNotFoundError):
                os.unlink("new", dir_fd=control)  # of a writer that was killed
            yield

    def replace(self, path: str, content: bytes) -> os.stat_result:
        """Make this the content of a note, new or not: what was there stays until the new is safe on the disk."""
        if len(content) > MAX_BYTES:
            raise TooLarge(
                f"{path} would have {len(content):,} bytes; a note holds at most {MAX_BYTES:,}: split it"
            )
        before = self.status(path)
        if before is None:
            require_portable(path)
        with _said(path), self._folders(path, make=True) as folders, ExitStack() as stack:
            name = _own_name(folders[-1], path.rpartition("/")[2])
            _refuse_others(folders[-1], name, path)
            control = _opened(stack, _enter(folders[0], CONTROL, make=True))
            new = _opened(stack, os.open("new", _WRITE, FILE, dir_fd=control))
            if before is not None:
                os.fchmod(new, stat.S_IMODE(before.st_mode))
            _write_all(new, content)
            os.fsync(new)
            os.rename("new", name, src_dir_fd=control, dst_dir_fd=folders[-1])
            os.fsync(folders[-1])
            return os.fstat(new)

    def rename(self, path: str, to: str) -> None:
        """Give a note another name, which must be free."""
        require_portable(to)
        source, target = path.rpartition("/")[2], to.rpartition("/")[2]
        with _said(path), self._folders(path) as before, self._folders(to, make=True) as after:
            was = os.stat(_own_name(before[-1], source), dir_fd=before[-1], follow_symlinks=False)
            if not stat.S_ISREG(was.st_mode):
                raise NotAllowed(f"{path} is not a plain file")
            taken = [name for name in _names(after[-1]) if fold(name) == fold(target)]
            same_folder = os.path.samestat(os.fstat(before[-1]), os.fstat(after[-1]))
            if taken and not (same_folder and taken == [source] and source != target):
                there = f"{to.rpartition('/')[0]}/{taken[0]}".lstrip("/")
                raise Conflict(f"{there} is there already; choose another name, or delete it first")
            os.rename(source, target, src_dir_fd=before[-1], dst_dir_fd=after[-1])
            os.fsync(after[-1])
            os.fsync(before[-1])
            _remove_empty(before, path)

    def remove(self, path: str) -> None:
        """Remove a note, and the folders that are empty then."""
        with _said(path), self._folders(path) as folders:
            name = _own_name(folders[-1], path.rpartition("/")[2])
            os.unlink(name, dir_fd=folders[-1])
            os.fsync(folders[-1])
            _remove_empty(folders, path)

    @contextmanager
    def _folders(self, path: str, *, make: bool = False) -> Iterator[list[int]]:
        """The root and each folder down to the one of this note, opened."""
        with ExitStack() as stack:
            folders = [_opened(stack, os.open(self.root, _FOLDER))]
            done = ""
            for name in path.split("/")[:-1]:
                done += f"{name}/"
                folders.append(
                    _opened(stack, _enter(folders[-1], _own_name(folders[-1], name, done), make=make))
                )
            yield folders


def _opened(stack: ExitStack, descriptor: int) -> int:
    stack.callback(os.close, descriptor)
    return descriptor


def _names(folder: int) -> list[str]:
    return os.listdir(folder)


def _own_name(folder: int, name: str, path: str = "") -> str:
    """This name, unless the folder has one that only looks the same."""
    names = _names(folder)
    if name not in names:
        for other in names:
            if fold(other) == fold(name):
                raise Conflict(
                    f"{path or name!r} differs only in how it is written from {other!r}, which is there: use that"
                )
    return name


def _enter(folder: int, name: str, *, make: bool) -> int:
    """Open a folder in a folder, creating it if asked to."""
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, FOLDER, dir_fd=folder)
            os.fsync(folder)
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                raise NotAllowed(f"{name} is a link; links are not followed") from error
            raise Conflict(f"{name} is a file, not a folder") from error
        raise


def _refuse_others(folder: int, name: str, path: str) -> None:
    """What is to be replaced must be a plain file."""
    with suppress(FileNotFoundError):
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            raise NotAllowed(f"{path} is a link; links are not followed")
        if not stat.S_ISREG(mode):
            raise Conflict(f"{path} is a folder, or something else that is not a note")


def _remove_empty(folders: list[int], path: str) -> None:
    """Remove the folders on the way to a note that hold nothing any more."""
    with suppress(OSError):  # one that is not empty ends it
        for folder, name in reversed(list(zip(folders[:-1], path.split("/")[:-1], strict=True))):
            os.rmdir(name, dir_fd=folder)
            os.fsync(folder)


def _write_all(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _wait_for(lock: int, wait_s: float) -> None:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES, errno.EINTR):
                raise
            if time.monotonic() >= deadline:
                raise DatabaseBusy("another process is writing to the knowledge base; try again") from error
        time.sleep(_LOCK_PAUSE_S)


@contextmanager
def _said(path: str) -> Iterator[None]:
    """Errors of the operating system in words."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(
            f"there is no note {path}; list or search the knowledge base to see what is there"
        ) from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotAllowed(f"{path} is a link; links are not followed") from error
        if error.errno == errno.ENAMETOOLONG:
            raise NotAllowed(f"{path} is too long a name for this disk; shorten it") from error
        advice = _ADVICE.get(error.errno or 0, "check the disk and the permissions, then try again")
        raise SourceError(f"{path} cannot be read or written: {error.strerror or error}; {advice}") from error


_ADVICE: Final = {
    errno.ENOSPC: "free some space and try again",
    errno.EDQUOT: "free some space and try again",
    errno.EFBIG: "free some space and try again",
    errno.EIO: "check the disk, then try again",
    errno.EROFS: "check that the disk is mounted for writing, then try again",
    errno.EACCES: "check the permissions of the file and its folder, then try again",
    errno.EPERM: "check the permissions of the file and its folder, then try again",
}
