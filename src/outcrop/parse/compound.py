"""Compound files, in which Office kept its documents until 2007: streams in sectors, and what is known of the document.

Read by hand (MS-CFB, MS-OLEPS): a chain is never longer than the file, and no stream is larger. olefile is kept by one
person, was released last in 2023, and checks less.
"""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from typing import Final

from outcrop.errors import ParseError
from outcrop.parse.writer import clean_text

MAGIC: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_LAST_SECTOR: Final = 0xFFFFFFFA
_NO_ENTRY: Final = 0xFFFFFFFF
_STREAM, _ROOT = 2, 5
_MAX_ENTRIES: Final = 100_000
_MAX_VALUES: Final = 200
_TEXT, _WIDE_TEXT, _TIME, _SHORT = 30, 31, 64, 2
_PROPERTIES: Final = {2: "title", 3: "subject", 4: "author", 5: "keywords", 12: "created"}
_EPOCH: Final = datetime(1601, 1, 1, tzinfo=UTC)


class CompoundFile:
    """An open compound file; ParseError where it is damaged."""

    def __init__(self, data: bytes) -> None:
        if len(data) < 512 or not data.startswith(MAGIC):
            raise ParseError("damaged: it ends too early; check that the download is complete")
        self._data = data
        shift, mini_shift = struct.unpack_from("<HH", data, 30)
        if shift not in (9, 12) or mini_shift != 6:
            raise _damaged()
        self._size, self._mini_size = 1 << shift, 1 << mini_shift
        self._sectors = len(data) // self._size
        (directory,) = struct.unpack_from("<L", data, 48)
        self._least, first_mini, _ = struct.unpack_from("<LLL", data, 56)
        self._table = self._read_table()
        self._entries = self._chain(directory, _MAX_ENTRIES * 128)
        self._mini_table = _as_numbers(self._chain(first_mini, len(data)))
        root = self._entry(0)
        if root is None or root[1] != _ROOT:
            raise _damaged()
        self._mini = self._chain(root[2], root[3])
        self._names = self._list_streams()

    def stream(self, name: str) -> bytes:
        """The content of a stream at the top; empty where there is none."""
        found = self._names.get(name)
        if found is None:
            return b""
        start, size = found
        if size >= self._least:
            return self._chain(start, size)
        parts = []
        for number in _follow(self._mini_table, start, size // self._mini_size + 1):
            parts.append(self._mini[number * self._mini_size : (number + 1) * self._mini_size])
        return b"".join(parts)[:size]

    def properties(self) -> dict[str, str]:
        """Title, subject, author, keywords and the day of its creation, where given."""
        try:
            return _read_properties(self.stream("\x05SummaryInformation"))
        except (struct.error, IndexError, OverflowError, LookupError):
            return {}

    def _read_table(self) -> tuple[int, ...]:
        """Which sector follows which: in sectors that the header lists, and a chain of more such lists."""
        listed = list(struct.unpack_from("<109L", self._data, 76))
        (more,) = struct.unpack_from("<L", self._data, 68)
        each = self._size // 4 - 1
        seen = 0
        while more < _LAST_SECTOR and seen <= self._sectors // each:
            numbers = _as_numbers(self._sector(more))
            listed += numbers[:each]
            more = numbers[each] if len(numbers) > each else _LAST_SECTOR
            seen += 1
        kept = dict.fromkeys(number for number in listed if number < self._sectors)
        return _as_numbers(b"".join(map(self._sector, kept)))

    def _sector(self, number: int) -> bytes:
        return self._data[(number + 1) * self._size : (number + 2) * self._size]

    def _chain(self, start: int, size: int) -> bytes:
        count = min(size // self._size + 1, self._sectors)
        return b"".join(map(self._sector, _follow(self._table, start, count)))[:size]

    def _entry(self, number: int) -> tuple[str, int, int, int, tuple[int, int, int]] | None:
        """Name, kind, first sector and size of an entry, and its neighbours and its child."""
        entry = self._entries[number * 128 : number * 128 + 128]
        if len(entry) < 128:
            return None
        length, kind = struct.unpack_from("<HB", entry, 64)
        name = entry[: max(0, min(length, 64) - 2)].decode("utf-16-le", "replace")
        start, size = struct.unpack_from("<LL", entry, 116)
        return name, kind, start, size, struct.unpack_from("<LLL", entry, 68)

    def _list_streams(self) -> dict[str, tuple[int, int]]:
        """First sector and size of the streams at the top: those of embedded documents lie deeper."""
        root = self._entry(0)
        found: dict[str, tuple[int, int]] = {}
        waiting, seen = [root[4][2] if root else _NO_ENTRY], set[int]()
        while waiting:
            number = waiting.pop()
            if number in seen or (entry := self._entry(number)) is None:
                continue
            seen.add(number)
            waiting += entry[4][:2]
            if entry[1] == _STREAM:
                found.setdefault(entry[0], (entry[2], entry[3]))
        return found


def _damaged() -> ParseError:
    return ParseError("damaged: its sectors make no sense; open it in its own program and save it again")


def _as_numbers(data: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(data) // 4}L", data[: len(data) // 4 * 4])


def _follow(table: tuple[int, ...], start: int, most: int) -> list[int]:
    """A chain of sectors, up to so many: one that runs in circles ends there."""
    chain: list[int] = []
    while start < len(table) and len(chain) < most:
        chain.append(start)
        start = table[start]
    return chain


def _read_properties(data: bytes) -> dict[str, str]:
    if len(data) < 48:
        return {}
    (section,) = struct.unpack_from("<L", data, 44)
    (count,) = struct.unpack_from("<L", data, section + 4)
    places = dict(struct.iter_unpack("<LL", data[section + 8 : section + 8 + 8 * min(count, _MAX_VALUES)]))
    codec = "cp1252"
    if 1 in places and struct.unpack_from("<L", data, section + places[1])[0] == _SHORT:
        (page,) = struct.unpack_from("<H", data, section + places[1] + 4)
        codec = "utf-8" if page == 65_001 else "utf-16-le" if page == 1_200 else f"cp{page}"
    found = {}
    for number, name in _PROPERTIES.items():
        if number in places:
            value = _read_value(data, section + places[number], codec)
            if value:
                found[name] = value
    return found


def _read_value(data: bytes, at: int, codec: str) -> str:
    kind, size = struct.unpack_from("<LL", data, at)
    if kind == _TEXT:
        text = data[at + 8 : at + 8 + min(size, 4_000)].decode(codec, "replace")
    elif kind == _WIDE_TEXT:
        text = data[at + 8 : at + 8 + 2 * min(size, 2_000)].decode("utf-16-le", "replace")
    elif kind == _TIME:
        (ticks,) = struct.unpack_from("<Q", data, at + 4)
        return (_EPOCH + timedelta(microseconds=ticks // 10)).date().isoformat() if ticks else ""
    else:
        return ""
    return " ".join(clean_text(text.partition("\0")[0]).split())
