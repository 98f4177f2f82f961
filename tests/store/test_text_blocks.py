"""What chunks say is packed and comes out as it was, or is told to be damaged."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcrop.errors import CorruptDatabase
from outcrop.store.sqlite.chunks import (
    BLOCK_CHARS,
    BlockEntries,
    Entry,
    TextBlocks,
    pack_block,
    split_blocks,
    unpack_block,
    unpack_texts,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NOTED = st.builds(Entry, TEXT, TEXT, st.none() | TEXT, TEXT, TEXT, TEXT, TEXT, TEXT)
ENTRIES = st.lists(st.builds(Entry, TEXT, TEXT, st.none() | TEXT) | NOTED, min_size=1, max_size=6)


@given(ENTRIES)
def test_unpacked_entries_are_those_that_were_packed(entries: list[Entry]) -> None:
    assert unpack_block(pack_block(entries)) == entries
    assert list(BlockEntries(pack_block(entries))) == entries
    assert BlockEntries(pack_block(entries))[1:] == entries[1:]
    assert unpack_texts(pack_block(entries)) == [entry.text for entry in entries]


@given(st.lists(st.integers(0, BLOCK_CHARS), max_size=12))
def test_blocks_hold_all_in_order_and_are_not_too_large(sizes: list[int]) -> None:
    entries = [Entry(" ", "x" * size, "h") for size in sizes]
    blocks = list(split_blocks(entries))
    assert [entry for _, part in blocks for entry in part] == entries
    assert all(list(part) == entries[first : first + len(part)] for first, part in blocks)
    assert all(
        len(part) == 1 or sum(len(entry.text) + 2 for entry in part) <= BLOCK_CHARS for _, part in blocks
    )


def test_an_entry_is_found_by_the_id_of_its_chunk() -> None:
    blocks = [(3, pack_block([Entry("", "three"), Entry("", "four")])), (9, pack_block([Entry("", "nine")]))]
    entries, texts = TextBlocks(blocks, unpack_block), TextBlocks(blocks, unpack_texts)
    assert [entries[i].text for i in (3, 4, 9)] == ["three", "four", "nine"]
    assert [texts[i] for i in (3, 4, 9)] == ["three", "four", "nine"]
    for missing in (2, 5, 8, 10):
        with pytest.raises(CorruptDatabase):
            entries[missing]


GOOD = zlib.decompress(pack_block([Entry("", "text", None), Entry("", "more", "h")]))


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"no zlib",
        zlib.compress(b""),
        zlib.compress(b"\xff\xff\xff\xff"),
        zlib.compress(GOOD[:-1]),
        zlib.compress(GOOD + b"x"),
        zlib.compress(GOOD[:-1] + b"\xff"),
        zlib.compress(GOOD[:4] + bytes(4) + GOOD[8:]),
    ],
)
def test_a_damaged_block_is_an_error(packed: bytes) -> None:
    for unpack in (unpack_block, BlockEntries, unpack_texts):
        with pytest.raises(CorruptDatabase, match="damaged"):
            unpack(packed)


def test_lone_surrogates_are_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        pack_block([Entry("", "\ud800")])
