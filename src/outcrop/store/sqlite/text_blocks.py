"""The texts of chunks, in blocks that are compressed as a whole.

A block holds some chunks that follow each other in one document: their texts, what lies between them, their headings
and what is noted of code. Compressed together they take 27 % of the bytes of the text alone, or 36 % in blocks of a
quarter of the size (30 000 chunks of PyPI's sources, zlib at level 6; levels 1 and 9 give 31 and 27 %).
"""

from __future__ import annotations

import struct
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, Final, Generic, NamedTuple, TypeVar, overload

from outcrop.errors import CorruptDatabase

BLOCK_CHARS: Final = 16_000
"""Characters a block, or one chunk: unpacking one takes 40 µs, and a search shows chunks of ten. Blocks of twice the
size would save 5 % of the bytes."""
_LEVEL: Final = 6
"""12 µs a chunk against 7 at level 1, for an eighth fewer bytes."""
_HEAD: Final = struct.Struct("<I")


class Entry(NamedTuple):
    """What a block holds of one chunk: the gap before it, its text, its headings as `rows.join_headings` joins them,
    and the notes of code as `rows.NOTE_COLUMNS` has them, None where it is not code."""

    gap: str
    text: str
    headings: str | None = None
    symbol: str | None = None
    kind: str | None = None
    signature: str | None = None
    summary: str | None = None
    names: str | None = None

    @property
    def notes(self) -> tuple[str | None, ...]:
        """As NOTE_COLUMNS."""
        return self[3:]


_FIELDS: Final = len(Entry._fields)


def split_blocks(entries: Sequence[Entry]) -> Iterator[tuple[int, Sequence[Entry]]]:
    """Runs of entries that make one block each, with the position of the first."""
    start = size = 0
    for place, entry in enumerate(entries):
        more = sum(len(field) for field in entry if field)
        if place > start and size + more > BLOCK_CHARS:
            yield start, entries[start:place]
            start, size = place, 0
        size += more
    if start < len(entries):
        yield start, entries[start:]


def pack_block(entries: Sequence[Entry]) -> bytes:
    """Some entries as bytes. Raises UnicodeEncodeError for lone surrogates."""
    columns = list(zip(*entries, strict=True))
    lengths = array("I", [0 if field is None else len(field) + 1 for column in columns for field in column])
    text = "".join([field for column in columns for field in column if field])
    return zlib.compress(_HEAD.pack(len(entries)) + lengths.tobytes() + text.encode(), _LEVEL)


def unpack_block(packed: bytes) -> list[Entry]:
    """What `pack_block` packed. Raises CorruptDatabase where it did not."""
    count, lengths, text = _open_block(packed)
    fields: list[str | None] = []
    at = 0
    for length in lengths:
        end = at + length - 1 if length else at
        fields.append(text[at:end] if length else None)
        at = end
    columns: list[Any] = [fields[i * count : (i + 1) * count] for i in range(_FIELDS)]
    return list(map(Entry._make, zip(*columns, strict=True)))


class BlockEntries(Sequence[Entry]):
    """What `unpack_block` gives, each entry built on access: a search wants one entry of a block."""

    def __init__(self, packed: bytes) -> None:
        self._count, self._lengths, self._text = _open_block(packed)
        self._ends = list(accumulate(length - 1 if length else 0 for length in self._lengths))

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> Entry: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Entry]: ...
    def __getitem__(self, place: int | slice) -> Entry | Sequence[Entry]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(self._count))]
        if not 0 <= place < self._count:
            raise IndexError(place)
        fields: list[Any] = []
        for at in range(place, len(self._lengths), self._count):
            length, end = self._lengths[at], self._ends[at]
            fields.append(self._text[end - length + 1 : end] if length else None)
        return Entry._make(fields)


def unpack_texts(packed: bytes) -> list[str]:
    """The texts alone of a block, in half the time."""
    count, lengths, text = _open_block(packed)
    at = sum(lengths[:count]) - count  # behind the gaps
    ends = list(accumulate((length - 1 for length in lengths[count : 2 * count]), initial=at))
    return [text[start:end] for start, end in pairwise(ends)]


def _open_block(packed: bytes) -> tuple[int, array[int], str]:
    """How many entries there are, the lengths of their fields, column by column, and all of them in one."""
    try:
        data = zlib.decompress(packed)
        (count,) = _HEAD.unpack_from(data)
        start = _HEAD.size + 4 * _FIELDS * count
        lengths = array("I", data[_HEAD.size : start])
        text = data[start:].decode()
    except (zlib.error, struct.error, ValueError) as error:
        raise CorruptDatabase(_DAMAGED) from error
    missing = lengths.count(0)
    if (
        len(lengths) != _FIELDS * count
        or sum(lengths) - len(lengths) + missing != len(text)
        or (missing and 0 in lengths[: 2 * count])
    ):
        raise CorruptDatabase(_DAMAGED)
    return count, lengths, text


Said = TypeVar("Said")


class TextBlocks(Generic[Said]):
    """Some blocks, whose entries, or their texts alone, are looked up by chunk id."""

    def __init__(self, blocks: Iterable[tuple[int, bytes]], unpack: Callable[[bytes], Sequence[Said]]) -> None:
        """`blocks` are (id of the first chunk, packed), ascending; `unpack` is one of the above."""
        found = [(first, unpack(packed)) for first, packed in blocks]
        self._firsts = [first for first, _ in found]
        self._blocks = [entries for _, entries in found]

    def __getitem__(self, chunk_id: int) -> Said:
        """The entry of a chunk that is stored. Raises CorruptDatabase where it has none."""
        block = bisect_right(self._firsts, chunk_id) - 1
        place = chunk_id - self._firsts[block] if block >= 0 else -1
        if not 0 <= place < len(self._blocks[block]):
            raise CorruptDatabase(_DAMAGED)
        return self._blocks[block][place]


_DAMAGED: Final = (
    "the index is damaged: the text of a chunk is not what was stored. It can be rebuilt from your files: "
    "move the database away, together with its -wal and -shm files, and add them again"
)
