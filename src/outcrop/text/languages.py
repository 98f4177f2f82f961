"""The languages whose words are known: what they are called, how they are stemmed, and which words say nothing.

They stand in `languages.json`. Function words are what nobody searches for in a question that has other words, and they
tell languages apart: half of any text is made of some hundred of them. The lists are written by hand and short on
purpose; a word that several languages share counts less for each. A language that is not there is searched all the
same, by its words and the pieces they are made of (see `pieces`). To add one, add a row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from outcrop.system.dataclass import dataclass

ENGLISH: Final = "en"
_JOINTS: Final = re.compile(r"['’-]")
"""What joins the words of `l'est`, `est-ce` and `dell'acqua`; other joints are those of names."""


@dataclass(frozen=True, slots=True)
class Language:
    """A language. `stemmer` is Snowball's name for it, empty where there is none. `asking` words begin a question,
    `pointing` ones stand for what was said before, and `leading` ones lead on from it; in scripts without spaces
    they stand anywhere. Some pointing ones are `articles`, or say "is", before a word that has a meaning. `letters`
    are those outside ASCII, or of a script the ones that tell its languages apart."""

    name: str
    stemmer: str = ""
    function: str = ""
    asking: str = ""
    pointing: str = ""
    articles: str = ""
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


def says_nothing(word: str, small: Collection[str]) -> bool:
    """Whether a word in lower case is one of some small ones, or made of nothing but those: `qu'est-ce`, `a-t-il`."""
    return word in small or all(part in small or f"{part}'" in small for part in _JOINTS.split(word))


def split_elided(word: str, small: Collection[str]) -> list[str]:
    """What of a word is none of some small ones: `attente` of `d'attente`. The whole where none or all of it is."""
    parts = _JOINTS.split(word)
    kept = [part for part in parts if not says_nothing(part.lower(), small)]
    return kept if kept and len(kept) < len(parts) else [word]


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
