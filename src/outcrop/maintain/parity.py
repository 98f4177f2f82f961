"""Do two indexes that hold the same also answer alike? Queries drawn from their own text, asked of both."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Final

from outcrop.contracts import Store
from outcrop.records import FeedRow, Hit, RankingParity

QUERIES: Final = 48
"""Questions asked; each costs two searches. Of ten hits each, one odd hit moves the mean by .0002 (not measured)."""
TRIES: Final = 4
"""Chunks looked at for each question: some have no words, in a small index some come twice."""
TOP: Final = 10
SEED: Final = 20_260_101
MIN_WORDS: Final = 3
MAX_WORDS: Final = 12
MAX_CHARACTERS: Final = 120
"""A question is a few words; of scripts without spaces, some dozens of characters."""

_SENTENCES: Final = re.compile(r"[.!?。！？\n]+")
_WORDS: Final = re.compile(r"\w[\w'.-]*\w|\w")


def draw_queries(store: Store, count: int = QUERIES, seed: int = SEED) -> list[str]:
    """Questions that this index can answer: sentences, headings and names of declarations. Always the same ones."""
    with store.snapshot():
        last = _last_chunk(store)
        return _draw(store, last, count, seed) if last else []


def _draw(store: Store, last: int, count: int, seed: int) -> list[str]:
    draw = random.Random(seed)  # noqa: S311 - the same ones every time is what is wanted
    found: dict[str, None] = {}
    for _ in range(TRIES * count):
        query = _query_of(store.feed(draw.randrange(last), 1)[0], draw)
        if query:
            found[query] = None
        if len(found) == count:
            break
    return list(found)


def compare_rankings(
    queries: Sequence[str],
    source: Callable[[str, int], Sequence[Hit]],
    target: Callable[[str, int], Sequence[Hit]],
) -> RankingParity:
    """Ask both each query, and compare which passages are among the best hits."""
    overlaps: list[float] = []
    different: list[tuple[str, float]] = []
    for query in queries:
        here, there = _passages(source(query, TOP)), _passages(target(query, TOP))
        most = max(len(here), len(there))
        overlap = len(here & there) / most if most else 1.0
        overlaps.append(overlap)
        if overlap < 1:
            different.append((query, overlap))
    mean = sum(overlaps) / len(overlaps) if overlaps else 1.0
    return RankingParity(len(queries), mean, tuple(different))


def _passages(hits: Sequence[Hit]) -> set[str]:
    """By their text: of several copies of a passage a search shows one, and the order of writing decides which."""
    return {" ".join(hit.text.split()) for hit in hits}


def _last_chunk(store: Store) -> int:
    """The highest id of a chunk, 0 where there is none: found by bisection, since no store says."""
    low, high = 0, 1
    while store.feed(high - 1, 1):
        low, high = high, 2 * high
    while low + 1 < high:  # there is a chunk with an id of at least low, and none of at least high
        middle = (low + high) // 2
        if store.feed(middle - 1, 1):
            low = middle
        else:
            high = middle
    return low


def _query_of(row: FeedRow, draw: random.Random) -> str:
    """A question that this chunk answers; empty where it has no words."""
    kind = draw.randrange(3)
    if kind == 0 and row.code is not None and row.code.symbol:
        return row.code.symbol[:MAX_CHARACTERS]
    if kind == 1 and row.heading_path:
        return _words(row.heading_path[-1])
    sentences = [_words(sentence) for sentence in _SENTENCES.split(row.text)]
    long = [words for words in sentences if words.count(" ") >= MIN_WORDS - 1]
    return draw.choice(long or [words for words in sentences if words] or [""])


def _words(text: str) -> str:
    """Only the words of a text: no quotes or signs that mean something in a query."""
    return " ".join(_WORDS.findall(text)[:MAX_WORDS])[:MAX_CHARACTERS]
