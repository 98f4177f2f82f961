"""Tokens are counted exactly as the real library counts them, whatever the text, in time that follows its length."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cost import cpu_below
from tests.text.measured_texts import TEXTS, TOKENS

from outcrop.text.tokens import LONGEST_REMEMBERED, Vocabulary, _merge_by_heap, _scan, cut, vocabulary

NAMES = ("o200k", "cl100k")
COUNTED: list[tuple[str, int, int]] = json.loads(Path(__file__).with_name("counts.json").read_text("utf-8"))
ROOT = Path(__file__).parents[2]
AWKWARD = " \n\r\t/.,'sAbZlL1<>[]\u017f\u4e2d\u6587\xe9\u0301\x85\x1c\u2028\u3000\U0001f600"
any_text = st.text(max_size=300) | st.text(alphabet=AWKWARD, max_size=300)


@pytest.mark.parametrize("at", [0, 1], ids=NAMES)
def test_every_count_is_that_of_tiktoken(at: int) -> None:
    count = Vocabulary(NAMES[at]).count
    assert len(COUNTED) > 380
    assert [text for text, *tokens in COUNTED if count(text) != tokens[at]] == []


@pytest.mark.parametrize("name", TEXTS)
def test_counts_of_the_measured_texts_are_as_recorded(name: str) -> None:
    *_, cl100k, o200k = TOKENS[name]
    assert (vocabulary("cl100k").count(TEXTS[name]), vocabulary("o200k").count(TEXTS[name])) == (cl100k, o200k)


@settings(max_examples=300, deadline=None)
@given(text=any_text, name=st.sampled_from(NAMES))
def test_pieces_join_to_the_text_and_counts_of_stretches_add_up(text: str, name: str) -> None:
    counter = Vocabulary(name)
    counter.__dict__["ranks"] = vocabulary(name).ranks
    assert "".join(counter.split(text)) == text
    assert "".join(cut(text)) == text
    assert counter.count(text) == counter._count_stretch(text)
    assert counter.count(text) <= len(text.encode("utf-8", "replace"))


@settings(max_examples=200, deadline=None)
@given(words=st.lists(st.sampled_from(["word", "Straße", "x1", "'s", "/", "\n", " ", "."]), max_size=900))
def test_long_lines_are_cut_between_pieces(words: list[str]) -> None:
    text = " ".join(words)
    counter = vocabulary("o200k")
    assert counter.count(text) == counter._count_stretch(text)


@settings(max_examples=200, deadline=None)
@given(one=any_text, other=any_text)
def test_texts_joined_by_an_empty_line_and_a_number_cost_the_sum_of_their_parts(one: str, other: str) -> None:
    count = vocabulary("o200k").count
    assert count(f"{one}\n\n[2] {other}") == count(f"{one}\n\n") + count(f"[2] {other}")


@settings(max_examples=200, deadline=None)
@given(st.binary(min_size=1, max_size=150) | st.text("ab c", min_size=1, max_size=150).map(str.encode))
def test_both_ways_of_merging_agree(piece: bytes) -> None:
    ranks = vocabulary("o200k").ranks
    assert _scan(piece, ranks) == _merge_by_heap(piece, ranks)


def test_a_lone_surrogate_counts_as_the_replacement_character() -> None:
    count = vocabulary("o200k").count
    assert count("") == 0
    assert count("a\ud800b") == count("a\ufffdb")
    assert count("\ud83d\ude00") == count("\U0001f600")


@pytest.mark.parametrize(
    "unit", ["x", " ", "\n", "=", "7", "中", "é", "\u0301", "\U0001f600", "ab1 ", "\n ", "/\n", "Aa"]
)
def test_a_long_text_without_a_break_takes_near_linear_time(unit: str) -> None:
    with cpu_below(40):  # the slowest takes two seconds on a busy core
        assert vocabulary("o200k").count(unit * (200_000 // len(unit))) > 0


def test_counts_are_cached_except_those_of_long_texts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counter = Vocabulary("o200k")
    asked: list[int] = []

    def split(text: str) -> list[str]:
        asked.append(len(text))
        return Vocabulary.split(counter, text)

    monkeypatch.setattr(counter, "split", split)
    text = "\n".join(f"Line {number} of a text that grows." for number in range(500))
    counter.count(text)
    before = len(asked)
    counter.count(f"{text}\nand one more")
    assert len(asked) - before <= 2
    for _ in range(2):
        counter.count("y" * (LONGEST_REMEMBERED + 1))
    assert asked[-2:] == [LONGEST_REMEMBERED + 1] * 2


def test_nothing_is_loaded_before_something_is_counted() -> None:
    code = (
        "import outcrop.read.pack, outcrop.code.pack\nfrom outcrop.text.tokens import vocabulary\n"
        "assert 'ranks' not in vars(vocabulary('o200k'))\nassert vocabulary('o200k').count('two words') == 2"
    )
    subprocess.run([sys.executable, "-P", "-c", code], check=True, cwd=ROOT)
