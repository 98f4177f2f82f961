"""READ PATH: a second opinion on the best candidates, within a time, blended with the first."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final

import numpy as np

from outcrop.contracts import Reranker, Store
from outcrop.errors import EmbedError
from outcrop.rank.excerpt import passage
from outcrop.rank.fusion import add_opinion, blend_of, rerank_scores
from outcrop.records import StoredChunk, Trust
from outcrop.records.candidates import Candidates
from outcrop.system.dataclass import dataclass
from outcrop.text.terms import Terms

log = logging.getLogger(__name__)

RERANKED: Final = 20
"""Candidates the second opinion is asked about: the first page of hits and the next; a small cross-encoder reads as
many in under 0.3 s on two cores."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What came of asking about `asked` chunks: a score by chunk id, of as many as there was time for, or a failure."""

    asked: int = 0
    scores: Mapping[int, float] = field(default_factory=dict)
    failure: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether every chunk has its score."""
        return len(self.scores) == self.asked

    @property
    def detail(self) -> str:
        """Why it tells nothing, if so."""
        if self.failure:
            return f"not reranked: {self.failure}"
        late = self.asked > 0 and not self.scores
        return "not reranked: there was no time, allow more (rerank_seconds)" if late else ""


def ask_reranker(
    reranker: Reranker,
    query: str,
    store: Store,
    chunk_ids: Sequence[int],
    wanted: Mapping[int, float],
    terms: Terms,
    seconds: float,
) -> Opinion:
    """Scores of chunks, best candidates first, as many as fit into `seconds`: fetching and shortening count too.

    `wanted` has the terms of the query with their weights. A text that stands in several files is read once.
    """
    deadline = time.perf_counter() + seconds
    if len(chunk_ids) < 2:  # nothing can change places
        return Opinion()
    alike: dict[str, list[StoredChunk]] = {}
    for chunk in store.chunks(chunk_ids):
        alike.setdefault(" ".join(chunk.text.split()), []).append(chunk)
    asked = sum(map(len, alike.values()))
    texts = [
        passage(first.document.path, name_place(first), first.text, wanted, terms.of)
        for first, *_ in alike.values()
    ]
    left = deadline - time.perf_counter()
    try:
        scores = reranker.score(query, texts, left)[: len(texts)] if left > 0 else ()
    except EmbedError as error:
        log.warning("candidates could not be reranked: %s", error)
        return Opinion(asked, failure=str(error))
    pairs = zip(alike.values(), scores, strict=False)  # the scores end where the time did
    return Opinion(asked, {chunk.id: float(score) for chunks, score in pairs for chunk in chunks})


def name_place(chunk: StoredChunk) -> tuple[str, ...]:
    """Where in its document a chunk stands, in names: the declaration, or the title and the headings."""
    if chunk.code is not None and chunk.code.symbol:
        return (chunk.code.symbol,)
    title = chunk.document.title
    # A document without a title is called by its file's name or its first words, which are read anyway.
    said = chunk.document.path.endswith(title) or " ".join(chunk.text.split()).startswith(title)
    return tuple(dict.fromkeys((*(() if said else (title,)), *chunk.heading_path)))


def blend_opinion(found: Candidates, opinion: Opinion, reranker: Reranker) -> Candidates:
    """All in order again: candidates without a second score keep their first, which no other falls below."""
    if not opinion.scores:
        return found
    top = found.order[:RERANKED]
    second = [opinion.scores.get(chunk_id) for chunk_id in found.chunk_id[top].tolist()]
    places = top[[score is not None for score in second]]
    scores = np.array([score for score in second if score is not None], np.float32)
    final = found.final.copy()
    worth: Trust | None = getattr(reranker, "worth", None)
    if worth is not None:
        final[places] = add_opinion(final[places], scores, found.code[places], worth, found.kind)
    else:
        final[places] = rerank_scores(final[places], scores, found.code[places], blend_of(reranker))
    boosts = {**found.boosts, "rerank": final - found.final}
    order = found.order[np.argsort(-final[found.order], kind="stable")]
    score = found.score.copy()  # what a place in the order was worth it is worth to whoever takes it
    score[order] = np.sort(found.score[found.order])[::-1]
    return found.put(order=order, final=final, boosts=boosts, score=score)
