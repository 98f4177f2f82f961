"""Scripts written without spaces between words: one table for terms, phrases, queries and sizes.

Words in these scripts can only be told apart with a dictionary for each language. Instead every character counts as a
word: terms add pairs of neighbours, phrases match by sequence, a query of several characters is a sentence, and a
character has the size of a word. The ranges are whole Unicode blocks; digits in them still make numbers, which are
words like any other.

Tibetan is not in the table, since a mark separates its syllables. Korean does use spaces, but its particles stick to
the words: Hangul gives terms like the scripts without spaces, and phrases like those with them.
"""

from __future__ import annotations

from typing import Final

from outcrop.text.pattern import pattern

Ranges = tuple[tuple[int, int], ...]

UNSPACED: Final[Ranges] = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar, and in two more blocks
    (0xA9E0, 0xA9FF),
    (0xAA60, 0xAA7F),
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19DF),  # Tai Le, New Tai Lue
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x2E80, 0x2FDF),  # Han radicals
    (0x3005, 0x3007),  # Han: the iteration mark, the closing mark, zero
    (0x3021, 0x3029),  # Han numerals
    (0x3041, 0x30FF),  # kana
    (0x3105, 0x312F),  # bopomofo
    (0x31A0, 0x31BF),
    (0x31F0, 0x31FF),  # kana for Ainu
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),  # half-width kana
    (0x1B000, 0x1B16F),  # historic kana
    (0x20000, 0x3FFFF),  # Han: both planes are set aside for it
)
HANGUL: Final[Ranges] = ((0x1100, 0x11FF), (0x3131, 0x318E), (0xA960, 0xA97F), (0xAC00, 0xD7FF))
DENSE: Final[Ranges] = (
    *UNSPACED,
    *HANGUL,
    (0x0F00, 0x0FFF),  # Tibetan
    (0x2FE0, 0x33FF),  # East Asian punctuation, strokes, enclosed and squared characters
    (0x4DC0, 0x4DFF),  # hexagrams
    (0xA000, 0xA4CF),  # Yi
    (0xFE30, 0xFE4F),  # vertical and full-width forms
    (0xFF00, 0xFFEF),
    (0x10000, 0x10FFFF),  # emoji, and scripts that tokenizers hardly know
)
"""Characters that take about one token each, where most others take a quarter of one."""


def _any_of(ranges: Ranges) -> str:
    """The pattern for one character of these ranges that is not a digit."""
    return rf"(?!\d)[{''.join(f'{chr(first)}-{chr(last)}' for first, last in ranges)}]"


UNSPACED_CHARACTER: Final = pattern(f"({_any_of(UNSPACED)})")
TERM_CHARACTERS: Final = pattern(f"(?:{_any_of(UNSPACED + HANGUL)})+")
"""A stretch whose terms are its characters and pairs of them."""

# Python does not count marks as letters, but words fall apart without them: accents and points that stand apart from
# their letter, and the vowels of Indic scripts and of Thai, Lao, Tibetan, Burmese, Khmer and Tai Tham.
MARKS: Final = (
    r"\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u0711\u0730-\u074a"
    r"\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u09d7\u09e2\u09e3\u0a01-\u0a03"
    r"\u0a3c-\u0a51\u0a70\u0a71\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bcd\u0bd7"
    r"\u0c00-\u0c04\u0c3c-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d4d\u0d57\u0d81-\u0d83\u0dca-\u0df3"
    r"\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f71-\u0f84\u0f90-\u0fbc\u102b-\u103e"
    r"\u1056-\u1059\u105e-\u1064\u17b4-\u17d3\u1a55-\u1a7f\u1ab0-\u1aff\u1dc0-\u1dff"
)
"""For a character class."""
