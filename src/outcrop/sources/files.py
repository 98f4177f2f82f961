"""Read files, never more bytes than asked for."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from outcrop.errors import SourceError
from outcrop.records import SourceFile

# Non-blocking, so that opening a pipe cannot hang; links are not followed, so that a file swapped for one after the
# walk does not lead elsewhere. Windows has neither flag.
_FLAGS = os.O_RDONLY
for _flag in ("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):
    _FLAGS |= getattr(os, _flag, 0)

_ADVICE = {
    errno.ENOENT: "it is gone; sync the folder again",
    errno.ENOTDIR: "it is gone; sync the folder again",
    errno.EACCES: "permission denied; give your user the right to read it, or exclude it in .outcropignore",
    errno.EPERM: "permission denied; give your user the right to read it, or exclude it in .outcropignore",
    errno.ELOOP: "it is a link now; links are not followed",
    errno.EISDIR: "it is a folder",
    errno.ENAMETOOLONG: "its path is too long for this system; move it nearer to the top",
    errno.EMFILE: "too many files are open; raise the limit (ulimit -n)",
    errno.EIO: "the disk reports an error; check the disk",
    errno.ESTALE: "the network drive answers with a stale handle; mount it again",
}


def explain(error: Exception) -> str:
    """What went wrong, and what to do about it."""
    if not isinstance(error, OSError):
        return str(error)
    return _ADVICE.get(error.errno or 0) or f"{error.strerror or error}"


def read_file(file: SourceFile, max_bytes: int) -> bytes:
    """All bytes of a file on disk, or of a part of one; SourceError if it has more than `max_bytes` or is not a regular
    file."""
    place = file.inside
    if place is None:
        return read_plain(Path(file.uri), max_bytes)
    if place.end - place.start > max_bytes:
        raise SourceError(
            f"{file.path} is over the limit of {max_bytes} bytes; raise max_file_bytes to read it"
        )
    from outcrop.text.mime import decode_transfer  # parts of mailboxes alone have an encoding

    return decode_transfer(read_span(Path(place.file), place.start, place.end), place.encoding)


def read_span(path: Path, start: int, end: int) -> bytes:
    """The bytes of a regular file from one offset to another; SourceError where it is shorter by now."""
    with open_plain(path) as stream:
        try:
            stream.seek(start)
            content = stream.read(end - start)
        except OSError as error:
            raise SourceError(f"{path} cannot be read: {explain(error)}") from error
    if len(content) < end - start:
        raise SourceError(f"{path} is shorter than it was; sync again")
    return content


def take_name(name: str, taken: set[str]) -> str:
    """A name for a part of a file that no other part has: this one, or numbered where it is taken."""
    free, number = name, len(taken)
    while free in taken:
        free, number = f"{name}~{number}", number + 1
    taken.add(free)
    return free


def open_plain(path: Path) -> BinaryIO:
    """The regular file at `path`, open; SourceError where it is none or cannot be opened."""
    try:
        descriptor = os.open(path, _FLAGS)
    except (OSError, ValueError) as error:
        raise SourceError(f"{path} cannot be opened: {explain(error)}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SourceError(f"{path} is not a plain file; only plain files are read")
    return os.fdopen(descriptor, "rb")


def read_plain(path: Path, max_bytes: int) -> bytes:
    """All bytes of the regular file at `path`, as `read_file`."""
    with open_plain(path) as stream:
        try:
            # Not all that is allowed at once: as much memory would be taken for every file.
            room = min(os.fstat(stream.fileno()).st_size, max_bytes) + 1
            content = stream.read(room)
            if len(content) == room <= max_bytes:  # it grew, or is of a kind whose size nobody tells
                content += stream.read(max_bytes + 1 - room)
        except OSError as error:
            raise SourceError(f"{path} cannot be read: {explain(error)}") from error
    if len(content) > max_bytes:
        raise SourceError(
            f"{path} has grown past the limit of {max_bytes} bytes; raise max_file_bytes to read it"
        )
    return content
