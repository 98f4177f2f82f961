"""What words of other languages are found by beside their terms."""

from __future__ import annotations

import pytest

from outcrop.text.pieces import Stems, fold_accents, split_pieces
from outcrop.text.terms import Terms, term_number

TERMS = Terms()


def test_english_has_nothing_beside_its_terms() -> None:
    for language in ("", "en"):
        assert not TERMS.pieces.of("The hospitals of the city are closed", language)
        assert TERMS.pieces.of("a café", language).tolist() == [term_number("cafe")]


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("de", "Häuser", "Haus"),
        ("ru", "больницами", "больница"),
        ("fr", "fermées", "fermer"),
        ("tr", "evlerimizde", "ev"),
        ("fi", "taloissa", "talo"),
        ("ar", "المدينة", "مدينة"),
        ("hi", "लड़कों", "लड़का"),
    ],
)
def test_forms_of_a_word_have_one_stem(language: str, one: str, other: str) -> None:
    stem = TERMS.pieces.stem_of(one, language)
    assert stem is not None
    assert stem == TERMS.pieces.stem_of(other, language)


@pytest.mark.parametrize(
    ("language", "whole", "part"),
    [("de", "Krankenhausverwaltung", "Krankenhaus"), ("uk", "лікарнями", "лікарня"), ("vi", "thanh", "thành")],
)
def test_a_compound_has_the_pieces_of_its_parts(language: str, whole: str, part: str) -> None:
    shared = set(TERMS.pieces.pieces_of(whole, language)) & set(TERMS.pieces.pieces_of(part, language))
    assert len(shared) >= min(len(part) - 4, 3)


@pytest.mark.parametrize("name", ["getUserName", "HTTPServer2", "utf8", "2024"])
def test_names_and_numbers_stay_as_they_are(name: str) -> None:
    for language in ("de", "ru", "ja"):
        assert TERMS.pieces.stem_of(name, language) is None
        assert not TERMS.pieces.pieces_of(name, language)


def test_an_english_word_in_a_text_of_another_script_stays_as_it_is() -> None:
    assert TERMS.pieces.stem_of("connections", "ru") is None
    assert TERMS.pieces.stem_of("connections", "de") is not None


def test_pieces_are_no_words() -> None:
    assert term_number("haus") not in TERMS.pieces.pieces_of("Krankenhaus", "de")


@pytest.mark.parametrize(
    ("word", "folded"),
    [
        ("Köln", "koln"),
        ("STRASSE", "strasse"),
        ("straße", "strasse"),
        ("Łódź", "lodz"),
        ("İstanbul", "istanbul"),
    ],
)
def test_accents_are_folded(word: str, folded: str) -> None:
    assert fold_accents(word) == folded


def test_vowels_of_indic_scripts_are_kept() -> None:
    assert fold_accents("कि") != fold_accents("का")


def test_a_joined_word_has_the_pieces_of_each() -> None:
    assert split_pieces("Straßen-Atlas") == ["Straßen", "Atlas"]
    found = set(TERMS.pieces.of("Straßen-Atlas", "de"))
    assert found >= set(TERMS.pieces.of("Straßen", "de")) | set(TERMS.pieces.of("Atlas", "de"))


def test_stems_of_a_text_in_another_script_leave_english_words_english() -> None:
    assert Stems("ru").find("connections") == Stems("").find("connection")
    assert Stems("ru").find("больницами") == Stems("ru").find("больница")
