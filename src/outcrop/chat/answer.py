"""An answer as it grows: what was said, from which sources, and what its reader has to know at its end."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from outcrop.chat.events import Delta, Done, Event, Notice, Source, source_of
from outcrop.chat.evidence import find_quote, find_support, find_unsupported
from outcrop.chat.fence import read_citations
from outcrop.chat.rules import NOT_STATED
from outcrop.records import Context
from outcrop.text.detect import detect_language
from outcrop.text.terms import Terms

_DENIAL: Final = NOT_STATED.split()[0].casefold()
_DOUBT: Final = 10.0
_MOST_DOUBT: Final = 3.0
"""An answer is refused where the chance of a refusal as the model's first word is .5, or .05 where no source holds 30 %
of the question, by its odds in between. Chosen with 1.5 billion parameters (`benchmarks.chat --half dev`)."""
_SURE: Final = 1 - 1e-9

_REFUSALS: Final = {
    "en": "The documents do not say.",
    "de": "Das steht nicht in den Dokumenten.",
    "fr": "Les documents ne le disent pas.",
    "es": "Los documentos no lo dicen.",
    "it": "I documenti non lo dicono.",
    "pt": "Os documentos não o dizem.",
    "nl": "Dat staat niet in de documenten.",
    "pl": "Dokumenty tego nie mówią.",
    "ru": "В документах об этом не сказано.",
}


def refusal(question: str) -> str:
    """What is said where no source answers: in the language of the question, if it is one of these."""
    return _REFUSALS.get(detect_language(question), _REFUSALS["en"])


@dataclass(slots=True)
class Answer:
    """What has been said and shown so far. `quote` is what it rests on, `quoted` the source of that; `refused`: it was
    not given for want of one; `warned`: the reader knows already that it may not be here, `doubted`: it is probably
    not. `gap` is which share of the question no source holds."""

    grounded: bool
    terms: Terms
    text: list[str] = field(default_factory=list)
    sources: dict[tuple[int, int, int], Source] = field(default_factory=dict)
    quote: str = ""
    quoted: Source | None = None
    refused: bool = False
    warned: bool = False
    doubted: bool = False
    gap: float = 0.0

    def number(self, context: Context) -> list[Source]:
        """Number the sources of a context; those shown before keep their numbers."""
        shown = []
        for packed in context.sources:
            key = (packed.hit.document.id, packed.hit.start, packed.hit.end)
            if key not in self.sources:
                number = len(self.sources) + 1
                self.sources[key] = source_of(number, packed.hit, packed.text, packed.truncated)
            shown.append(self.sources[key])
        return shown

    def say(self, text: str) -> Delta:
        """The next piece."""
        self.text.append(text)
        return Delta(text)

    def is_denied(self, chances: Mapping[str, float]) -> bool:
        """Whether the model is about to say that no source answers, or might be where words of the question are in
        none: small models are loath to say so."""
        chance = min(chances.get(_DENIAL, 0.0), _SURE)
        return math.log(chance / (1 - chance)) > -min(_MOST_DOUBT, _DOUBT * self.gap) if chance > 0 else False

    def rests_on(self, quote: str | None) -> bool:
        """Whether a source holds what the model quoted. Without a quote nothing is asked, and without sources only
        whether there is one."""
        if not quote:
            return quote is None
        if not self.sources:
            return True
        self.quote, self.quoted = quote, find_quote(quote, self.sources.values())
        return self.quoted is not None

    def is_guess(self, text: str) -> bool:
        """Whether a reply without a quote states what no source holds, where the answer is probably not here."""
        return self.doubted and self.quoted is None and bool(find_unsupported(text, self.sources.values()))

    def refuse(self, question: str, quote: str | None, gap: str = "") -> Iterator[Event]:
        """Say that the documents do not, in place of an answer without evidence."""
        self.refused = True
        if quote:
            yield Notice("The model rested its answer on words that no source holds, so it was left out.")
        yield self.say(gap + refusal(question))

    def close(self) -> Iterator[Event]:
        """The last events: the quote where it is the whole answer, the source that holds it where none is cited that
        does, then remarks."""
        if not self.grounded:
            yield Done()
            return
        if self.quoted is not None and not "".join(self.text).strip():
            yield self.say(self.quote)
        cited, unknown = self._citations()
        if self.quoted is None and not self.refused:
            named = [source for source in self.sources.values() if source.number in cited]
            if find_support("".join(self.text), named, self.terms) is None:
                self.quoted = find_support("".join(self.text), self.sources.values(), self.terms)
        if self.quoted is not None and self.quoted.number not in cited:
            yield self.say(f" [{self.quoted.number}]")
            cited, unknown = self._citations()
        unsupported: tuple[str, ...] = ()
        if self.sources and not self.refused:
            named = [source for source in self.sources.values() if source.number in cited]
            unsupported = find_unsupported("".join(self.text), named or self.sources.values())
            if unsupported:
                where = "the sources that the answer cites" if named else "any source"
                yield Notice(f"Not in {where}: {', '.join(unsupported)}. Check it before you rely on it.")
            elif not cited and not self.warned:
                yield Notice("The answer cites no source, so it may not come from your documents.")
        yield Done(cited, unknown, unsupported=unsupported)

    def stop(self) -> Done:
        """The last event of an answer that its reader ended."""
        return Done(*self._citations(), stopped=True) if self.grounded else Done(stopped=True)

    def _citations(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        numbers = [source.number for source in self.sources.values()]
        return read_citations("".join(self.text), numbers)
