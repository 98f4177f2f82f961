"""READ PATH: what the words of a question are called in the other languages that an index holds.

So what is written in one language is found by words asked in another, beside what the model finds by meaning. The
dictionary is that of the static model (`embed.lexicon`), whichever model is in use; from any language into any other it
goes by way of English. An index of nothing but English asked in English never opens it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final

from outcrop.contracts import Embedder
from outcrop.embed.lexicon import Lexicon
from outcrop.index.query import Query
from outcrop.index.seam import Index
from outcrop.index.wording import ENGLISH, Translation, count_languages
from outcrop.records import SearchMode
from outcrop.text.terms import PIECED

MAX_WORDS: Final = 32
"""Words of a query that are translated, the first ones."""
MAX_LANGUAGES: Final = 4
"""Languages that a query is translated into: those with the most chunks."""


def translate_query(query: Query, mode: SearchMode, embedder: Embedder, index: Index) -> Query:
    """The query, and its clauses, with what its words are called in other languages of the index."""
    lexicon = None if mode == "semantic" else find_lexicon(embedder)
    if lexicon is None:
        return query
    held = list(count_languages(index.count_terms)) if index.count_terms((PIECED,)).get(PIECED) else [ENGLISH]
    clauses = tuple(replace(clause, translations=_translate(clause, lexicon, held)) for clause in query.also)
    return replace(query, translations=_translate(query, lexicon, held), also=clauses)


def _translate(query: Query, lexicon: Lexicon, held: list[str]) -> tuple[Translation, ...]:
    _, foreign = lexicon.split(query.text)
    found = lexicon.translate(foreign, MAX_WORDS) if foreign else lexicon.list_english(query.text, MAX_WORDS)
    given = [Translation(word, other, ENGLISH, share) for word, other, share in found if foreign]
    others = [code for code in held if code not in (ENGLISH, query.language)][:MAX_LANGUAGES]
    said = {english: [lexicon.say(english, language) for language in others] for _, english, _ in found}
    for at, language in enumerate(others):
        for word, english, share in found:
            given += [
                Translation(word, other, language, share * rate)
                for other, rate in said[english][at]
                if other != word
            ]
    return tuple(given)


def find_lexicon(embedder: Embedder) -> Lexicon | None:
    """The dictionary of the model in use, or else the one that comes with the package."""
    own: Lexicon | None = getattr(embedder, "lexicon", None)
    return own or _packaged_lexicon()


@cache
def _packaged_lexicon() -> Lexicon | None:
    from outcrop.embed.static import StaticEmbedder

    return StaticEmbedder().lexicon
