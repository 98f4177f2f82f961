"""What chunks say is packed and comes out as it was, or is told to be damaged."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcrop.errors import CorruptDatabase
from outcrop.store.sqlite.text_blocks import (
    BLOCK_CHARS,
    Bodies,
    BodiesOfBlock,
    Body,
    pack_block,
    split_blocks,
    unpack_block,
    unpack_texts,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NOTED = st.builds(Body, TEXT, TEXT, st.none() | TEXT, TEXT, TEXT, TEXT, TEXT, TEXT)
BODIES = st.lists(st.builds(Body, TEXT, TEXT, st.none() | TEXT) | NOTED, min_size=1, max_size=6)


@given(BODIES)
def test_bodies_come_out_as_they_went_in(bodies: list[Body]) -> None:
    assert unpack_block(pack_block(bodies)) == bodies
    assert list(BodiesOfBlock(pack_block(bodies))) == bodies
    assert BodiesOfBlock(pack_block(bodies))[1:] == bodies[1:]
    assert unpack_texts(pack_block(bodies)) == [body.text for body in bodies]


@given(st.lists(st.integers(0, BLOCK_CHARS), max_size=12))
def test_blocks_hold_all_in_order_and_are_not_too_large(sizes: list[int]) -> None:
    bodies = [Body(" ", "x" * size, "h") for size in sizes]
    blocks = list(split_blocks(bodies))
    assert [body for _, part in blocks for body in part] == bodies
    assert all(list(part) == bodies[first : first + len(part)] for first, part in blocks)
    assert all(len(part) == 1 or sum(len(body.text) + 2 for body in part) <= BLOCK_CHARS for _, part in blocks)


def test_a_body_is_found_by_the_id_of_its_chunk() -> None:
    blocks = [(3, pack_block([Body("", "three"), Body("", "four")])), (9, pack_block([Body("", "nine")]))]
    bodies, texts = Bodies(blocks, unpack_block), Bodies(blocks, unpack_texts)
    assert [bodies[i].text for i in (3, 4, 9)] == ["three", "four", "nine"]
    assert [texts[i] for i in (3, 4, 9)] == ["three", "four", "nine"]
    for missing in (2, 5, 8, 10):
        with pytest.raises(CorruptDatabase):
            bodies[missing]


GOOD = zlib.decompress(pack_block([Body("", "text", None), Body("", "more", "h")]))


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
def test_a_damaged_block_is_told(packed: bytes) -> None:
    for unpack in (unpack_block, BodiesOfBlock, unpack_texts):
        with pytest.raises(CorruptDatabase, match="damaged"):
            unpack(packed)


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        pack_block([Body("", "\ud800")])
