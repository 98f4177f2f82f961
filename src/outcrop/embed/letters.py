"""Names from one script into another. `spell_in_latin` spells Cyrillic, Greek and kana in one way, `Ньютон` as
`nyuton`: good enough for names that sound alike to begin alike. `spell_name` and `write_name` give the ways in which a
name may be spelled, to be looked up: those that an index does not hold count nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Final

_CYRILLIC: Final = (
    "а a б b в v г g д d е e ё e ж zh з z и i й y к k л l м m н n о o п p р r с s т t у u ф f х kh ц ts ч ch ш sh "
    "щ shch ъ _ ы y ь _ э e ю yu я ya і i ї yi є ye ґ g ў u ј j љ lj њ nj ћ c ђ dj џ dz ѓ gj ќ kj ѕ dz"
)
_GREEK: Final = (
    "α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s ς s τ t υ y φ f χ ch ψ ps ω o"
)
_KANA_SMALL: Final = {"SMALL TU": "", "SMALL YA": "ya", "SMALL YU": "yu", "SMALL YO": "yo"}
_KANA_SOUNDS: Final = {"si": "shi", "ti": "chi", "tu": "tsu", "hu": "fu", "zi": "ji", "di": "ji", "du": "zu"}


@cache
def _letters() -> dict[int, str]:
    given = (_CYRILLIC + " " + _GREEK).split()
    return {ord(letter): sound.strip("_") for letter, sound in zip(given[::2], given[1::2], strict=True)}


def spell_in_latin(word: str) -> str:
    """A lower-case word in Latin letters, without marks; what has no sound here stays as it is."""
    if word.isascii():
        return word
    spelled = "".join(map(_kana, word)).translate(_letters())
    if spelled.isascii():
        return spelled
    plain = (letter for letter in unicodedata.normalize("NFD", spelled) if not unicodedata.combining(letter))
    return "".join(plain).translate(_letters())


def _kana(letter: str) -> str:
    if not "\u3041" <= letter <= "\u30ff":
        return letter
    sound = unicodedata.name(letter, "").rpartition(" LETTER ")[2]
    if letter == "ー" or not sound:
        return ""
    sound = _KANA_SMALL.get(sound, sound.removeprefix("SMALL ").lower())
    return _KANA_SOUNDS.get(sound, sound)


MOST_SPELLINGS: Final = 64
"""Ways of spelling that are looked up for a name; to find them takes .1 to .8 ms."""
_SECOND: Final = 1.0
"""What each less usual way of spelling a sound costs; the cheapest spellings are taken (not measured)."""
_ENDING: Final = 0.5
"""The same for leaving an ending out."""
_SOUNDS: Final = """
а a u|ай ai ay i|ау ow au|в v w|г g h|дж j g dzh|е e ye a|ей ey ay ei|ж zh j g|з z s|и i y ee|й y i|к k c ck|кс x ks
кв qu kv|л l ll|ль l ll|м m mm|н n nn|о o a au|оу ow ou o|р r rr|с s c ss|т t th tt|у u w oo|уи wi ui|уі wi ui
уо wa uo|уэ we|ф f ph ff|х h kh ch|ц ts c tz|ч ch tch cz|ш sh sch s|ь _ i|э e a|ю yu u iu|я ya ia a|і i y|є ye e
"""
"""How letters of Cyrillic are spelled in names from other languages, the usual way first."""
_ENDINGS: Final = tuple("ами ого ому ом ем ой ою ов ів ам а у е і ы и я ю".split())
_OF_A: Final = frozenset("ой ою у е і ы и".split())
"""Endings of a name that ends in `а`."""
_SHORTEST_NAME: Final = 3
_LONGEST_NAME: Final = 24
_CYRILLIC_NAME: Final = re.compile(r"[\u0400-\u045f\u0490\u0491'’-]+")
_LATIN_NAME: Final = re.compile(rf"[a-z]{{{_SHORTEST_NAME},{_LONGEST_NAME}}}")
_OTHER_NAME: Final = re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]{4,}|[\u30a1-\u30ff]{3,}")
"""Greek, and katakana, in which Japanese writes foreign names."""
_NOT_IN: Final = {"ru": frozenset("іїєґўјљњћђџѓќѕ"), "uk": frozenset("ыэъёўјљњћђџѓќѕ")}
"""Letters of Cyrillic that a language does without."""


@cache
def _sounds() -> dict[str, tuple[str, ...]]:
    """How a letter or several of Cyrillic are spelled, the usual way first."""
    single = {chr(letter): (sound,) for letter, sound in _letters().items()}
    rows = (row.split() for row in _SOUNDS.strip().replace("\n", "|").split("|"))
    return single | {letters: tuple(way.strip("_") for way in ways) for letters, *ways in rows}


def spell_name(word: str) -> list[str]:
    """The ways in which a lower-case word that may be a name is likely to be spelled in Latin letters: `микельсон` is
    `mikelson`, `mickelson` and more."""
    if len(word) > _LONGEST_NAME:
        return []
    if not _CYRILLIC_NAME.fullmatch(word):
        spelled = spell_in_latin(word) if _OTHER_NAME.fullmatch(word) else ""
        return [spelled] if spelled.isascii() and len(spelled) >= _SHORTEST_NAME else []
    found: dict[str, float] = {}
    for form, cost in _name_forms(word).items():
        for spelled, more in _spell(form, _sounds(), 2).items():
            if spelled.isascii() and len(spelled) >= _SHORTEST_NAME:
                found[spelled] = min(found.get(spelled, cost + more), cost + more)
    return sorted(found, key=lambda spelled: (found[spelled], spelled))[:MOST_SPELLINGS]


def _name_forms(word: str) -> dict[str, float]:
    """A name as it stands and without endings that it may have, each with its cost."""
    forms = {word: 0.0}
    for end in _ENDINGS:
        if word.endswith(end) and len(word) - len(end) >= _SHORTEST_NAME:
            stem = word.removesuffix(end)
            forms |= dict.fromkeys((stem, f"{stem}а") if end in _OF_A else (stem,), _ENDING)
    return forms


def write_name(word: str, language: str) -> list[str]:
    """The ways in which a lower-case Latin word that may be a name is likely to be written in Cyrillic letters, those
    of a language; none in a language of another script."""
    written = _written(language)
    if not written or not _LATIN_NAME.fullmatch(word):
        return []
    found = _spell(word, written, 3)
    if word.endswith("e"):  # which is silent in most names
        for way, cost in _spell(word[:-1], written, 3).items():
            found[way] = min(found.get(way, cost + 1), cost)
    ways = (way for way in found if len(way) >= _SHORTEST_NAME)
    return sorted(ways, key=lambda way: (found[way], way))[:MOST_SPELLINGS]


@cache
def _written(language: str) -> dict[str, tuple[str, ...]]:
    """How Latin letters are written in the Cyrillic letters of a language, the usual way first; empty in others."""
    ways: dict[str, list[tuple[int, str]]] = {}
    for letters, spelled in _sounds().items() if language in _NOT_IN else ():
        if _CYRILLIC_NAME.fullmatch(letters) and not _NOT_IN[language] & set(letters):
            for rank, way in enumerate(spelled):
                if way:
                    ways.setdefault(way, []).append((rank, letters))
    return {way: tuple(letters for _, letters in sorted(found)) for way, found in ways.items()}


def _spell(word: str, sounds: Mapping[str, tuple[str, ...]], longest: int) -> dict[str, float]:
    """The cheapest spellings of a word, each with its cost: sound by sound, those of several letters beside each."""
    best: list[dict[str, float]] = [{"": 0.0}] + [{} for _ in word]
    for at in range(len(word)):
        cheapest = sorted(best[at].items(), key=lambda item: item[1])[:MOST_SPELLINGS]
        for length in range(1, min(longest, len(word) - at) + 1):
            letters = word[at : at + length]
            after = best[at + length]
            for rank, way in enumerate(sounds.get(letters, ())):
                if not at and way[1:] and way == way[0] * len(way):
                    continue  # no name begins with a letter twice
                for before, cost in cheapest:
                    spelled, total = before + way, cost + rank * _SECOND
                    if total < after.get(spelled, total + 1):
                        after[spelled] = total
    return best[-1]
