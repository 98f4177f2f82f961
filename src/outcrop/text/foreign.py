"""Words of languages other than English, cut alike where the dictionary is made, in documents and in queries.

Letters with their marks make a word. Scripts written without spaces are cut by the longest words that a dictionary
knows; what it does not know becomes single characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Final

from outcrop.text.pattern import pattern
from outcrop.text.scripts import MARKS, UNSPACED

_UNSPACED: Final = "".join(f"{chr(first)}-{chr(last)}" for first, last in UNSPACED)
_WORD: Final = pattern(
    rf"[0-9]+|(?:(?!\d)[{_UNSPACED}][{MARKS}]*)+|(?:(?![{_UNSPACED}])[^\W\d_]|(?<=[^\W\d_])[{MARKS}])+"
)
"""Digits, a run of a script without spaces, or letters of one with them. Takes linear time."""
_ASCII_WORD: Final = re.compile(r"[0-9]+|[a-zA-Z]+")
_RUN: Final = pattern(rf"(?!\d)[{_UNSPACED}]")
LONGEST_IN_RUN: Final = 6
"""Characters of the longest word looked for in a run without spaces."""


def normalise(text: str) -> str:
    """Lower case, and one code point for what looks alike: full width, ligatures, composed letters."""
    return unicodedata.normalize("NFKC", text).lower()


def cut_words(text: str, is_word: Callable[[str], bool]) -> Iterator[str]:
    """The words and numbers of a normalised text; `is_word` says which stretches of a run without spaces are one."""
    if text.isascii():
        yield from _ASCII_WORD.findall(text)
        return
    for match in _WORD.finditer(text):
        word = match.group()
        if len(word) > 1 and _RUN.match(word):
            yield from _cut_run(word, is_word)
        else:
            yield word


def _cut_run(run: str, is_word: Callable[[str], bool]) -> Iterator[str]:
    at, end = 0, len(run)
    while at < end:
        length = min(LONGEST_IN_RUN, end - at)
        while length > 1 and not is_word(run[at : at + length]):
            length -= 1
        yield run[at : at + length]
        at += length
