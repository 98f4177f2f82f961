"""Against the real LlamaIndex: a retriever by itself, in a query engine, and asked asynchronously."""

from __future__ import annotations

import asyncio

import pytest
from llama_index.core.llms.mock import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode, TextNode

from outcrop.adapters.llamaindex import OutcropRetriever
from outcrop.engine import Engine
from outcrop.errors import QueryError
from outcrop.text.tokens import vocabulary

QUESTION = "how do we rotate the signing keys?"


def test_nodes_are_the_hits_of_a_search(engine: Engine) -> None:
    found = OutcropRetriever(engine, limit=3).retrieve(QUESTION)
    hits = engine.search(QUESTION, limit=3).hits
    assert len(hits) == 3
    assert [item.text for item in found] == [hit.text for hit in hits]
    assert [item.score for item in found] == [hit.score for hit in hits]


def test_metadata_says_where_a_passage_is_from_and_little_of_it_goes_to_the_model(engine: Engine) -> None:
    first = OutcropRetriever(engine, limit=1).retrieve("when do humpback whales sing?")[0]
    assert first.metadata["source"] == engine.get("whales.pdf").uri
    assert first.metadata["page"] == 2
    assert first.metadata["score"] == first.score
    assert isinstance(first.node, TextNode)
    told = first.node.get_content(MetadataMode.LLM)
    assert "whales.pdf p. 2" in told
    assert first.metadata["source"] not in told


def test_options_are_those_of_a_search(engine: Engine) -> None:
    found = OutcropRetriever(engine, collections=["papers"]).retrieve("whales")
    assert {item.metadata["collection"] for item in found} == {"papers"}


def test_a_budget_is_kept(engine: Engine) -> None:
    few = OutcropRetriever(engine, budget_tokens=80).retrieve(QUESTION)
    many = OutcropRetriever(engine, budget_tokens=2000).retrieve(QUESTION)
    assert 0 < sum(vocabulary("o200k").count(item.text) for item in few) <= 80
    assert sum(len(item.text) for item in many) > sum(len(item.text) for item in few)


def test_in_a_query_engine_the_model_reads_the_passages(engine: Engine) -> None:
    asked = RetrieverQueryEngine.from_args(OutcropRetriever(engine, limit=2), llm=MockLLM())
    answer = asked.query(QUESTION)  # that model answers with what it was asked
    assert "We rotate the signing keys every ninety days" in str(answer)
    assert answer.source_nodes[0].metadata["path"] == "signing-keys.md"


def test_asked_asynchronously_it_answers_the_same(engine: Engine) -> None:
    retriever = OutcropRetriever(engine, limit=2)
    found = asyncio.run(retriever.aretrieve(QUESTION))
    assert [item.node_id for item in found] == [item.node_id for item in retriever.retrieve(QUESTION)]


def test_a_limit_of_nothing_is_refused(engine: Engine) -> None:
    with pytest.raises(QueryError, match="limit must be 1 or more"):
        OutcropRetriever(engine, limit=0)
