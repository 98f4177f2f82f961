"""Words are counted as the engine cuts them, and tokens are chosen that spell everything."""

from __future__ import annotations

import re
import string
from array import array
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training.vocabulary import choose_tokens, count_words, learn_pieces

from outcrop.embed.static import Vocabulary
from training import vocabulary as made

LETTERS = [*string.ascii_lowercase, *string.digits]


def engine_words(text: str) -> list[str]:
    """The words the engine cuts a text into: with every part of the text a token, no word needs spelling."""
    parts = {text[start:end].lower() for start in range(len(text)) for end in range(start + 1, len(text) + 1)}
    tokens = sorted(parts)
    return [tokens[number] for number in array("I", Vocabulary(tokens).pack(text))]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("getUserName(HTTPServer2)", ["get", "user", "name", "http", "server", "2"]),
        ("snake_case__MAX_SIZE x86_64", ["snake", "case", "max", "size", "x", "86", "64"]),
        ("don't e.g. I/O\tone-two", ["don", "t", "e", "g", "i", "o", "one", "two"]),
        ("Größe naïve ЁЖ 日本語text", ["gr", "öß", "e", "na", "ï", "ve", "ёж", "日本語", "text"]),
        ("x² ٣ 12345678901 İ\u212a", ["x", "²", "12345678901", "i\u0307k"]),
        ("a\u2014b\u00a0c\ud800d", ["a", "b", "c", "d"]),
        ("", []),
    ],
)
def test_examples_are_cut_as_the_engine_cuts_them(text: str, words: list[str]) -> None:
    assert engine_words(text) == words
    assert count_words([text]) == dict.fromkeys(words, 1)


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from("aBcDé9Я²٣_-. İſ中\u2028\ud800") | st.characters(), max_size=24))
def test_any_text_is_cut_as_the_engine_cuts_it(text: str) -> None:
    assert count_words([text]).keys() == set(engine_words(text))


def test_a_word_counts_once_a_text() -> None:
    assert count_words(["Open open OPEN file", "file"]) == {"open": 1, "file": 2}


def counted() -> Counter[str]:
    """Words of two syllables, the earlier the more often, and what is no word."""
    syllables = ["ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "zu", "gra", "ple"]
    words = [one + other + third for one in syllables for other in syllables for third in ("", "n", "st")]
    found = Counter({word: 3 + 2 * (len(words) - place) for place, word in enumerate(words)})
    found.update(
        {"2024": 5000, "20240131": 9000, "größe": 10, "日本": 5000, "²": 9000, "x" * 23: 9000, "rare": 1}
    )
    return found


@pytest.fixture
def few_pieces(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(made, "PIECES", 40)
    return 40


def test_letters_words_and_pieces_fill_the_tokens_exactly(few_pieces: int) -> None:
    found = counted()
    tokens = choose_tokens(found, [], 200)
    assert len(tokens) == len(set(tokens)) == 200
    assert tokens[:36] == LETTERS
    words = tokens[36 : 200 - few_pieces]
    assert words[:2] == ["2024", "日本"]
    usual = [word for word, _ in found.most_common() if re.fullmatch("[a-z]{2,22}", word)]
    assert words[2:] == usual[: len(words) - 2]
    pieces = tokens[200 - few_pieces :]
    left = " ".join(word for word in usual if word not in tokens)
    assert all(piece in left for piece in pieces)


def test_words_a_teacher_knows_come_before_frequent_ones_where_they_are_words(few_pieces: int) -> None:
    known = [
        "zebra",
        "[CLS]",
        "##ing",
        "q",
        "straße",
        "internationalisation",
        "multiplications",
        "Zebra",
        "zebra",
    ]
    found = counted() + Counter({"multiplications": 2})
    tokens = choose_tokens(found, known, 120)
    assert tokens[36:38] == ["zebra", "multiplications"]
    assert not {"[CLS]", "##ing", "straße", "internationalisation", "Zebra"} & set(tokens)
    assert tokens.count("zebra") == 1
    assert len(tokens) == 120


def test_a_teacher_that_knows_too_much_leaves_room_for_pieces(few_pieces: int) -> None:
    known = [one + other for one in string.ascii_lowercase for other in string.ascii_lowercase]
    tokens = choose_tokens(counted(), known, 100)
    assert len(tokens) == 100
    assert tokens[36:60] == known[:24]
    assert tokens[60:] != known[24:64]


def test_the_order_of_counting_does_not_matter(few_pieces: int) -> None:
    found = Counter(dict.fromkeys(counted(), 4))
    turned = Counter({word: found[word] for word in reversed(list(found))})
    assert choose_tokens(found, [], 150) == choose_tokens(turned, [], 150)


def test_too_few_words_make_fewer_tokens_and_letters_are_always_there(few_pieces: int) -> None:
    assert choose_tokens(Counter(), [], 100) == LETTERS
    assert set(choose_tokens(Counter({"alpha": 3}), [], 100)) == {*LETTERS, "alpha"}


def test_the_engine_spells_every_word_and_finds_every_token(few_pieces: int) -> None:
    tokens = choose_tokens(counted(), ["zebra"], 150)
    vocabulary = Vocabulary(tokens)
    for number, token in enumerate(tokens):
        assert list(array("I", vocabulary.pack(token.upper()))) == [number]
    for word in ("graple", "unheard", "zebras", "kelimo7", "987", "zzyzx"):
        spelled = [tokens[number] for number in array("I", vocabulary.pack(word))]
        assert "".join(spelled) == word


def test_pieces_are_learnt_from_many_words_rather_than_from_one_that_is_frequent() -> None:
    words = {f"{start}graph": 5 for start in "abcdefgh"} | {"xyxyxy": 1_000_000}
    pieces = learn_pieces(words, 24)
    assert "graph" in pieces
    whole = learn_pieces(words, 1000)
    assert len(whole) == len(set(whole))
    assert set(string.ascii_lowercase) >= set(whole[:10])
