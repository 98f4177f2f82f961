"""What a cross-encoder reads of a chunk."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcrop.rank.excerpt import GAP, HEAD_SHARE, PASSAGE_CHARS, passage
from outcrop.search.terms import Terms

TERMS = Terms()

FUNCTION = "def acquire(self, timeout):\n" + "".join(
    f"    step_{i} = self.follow(step_{i}, {i})\n" if i != 30 else "    raise PoolExhausted(self.size)\n"
    for i in range(60)
)
ARTICLE = "Roses like full sun. " + "They need water in summer and food in spring, as most shrubs do. " * 20
ARTICLE += "Aphids are washed off with a jet of water. " + "Nothing else is known of them. " * 10


def words(text: str) -> Iterable[str]:
    return re.findall(r"\w+", text.lower())


def ask(query: str, text: str, limit: int = PASSAGE_CHARS) -> str:
    wanted = dict.fromkeys(TERMS.of(query), 1.0)
    return passage("src/app/net/pool.py", ["Pool.acquire"], text, wanted, TERMS.of, limit)


def test_a_short_text_is_read_whole_under_the_name_of_its_place() -> None:
    text = "def size(self):\n\n    return   len(self.items)\n"
    expected = "app/net/pool.py Pool.acquire\ndef size(self):\nreturn len(self.items)"
    assert ask("size", text) == expected
    assert passage("notes.md", ("Roses", "Pests"), "Aphids.", {}, words) == "notes.md Roses > Pests\nAphids."
    assert passage("notes.md", (), "", {}, words) == "notes.md"


def test_of_a_long_declaration_the_signature_and_the_lines_that_match_are_read() -> None:
    read = ask("what raises when the pool is exhausted", FUNCTION)
    lines = read.split("\n")
    assert lines[1] == "def acquire(self, timeout):"
    assert "raise PoolExhausted(self.size)" in lines
    assert GAP in lines
    assert len(read) <= PASSAGE_CHARS
    assert len(read) > PASSAGE_CHARS - 60, "what is left of the room is filled"


def test_of_a_long_paragraph_the_first_sentence_and_those_that_match_are_read() -> None:
    read = ask("getting rid of aphid", ARTICLE)
    assert "\nRoses like full sun.\n" in read
    assert "Aphids are washed off with a jet of water." in read, "words match by their stems"


def test_a_rare_word_outweighs_two_common_ones() -> None:
    text = "\n".join(["first line"] + ["the pool is here"] * 200 + ["zanzibar"] + ["the pool is here"] * 200)
    weights = {"pool": 0.1, "here": 0.1, "zanzibar": 5.0}
    assert "zanzibar" in passage("a.txt", (), text, weights, words, 80)


def test_pieces_that_say_something_new_come_before_those_that_repeat() -> None:
    text = "start\n" + "alpha alpha alpha one\n" * 20 + "beta two\n" + "alpha three\n" * 20
    read = passage("a.txt", (), text, {"alpha": 2.0, "beta": 1.0}, words, 60)
    assert "beta two" in read
    assert read.index("alpha") < read.index("beta"), "in the order of the text"


def test_lines_keep_their_order_and_none_is_made_up() -> None:
    read = ask("step follow 12 47 exhausted", FUNCTION).split("\n")[1:]
    kept = [line for line in read if line != GAP]
    lines = [line.strip() for line in FUNCTION.split("\n")]
    places = [lines.index(line) for line in kept]
    assert places == sorted(places)
    for before, after in pairwise(read):
        if GAP not in (before, after):
            assert lines.index(after) == lines.index(before) + 1


@pytest.mark.parametrize(
    "text", ["x" * 3000, "漢字の文。" * 500, "a;" * 2000, "word " * 900, "\n" * 3000, "\r\n\t"]
)
@pytest.mark.parametrize("limit", [1, 40, PASSAGE_CHARS])
def test_odd_texts_stay_within_the_limit(text: str, limit: int) -> None:
    assert len(ask("word 文", text, limit)) <= limit
    long_path = passage("/".join(["folder"] * 200), ["heading " * 40], text, {}, words, limit)
    assert len(long_path) <= limit


@given(st.text(max_size=2000), st.text(max_size=40), st.integers(1, 600))
def test_any_text_gives_a_passage_within_the_limit_and_always_the_same(
    text: str, query: str, limit: int
) -> None:
    assert len(ask(query, text, limit)) <= limit
    assert ask(query, text, limit) == ask(query, text, limit)


def test_a_megabyte_takes_no_longer_than_its_size() -> None:
    text = "the quick brown fox, and so on " * 33_000
    started = time.process_time()
    assert len(ask("quick fox", text)) <= PASSAGE_CHARS
    assert time.process_time() - started < 5  # 0.3 s where this was written


def test_a_place_that_fits_is_told_whole_and_one_that_does_not_by_its_end() -> None:
    room = PASSAGE_CHARS // HEAD_SHARE
    assert passage("x" * room, (), "text", {}, words) == f"{'x' * room}\ntext"
    head, _, _ = passage("y" + "x" * room, (), "text", {}, words).partition("\n")
    assert head == GAP + "x" * (room - 1)
