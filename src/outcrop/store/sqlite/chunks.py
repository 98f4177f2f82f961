"""Chunks as they are stored: a row each, and their texts in blocks that are compressed as a whole.

A block holds some chunks that follow each other in one document: their texts, what lies between them, their headings
and what is noted of code. Compressed together they take 27 % of the bytes of the text alone, or 36 % in blocks of a
quarter of the size (30 000 chunks of PyPI's sources, zlib at level 6; see `_LEVEL`).
"""

from __future__ import annotations

import json
import struct
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, Final, Generic, NamedTuple, TypeVar, overload

import apsw
import numpy as np

from outcrop.errors import CorruptDatabase
from outcrop.records import DocumentWrite, FeedRow
from outcrop.store.quantized import unpack_halves
from outcrop.store.rows import code_notes, fetch, join_text, split_headings
from outcrop.store.sqlite.vectors import ACTIVE_BASE
from outcrop.system.arrays import NDArray
from outcrop.text.phrases import phrase_finder

BLOCK_CHARS: Final = 16_000
"""Characters a block, or one chunk: unpacking one takes 40 µs, and a search shows chunks of ten. Blocks of twice the
size would save 5 % of the bytes."""
_LEVEL: Final = 4
"""13 µs a chunk of aiohttp and 8 of prose, where level 6 takes 17 and 10 for 3 and 2 % fewer bytes, and level 1 takes 9
and 6 for 11 and 9 % more."""
_HEAD: Final = struct.Struct("<I")
OPEN_BLOCKS: Final = 1024
"""Blocks that are kept open, unless they are larger than `OPEN_BYTES` packed: about 24 MB. Opening those of one search
takes a tenth of it, and what searches find lies in few of all blocks; 20 000 chunks of prose have 860."""
OPEN_BYTES: Final = 16_000


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
    for length in lengths.tolist():
        end = at + length - 1 if length else at
        fields.append(text[at:end] if length else None)
        at = end
    columns: list[Any] = [fields[i * count : (i + 1) * count] for i in range(_FIELDS)]
    return list(map(Entry._make, zip(*columns, strict=True)))


class BlockEntries(Sequence[Entry]):
    """What `unpack_block` gives, each entry built on access: a search wants one entry of a block."""

    def __init__(self, packed: bytes) -> None:
        self._count, lengths, self._text = _open_block(packed)
        sizes = lengths.astype(np.int64) - 1  # -1 where there is no field
        ends = np.maximum(sizes, 0).cumsum()
        self._sizes: list[list[int]] = sizes.reshape(_FIELDS, self._count).T.tolist()
        self._ends: list[list[int]] = ends.reshape(_FIELDS, self._count).T.tolist()

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
        text = self._text
        fields = zip(self._ends[place], self._sizes[place], strict=True)
        return Entry._make([text[end - size : end] if size >= 0 else None for end, size in fields])


def unpack_texts(packed: bytes) -> list[str]:
    """The texts alone of a block, in half the time."""
    count, lengths, text = _open_block(packed)
    at = int(lengths[:count].sum()) - count  # behind the gaps
    ends = list(accumulate((length - 1 for length in lengths[count : 2 * count].tolist()), initial=at))
    return [text[start:end] for start, end in pairwise(ends)]


