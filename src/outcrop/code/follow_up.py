"""Whether a short message in another language than English makes no sense without what was said before it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from outcrop.system.dataclass import dataclass
from outcrop.text.detect import detect_language, is_english
from outcrop.text.languages import function_words, known_languages, says_nothing
from outcrop.text.scripts import TERM_CHARACTERS
from outcrop.text.terms import WORD, split_surfaces

MAX_POINTING: Final = 4
MAX_LEADING: Final = 3
MAX_BARE: Final = 1
"""Words with a meaning that a message has at most which points back, leads on, or does neither: as in English (not
measured)."""
WORD_CHARACTERS: Final = 3
"""Characters of a script without spaces that count as one such word (not measured)."""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """What a message says: how many of its words have a meaning, whether it points back, and whether it leads on."""

    meaningful: float
    points: bool
    leads: bool

    def leans_on(self, *, named: bool) -> bool:
        """Whether it needs the messages before it; one with a name in it stands by itself, unless it points back."""
        if self.points:
            return self.meaningful <= MAX_POINTING
        return not named and self.meaningful <= (MAX_LEADING if self.leads else MAX_BARE)


def read_follow_up(text: str) -> FollowUp | None:
    """What a message in another language says; None of one in English, and of one whose language is not told."""
    code = detect_language(text)
    if is_english(code):
        return None
    language = known_languages()[code]
    plain = text.lower()
    pointing, leading, asking = (
        set(listed.split()) for listed in (language.pointing, language.leading, language.asking)
    )
    if TERM_CHARACTERS.search(plain):
        rest = _without(pointing | leading | asking, plain)
        characters = sum(len(run.group()) for run in TERM_CHARACTERS.finditer(rest))
        spaced = sum(1 for word in WORD.findall(TERM_CHARACTERS.sub(" ", rest)))
        points = any(word in _without(asking | function_words(code), plain) for word in pointing)
        return FollowUp(
            characters / WORD_CHARACTERS + spaced,
            points,
            plain.lstrip().startswith(tuple(leading)),
        )
    words = split_surfaces(plain)
    small = function_words(code) | pointing | leading
    says = [not says_nothing(word, small) for word in words]
    articles = set(language.articles.split())
    points = any(
        word in pointing and not (word in articles and meaningful)
        for word, meaningful in zip(words, [*says[1:], False], strict=True)
    )
    return FollowUp(sum(says), points, bool(words) and words[0] in leading)


def _without(words: Collection[str], text: str) -> str:
    """A text in a script without spaces without some words, the longest first."""
    for word in sorted(words, key=len, reverse=True):
        text = text.replace(word, " ")
    return text
