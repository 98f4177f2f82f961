"""The files of a 7z archive, in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final

from outcrop.sources.sevenzip.folders import Content, Source
from outcrop.sources.sevenzip.listing import ENCRYPTED, START, UNKNOWN, read_files, read_header

_ROOM: Final = 64 * 1024**2  # what is passed over counts too


def open_sevenzip(stream: BinaryIO, most: int, most_files: int) -> Iterator[tuple[str, int, BinaryIO | str]]:
    """The name, size and content of each plain file, or why it is not read: of `most_files` files at most, and no more
    unpacked than `most` bytes and what is passed over. ValueError where the archive is damaged."""
    header = read_header(stream, most_files)
    files, streams = read_files(header)
    held = iter([file for file in files if file.holds])
    left = [most + _ROOM]
    place, first = START + streams.start, 0
    for folder, parts in zip(streams.folders, streams.parts, strict=True):
        reason = ENCRYPTED if folder.encrypted else "" if folder.readable else UNKNOWN
        source = None if reason else Source(stream, place, streams.packed[first], folder, left)
        place += sum(streams.packed[first : first + folder.streams])
        first += folder.streams
        start = 0
        for part in parts:
            file = next(held, None)
            if file is None:
                raise ValueError("it holds more than its list of files says")
            content = reason if source is None else Content(source, start, part)
            start += part.size
            if file.is_plain:
                yield file.name, part.size, content  # type: ignore[misc]  # it only has to be read
    if next(held, None) is not None:
        raise ValueError("it holds less than its list of files says")
    for file in files:
        if not file.holds and file.is_plain:
            yield file.name, 0, "empty"
