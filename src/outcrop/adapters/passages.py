"""What every adapter hands on: the passages of an answer, each with where it is from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from outcrop.engine import Engine
from outcrop.errors import StoreError
from outcrop.records import Hit, Reason
from outcrop.system.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Passage:
    """A text, its name (that of its chunks, which no other passage ever has), its score and where it is from."""

    id: str
    text: str
    score: float
    metadata: dict[str, Any]


def find_passages(
    engine: Engine, query: str, limit: int, budget_tokens: int | None, options: Mapping[str, Any]
) -> list[Passage]:
    """The passages for a query, best first: `limit` of them, or with a budget all that fit into so many tokens.

    `options` are those of `Engine.search`. Raises StoreError where the index failed: nothing would read as an answer.
    """
    if budget_tokens is None:
        answer = engine.search(query, limit=limit, **options)
        _require_answer(answer.reason, answer.detail, answer.hits)
        return [_passage(hit, hit.text, truncated=False) for hit in answer.hits]
    context = engine.context(query, budget_tokens=budget_tokens, **options)
    _require_answer(context.reason, context.detail, context.sources)
    return [_passage(source.hit, source.text, truncated=source.truncated) for source in context.sources]


def _require_answer(reason: Reason | None, detail: str, found: tuple[object, ...]) -> None:
    if reason == "error" and not found:
        raise StoreError(detail)


def _passage(hit: Hit, text: str, *, truncated: bool) -> Passage:
    """`source` is what LangChain and LlamaIndex call the place a text is from; `place` is how to cite it."""
    metadata = {
        "source": hit.document.uri,
        "place": hit.place,
        "path": hit.document.path,
        "collection": hit.document.collection,
        "title": hit.document.title,
        "headings": list(hit.heading_path),
        "line_start": hit.line_start,
        "line_end": hit.line_end,
        "page": hit.page,
        "score": hit.score,
        "stale": hit.stale,
        "copies": hit.copies,
        "truncated": truncated,
    }
    return Passage("-".join(map(str, hit.chunk_ids)), text, hit.score, metadata)
