"""An engine over a store that is searched in place answers as one over arrays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.index.searched import SearchedSqlite, Signs

import outcrop
from outcrop.config import load_config
from outcrop.engine import reading
from outcrop.index.arrays import SearchArrays
from outcrop.store.postgres.in_place.derive import SearchDeriver
from outcrop.store.postgres.in_place.search import DatabaseSearch
from outcrop.text.terms import Terms

SOURCES = Path(outcrop.__file__).parent


def open_engine(folder: Path) -> outcrop.Engine:
    return outcrop.Engine(load_config({"db": folder / "index.db"}, environ={}), embedder=Signs())


@pytest.fixture
def engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[outcrop.Engine, outcrop.Engine]]:
    """One that searches arrays, and one that searches its store."""
    (tmp_path / "arrays").mkdir()
    (tmp_path / "searched").mkdir()
    with open_engine(tmp_path / "arrays") as by_arrays:
        deriver = SearchDeriver(Terms(), Signs.path_weight)
        monkeypatch.setattr(reading, "open_store", lambda path, *_, **__: SearchedSqlite(path, deriver))
        with open_engine(tmp_path / "searched") as searched:
            for kb in (by_arrays, searched):
                kb.add(SOURCES / "index")
                kb.add(SOURCES / "rank")
            yield by_arrays, searched


def test_all_that_is_asked_of_code_has_the_same_answers(
    engines: tuple[outcrop.Engine, outcrop.Engine],
) -> None:
    by_arrays, searched = engines
    assert isinstance(by_arrays.parts.index, SearchArrays)
    assert isinstance(searched.parts.index, DatabaseSearch)
    for kb in engines:
        kb.warm()
    reasons: set[str] = set()
    for text in (
        "how are segments merged",
        "Graph.steps",
        "fix weigh_terms in lexical.py",
        "where is `Found` made?",
    ):
        for paths in ((), ("g*.py", "lexical.py", "candidates.py")):
            contexts = [kb.code_context(text, paths=paths, cutoff=0.6, prefer=["Sheet"]) for kb in engines]
            assert contexts[0].text == contexts[1].text
            hits = [*(source.hit for source in contexts[1].sources), *contexts[1].left_out]
            reasons |= {boost.name for hit in hits for boost in hit.why.boosts}
    assert {"followed", "preferred", "links", "definition"} <= reasons
    for name in ("Graph", "Graph.steps", "weigh_terms", "close", "nothing_of_this_name"):
        assert [c.text for c in by_arrays.definitions(name)] == [c.text for c in searched.definitions(name)]
    related = [kb.related("weigh_terms") for kb in engines]
    assert [(r.relation, r.chunk.text) for r in related[0].relatives] == [
        (r.relation, r.chunk.text) for r in related[1].relatives
    ]
    assert by_arrays.map(budget_tokens=800).text == searched.map(budget_tokens=800).text


def test_what_is_deleted_is_gone_and_what_is_added_is_found(
    engines: tuple[outcrop.Engine, outcrop.Engine],
) -> None:
    _, kb = engines
    kb.add(text="the xyzzyplugh of a wombat", id="note", collection="notes")
    assert kb.search("xyzzyplugh").hits[0].document.uri == "note"
    assert [hit.document.uri for hit in kb.search('"of a wombat"', collections=["notes"]).hits] == ["note"]
    kb.delete("note", collection="notes")
    assert kb.search('"of a wombat"').unmatched_phrases == ("of a wombat",)
    assert all(check.ok for check in kb.doctor())
    assert kb.status().stats.chunks == len(kb.parts.index.whole())
