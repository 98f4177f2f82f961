"""Names written in Cyrillic, Greek or kana, in Latin letters: `Ньютон` as `nyuton`. Good enough for names that
sound alike to begin alike."""

from __future__ import annotations

import unicodedata
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
