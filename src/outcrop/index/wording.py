"""The words of a query as terms: in which language they are asked, and how much each term counts.

Where the index holds nothing but English, a query has the terms of its words and no more. Elsewhere its language is the
one that was forced, the one that its words tell, or else the commonest one of the index that has its script; then it is
also asked by stems and by pieces (see `text.pieces`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field, replace
from functools import cache
from itertools import islice
from typing import Final, NamedTuple

from outcrop.errors import QueryError
from outcrop.system.dataclass import dataclass
from outcrop.text.cells import join_thousands
from outcrop.text.scripts import TERM_CHARACTERS
from outcrop.text.terms import PIECED, STOP_WORDS, Terms, language_term, term_number

PIECE_SHARE: Final = 0.3
"""What a piece of a word counts against the word. On the sets that `text.pieces` names .2, .3 and .45 gave .737, .739
and .738."""
SURFACE_SHARE: Final = 0.2
"""What a word as it was typed counts against its stem: 0, .2 and .5 gave .735, .739 and, on other sets, .006 less than
0."""
FOLDED_SHARE: Final = 0.3
"""What a word without accents counts against the word with them, where there is no stemmer: of 0, .3 and 1 Vietnamese
loses .006 and .057 by the latter two, and finds what was typed without them (chosen between both)."""
CHARACTER_SHARE: Final = 0.3
"""What a character of a script without spaces counts beside the pairs it is in. 1, .5, .2 and 0 gave .722, .730, .734
and .730 on five sets in Chinese, Japanese, Korean and Khmer."""

TRANSLATED_SHARE: Final = 0.4
"""What the likeliest translation of a word counts against the word: a passage in the language of the question comes
first (not measured)."""
GUESSED_SHARE: Final = 0.2
"""Chunks of a language for each in English, from which on a query that does not tell may be in it (not measured)."""
MAX_FORMS: Final = 24
"""Other forms of versions and dates that are looked up: a pasted log has hundreds, and is about none of them."""
ENGLISH: Final = "en"

Counts = Callable[[Collection[int]], Mapping[int, int]]
"""How many chunks hold each of some terms."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """The language whose rules a query is read by, "" for English ones. It is `told` by the text or by who asks, or
    else guessed from what the index holds."""

    code: str = ""
    told: bool = True


class Translation(NamedTuple):
    """A word of a query, what it may be called in another language, and how likely that is against the likeliest."""

    word: str
    other: str
    language: str
    share: float


_AS_ENGLISH: Final = Spoken()


@dataclass(frozen=True, slots=True)
class Wording:
    """The terms of a query. `words` maps each to what was typed, `shares` has those that count less than in full;
    what is `extra` does not count where no chunk has it. `fallback` has, for stems, the term of the word as it was
    typed, which counts in full where no chunk has the stem. `language` is "" where English rules serve. `translated`
    has the terms of translations with their language: they are extra, too."""

    words: dict[int, str]
    shares: dict[int, float] = field(default_factory=dict)
    extra: frozenset[int] = frozenset()
    fallback: dict[int, int] = field(default_factory=dict)
    language: str = ""
    translated: dict[int, str] = field(default_factory=dict)


def read_language(wanted: str) -> str:
    """The code of a language that was asked for, by its code or its English name."""
    from outcrop.text.languages import find_code, known_languages

    code = find_code(wanted)
    if code is None:
        raise QueryError(f"language must be one of {', '.join(sorted(known_languages()))}, not {wanted[:40]!r}")
    return code


def find_language(text: str, forced: str, count: Counts) -> Spoken:
    """The language of a query. An index that holds nothing but English knows no other."""
    if not count((PIECED,)).get(PIECED):
        return Spoken()
    from outcrop.text.detect import detect_language  # where all is English nothing of this is loaded

    told = forced or detect_language(text)
    found = told or detect_language(text, _likely_languages(count_languages(count)))
    return Spoken("" if found == ENGLISH else found, bool(told))


def _likely_languages(held: Mapping[str, int]) -> list[str]:
    """The languages that a query of a few words may be in, the likeliest first: English, where little else is held."""
    english = held.get(ENGLISH, 0)
    return [code for code, chunks in held.items() if code != ENGLISH and chunks >= GUESSED_SHARE * english]


def count_languages(count: Counts) -> dict[str, int]:
    """How many chunks are in each language, the commonest first."""
    terms = _language_terms()
    counts = count(tuple(terms))
    found = {code: counts[term] for term, code in terms.items() if counts.get(term)}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0] != ENGLISH, item[0])))


@cache
def _language_terms() -> dict[int, str]:
    """The terms that stand for languages, with the codes of those."""
    from outcrop.text.languages import known_languages

    return {language_term(code): code for code in known_languages()}


def read_words(text: str, terms: Terms, spoken: Spoken = _AS_ENGLISH) -> Wording:
    """The terms of a query that are looked up."""
    plain = text if text.isascii() else _without_asking(text)
    typed = terms.words(plain)
    typed += [(number, (term_number(number),)) for number in join_thousands(plain)]
    if spoken.code:
        meaningful = _leave_out(typed, terms, spoken.code) or typed
    else:
        meaningful = [
            (surface, found) for surface, found in typed if surface.lower() not in STOP_WORDS
        ] or typed
    words = {term: surface for surface, found in reversed(meaningful) for term in found}
    shares = dict.fromkeys(_characters(plain), CHARACTER_SHARE) if not plain.isascii() else {}
    asked = Wording(words, shares, language=spoken.code)
    asked = _add_pieces(meaningful, terms, asked, told=spoken.told) if spoken.code else asked
    return _add_forms(asked, plain, terms)


def _add_forms(asked: Wording, text: str, terms: Terms) -> Wording:
    """The same with what its versions and dates are called elsewhere; what no chunk has counts nothing."""
    if not any(map(str.isdigit, text)):
        return asked
    from outcrop.text.versions import other_forms  # few queries hold a number

    forms: dict[int, tuple[str, float]] = {}
    for given, form, share in islice(other_forms(text), MAX_FORMS):
        for term in terms.of(form) if form.isalpha() else (term_number(form.lower()),):
            if term not in asked.words:
                forms[term] = given, max(share, forms.get(term, ("", 0.0))[1])
    if not forms:
        return asked
    words = asked.words | {term: given for term, (given, _) in forms.items()}
    shares = asked.shares | {term: share for term, (_, share) in forms.items()}
    return replace(asked, words=words, shares=shares, extra=asked.extra | forms.keys())


def _leave_out(
    typed: list[tuple[str, tuple[int, ...]]], terms: Terms, language: str
) -> list[tuple[str, tuple[int, ...]]]:
    """The words of a question without those of its language that carry no meaning, also where they lean on another
    word: `d'attente` is asked as `attente`."""
    from outcrop.text.languages import function_words, known_languages, says_nothing, split_elided

    small = STOP_WORDS | function_words(language) | set(known_languages()[language].leading.split())
    kept = []
    for surface, found in typed:
        if surface.isalnum():
            if surface.lower() not in small:
                kept.append((surface, found))
        elif not says_nothing(surface.lower(), small):
            parts = split_elided(surface, small)
            kept += (
                [(surface, found)] if parts == [surface] else [(part, tuple(terms.of(part))) for part in parts]
            )
    return kept


def add_translations(asked: Wording, terms: Terms, translations: Collection[Translation]) -> Wording:
    """The terms of a query and, beside them, those of what its words are called in other languages."""
    if not translations:
        return asked
    typed = {word.lower(): word for word in asked.words.values()}
    words, shares, translated = dict(asked.words), dict(asked.shares), dict(asked.translated)
    for found in translations:
        for term in terms.recall((found.language, found.other), lambda key: _terms_of_word(*key, terms)):
            share = TRANSLATED_SHARE * found.share
            if term not in asked.words and shares.get(term, 0.0) < share:
                words[term] = typed.get(found.word, found.word)
                shares[term], translated[term] = share, found.language
    return replace(
        asked, words=words, shares=shares, extra=asked.extra | translated.keys(), translated=translated
    )


def _terms_of_word(language: str, word: str, terms: Terms) -> list[int]:
    if language == ENGLISH:
        return [] if word in STOP_WORDS else list(terms.of(word))
    from outcrop.text.languages import function_words

    if word in function_words(language):
        return []
    stem = None if TERM_CHARACTERS.match(word) else terms.pieces.stem_of(word, language)
    if stem is not None:
        return [stem]
    characters = _characters(word)
    return [term for term in terms.of(word) if term not in characters]


def _without_asking(text: str) -> str:
    """A question without its question words, where those stand between others without a space; the same where nothing
    else is asked."""
    if not TERM_CHARACTERS.search(text):
        return text
    from outcrop.text.languages import unspaced_asking

    rest = unspaced_asking().sub(" ", text)
    return rest if TERM_CHARACTERS.search(rest) or (rest.isascii() and rest.strip()) else text


def _characters(text: str) -> set[int]:
    """The terms of characters that stand in pairs."""
    runs = (run.group() for run in TERM_CHARACTERS.finditer(text))
    return {term_number(character) for run in runs if len(run) > 1 for character in run}


def _add_pieces(
    typed: list[tuple[str, tuple[int, ...]]], terms: Terms, plain: Wording, *, told: bool
) -> Wording:
    """The stems and the pieces of the words of a query beside its terms. Where its language is only guessed, the words
    count in full as they were typed too: it may be English."""
    from outcrop.text.pieces import has_stemmer, split_pieces

    words, shares, language = dict(plain.words), dict(plain.shares), plain.language
    stems = has_stemmer(language)
    extra: set[int] = set()
    fallback: dict[int, int] = {}
    whole: set[int] = set()
    for surface, _ in typed:
        for word in split_pieces(surface):
            stem = terms.pieces.stem_of(word, language)
            if stem is None:
                continue
            base = terms.of(word)[0]
            whole.add(stem if stems else base)
            if stem != base:
                words.setdefault(stem, surface)
                if told or not stems:
                    shares[base if stems else stem] = SURFACE_SHARE if stems else FOLDED_SHARE
                if stems:
                    fallback[stem] = base
                else:
                    extra.add(stem)
            for piece in terms.pieces.pieces_of(word, language):
                words.setdefault(piece, surface)
                shares[piece] = PIECE_SHARE
                extra.add(piece)
    for term in whole:  # a stem may be what another word is as it was typed
        shares.pop(term, None)
    return Wording(words, shares, frozenset(extra - whole), fallback, language)


def settle_shares(asked: Wording, counts: Mapping[int, int]) -> dict[int, float]:
    """What each term counts, now that it is known how many chunks have it; terms that are left out count nothing."""
    shares = {
        term: asked.shares.get(term, 1.0) for term in asked.words if counts.get(term) or term not in asked.extra
    }
    for stem, base in asked.fallback.items():
        if not counts.get(stem) and counts.get(base):
            shares[base] = 1.0
            shares.pop(stem, None)
    return shares
