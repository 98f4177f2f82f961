"""Arguments of tools: what is let through, and what a refusal says."""

from __future__ import annotations

from typing import Any, Literal
from unittest.mock import Mock

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from outcrop.errors import QueryError
from outcrop.records import Answer
from outcrop.serve.mcp.params import (
    LONGEST_TEXT,
    MAX_ITEMS,
    Arguments,
    Limit,
    Reference,
    Text,
    Texts,
    input_schema,
    read_arguments,
)
from outcrop.serve.mcp.tools import TOOLS


class Example(Arguments):
    """One parameter of each kind."""

    query: Text
    limit: Limit = 5
    mode: Literal["hybrid", "keyword"] = "hybrid"
    paths: Texts = Field(default=[])
    code: bool | None = None
    document: Reference | None = None


def read(**given: Any) -> dict[str, Any]:
    return read_arguments("search", Example, given).model_dump()


def test_defaults_are_filled_in_and_null_counts_as_not_given() -> None:
    assert read(query="x", limit=None) == {
        "query": "x",
        "limit": 5,
        "mode": "hybrid",
        "paths": [],
        "code": None,
        "document": None,
    }


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({}, "search needs 'query': a string"),
        ({"query": 1}, "'query' must be a string, not 1"),
        ({"query": "x", "limit": 51}, "'limit' must be a whole number from 1 to 50, not 51"),
        ({"query": "x", "limit": "5"}, "'limit' must be a whole number from 1 to 50, not '5'"),
        ({"query": "x", "mode": "both"}, "'mode' must be one of hybrid, keyword, not 'both'"),
        ({"query": "x", "paths": "a"}, "'paths' must be a list of strings, not 'a'"),
        ({"query": "x", "paths": [1]}, "'paths' must be a list of strings, not a list of 1"),
        ({"query": "x", "paths": ["a"] * 60}, "'paths' may have 50 items, not 60"),
        ({"query": "x", "code": "yes"}, "'code' must be true or false, not 'yes'"),
        ({"query": "x", "document": {}}, "'document' must be a document's number or path, not an object"),
        ({"query": "a" * 5000}, "'query' may have 4,000 characters, not 5,000; send less at a time"),
        ({"query": "\ud800"}, "'query' holds half of a character pair (a lone surrogate)"),
    ],
)
def test_a_refusal_says_what_is_accepted(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(QueryError) as caught:
        read(**wrong)
    assert str(caught.value) == said


def test_notes_take_the_limit_by_either_name() -> None:
    tool = TOOLS["kb_search"]

    def hits(**given: Any) -> int:
        call = Mock()
        call.state.kb.search.return_value = Answer("a note", "semantic", (), "no_hits")
        tool.run(call, **read_arguments(tool.name, tool.takes, {"query": "a note", **given}).given())
        return int(call.state.kb.search.call_args.args[1])

    assert (hits(), hits(topK=3), hits(limit=2), hits(topK=3, limit=2)) == (5, 3, 2, 2)


def test_an_unknown_parameter_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(QueryError, match=r"no parameter 'qeury'; did you mean 'query'\? It takes query, limit"):
        read(qeury="x")
    with pytest.raises(QueryError, match=r"no parameter 'zzz'\. It takes"):
        read(query="x", zzz=1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"query": 1},
        {"query": ["x"]},
        {"query": "x", "limit": "5"},
        {"query": "x", "limit": True},
        {"query": "x", "limit": 0},
        {"query": "x", "limit": 51},
        {"query": "x", "limit": 1.5},
        {"query": "x", "limit": float("inf")},
        {"query": "x", "limit": 10**400},
        {"query": "x", "mode": "both"},
        {"query": "x", "paths": "a"},
        {"query": "x", "paths": [1]},
        {"query": "x", "paths": ["a"] * (MAX_ITEMS + 1)},
        {"query": "x", "code": "yes"},
        {"query": "x", "document": -1},
        {"query": "x", "document": {"a": 1}},
        {"query": "a" * (LONGEST_TEXT + 1)},
        {"query": "\ud800"},
        {},
        {"query": None},
    ],
)
def test_bad_arguments_are_refused_briefly(wrong: dict[str, Any]) -> None:
    with pytest.raises(QueryError) as caught:
        read(**wrong)
    assert len(str(caught.value)) < 300


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-100, 100) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "query": st.text(max_size=5) | JSON,
            "limit": st.integers(0, 60) | JSON,
            "paths": st.lists(st.text(max_size=3)) | JSON,
            "code": st.booleans() | JSON,
            "document": JSON,
            "other": JSON,
        },
    )
)
def test_the_check_agrees_with_the_schema(arguments: dict[str, Any]) -> None:
    # A null for an optional parameter is the one liberty; half a pair is no text at all.
    said = {name: value for name, value in arguments.items() if value is not None or name in ("query", "other")}
    allowed = jsonschema.Draft202012Validator(input_schema(Example)).is_valid(said)
    try:
        read_arguments("search", Example, arguments)
    except QueryError:
        assert not allowed or (isinstance(said.get("document"), int | float) and said["document"] < 0)
    else:
        assert allowed


def test_every_tool_has_a_closed_schema_that_is_valid_and_bounded() -> None:
    for tool in TOOLS.values():
        schema = input_schema(tool.takes)
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["additionalProperties"] is False
        for name, value in schema["properties"].items():
            if value["type"] == "integer":
                assert "maximum" in value, f"{tool.name}.{name}"
            if value["type"] == "string":
                assert "maxLength" in value or "enum" in value
    assert input_schema(TOOLS["search"].takes)["properties"]["limit"]["maximum"] == 50
    kb_limit = input_schema(TOOLS["kb_search"].takes)["properties"]["limit"]
    assert (kb_limit["default"], kb_limit["maximum"]) == (5, 10)
