"""What the planner makes of a search on Postgres: indexes, and no table read from end to end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import psycopg
import pytest
from tests.store.builders import make_write, put, vector
from tests.store.places import open_at_url

from outcrop.index.query import read_query
from outcrop.records import Filter
from outcrop.store.postgres import PostgresStore, upkeep
from outcrop.store.postgres.in_place.search import DatabaseSearch
from outcrop.text.terms import Terms

TERMS = Terms()
WORDS = [f"word{number}" for number in range(97)]
LARGE = {"chunks", "rows", "postings", "points_1", "documents"}
"""The tables that grow with the index."""


@pytest.fixture
def store(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresStore]:
    """Four thousand chunks, with their vector index, as an ingest leaves them."""
    monkeypatch.setattr(upkeep, "FRESH_ROWS", 30)
    with closing(open_at_url(postgres_url)) as opened:
        for start in range(0, 2000, 250):
            put(
                opened,
                *(
                    make_write(f"{n}.md", f"{WORDS[n % 97]} {WORDS[n % 89]} {n}\n\n{WORDS[n % 83]} again {n}")
                    for n in range(start, start + 250)
                ),
            )
        opened.settle()
        yield opened


def plans(store: PostgresStore, monkeypatch: pytest.MonkeyPatch, search: Any) -> list[tuple[str, list[Any]]]:
    """Each statement of a search, and the nodes of its plan, made where it runs."""
    execute = psycopg.Connection.execute
    found: list[tuple[str, list[Any]]] = []

    def explained(connection: Any, query: Any, params: Any = None, **options: Any) -> Any:
        text = query if isinstance(query, str) else ""
        if re.match(r"[( ]*(SELECT|WITH)\b", text) and "set_config" not in text:
            rows = execute(connection, f"EXPLAIN (FORMAT JSON) {text}", params).fetchall()
            plan = rows[0][0] if isinstance(rows[0][0], list) else json.loads(rows[0][0])
            found.append((text, list(nodes_of(plan[0]["Plan"]))))
        return execute(connection, query, params, **options)

    with monkeypatch.context() as patched:
        patched.setattr(psycopg.Connection, "execute", explained)
        search()
    return found


def nodes_of(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes_of(inner)


def scanned(nodes: list[dict[str, Any]]) -> set[str]:
    """The large tables that a plan reads from end to end."""
    return {node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"} & LARGE


def test_a_search_reads_no_table_from_end_to_end_and_vectors_through_their_index(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = DatabaseSearch(store, TERMS, 0.5, None)
    probe = vector(b"a question")
    probe /= np.linalg.norm(probe)

    def search() -> None:
        with index.snapshot(index.refresh()) as view:
            seen = index.find(view, read_query("word3 word5"), Filter(), "hybrid", probe, 20)
        store.chunks(seen.found.chunk_id[:10].tolist())

    found = plans(store, monkeypatch, search)
    assert [text for text, nodes in found if scanned(nodes)] == []
    used = {node.get("Index Name") for _, nodes in found for node in nodes}
    assert "points_1_hnsw" in used, "the nearest vectors"
    assert {"postings", "rows", "chunks"} <= {
        node.get("Relation Name")
        for _, nodes in found
        for node in nodes
        if node["Node Type"].startswith(("Index", "Bitmap Heap"))
    }


def test_a_phrase_and_a_filter_read_no_table_of_chunks_from_end_to_end(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = DatabaseSearch(store, TERMS, 0.5, None)

    def search() -> None:
        for text, where in (('"word3 again"', Filter()), ("word3", Filter(documents=(1, 2, 3)))):
            with index.snapshot(index.refresh()) as view:
                index.find(view, read_query(text), where, "keyword", None, 20)

    found = plans(store, monkeypatch, search)
    assert found
    assert [text for text, nodes in found if scanned(nodes) - {"documents"}] == []
