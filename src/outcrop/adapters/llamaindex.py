"""A retriever for LlamaIndex: `pip install 'outcrop[llamaindex]'`.

retriever = OutcropRetriever(outcrop.open(), limit=5)
engine = RetrieverQueryEngine.from_args(retriever, llm=llm)
"""

from __future__ import annotations

import asyncio
from typing import Any

from outcrop.adapters.passages import Passage, find_passages
from outcrop.engine import Engine
from outcrop.errors import ConfigError, QueryError
from outcrop.system.machine import need_extra

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ModuleNotFoundError as error:
    raise need_extra(ConfigError, "a retriever for LlamaIndex", "llamaindex") from error

TOLD = frozenset({"place", "title"})
"""Metadata that LlamaIndex puts before the text in a prompt: enough to cite it. The rest would only cost tokens."""


class OutcropRetriever(BaseRetriever):
    """Passages of an index as LlamaIndex's nodes, best first, each with its score.

    Their metadata says where each is from (`source`, `place`, `line_start`, `line_end`, `page`). `limit` is how many at
    most; with `budget_tokens` as many as fit into so many tokens, the last perhaps shortened. `options` are those of
    `Engine.search`. Safe to use from many threads, as the engine is; its owner closes it.
    """

    def __init__(
        self, engine: Engine, *, limit: int = 10, budget_tokens: int | None = None, **options: Any
    ) -> None:
        if limit < 1:
            raise QueryError(f"limit must be 1 or more, not {limit}")
        super().__init__()
        self._engine = engine
        self._limit = limit
        self._budget_tokens = budget_tokens
        self._options = options

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = query_bundle.query_str
        found = find_passages(self._engine, query, self._limit, self._budget_tokens, self._options)
        return [NodeWithScore(node=_node(item), score=item.score) for item in found]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _node(passage: Passage) -> TextNode:
    hidden = sorted(set(passage.metadata) - TOLD)
    return TextNode(
        id_=passage.id,
        text=passage.text,
        metadata=passage.metadata,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=hidden,
    )
