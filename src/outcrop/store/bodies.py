"""The texts of chunks, packed: what a document's chunks say, in blocks that are compressed as a whole.

A block holds some chunks that follow each other in one document: their texts, what lies between them, their headings
and what is noted of code. Compressed together they take 27 % of the bytes of the text alone, or 36 % in blocks of a
quarter of the size (30 000 chunks of PyPI's sources, zlib at level 6; levels 1 and 9 give 31 and 27 %).
"""

from __future__ import annotations

import struct
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from outcrop.errors import CorruptDatabase

BLOCK_CHARS: Final = 16_000
"""Characters a block, or one chunk: unpacking one takes 40 µs, and a search shows chunks of ten. Blocks of twice the
size would save 5 % of the bytes."""
_LEVEL: Final = 6
"""12 µs a chunk against 7 at level 1, for an eighth fewer bytes."""
_HEAD: Final = struct.Struct("<I")


class Body(NamedTuple):
    """What one chunk says: the gap before it, its text, its headings as `rows.join_headings` joins them, and the
    notes of code as `rows.NOTE_COLUMNS` has them, None where it is no code."""

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


_FIELDS: Final = len(Body._fields)


def split_blocks(bodies: Sequence[Body]) -> Iterator[tuple[int, Sequence[Body]]]:
    """Runs of bodies that go into one block each, with the place of the first."""
    start = size = 0
    for place, body in enumerate(bodies):
        more = sum(len(field) for field in body if field)
        if place > start and size + more > BLOCK_CHARS:
            yield start, bodies[start:place]
            start, size = place, 0
        size += more
    if start < len(bodies):
        yield start, bodies[start:]


def pack_block(bodies: Sequence[Body]) -> bytes:
    """Some bodies as bytes. Raises UnicodeEncodeError for what is no text."""
    columns = list(zip(*bodies, strict=True))
    lengths = array("I", [0 if field is None else len(field) + 1 for column in columns for field in column])
    text = "".join([field for column in columns for field in column if field])
    return zlib.compress(_HEAD.pack(len(bodies)) + lengths.tobytes() + text.encode(), _LEVEL)


def unpack_block(packed: bytes) -> list[Body]:
    """What `pack_block` packed. Raises CorruptDatabase where it did not."""
    try:
        data = zlib.decompress(packed)
        (count,) = _HEAD.unpack_from(data)
        start = _HEAD.size + 4 * _FIELDS * count
        lengths = array("I", data[_HEAD.size : start])
        text = data[start:].decode()
    except (zlib.error, struct.error, ValueError) as error:
        raise CorruptDatabase(_DAMAGED) from error
    fields: list[str | None] = []
    at = 0
    for length in lengths:
        end = at + length - 1 if length else at
        fields.append(text[at:end] if length else None)
        at = end
    if at != len(text) or len(fields) != _FIELDS * count or None in fields[: 2 * count]:
        raise CorruptDatabase(_DAMAGED)
    columns: list[Any] = [fields[i * count : (i + 1) * count] for i in range(_FIELDS)]
    return list(map(Body._make, zip(*columns, strict=True)))


class Bodies:
    """The bodies of some blocks, by the id of their chunk."""

    def __init__(self, blocks: Iterable[tuple[int, bytes]]) -> None:
        """`blocks` are (id of the first chunk, packed), ascending."""
        found = [(first, unpack_block(packed)) for first, packed in blocks]
        self._firsts = [first for first, _ in found]
        self._blocks = [bodies for _, bodies in found]

    def __getitem__(self, chunk_id: int) -> Body:
        """The body of a chunk that is stored. Raises CorruptDatabase where it has none."""
        block = bisect_right(self._firsts, chunk_id) - 1
        place = chunk_id - self._firsts[block] if block >= 0 else -1
        if not 0 <= place < len(self._blocks[block]):
            raise CorruptDatabase(_DAMAGED)
        return self._blocks[block][place]

    def items(self) -> Iterator[tuple[int, Body]]:
        """(chunk id, body) of all, ascending."""
        for first, bodies in zip(self._firsts, self._blocks, strict=True):
            yield from enumerate(bodies, first)


_DAMAGED: Final = (
    "the index is damaged: the text of a chunk is not what was stored. It can be rebuilt from your files: "
    "move the database away, together with its -wal and -shm files, and add them again"
)
