"""Which language a text is in: told by its script and, where languages share one, by its function words and letters.

A few hundred characters are enough for prose and a few words for most questions. What is not told apart is "", and so
is text that has hardly a function word, as logs and tables; it is searched as English is. Takes 10 to 30 µs a passage.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Final

from outcrop.text.languages import ENGLISH, function_words, known_languages

SAMPLE_CHARS: Final = 500
"""How much of a text is read: 1 000 take twice the time, a tenth of an ingest (not measured what they tell)."""
MIN_SCRIPT_SHARE: Final = 0.2
"""Letters of another script that make a text one in it: notes of programmers are full of English (not measured)."""
MIN_KANA_SHARE: Final = 0.05
"""Kana among characters of Han that make a text Japanese (not measured)."""
MIN_SHARE: Final = 0.08
"""How much evidence there has to be for each word. English prose has .3 to .5, lists and logs less than this (not
measured)."""
MIN_EVIDENCE: Final = 0.9
"""One function word that no other language has is enough for a question."""
MIN_LEAD: Final = 1.15
"""How far the first language has to lie before the second."""
MAX_REPEATS: Final = 2
"""How often a word counts: `chi` on every line is the name of a project, not Italian (not measured)."""
FEW_WORDS: Final = 5
"""A text of more words has to have two that speak for its language, for the same reason (not measured)."""
CLEAR_SPEAKERS: Final = 4
"""Words from which on a language that lies far ahead needs half of the evidence: technical texts have fewer function
words. Of 1 000 stretches of manual pages in 13 languages 4 % are not told (10 % without this), .6 % are told wrongly
(.2 %; sisters), and of 7 500 of English and code .1 % are taken for another language, as without it."""
CLEAR_LEAD: Final = 1.6
"""What is far ahead. Of 1.3, 1.6 and 2 the first two left .5 % fewer untold than the last."""
SISTERS_LEAD: Final = 2.0
"""How far two languages have to lie before the third for either to do, as Danish and Norwegian."""
LETTER_EVIDENCE: Final = 0.5
"""What a word counts that has a letter of the language, against a function word of it."""

_WORD: Final = re.compile(r"\b[^\W\d_]+\b")
_ELIDED: Final = re.compile(r"(?<!\S)([^\W\d_]{1,7})['’](?=[^\W\d_])")
"""What stands before the apostrophe of a word: `l'` and `dell'` say more than the letters do."""
_ASCII_WORDS: Final = "".join(
    chr(code).lower() if chr(code).isalnum() or chr(code) == "_" else " " for code in range(128)
)
"""What each character of ASCII becomes before a text is split into words: a quarter of the time of a pattern."""
_BLOCK: Final = 7
_SCRIPTS: Final[tuple[tuple[int, int, str], ...]] = (
    (0x0370, 0x03FF, "el"),
    (0x1F00, 0x1FFF, "el"),
    (0x0400, 0x052F, "ru"),
    (0x0580, 0x05FF, "hy he"),
    (0x0600, 0x077F, "ar"),
    (0x0900, 0x097F, "hi"),
    (0x0980, 0x09FF, "bn"),
    (0x0A00, 0x0A7F, "pa"),
    (0x0A80, 0x0AFF, "gu"),
    (0x0B00, 0x0B7F, "or"),
    (0x0B80, 0x0BFF, "ta"),
    (0x0C00, 0x0C7F, "te"),
    (0x0C80, 0x0CFF, "kn"),
    (0x0D00, 0x0D7F, "ml"),
    (0x0D80, 0x0DFF, "si"),
    (0x0E00, 0x0E7F, "th"),
    (0x0E80, 0x0EFF, "lo"),
    (0x0F00, 0x0FFF, "bo"),
    (0x1000, 0x107F, "my"),
    (0x1080, 0x10FF, "ka"),
    (0x1100, 0x11FF, "ko"),
    (0x1200, 0x137F, "am"),
    (0x1780, 0x17FF, "km"),
    (0x3000, 0x30FF, "ja"),
    (0x3400, 0x9FFF, "zh"),
    (0xAC00, 0xD7FF, "ko"),
)
"""Blocks of 128 characters, and the language of a text in them of which nothing else is known."""
_LATIN: Final = ""
_SAME_SCRIPT: Final = {"uk": "ru", "bg": "ru", "sr": "ru", "fa": "ar", "ur": "ar", "mr": "hi"}
_SHARED: Final = frozenset((_LATIN, *_SAME_SCRIPT.values()))
"""Scripts of several languages, by the one that stands for them."""
_OWN_SCRIPT: Final = frozenset(code for _, _, codes in _SCRIPTS for code in codes.split())


@cache
def _block_languages() -> dict[int, str]:
    return {
        block: code for first, last, code in _SCRIPTS for block in range(first >> _BLOCK, (last >> _BLOCK) + 1)
    }


@cache
def _speakers() -> dict[str, list[str]]:
    """Function word → the languages that have it."""
    having: dict[str, list[str]] = {}
    for code in known_languages():
        for word in function_words(code):
            if len(word) > 1 or not word.isascii():  # a single letter may be the name of anything
                having.setdefault(word, []).append(code)
    return having


class _Evidence(dict[str, tuple[tuple[str, float], ...]]):
    """Function word → the languages that have it, each with its share; worked out when it is first met."""

    def __missing__(self, word: str) -> tuple[tuple[str, float], ...]:
        codes = _speakers()[word]
        self[word] = shares = tuple((code, 1 / len(codes)) for code in codes)
        return shares


_EVIDENCE: Final = _Evidence()


@cache
def _letter_evidence() -> dict[str, tuple[tuple[str, float], ...]]:
    having: dict[str, list[str]] = {}
    for code, language in known_languages().items():
        for letter in language.letters:
            having.setdefault(letter, []).append(code)
    return {
        letter: tuple((code, LETTER_EVIDENCE / len(codes)) for code in codes)
        for letter, codes in having.items()
    }


def detect_language(text: str, likely: Sequence[str] = ()) -> str:
    """The code of the language a text is in, "" where it is not told. Where some are `likely`, it is told among them if
    it is not told among all; the last resort is the first of them that has the script of the text."""
    sample = text[:SAMPLE_CHARS]
    script = _LATIN if sample.isascii() else _by_script(sample)
    if script not in _SHARED:
        return script
    words = _split_ascii(sample) if sample.isascii() else _WORD.findall(sample.lower())
    found = _by_words(words)
    if not found and ("'" in sample or "’" in sample):
        words += [f"{word}'" for word in _ELIDED.findall(sample.lower())]
        found = _by_words(words)
    if not found and likely:
        found = _by_words(words, frozenset((*likely, ENGLISH)))
        found = found or next((code for code in likely if script_of(code) == script), "")
    return found or script


def _split_ascii(sample: str) -> list[str]:
    """The words of an ASCII text in lower case; none of letters beside digits or underscores, which is no word."""
    return [word for word in sample.translate(_ASCII_WORDS).split() if word.isalpha()]


def script_of(code: str) -> str:
    """The script of a language, by the language that stands for it; "" for Latin."""
    return _SAME_SCRIPT.get(code, code if code in _OWN_SCRIPT else _LATIN)


def _by_script(sample: str) -> str:
    """The language that has the script of a text, or stands for those that do; "" where that is Latin."""
    blocks = _block_languages()
    found: Counter[str] = Counter()
    for character, count in Counter(sample).items():
        if character.isalpha():
            found[blocks.get(ord(character) >> _BLOCK, "")] += count
    total = sum(found.values())
    kana, han = found["ja"], found["zh"]
    if kana > MIN_KANA_SHARE * (kana + han):
        found["ja"] += han
        found["zh"] = 0
    del found[""]
    if not found:
        return _LATIN
    ((code, count),) = found.most_common(1)
    if count < MIN_SCRIPT_SHARE * total:
        return _LATIN
    if code == "hy he":
        return "he" if any("\u05d0" <= character <= "\u05ea" for character in sample) else "hy"
    return code


def _by_words(words: Sequence[str], among: frozenset[str] | None = None) -> str:
    """The language that most function words and letters speak for; `among` some, half of the evidence is enough."""
    known = _speakers()
    scores: dict[str, float] = {}
    speakers: dict[str, int] = {}
    for word, count in Counter(words).items():
        speaking: Sequence[tuple[str, float]] = _EVIDENCE[word] if word in known else ()
        letters: Sequence[tuple[str, float]] = () if word.isascii() else _letters_of(word)
        if not speaking and not letters:  # most words
            continue
        if among is not None:
            speaking, letters = _share_out(speaking, 1.0, among), _share_out(letters, LETTER_EVIDENCE, among)
        times = min(count, MAX_REPEATS)
        for code, share in speaking:
            scores[code] = scores.get(code, 0.0) + times * share
            speakers[code] = speakers.get(code, 0) + 1
        for code, share in letters:
            scores[code] = scores.get(code, 0.0) + times * share
        for code in dict(letters).keys() - dict(speaking) if letters else ():
            speakers[code] = speakers.get(code, 0) + 1
    if len(words) > FEW_WORDS:
        scores = {code: score for code, score in scores.items() if speakers[code] > 1}
    if not scores:
        return ""
    first, *others = sorted(scores, key=scores.__getitem__, reverse=True)
    least = max(MIN_EVIDENCE, MIN_SHARE * len(words)) / (1 if among is None else 2)
    if _is_clear(scores, speakers[first], [first, *others]):
        return first if scores[first] >= least / 2 else ""
    # Of sisters such as Danish and Norwegian either will do where there is much to go by; English has to be certain.
    rivals = [scores[code] for code in others if scores[first] < 2 * least or ENGLISH in (first, code)]
    return first if scores[first] >= max([least, *(MIN_LEAD * rival for rival in rivals)]) else ""


def _is_clear(scores: Mapping[str, float], words: int, order: Sequence[str]) -> bool:
    """Whether the first language, for which so many words speak, lies far ahead, alone or with a sister."""
    first, second, third = (*(scores[code] for code in order[:3]), 0.0, 0.0)[:3]
    sisters = ENGLISH not in order[:2] and first >= SISTERS_LEAD * third
    return words >= CLEAR_SPEAKERS and (first >= CLEAR_LEAD * second or sisters)


def _share_out(
    speaking: Sequence[tuple[str, float]], whole: float, among: frozenset[str]
) -> tuple[tuple[str, float], ...]:
    """What a word speaks for, shared out among some languages only."""
    codes = [code for code, _ in speaking if code in among]
    return tuple((code, whole / len(codes)) for code in codes)


@lru_cache(maxsize=4096)
def _letters_of(word: str) -> tuple[tuple[str, float], ...]:
    """What the letters of a word outside ASCII speak for, each language once."""
    letters = _letter_evidence()
    best: dict[str, float] = {}
    for letter in word:
        for code, share in letters.get(letter, ()):
            best[code] = max(best.get(code, 0.0), share)
    return tuple(best.items())


def is_english(code: str) -> bool:
    """Whether a text is searched as English is: also one whose language is not told."""
    return code in (ENGLISH, "")
