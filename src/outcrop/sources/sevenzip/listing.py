"""The list of files of a 7z archive: each number is read from bytes that are there, and no list is longer than told.

The format: https://py7zr.readthedocs.io/en/latest/archive_format.html.
"""

from __future__ import annotations

import stat
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final, NamedTuple

from outcrop.errors import SourceError
from outcrop.sources.sevenzip.folders import Coder, Folder, Part, Source, can_unpack

MAGIC: Final = b"7z\xbc\xaf\x27\x1c"
MAX_HEADER: Final = 32 * 1024**2
"""Bytes of the list of files, packed and unpacked: 20 000 names of 400 characters take 16 MB."""
START: Final = 32
"""Bytes before what is packed."""
ENCRYPTED: Final = "encrypted; unpack it with its password"
UNKNOWN: Final = "packed in a way that is not read; unpack it"

_END, _HEADER, _PROPERTIES, _MORE_STREAMS, _STREAMS, _FILES = range(6)
_PACKED, _FOLDERS, _PARTS, _SIZES, _SUMS, _CODERS, _UNPACKED_SIZES, _COUNTS = range(6, 14)
_EMPTY, _EMPTY_FILES, _NAMES, _ATTRIBUTES, _PACKED_HEADER = 0x0E, 0x0F, 0x11, 0x15, 0x17
_UNIX: Final = 0x8000
_REPARSE_POINT: Final = 0x400


class File(NamedTuple):
    """What is listed: whether it is a plain file, and whether it holds anything."""

    name: str
    is_plain: bool
    holds: bool


class Streams(NamedTuple):
    """What an archive holds packed: where it begins, how long each stream is, what unpacks it, and its parts."""

    start: int
    packed: list[int]
    folders: list[Folder]
    parts: list[list[Part]]


