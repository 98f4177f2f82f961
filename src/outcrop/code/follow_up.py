"""Whether a short message in another language than English makes no sense without what was said before it."""

from __future__ import annotations

from typing import Final

from outcrop.system.dataclass import dataclass
from outcrop.text.detect import detect_language, is_english
from outcrop.text.languages import function_words, known_languages
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
        rest = plain
        for word in sorted(pointing | leading | asking, key=len, reverse=True):
            rest = rest.replace(word, " ")
        characters = sum(len(run.group()) for run in TERM_CHARACTERS.finditer(rest))
        spaced = sum(1 for word in WORD.findall(TERM_CHARACTERS.sub(" ", rest)))
        return FollowUp(
            characters / WORD_CHARACTERS + spaced,
            any(word in plain for word in pointing),
            plain.lstrip().startswith(tuple(leading)),
        )
    words = split_surfaces(plain)
    said = [word for word in words if word not in function_words(code) | pointing | leading]
    return FollowUp(len(said), any(word in pointing for word in words), bool(words) and words[0] in leading)
