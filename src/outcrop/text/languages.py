"""The languages whose words are known: what they are called, how they are stemmed, and which words say nothing.

They stand in `languages.json`. Function words are what nobody searches for in a question that has other words, and they
tell languages apart: half of any text is made of some hundred of them. The lists are written by hand and short on
purpose; a word that several languages share counts less for each. A language that is not there is searched all the
same, by its words and the pieces they are made of (see `pieces`). To add one, add a row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from outcrop.system.dataclass import dataclass

ENGLISH: Final = "en"


@dataclass(frozen=True, slots=True)
class Language:
    """A language. `stemmer` is Snowball's name for it, empty where there is none. `asking` words begin a question,
    `pointing` ones stand for what was said before, and `leading` ones lead on from it; in scripts without spaces
    they stand anywhere. `letters` are those outside ASCII, or of a script the ones that tell its languages apart."""

    name: str
    stemmer: str = ""
    function: str = ""
    asking: str = ""
    pointing: str = ""
    leading: str = ""
    letters: str = ""


@cache
def known_languages() -> Mapping[str, Language]:
    """All of them, by their ISO 639 code."""
    rows = json.loads(Path(__file__).with_name("languages.json").read_text("utf-8"))
    return {code: Language(**row) for code, row in rows.items()}


@cache
def function_words(code: str) -> frozenset[str]:
    """Words of a language that carry no meaning of their own; none of one that is not known."""
    language = known_languages().get(code)
    return frozenset() if language is None else frozenset(f"{language.function} {language.asking}".split())


@cache
def unspaced_asking() -> re.Pattern[str]:
    """The question words of languages that put no spaces between words, where they are more than a character."""
    rows = (known_languages()[code].asking.split() for code in ("ja", "zh", "th"))
    words = sorted({word for row in rows for word in row if len(word) > 1}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words)))


def name_language(code: str) -> str:
    """What people call a language."""
    language = known_languages().get(code)
    return code if language is None else language.name


def find_code(language: str) -> str | None:
    """The code of a language that is given by its code or its English name; None where it is not known."""
    wanted = language.strip().lower()
    named = {known.name.lower(): code for code, known in known_languages().items()}
    return wanted if wanted in known_languages() else named.get(wanted)
