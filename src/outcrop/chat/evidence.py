"""What an answer rests on: the quote that a model gives first, and whether the sources hold what it says after.

A small model asked for an answer gives one, found or not. Asked to copy the words that answer first, it mostly says
`none` where there are none; and whether a quote is in the sources can be looked up. So a reply is `<quote>…</quote>`
and then the answer: the quote is held back, and the answer follows as it comes if a source holds the quote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from outcrop.chat.events import Source
from outcrop.chat.rules import NOT_STATED
from outcrop.text.detect import detect_language
from outcrop.text.languages import function_words
from outcrop.text.terms import STOP_WORDS, Terms

OPENING: Final = "<quote>"
NONE: Final = "none"
"""What stands in place of a quote where nothing answers."""
HELD_SHARE: Final = 0.6
"""Of a quote's pairs of words, those that must be in a source: models drop markup, join lines, leave words out
(not measured)."""
_LONGEST_QUOTE: Final = 4000
"""A quote that goes on for longer is no quote, and what was held back is shown."""
_MAX_UNSUPPORTED: Final = 8
_MOST_WORDS: Final = 24
"""A question in more words, but for those of grammar, is a pasted text."""
_WORD: Final = re.compile(r"\d+|[^\W\d_]+")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_SPELLED: Final = "zero one two three four five six seven eight nine ten".split()
_DIGITS: Final = {word: str(number) for number, word in enumerate(_SPELLED)}
_OPENED: Final = re.compile(r"\s*(?:```\w*\s*)?<quote[^<>\n]{0,40}>", re.IGNORECASE)
_CLOSED: Final = re.compile(r"\s*</quote\s*>\s*", re.IGNORECASE)
_NOT_STATED: Final = NOT_STATED.casefold()
_DENIED: Final = re.compile(rf"\W*{NOT_STATED}\b[^\w\s]", re.IGNORECASE)
_NOTHING: Final = re.compile(r"\W*(?:none|null|n/a|no quote|nothing)?\W*", re.IGNORECASE)
_CITATION: Final = re.compile(r"[\[【]\s*\d[\d\s,;–-]*[\]】]")
_LISTED: Final = re.compile(r"(?m)^\s*\d{1,2}[.)]\s")
_CLAIMS: Final = re.compile(
    r"`[^`\s]{1,200}`"  # a name in code
    r"|(?<![\w/-])--?[A-Za-z][\w-]*"  # an option
    r"|\b[\w.-]*[A-Za-z0-9]_[\w.-]*\w"  # a name with an underscore
    r"|https?://[^\s)>\]]+"
    r"|(?<![\w.])\d[\d.,:]*\d(?!\w)|(?<![\w.])\d(?!\w)"  # a number
)
"""What an answer may not make up: it can be looked up by its letters, whatever the language."""


Weigh = Callable[[Sequence[str]], Sequence[float]]
"""How much each of some words tells of what a question is about."""


@dataclass(slots=True)
class Reply:
    """A model's reply as it comes. `feed` takes a piece and returns what may be shown; `quote` is what it quoted, once
    that is known, empty where it found nothing to quote, and None where it gave no quote at all. Not `quoting`: it was
    not asked for one."""

    quoting: bool = True
    quote: str | None = None
    _held: str = ""
    _state: str = "start"
    _begun: bool = False

    @property
    def is_open(self) -> bool:
        """Whether the answer itself has begun."""
        return self._state == "answer"

    def feed(self, piece: str) -> str:
        """What of the reply may be shown now."""
        if not self.quoting:
            self._state = "answer"
            return piece
        if self._state == "answer":
            return self._show(piece)
        self._held += piece
        if self._state == "start":
            if _DENIED.match(self._held):
                self.quote = ""
                return self._release()
            opened = _OPENED.match(self._held)
            if opened is None:
                return "" if _may_open(self._held) else self._release()
            self._state, self._held = "quote", self._held[opened.end() :]
        closed = _CLOSED.search(self._held)
        if closed is None:
            if len(self._held) <= _LONGEST_QUOTE:
                return ""
            return self._release()
        said, rest = self._held[: closed.start()], self._held[closed.end() :]
        self.quote = "" if _NOTHING.fullmatch(said) else said.strip()
        self._held = rest
        return self._release()

    def end(self) -> str:
        """What is left once the reply is complete: a quote that was never closed is one all the same."""
        if self._state == "quote":
            self.quote = "" if _NOTHING.fullmatch(self._held) else self._held.strip()
            self._held, self._state = "", "answer"
            return ""
        if self._state == "start" and self._held.strip().strip(".").casefold() in (NONE, _NOT_STATED):
            self.quote, self._held = "", ""
        return self._release()

    def _release(self) -> str:
        text, self._held, self._state = self._held, "", "answer"
        return self._show(text)

    def _show(self, text: str) -> str:
        if self.quote is not None and not self._begun:
            text = text.lstrip()
        self._begun = self._begun or bool(text)
        return text


def _may_open(text: str) -> bool:
    """Whether a text can still become an opening mark, or is all that a model says that has forgotten the marks."""
    head = text.lstrip().casefold()
    if head.startswith("```"):
        head = head[3:].lstrip("abcdefghijklmnopqrstuvwxyz").lstrip()
    whole = OPENING[:-1]
    return (
        whole.startswith(head)
        or NONE.startswith(head.rstrip("\n ."))
        or _NOT_STATED.startswith(head.rstrip("\n ."))
        or (head.startswith(whole) and ">" not in head and len(head) < 60)
    )


def find_quote(quote: str, sources: Iterable[Source]) -> Source | None:
    """The source that holds most of a quote, if one holds enough."""
    wanted = _pairs(quote)
    best, most = None, 0.0
    for source in sources:
        share = len(wanted & _pairs(source.text, len(wanted) == 1)) / len(wanted) if wanted else 0.0
        if share > most:
            best, most = source, share
    return best if most >= HELD_SHARE else None


def _pairs(text: str, single: bool = False) -> set[tuple[str, ...]]:
    """Neighbouring words, and each for itself where a quote has only one."""
    words = _words(text)
    pairs: set[tuple[str, ...]] = set(pairwise(words))
    return pairs | {(word,) for word in words} if single or len(words) == 1 else pairs


def find_support(answer: str, sources: Iterable[Source], terms: Terms) -> Source | None:
    """The source that an answer most likely comes from: it holds all that can be looked up, and most of the words."""
    said = _content(_CITATION.sub(" ", answer), terms)
    best, most = None, 0.0
    for source in sources:
        held = set(terms.of(source.text))
        share = sum(not held.isdisjoint(own) for own in said.values()) / len(said) if said else 0.0
        if share > most and not find_unsupported(answer, (source,)):
            best, most = source, share
    return best if most >= HELD_SHARE else None


def find_unsupported(answer: str, sources: Iterable[Source]) -> tuple[str, ...]:
    """Numbers, options and names in code that an answer states and none of these sources holds."""
    shown = " ".join(f"{one.place} {one.title} {' '.join(one.heading_path)} {one.text}" for one in sources)
    held = _line(shown) + " ".join(_DIGITS[word] for word in _words(shown) if word in _DIGITS) + " "
    found: dict[str, None] = {}
    for match in _CLAIMS.finditer(_LISTED.sub("\n", _CITATION.sub(" ", answer))):
        claim = match[0].strip("`.,:")
        if (said := _line(claim)).strip() and said not in held:
            found.setdefault(claim)
    return tuple(found)[:_MAX_UNSUPPORTED]


def find_gap(question: str, sources: Iterable[Source], terms: Terms, weigh: Weigh | None) -> float:
    """Which share of what a question is about no source holds by itself, from 0 to 1. Words count by the square of what
    they tell; those that the model does not weigh all count the same. A pasted text is about too much to be held, and
    words of another language are not looked for: the gap of such is 0."""
    words = _content(question, terms)
    shown = [f"{one.place} {' '.join(one.heading_path)} {one.title} {one.text}" for one in sources]
    if not words or not shown or len(words) > _MOST_WORDS:
        return 0.0
    asked, told = detect_language(question), {detect_language(text) for text in shown}
    if asked and asked not in told and told - {""}:
        return 0.0
    weights = [weight**2 for weight in weigh(list(words))] if weigh is not None else [1.0] * len(words)
    held = [set(terms.of(text)) for text in shown]
    most = max(
        sum(
            weight for weight, own in zip(weights, words.values(), strict=True) if not own_terms.isdisjoint(own)
        )
        for own_terms in held
    )
    return 1.0 - most / sum(weights) if sum(weights) else 0.0


def _content(text: str, terms: Terms) -> dict[str, tuple[int, ...]]:
    """The words of a text, but for those of grammar, with their terms."""
    grammar = STOP_WORDS | function_words(detect_language(text))
    return {word: own for word, own in terms.words(text) if word.casefold() not in grammar}


def _words(text: str) -> list[str]:
    return _WORD.findall(_THOUSANDS.sub("", text.casefold()))


def _line(text: str) -> str:
    """Words with a space around each: markup and line ends differ between a page and what is said of it."""
    return f" {' '.join(_words(text))} "
