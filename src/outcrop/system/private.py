"""What Outcrop writes is for its owner alone: files of mode 600 in folders of mode 700, whatever the umask.

An index repeats the text of files that may be readable by nobody else, so it must not be readable by more people than
they are. Sharing stays possible: files are made as readable as the folder they go into, which is 700 unless its owner
opened it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Final

from outcrop.system.disk import BINARY, FILE, FOLDER

_OTHERS: Final = 0o077


def make_folder(path: Path) -> None:
    """Make a folder and its missing parents, readable by their owner only. Existing folders are left as they are."""
    missing = []
    for folder in (path, *path.parents):
        if folder.is_dir():
            break
        missing.append(folder)
    for folder in reversed(missing):
        try:
            folder.mkdir(FOLDER)
        except FileExistsError:
            if not folder.is_dir():  # else another process was faster
                raise


def create_file(path: Path) -> None:
    """Make an empty file for its owner alone, unless there is one."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | BINARY, FILE))


def open_new(path: Path, *, like_folder: bool = False) -> IO[bytes]:
    """A new file to write bytes to, for its owner alone; FileExistsError where there is one. With `like_folder` whoever
    may read the folder may read the file."""
    mode = path.parent.stat().st_mode & 0o666 | FILE if like_folder else FILE
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, mode), "wb")


def write_text(path: Path, text: str, encoding: str = "utf-8") -> None:
    """Write a whole file. A new one is for its owner alone; one that is there keeps its permissions."""
    data = text.encode(encoding)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | BINARY, FILE), "wb") as file:
        file.write(data)


def is_open(path: Path) -> bool:
    """Whether others may read this file or folder, and it is ours to change. Links are not followed."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return (
        os.name == "posix"
        and status.st_uid == os.geteuid()
        and (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode))
        and bool(status.st_mode & _OTHERS)
    )


def close_to_others(paths: Iterable[Path]) -> list[Path]:
    """Take every right on these files and folders from all but their owner; those for which that changed something."""
    return [path for path in paths if is_open(path) and _close(path)]


def _close(path: Path) -> bool:
    try:
        path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~_OTHERS)
    except OSError:  # a disk that cannot
        return False
    return not is_open(path)  # some disks accept it and keep no modes
