"""Archives that were asked for (`--archives`): their files, unpacked into a folder that is there while they are read.

Whoever made an archive chose its names and sizes. Names are never used as paths, and what it unpacks to is counted byte
by byte: in all, for each file, and against its own size.
"""

from __future__ import annotations

import bz2
import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final, Literal, Protocol

from outcrop.errors import SourceError
from outcrop.records import Skipped, SourceFile
from outcrop.sources.exclusions import CREDENTIALS, SKIPPED_NAMES, looks_secret, reason_of_kind
from outcrop.sources.files import explain, open_plain, take_name
from outcrop.system.limits import check_wanted

MAX_MEMBERS: Final = 20_000
MAX_BYTES: Final = 1024**3
"""Of all files of one archive."""
MAX_RATIO: Final = 200
"""So many times its own size an archive may unpack to; text packs by ten, a bomb by a thousand."""
FREE_BYTES: Final = 10_000_000
"""From here on that counts."""
MAX_DIRECTORY: Final = 64 * 1024**2
"""Bytes of the list of files at the end of a zip."""
MAX_HEADER: Final = 1024**2
"""Bytes of a name or of attributes in a tar."""
XZ_MEMORY: Final = 128 * 1024**2
"""What unpacking xz may take: its highest level takes 65 MiB."""
_CHUNK: Final = 256 * 1024
_MAX_NAME: Final = 400
_WITHIN: Final = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
_BOOKKEEPING: Final = SKIPPED_NAMES | {"__MACOSX"}

ArchiveKind = Literal["zip", "tar", "7z"]
_ZIPS: Final = (".zip",)
_TARS: Final = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tbz", ".tar.xz", ".txz")


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Rules:
    """What is read of the files in archives: `pictures` if OCR reads them, `secrets` if credentials are indexed."""

    max_file_bytes: int
    pictures: bool = False
    secrets: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """A file of an archive: its path in there, and where it was unpacked."""

    name: str
    place: Path
    size: int


@dataclass(slots=True)
class Archive:
    """What was unpacked, and why the rest was not."""

    members: list[Member] = field(default_factory=list)
    notes: list[Skipped] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    unpacked: int = 0

    def describe(self, name: str) -> str:
        """The archive in some lines."""
        count = len(self.members)
        names = "\n".join(member.name for member in self.members[:_LISTED])
        more = f"\n… and {count - _LISTED:,} more" if count > _LISTED else ""
        return f"Archive {name}: {count:,} file{'' if count == 1 else 's'}.\n{names}{more}".strip()


_LISTED: Final = 500


def archive_kind(name: str) -> ArchiveKind | None:
    """What archive a file is by its name, of those that can be opened."""
    lowered = name.lower()
    if lowered.endswith(_ZIPS):
        return "zip"
    if lowered.endswith(".7z"):
        return "7z"
    return "tar" if lowered.endswith(_TARS) else None


def unpack(file: SourceFile, folder: Path, rules: Rules) -> Archive:
    """The files of an archive, unpacked into an empty folder. SourceError where it cannot be read, or is a bomb."""
    found = Archive()
    most = max(FREE_BYTES, min(MAX_BYTES, MAX_RATIO * (file.size or 0)))
    try:
        with open_plain(Path(file.uri)) as stream:
            for name, size, content in _open(stream, archive_kind(file.uri), most):
                check_wanted()
                _take(found, file, folder, rules, (name, size, content), most)
    except (OSError, ValueError, EOFError, RuntimeError, *_DAMAGE) as error:
        raise SourceError(f"damaged archive ({explain(error)}); check that the download is complete") from error
    return found


def _open(stream: BinaryIO, kind: ArchiveKind | None, most: int) -> Iterator[_Entry]:
    if kind == "7z":
        from outcrop.sources.sevenzip.reader import open_sevenzip  # few have one

        return open_sevenzip(stream, most, MAX_MEMBERS)
    return _open_zip(stream) if kind == "zip" else _open_tar(stream, most)


_DAMAGE: Final = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    NotImplementedError,
)
_Entry = tuple[str, int, "BinaryIO | str"]
"""The name of a file, its size, and its content or why it is not read."""


def _take(found: Archive, file: SourceFile, folder: Path, rules: Rules, entry: _Entry, most: int) -> None:
    given, size, content = entry
    parts = [part for part in PurePosixPath(given.replace("\\", "/")).parts if part not in ("/", "..", ".")]
    name = _printable("/".join(parts))
    if not name or any(part in _BOOKKEEPING for part in parts):
        return
    if len(found.members) + len(found.notes) >= MAX_MEMBERS:
        raise SourceError(f"holds more than {MAX_MEMBERS:,} files; unpack it and add the folder")
    reason = content if isinstance(content, str) else _refuse(name, size, rules)
    if reason:
        found.notes.append(Skipped(f"{file.path}/{name}", reason))
        return
    assert not isinstance(content, str)  # noqa: S101  it would be the reason
    place = folder / str(len(found.members)) / _plain_name(parts)
    place.parent.mkdir(parents=True)
    with place.open("xb") as out:
        written = 0
        while chunk := content.read(_CHUNK):
            written += len(chunk)
            found.unpacked += len(chunk)
            if found.unpacked > most:
                raise SourceError(
                    f"unpacks to more than {most / 1e6:,.0f} MB, for its size likely a bomb; unpack it yourself"
                )
            if written > rules.max_file_bytes:
                break
            out.write(chunk)
    if written > rules.max_file_bytes or not written:
        place.unlink()
        reason = "empty" if not written else f"over the limit of {rules.max_file_bytes / 1e6:.4g} MB"
        found.notes.append(Skipped(f"{file.path}/{name}", reason))
        return
    found.members.append(Member(take_name(name, found.taken), place, written))