class Fields:
    """The numbers of a header, in order; ValueError where it ends too early, SourceError where it lists too much."""

    def __init__(self, data: bytes, most: int) -> None:
        self._data = data
        self._at = 0
        self.most = most

    @property
    def left(self) -> int:
        """Bytes that follow."""
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        """The next bytes."""
        if count > self.left:
            raise ValueError("its list of files ends too early")
        self._at += count
        return self._data[self._at - count : self._at]

    def byte(self) -> int:
        """The next byte."""
        return self.take(1)[0]

    def number(self) -> int:
        """Seven bits to eight bytes: ones at the front of the first byte say how many follow."""
        first = self.byte()
        more = next((count for count in range(8) if not first & (0x80 >> count)), 8)
        low = int.from_bytes(self.take(more), "little")
        return low | (first & (0x7F >> more)) << 8 * more if more < 8 else low

    def count(self) -> int:
        """How many files, or of what holds them, follow."""
        return self.check(self.number())

    def check(self, count: int) -> int:
        """A count that is not too large."""
        if count > self.most:
            raise SourceError(f"holds more than {self.most:,} files; unpack it and add the folder")
        return count

    def within(self) -> Fields:
        """The numbers of a part whose size stands before it, as it does before lists that may lie elsewhere."""
        return Fields(self.take(self.number()), self.most)

    def bits(self, count: int) -> list[bool]:
        """So many bits, filled up to whole bytes."""
        packed = self.take((count + 7) // 8)
        return [bool(packed[at >> 3] & 0x80 >> (at & 7)) for at in range(count)]

    def some(self, count: int) -> list[bool]:
        """Which of so many have a value: a byte says all, or bits follow."""
        return [True] * count if self.byte() else self.bits(count)


def read_header(stream: BinaryIO, most_files: int) -> Fields:
    """The list of files, unpacked where it is packed."""
    start = stream.read(START)
    if len(start) < START or not start.startswith(MAGIC):
        raise ValueError("it does not begin as a 7z archive does")
    offset, size, checksum = struct.unpack("<QQL", start[12:])
    if zlib.crc32(start[12:]) != struct.unpack("<L", start[8:12])[0]:
        raise ValueError("its beginning has changed")
    data = _read_at(stream, START + offset, size) if size else b"\1\0"
    if size and zlib.crc32(data) != checksum:
        raise ValueError("its list of files has changed")
    fields = Fields(data, most_files)
    kind = fields.byte()
    if kind == _PACKED_HEADER:
        streams = _read_streams(fields)
        if len(streams.folders) != 1 or not streams.folders[0].readable:
            is_encrypted = any(folder.encrypted for folder in streams.folders)
            raise SourceError(f"its list of files is {ENCRYPTED if is_encrypted else UNKNOWN}")
        folder = streams.folders[0]
        if folder.size > MAX_HEADER:
            raise SourceError("holds too long a list of files; unpack it and add the folder")
        source = Source(stream, START + streams.start, streams.packed[0], folder, [MAX_HEADER])
        fields = Fields(source.read(0, folder.size), most_files)
        kind = fields.byte()
    if kind != _HEADER:
        raise ValueError("it has no list of files")
    return fields


def _read_at(stream: BinaryIO, place: int, size: int) -> bytes:
    if size > MAX_HEADER:
        raise SourceError("holds too long a list of files; unpack it and add the folder")
    if place >= 1 << 62:
        raise ValueError("its list of files is not there")
    stream.seek(place)
    data = stream.read(size)
    if len(data) < size:
        raise ValueError("it ends too early")
    return data


def read_files(fields: Fields) -> tuple[list[File], Streams]:
    """What is listed, and where it lies."""
    streams = Streams(0, [], [], [])
    files: list[File] = []
    while (kind := fields.byte()) != _END:
        if kind == _PROPERTIES:
            while fields.byte() != _END:
                fields.take(fields.number())
        elif kind == _MORE_STREAMS:
            _read_streams(fields)
        elif kind == _STREAMS:
            streams = _read_streams(fields)
        elif kind == _FILES:
            files = _read_names(fields)
        else:
            raise ValueError("its list of files makes no sense")
    return files, streams


def _read_names(fields: Fields) -> list[File]:
    count = fields.count()
    names, links = [""] * count, [False] * count
    empty, is_file = [False] * count, list[bool]()
    while (kind := fields.byte()) != _END:
        inside = fields.within()
        if kind == _EMPTY:
            empty = inside.bits(count)
        elif kind == _EMPTY_FILES:
            is_file = inside.bits(sum(empty))
        elif kind == _NAMES:
            names = _split_names(inside, count)
        elif kind == _ATTRIBUTES:
            known = inside.some(count)
            _need_inside(inside)
            links = [at and _is_link(inside.take(4)) for at in known]
    told = iter(is_file)
    folders = [at and not next(told, False) for at in empty]
    return [
        File(name, not link and not folder, not nothing)
        for name, link, folder, nothing in zip(names, links, folders, empty, strict=True)
    ]


def _split_names(fields: Fields, count: int) -> list[str]:
    _need_inside(fields)
    names = fields.take(fields.left).decode("utf-16-le", "replace").split("\0")
    if len(names) != count + 1:
        raise ValueError("its names are not as many as its files")
    return names[:-1]


def _need_inside(fields: Fields) -> None:
    if fields.byte():
        raise SourceError(f"its list of files is {UNKNOWN}")


def _is_link(attributes: bytes) -> bool:
    """Whether a file is a link or anything else that is no plain file."""
    bits = int.from_bytes(attributes, "little")
    mode = bits >> 16 if bits & _UNIX else 0
    return bool(bits & _REPARSE_POINT) or (mode != 0 and stat.S_IFMT(mode) not in (0, stat.S_IFREG))


def _read_streams(fields: Fields) -> Streams:
    start, packed = 0, list[int]()
    folders: list[Folder] = []
    checksums: list[int | None] = []
    parts: list[list[Part]] | None = None
    while (kind := fields.byte()) != _END:
        if kind == _PACKED:
            start = fields.number()
            packed = _read_packed(fields, fields.count())
        elif kind == _FOLDERS:
            folders, checksums = _read_folders(fields)
        elif kind == _PARTS:
            parts = _read_parts(fields, folders, checksums)
        else:
            raise ValueError("its list of files makes no sense")
    if parts is None:
        parts = [[Part(folder.size, known)] for folder, known in zip(folders, checksums, strict=True)]
    if sum(folder.streams for folder in folders) > len(packed) or start + sum(packed) >= 1 << 62:
        raise ValueError("its list of files makes no sense")
    return Streams(start, packed, folders, parts)


def _read_packed(fields: Fields, count: int) -> list[int]:
    sizes: list[int] = []
    while (kind := fields.byte()) != _END:
        if kind == _SIZES:
            sizes = [fields.number() for _ in range(count)]
        elif kind == _SUMS:
            _read_checksums(fields, count)
        else:
            raise ValueError("its list of files makes no sense")
    return sizes


def _read_checksums(fields: Fields, count: int) -> list[int | None]:
    return [struct.unpack("<L", fields.take(4))[0] if known else None for known in fields.some(count)]


def _read_folders(fields: Fields) -> tuple[list[Folder], list[int | None]]:
    if fields.byte() != _CODERS:
        raise ValueError("its list of files makes no sense")
    count = fields.count()
    _need_inside(fields)
    made = [_read_coders(fields) for _ in range(count)]
    if fields.byte() != _UNPACKED_SIZES:
        raise ValueError("its list of files makes no sense")
    folders = []
    for coders, last, streams, readable in made:
        sizes = [fields.number() for coder in coders for _ in range(coder.outputs)]
        folders.append(Folder(coders, sizes[last], streams, readable))
    checksums: list[int | None] = [None] * count
    while (kind := fields.byte()) != _END:
        if kind != _SUMS:
            raise ValueError("its list of files makes no sense")
        checksums = _read_checksums(fields, count)
    return folders, checksums


def _read_coders(fields: Fields) -> tuple[tuple[Coder, ...], int, int, bool]:
    """The coders of a folder, the one whose output is the result first; which output that is, how many packed streams
    they read, and whether they are a chain that can be read."""
    coders = []
    for _ in range(_few(fields.number())):
        flags = fields.byte()
        method = fields.take(flags & 0x0F)
        inputs, outputs = (_few(fields.number()), _few(fields.number())) if flags & 0x10 else (1, 1)
        options = fields.take(fields.number()) if flags & 0x20 else b""
        coders.append(Coder(method, options, inputs, outputs))
    all_inputs = _few(sum(each.inputs for each in coders))
    all_outputs = _few(sum(each.outputs for each in coders))
    bound: dict[int, int] = {}
    for _ in range(all_outputs - 1):
        into = fields.number()
        bound[into] = fields.number()
    streams = all_inputs - len(bound)
    for _ in range(streams if streams > 1 else 0):
        fields.number()
    last = next((number for number in range(all_outputs) if number not in bound.values()), None)
    if last is None or streams < 1:
        raise ValueError("its list of files makes no sense")
    if any(each.inputs != 1 or each.outputs != 1 for each in coders):
        return tuple(coders), last, streams, False
    chain = [last]
    while chain[-1] in bound and len(chain) <= len(coders):
        chain.append(bound[chain[-1]])
    whole = sorted(chain) == list(range(len(coders)))
    ordered = tuple(coders[at] for at in chain) if whole else tuple(coders)
    return ordered, last, streams, whole and streams == 1 and can_unpack(ordered)


def _few(count: int) -> int:
    if not 0 < count <= 32:  # as 7-Zip has it
        raise ValueError("its list of files makes no sense")
    return count


def _read_parts(fields: Fields, folders: Sequence[Folder], checksums: Sequence[int | None]) -> list[list[Part]]:
    counts = [1] * len(folders)
    kind = fields.byte()
    if kind == _COUNTS:
        counts = [fields.number() for _ in folders]
        kind = fields.byte()
    fields.check(sum(counts))
    sizes: list[list[int]] = []
    for folder, count in zip(folders, counts, strict=True):
        given = [fields.number() for _ in range(count - 1)] if kind == _SIZES else [0] * max(0, count - 1)
        rest = folder.size - sum(given)
        if rest < 0:
            raise ValueError("its files are larger than what holds them")
        sizes.append([*given, rest] if count else [])
    if kind == _SIZES:
        kind = fields.byte()
    unknown = [not (count == 1 and known is not None) for count, known in zip(counts, checksums, strict=True)]
    told: Iterator[int | None] = iter(())
    while kind != _END:
        if kind != _SUMS:
            raise ValueError("its list of files makes no sense")
        wanted = sum(count for count, is_wanted in zip(counts, unknown, strict=True) if is_wanted)
        told = iter(_read_checksums(fields, wanted))
        kind = fields.byte()
    return [
        [Part(size, next(told, None) if is_wanted else known) for size in each]
        for each, known, is_wanted in zip(sizes, checksums, unknown, strict=True)
    ]