def _open_block(packed: bytes) -> tuple[int, NDArray[np.uint32], str]:
    """How many entries there are, the lengths of their fields, column by column, and all of them in one."""
    try:
        data = zlib.decompress(packed)
        (count,) = _HEAD.unpack_from(data)
        start = _HEAD.size + 4 * _FIELDS * count
        lengths = np.frombuffer(data[_HEAD.size : start], np.uint32)
        text = data[start:].decode()
    except (zlib.error, struct.error, ValueError) as error:
        raise CorruptDatabase(_DAMAGED) from error
    missing = len(lengths) - np.count_nonzero(lengths)
    if (
        len(lengths) != _FIELDS * count
        or lengths.sum(dtype=np.int64) - len(lengths) + missing != len(text)
        or (missing and not lengths[: 2 * count].all())
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

_COLUMNS: Final = (
    "c.id, c.document_id, c.position, c.start_offset, c.end_offset, c.tokens, c.line_start, c.line_end, c.page"
)
_BEFORE: Final = "(SELECT max(first_chunk) FROM text_blocks WHERE first_chunk <= {})"
"""SQL for the block that holds a chunk."""
_READ_AT_ONCE: Final = 2048
"""Chunks whose texts are looked through for a phrase at a time: bounds memory."""

_SOME: Final = f"first_chunk IN (SELECT {_BEFORE.format('j.value')} FROM json_each(?) j)"
_BETWEEN: Final = f"first_chunk BETWEEN {_BEFORE.format('?1')} AND ?2"


def entries_of(connection: apsw.Connection, chunk_ids: Iterable[int]) -> TextBlocks[Entry]:
    """The entries of some chunks."""
    return TextBlocks(_blocks(connection, _SOME, json.dumps(sorted(chunk_ids))), open_entries)


def open_entries(packed: bytes) -> BlockEntries:
    """The entries of a block. Those used last are kept by what was stored, so that they cannot be outdated."""
    return _open_entries(packed) if len(packed) <= OPEN_BYTES else BlockEntries(packed)


_open_entries: Final = lru_cache(OPEN_BLOCKS)(BlockEntries)


def _blocks(connection: apsw.Connection, condition: str, *values: str | int) -> list[tuple[int, bytes]]:
    return fetch(
        connection,
        f"SELECT first_chunk, packed FROM text_blocks WHERE {condition} ORDER BY first_chunk",
        values,
    )


def chunk_rows(connection: apsw.Connection, source: str, value: str | int) -> list[tuple[Any, ...]]:
    """The chunks that a join of `chunks c` finds, as `rows.CHUNK_COLUMNS` with `rows.NOTE_COLUMNS` after them."""
    rows = fetch(connection, f"SELECT {_COLUMNS} FROM {source}", (value,))
    entries = entries_of(connection, {row[0] for row in rows})
    found = []
    for row in rows:
        entry = entries[row[0]]
        found.append((*row[:5], entry.text, row[5], entry.headings, *row[6:9], entry.gap, *entry.notes))
    return found


def read_text(connection: apsw.Connection, document_id: int, tail: str) -> str:
    """The text of a document, whose chunks are followed by `tail`."""
    rows = fetch(
        connection,
        "SELECT start_offset, id FROM chunks WHERE document_id = ? ORDER BY position",
        (document_id,),
    )
    entries = entries_of(connection, (id_ for _, id_ in rows))
    found = ((start, entries[id_]) for start, id_ in rows)
    return join_text(((start, entry.gap, entry.text) for start, entry in found), tail)


def feed_rows(connection: apsw.Connection, after_chunk: int, limit: int) -> list[FeedRow]:
    """What `Store.feed` promises. Chunks of one document share their path vector."""
    rows = fetch(
        connection,
        "SELECT c.id, c.document_id, d.kind, d.title, d.path, d.language, d.role, v.vector, s.vector, p.vector"
        " FROM chunks c CROSS JOIN documents d ON d.id = c.document_id"
        f" LEFT JOIN vectors v ON v.id = {ACTIVE_BASE} + c.content_id"
        f" LEFT JOIN vectors s ON s.id = {ACTIVE_BASE} + c.summary_id"
        f" LEFT JOIN vectors p ON p.id = {ACTIVE_BASE} + d.path_id"
        " WHERE c.id > ? ORDER BY c.id LIMIT ?",
        (after_chunk, limit),
    )
    if not rows:
        return []
    entries = TextBlocks(_blocks(connection, _BETWEEN, rows[0][0], rows[-1][0]), unpack_block)
    texts, summaries = unpack_halves([row[7] for row in rows]), unpack_halves([row[8] for row in rows])
    owners = {row[1]: row[9] for row in rows}
    paths = dict(zip(owners, unpack_halves(list(owners.values())), strict=True))
    fed = []
    for row, text, summary in zip(rows, texts, summaries, strict=True):
        chunk_id, document_id, kind, title, path, language, role = row[:7]
        entry = entries[chunk_id]
        fed.append(
            FeedRow(
                *(chunk_id, document_id, kind, title, split_headings(entry.headings), path, entry.text),
                *(text, paths[document_id], summary, language, role, code_notes(entry.notes)),
            )
        )
    return fed


def export_writes(connection: apsw.Connection, after: int, limit: int) -> list[tuple[int, DocumentWrite]]:
    """What `Store.export` promises."""
    from outcrop.store.exporting import DOCUMENT_COLUMNS, as_writes, first_batch

    sizes = "SELECT id, chunk_count, char_count FROM documents WHERE id > ? ORDER BY id LIMIT ?"
    ids = json.dumps(first_batch(connection.execute(sizes, (after, limit))))
    mine = "IN (SELECT value FROM json_each(?))"
    columns = DOCUMENT_COLUMNS.replace(
        "path_key", "coalesce((SELECT key FROM contents WHERE id = path_id), x'')"
    )
    return as_writes(
        fetch(connection, f"SELECT {columns} FROM documents WHERE id {mine} ORDER BY id", (ids,)),
        fetch(connection, f"SELECT document_id, tag FROM tags WHERE document_id {mine}", (ids,)),
        _export_chunks(connection, f"c.document_id {mine} ORDER BY c.document_id, c.position", ids),
    )


def _export_chunks(connection: apsw.Connection, condition: str, ids: str) -> Iterator[tuple[Any, ...]]:
    """The chunks as `exporting.CHUNK_COLUMNS`."""
    rows = fetch(
        connection,
        f"SELECT {_COLUMNS}, k.key, s.key FROM chunks c JOIN contents k ON k.id = c.content_id"
        f" LEFT JOIN contents s ON s.id = c.summary_id WHERE {condition}",
        (ids,),
    )
    entries = entries_of(connection, {row[0] for row in rows})
    for row in rows:
        entry = entries[row[0]]
        yield (*(*row[1:5], entry.text, row[5], entry.headings, *row[6:9], entry.gap, *row[9:11]), *entry.notes)


def find_summaries(connection: apsw.Connection, keys: Collection[bytes]) -> list[tuple[bytes, bytes, str]]:
    """(text key, summary key, summary) of the chunks of code with these text keys, each once."""
    rows = fetch(
        connection,
        "SELECT k.key, s.key, min(c.id) FROM contents k JOIN chunks c ON c.content_id = k.id"
        " JOIN contents s ON s.id = c.summary_id"
        " WHERE k.key IN (SELECT unhex(value) FROM json_each(?)) GROUP BY k.id, s.id",
        (json.dumps([key.hex() for key in keys]),),
    )
    entries = entries_of(connection, (row[2] for row in rows))
    return [(text_key, summary_key, entries[id_].summary or "") for text_key, summary_key, id_ in rows]


def find_phrase(connection: apsw.Connection, words: Sequence[str], among: Sequence[int] | None) -> list[int]:
    """The chunks, of some or of all, whose text holds these words in this order, ascending."""
    if among is None:
        among = [id_ for (id_,) in fetch(connection, "SELECT id FROM chunks")]
    wanted, holds = sorted(among), phrase_finder(words)
    found: list[int] = []
    for start in range(0, len(wanted), _READ_AT_ONCE):
        part = wanted[start : start + _READ_AT_ONCE]
        known = fetch(
            connection,
            "SELECT id FROM chunks WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
            (json.dumps(part),),
        )
        texts = TextBlocks(_blocks(connection, _SOME, json.dumps(part)), unpack_texts)
        found += (id_ for (id_,) in known if holds(texts[id_]))
    return found
