"""The query language of the box, as the browser reads, writes and completes it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.serve.page.conftest import Visit


@pytest.fixture
def run(visit: Visit) -> Any:
    page = visit.go("#/search")

    def call(name: str, *arguments: object) -> Any:
        return page.evaluate(
            "async ([name, given]) => (await import('/assets/query.js'))[name](...given)",
            [name, list(arguments)],
        )

    return call


def test_filters_are_taken_out_of_the_words(run: Any) -> None:
    cases = {
        "how are retries done": ("how are retries done", {}),
        "retries in:docs": ("retries", {"collections": ["docs"]}),
        'in:"my notes" "exact phrase" kind:pdf kind:md': (
            '"exact phrase"',
            {"collections": ["my notes"], "kinds": ["pdf", "md"]},
        ),
        "lang:go path:src/ path:*.md tag:a tag:b x": (
            "x",
            {"kinds": ["go"], "paths": ["src/**", "*.md"], "tags": ["a", "b"]},
        ),
        'ref:feature/x "exact phrase"': ('"exact phrase"', {"ref": "feature/x"}),
        'x worktree:"/src/rye loaf"': ("x", {"worktree": "/src/rye loaf"}),
        "since:1w until:2026-01-31 news": ("news", {"since": "1w", "until": "2026-01-31"}),
        "since:yesterday x": ("x", {"since": "yesterday"}),
        "std::vector http://in:8080 begin:end kind: x": ("std::vector http://in:8080 begin:end x", {}),
        "": ("", {}),
    }
    for text, (words, body) in cases.items():
        read = run("parseQuery", text, {})
        assert (read["words"], read["body"], read["problems"]) == (words, body, []), text


def test_a_date_that_is_none_is_said_and_a_name_half_typed_waits(run: Any) -> None:
    wrong = run("parseQuery", "x since:banana", {})
    assert "“since:banana” is not a date" in wrong["problems"][0]
    assert "since" not in wrong["body"]
    known = {"collections": ["docs", "notes"]}
    assert run("parseQuery", "x in:do", known)["body"] == {}
    assert run("parseQuery", "x in:docs", known)["body"] == {"collections": ["docs"]}
    assert run("parseQuery", "x ref:ma", {"refs": ["main"]})["body"] == {}
    assert run("parseQuery", "x ref:main", {"refs": ["main", "main2"]})["body"] == {"ref": "main"}
    assert run("parseQuery", "x in:nowhere", known)["body"] == {"collections": ["nowhere"]}


def test_a_filter_is_added_and_taken_away_again(run: Any) -> None:
    assert run("toggleFilter", "retry", "in", "my notes") == 'retry in:"my notes"'
    assert run("toggleFilter", 'retry in:"my notes" x', "in", "my notes") == "retry x"
    assert run("toggleFilter", "retry since:1w", "since", "1d") == "retry since:1d"
    assert run("toggleFilter", "a kind:pdf", "kind", "md") == "a kind:pdf kind:md"
    assert run("toggleFilter", "a ref:main b", "ref", "old") == "a b ref:old"
    assert run("toggleFilter", "a ref:main", "worktree", "/src") == "a worktree:/src"
    assert run("toggleFilter", "a worktree:/src kind:pdf", "worktree", "/src") == "a kind:pdf"
    assert run("writeQuery", "Pool", {"in": "field", "kind": ""}) == "Pool in:field"


def test_values_complete_a_filter_and_nothing_else(run: Any) -> None:
    facets = {"kinds": [{"value": "pdf", "count": 3}, {"value": "markdown", "count": 12}], "collections": []}

    def offered(text: str) -> list[str]:
        return [choice["text"] for choice in run("complete", text, len(text), facets)["choices"]]

    assert offered("x kind:") == ["kind:pdf", "kind:markdown"]
    assert offered("kind:ma") == ["kind:markdown"]
    assert offered("kind:pdf") == []
    assert offered("kind") == offered("https://x") == offered("x kind:pdf more") == []
    assert offered("in:") == ["in:"]
