"""What a cross-encoder reads of a chunk."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cost import cpu_below

from outcrop.rank.excerpt import GAP, PASSAGE_CHARS, _cut, passage
from outcrop.text.terms import Terms

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
    with cpu_below(5):  # 0.3 s where this was written
        assert len(ask("quick fox", text)) <= PASSAGE_CHARS


def test_a_place_that_fits_is_told_whole_and_one_that_does_not_by_its_end() -> None:
    assert PASSAGE_CHARS == 480
    assert passage("x" * 160, (), "text", {}, words) == f"{'x' * 160}\ntext", "a third of the room"
    head, _, _ = passage("y" + "x" * 160, (), "text", {}, words).partition("\n")
    assert head == GAP + "x" * 159


def test_what_fits_to_the_last_character_is_read_whole_and_else_no_line_in_part() -> None:
    whole = "a.py\nfirst line\nsecond line"
    assert passage("a.py", (), "first line\nsecond line", {}, words, len(whole)) == whole
    assert passage("a.py", (), "first line\nsecond line", {}, words, len(whole) - 1) == "a.py\nfirst line"


def test_a_line_that_matters_is_read_if_it_fits_to_the_last_character() -> None:
    text = "aaaa\n" + "x" * 50 + "\nbeta two\n" + "y" * 50
    expected = f"a\naaaa\n{GAP}\nbeta two"
    assert passage("a", (), text, {"beta": 1.0}, words, len(expected)) == expected
    assert passage("a", (), text, {"beta": 1.0}, words, len(expected) - 1) == "a\naaaa"


def test_of_two_lines_that_matter_the_heavier_is_read_where_only_one_fits() -> None:
    text = "start\nalpha word\n" + "x" * 90 + "\nzeta words\n" + "y" * 90
    expected = f"a\nstart\n{GAP}\nzeta words"
    assert passage("a", (), text, {"alpha": 0.1, "zeta": 5.0}, words, len(expected)) == expected


def test_a_first_line_takes_half_of_the_room_at_most() -> None:
    text = "f" * 150 + "\nbeta two\n" + "x" * 90
    assert passage("a", (), text, {"beta": 1.0}, words, 102) == f"a\n{'f' * 50}\nbeta two"


def test_room_for_forty_characters_is_filled_with_what_fits_and_less_is_not() -> None:
    text = "aaaa\n" + "x" * 100 + "\nzz"
    assert passage("a", (), text, {}, words, 46) == f"a\naaaa\n{GAP}\nzz"
    assert passage("a", (), text, {}, words, 45) == "a\naaaa"


def test_lines_that_stand_together_are_read_without_a_mark_between_them() -> None:
    text = "start\nalpha one\nbeta two\n" + "filler\n" * 100
    read = passage("a.txt", (), text, {"alpha": 1.0, "beta": 1.0}, words, 60)
    assert read.startswith("a.txt\nstart\nalpha one\nbeta two\nfiller")
    assert GAP not in read


SENTENCE = f"{'word ' * 31}ends."
"""As long as a piece may be."""


@pytest.mark.parametrize(
    ("line", "pieces"),
    [
        (SENTENCE, [SENTENCE]),
        (f"One. {SENTENCE[5:]}", [f"One. {SENTENCE[5:]}"]),  # no longer than a piece, and so not taken apart
        (f"{SENTENCE} {SENTENCE}", [SENTENCE, SENTENCE]),
        (f"{SENTENCE} Short one.", [SENTENCE, "Short one."]),
        (
            f"{'a' * 80} {'b' * 79} {'c' * 100}",
            [f"{'a' * 80} {'b' * 79}", "c" * 100],
        ),  # at the last blank there is
        (f"{'a' * 90} {'b' * 90} {'c' * 90}", ["a" * 90, "b" * 90, "c" * 90]),
        (
            f"short {'x' * 300}",
            [f"short {'x' * 154}", "x" * 146],
        ),  # a blank in the first half would leave a stump
    ],
)
def test_a_long_line_is_read_in_sentences_and_a_long_sentence_in_parts(line: str, pieces: list[str]) -> None:
    assert len(SENTENCE) == 160
    assert passage("a.txt", (), line, {}, words, 1000).split("\n")[1:] == pieces


def test_a_long_sentence_is_cut_at_a_blank_of_the_second_half_and_never_beyond_the_size() -> None:
    assert _cut("abcde fghij", 4) == ["abcd", "e fg", "hij"]
    assert _cut("ab cdefghijkl", 6) == ["ab cde", "fghijk", "l"]
    assert _cut("abcd efghijkl", 6) == ["abcd", "efghi", "jkl"]
