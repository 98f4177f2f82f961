"""READ PATH: the words of a question in another language, as the English words they may mean.

What is written in one language is so found by words asked in another, beside what the model finds by meaning. The
dictionary is that of the static model (`embed.lexicon`), whichever model is in use.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final

from outcrop.contracts import Embedder
from outcrop.embed.lexicon import Lexicon
from outcrop.embed.static import StaticEmbedder
from outcrop.index.query import Query

MAX_WORDS: Final = 32
"""Words of a query that are translated, the first ones."""


def translate_query(query: Query, embedder: Embedder) -> Query:
    """The query with what its words may be called in English; as it is where it is English."""
    lexicon = _lexicon_of(embedder)
    if lexicon is None:
        return query
    _, foreign = lexicon.split(query.text)
    if not foreign:
        return query
    translated = lexicon.translate(foreign, MAX_WORDS)
    return replace(query, translated=tuple(translated), also=tuple(translate_query(q, embedder) for q in query.also))


def _lexicon_of(embedder: Embedder) -> Lexicon | None:
    return embedder.lexicon if isinstance(embedder, StaticEmbedder) else _packaged_lexicon()


@cache
def _packaged_lexicon() -> Lexicon | None:
    return StaticEmbedder().lexicon
