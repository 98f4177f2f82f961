"""Estimated tokens: never fewer than a tokenizer counts, and not many more."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.text.measured_texts import MOST, TEXTS, TOKENS

from outcrop.text.tokens.estimate import SafeEstimate, estimate_tokens


def test_there_are_counts_for_every_measured_text() -> None:
    assert TEXTS.keys() == TOKENS.keys() == MOST.keys()


@pytest.mark.parametrize("name", TEXTS)
def test_the_estimate_is_never_below_what_tokenizers_count(name: str) -> None:
    assert SafeEstimate().count(TEXTS[name]) >= max(TOKENS[name])


@pytest.mark.parametrize("name", ["prose", "technical prose", "python", "table"])
def test_the_estimate_is_not_far_above_for_prose_and_code(name: str) -> None:
    assert SafeEstimate().count(TEXTS[name]) <= 1.5 * max(TOKENS[name])


@pytest.mark.parametrize("name", TEXTS)
def test_the_estimate_wastes_no_more_of_a_budget_than_was_measured(name: str) -> None:
    assert SafeEstimate().count(TEXTS[name]) <= MOST[name] * max(TOKENS[name])


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("\u0080", "\u024f"),  # accented letters
        ("\u0400", "\u04ff"),  # Cyrillic
        ("\u2010", "\u2027"),  # dashes, quotes, bullets
        ("\u3000", "\u30ff"),  # Japanese
        ("\u4e00", "\u9fff"),  # Chinese
        ("\uac00", "\ud7af"),  # Korean
    ],
)
def test_characters_of_one_script_weigh_the_same_and_those_around_it_do_not(first: str, last: str) -> None:
    def count(character: str) -> int:
        return SafeEstimate().count(100 * character)

    assert count(first) == count(last)
    assert count(first) not in {count(chr(ord(first) - 1)), count(chr(ord(last) + 1))}


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200), st.text(max_size=200))
def test_the_estimate_counts_every_text_and_grows_with_it(one: str, other: str) -> None:
    count = SafeEstimate().count
    assert count("") == 0
    assert (count(one) >= 1) == bool(one)
    assert count(one + "\n" + other) <= count(one) + count(other) + 3, "apart, they cannot be much cheaper"


def test_the_estimate_takes_linear_time_and_does_not_cache_blobs() -> None:
    count = SafeEstimate().count
    assert count("x" * 1_000_000) > 400_000
    assert count("_" * 1_000_000) > 200_000
    assert count(" " * 1_000_000) > 60_000
    assert count("\ud800") >= 1


@given(st.text())
def test_the_quick_estimate_is_three_bytes_a_token_rounded_up(text: str) -> None:
    tokens = estimate_tokens(text)
    assert 3 * (tokens - 1) < len(text.encode("utf-8", "replace")) <= 3 * tokens
