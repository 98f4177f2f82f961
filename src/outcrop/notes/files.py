"""Notes on disk: read, replaced, moved and removed so that no link leads out and nothing is lost half-way.

Every folder on the way is opened from the one above it, without following links, and what is done is done in the folder
that was opened: a link that is put in its place meanwhile changes nothing. A note is replaced by renaming a finished,
synced file over it. Writers of all processes take turns by a lock on a file in `.outcrop`, which the walk passes over.

How folders are opened and locks are taken on each system is in `system/disk.py`. On a disk without locks, such as some
network drives, a write says so.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from outcrop.errors import Conflict, DatabaseBusy, NotAllowed, NotFound, SourceError, TooLarge
from outcrop.notes.names import fold, is_name, is_note_name, require_portable
from outcrop.system import disk
from outcrop.system.disk import Folder
from outcrop.system.private import make_folder

log = logging.getLogger(__name__)

CONTROL: Final = ".outcrop"
"""The folder with the lock and the note being written; hidden, so never a note itself."""
MAX_BYTES: Final = 1_000_000
"""The most a note may hold: about 200 000 words, more than anyone reads or an agent can take in (not measured)."""
LOCK_WAIT_S: Final = 30.0
"""How long a writer waits for the others, as for the database."""


class NoteFiles:
    """The notes below one folder. Paths are those of `note_path`; changes are to be made inside `locked`."""

    def __init__(self, root: Path) -> None:
        self.root = root.expanduser().resolve()

    # ------------------------------------------------------------------ reading

    def read(self, path: str) -> tuple[bytes, os.stat_result]:
        """All bytes of a note, and what one stat tells of it."""
        with _said(path), self._folders(path) as folders:
            name = _own_name(folders[-1], path.rpartition("/")[2])
            descriptor = folders[-1].open(name, disk.READ)
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
                    status = folders[-1].stat(name)
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
            root = Folder(self.root)
        except OSError:
            return found, False
        _walk(root, "", found, unread)
        for error in unread:
            log.warning("a folder of the knowledge base cannot be read", extra={"reason": str(error)})
        return found, not unread

    # ------------------------------------------------------------------ writing

    @contextmanager
    def locked(self, wait_s: float = LOCK_WAIT_S) -> Iterator[None]:
        """The only writer, of all threads and processes, inside."""
        with _said("the knowledge base"), ExitStack() as stack:
            make_folder(self.root)
            root = _opened(stack, Folder(self.root))
            control = _opened(stack, _enter(root, CONTROL, make=True))
            lock = control.open("lock", disk.LOCK)
            stack.callback(os.close, lock)
            if not disk.wait_for_lock(lock, wait_s):
                raise DatabaseBusy("another process is writing to the knowledge base; try again")
            with suppress(FileNotFoundError):
                control.remove("new")  # of a writer that was killed
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
            with os.fdopen(control.open("new", disk.WRITE), "wb", buffering=0) as new:
                if before is not None and hasattr(os, "fchmod"):
                    os.fchmod(new.fileno(), stat.S_IMODE(before.st_mode))
                _write_all(new.fileno(), content)
                os.fsync(new.fileno())
                status = os.fstat(new.fileno())
            control.rename("new", folders[-1], name)  # closed: Windows moves no open file
            folders[-1].sync()
            return status

    def rename(self, path: str, to: str) -> None:
        """Give a note another name, which must be free."""
        require_portable(to)
        source, target = path.rpartition("/")[2], to.rpartition("/")[2]
        with _said(path), self._folders(path) as before, self._folders(to, make=True) as after:
            was = before[-1].stat(_own_name(before[-1], source))
            if not stat.S_ISREG(was.st_mode):
                raise NotAllowed(f"{path} is not a plain file")
            taken = [name for name in after[-1].names() if fold(name) == fold(target)]
            same_folder = before[-1].is_same(after[-1])
            if taken and not (same_folder and taken == [source] and source != target):
                there = f"{to.rpartition('/')[0]}/{taken[0]}".lstrip("/")
                raise Conflict(f"{there} is there already; choose another name, or delete it first")
            before[-1].rename(source, after[-1], target)
            after[-1].sync()
            before[-1].sync()
            _remove_empty(before, path)

    def remove(self, path: str) -> None:
        """Remove a note, and the folders that are empty then."""
        with _said(path), self._folders(path) as folders:
            name = _own_name(folders[-1], path.rpartition("/")[2])
            folders[-1].remove(name)
            folders[-1].sync()
            _remove_empty(folders, path)

    @contextmanager
    def _folders(self, path: str, *, make: bool = False) -> Iterator[list[Folder]]:
        """The root and each folder down to the one of this note, opened."""
        with ExitStack() as stack:
            folders = [_opened(stack, Folder(self.root))]
            done = ""
            for name in path.split("/")[:-1]:
                done += f"{name}/"
                folders.append(
                    _opened(stack, _enter(folders[-1], _own_name(folders[-1], name, done), make=make))
                )
            yield folders


def _opened(stack: ExitStack, folder: Folder) -> Folder:
    stack.callback(folder.close)
    return folder


def _walk(folder: Folder, path: str, found: dict[str, os.stat_result], unread: list[OSError]) -> None:
    """Every note in a folder and those below it; the folder is closed."""
    try:
        names = sorted(folder.names())
        for name in names:
            try:
                status = folder.stat(name)
                if stat.S_ISREG(status.st_mode) and is_note_name(name):
                    found[path + name] = status
                inner = folder.enter(name) if stat.S_ISDIR(status.st_mode) and is_name(name) else None
            except FileNotFoundError:
                continue  # gone since the folder was listed
            except OSError as error:
                unread.append(error)
                continue
            if inner is not None:
                _walk(inner, f"{path}{name}/", found, unread)
    except OSError as error:
        unread.append(error)
    finally:
        folder.close()


def _own_name(folder: Folder, name: str, path: str = "") -> str:
    """This name, unless the folder has one that only looks the same."""
    names = folder.names()
    if name not in names:
        for other in names:
            if fold(other) == fold(name):
                raise Conflict(
                    f"{path or name!r} differs only in how it is written from {other!r}, which is there: use that"
                )
    return name


def _enter(folder: Folder, name: str, *, make: bool) -> Folder:
    """Open a folder in a folder, creating it if asked to."""
    if make:
        with suppress(FileExistsError):
            folder.make(name)
    try:
        return folder.enter(name)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            if stat.S_ISLNK(folder.stat(name).st_mode):
                raise NotAllowed(f"{name} is a link; links are not followed") from error
            raise Conflict(f"{name} is a file, not a folder") from error
        raise


def _refuse_others(folder: Folder, name: str, path: str) -> None:
    """What is to be replaced must be a plain file."""
    with suppress(FileNotFoundError):
        mode = folder.stat(name).st_mode
        if stat.S_ISLNK(mode):
            raise NotAllowed(f"{path} is a link; links are not followed")
        if not stat.S_ISREG(mode):
            raise Conflict(f"{path} is a folder, or something else that is not a note")


def _remove_empty(folders: list[Folder], path: str) -> None:
    """Remove the folders on the way to a note that hold nothing any more."""
    with suppress(OSError):  # one that is not empty ends it
        for folder, name in reversed(list(zip(folders[:-1], path.split("/")[:-1], strict=True))):
            folder.remove_folder(name)


def _write_all(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


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