def _refuse(name: str, size: int, rules: Rules) -> str:
    """Why a file of an archive is not read, by its name and what it says of its size."""
    if not rules.secrets and looks_secret(name):
        return CREDENTIALS
    if archive_kind(name):
        return "an archive in an archive; unpack it"
    if size > rules.max_file_bytes:
        return f"over the limit of {rules.max_file_bytes / 1e6:.4g} MB"
    return reason_of_kind(name, pictures=rules.pictures) or ""


def _printable(name: str) -> str:
    """A name as it can be kept and shown."""
    shown = "".join(char if char.isprintable() else "_" for char in name).replace("//", "/")
    return shown[-_MAX_NAME:].encode("utf-8", "replace").decode("utf-8").lstrip("/")


def _plain_name(parts: list[str]) -> Path:
    """Where a file is unpacked: what tells its format is its suffix, and of a Maildir the folder."""
    suffix = "".join(char for char in PurePosixPath(parts[-1]).suffix if char.isalnum() or char == ".")[:20]
    folder = parts[-2] if len(parts) > 1 and parts[-2] in ("cur", "new") else "file"
    return Path(folder) / f"file{suffix}"


def _open_zip(stream: BinaryIO) -> Iterator[_Entry]:
    _check_directory(stream)
    with zipfile.ZipFile(stream) as archive:
        for entry in archive.infolist():
            kind = stat.S_IFMT(entry.external_attr >> 16)
            if not entry.filename or entry.filename.endswith("/") or kind not in (0, stat.S_IFREG):
                continue
            if entry.flag_bits & 0x1:
                yield entry.filename, entry.file_size, "encrypted; unpack it with its password"
            elif entry.compress_type not in _WITHIN:
                yield entry.filename, entry.file_size, "packed in a way that is not read; unpack it"
            else:
                with archive.open(entry) as content:
                    yield entry.filename, entry.file_size, content  # type: ignore[misc]  # it only has to be read


def _check_directory(stream: BinaryIO) -> None:
    """The list of files of a zip is read at once: refuse one that would fill the memory."""
    size = stream.seek(0, io.SEEK_END)
    stream.seek(max(0, size - 65_557))
    tail = stream.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + 22:
        raise zipfile.BadZipFile("it has no list of files")
    count, directory = struct.unpack("<HL", tail[at + 10 : at + 16])
    if count > MAX_MEMBERS or directory > MAX_DIRECTORY:
        raise SourceError(f"holds more than {MAX_MEMBERS:,} files; unpack it and add the folder")
    stream.seek(0)


class _TarHeader(tarfile.TarInfo):
    """A header whose names and attributes are bounded: tarfile reads them at once."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _TarHeader:
        header = super().frombuf(buf, encoding, errors)
        if header.size > MAX_HEADER and header.type in _EXTENDED:
            raise SourceError("a name or attributes of more than a megabyte; likely a bomb")
        return header


_EXTENDED: Final = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


def _open_tar(stream: BinaryIO, most: int) -> Iterator[_Entry]:
    plain = _unpacked(stream, most)
    with tarfile.open(fileobj=plain, mode="r|", tarinfo=_TarHeader) as archive:
        for header in archive:
            archive.members = []  # type: ignore[attr-defined]  # which it would keep
            if not header.isreg() or header.issparse():
                continue
            content = archive.extractfile(header)
            if content is not None:
                yield header.name, header.size, content  # type: ignore[misc]  # it only has to be read


def _unpacked(stream: BinaryIO, most: int) -> BinaryIO:
    """What a packed tar holds, by its first bytes."""
    head = stream.read(6)
    stream.seek(0)
    unpackers: dict[bytes, Callable[[], _Unpacker]] = {
        b"\x1f\x8b": _Gzip,
        b"BZh": bz2.BZ2Decompressor,
        b"\xfd7zXZ\0": partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, memlimit=XZ_MEMORY),
    }
    for start, make in unpackers.items():
        if head.startswith(start):
            return io.BufferedReader(_Packed(stream, make, most), _CHUNK)
    return stream


class _Gzip:
    """zlib as bz2 and lzma have it."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(31)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


class _Packed(io.RawIOBase):
    """A packed stream as it is unpacked, of bounded size. It may be several, one after the other, as programs write
    that pack in parallel."""

    def __init__(self, stream: BinaryIO, make: Callable[[], _Unpacker], most: int) -> None:
        self._stream = stream
        self._make = make
        self._unpacker = make()
        self._left = most + 64 * 1024 * 1024  # headers and padding, and files that are passed over

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            check_wanted()
            chunk = b""
            if self._unpacker.eof:
                chunk = (self._unpacker.unused_data or self._stream.read(_CHUNK)).lstrip(b"\0")
                if not chunk:
                    return 0
                self._unpacker = self._make()
            elif self._unpacker.needs_input:
                chunk = self._stream.read(_CHUNK)
                if not chunk:
                    raise EOFError("it ends too early")
            data = self._unpacker.decompress(chunk, len(buffer))
            if data:
                self._left -= len(data)
                if self._left < 0:
                    raise SourceError("unpacks to far more than its size, likely a bomb; unpack it yourself")
                buffer[: len(data)] = data
                return len(data)
