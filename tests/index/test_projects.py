"""A query that names one of several projects is answered from that project, by either store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import outcrop
from outcrop.engine import Engine
from outcrop.records import Filter, SearchMode

POOL = '''"""Connections that are used again."""


class Pool:
    """Hands out connections."""

    def acquire(self, timeout: float) -> object:
        """Take an idle connection, or open one{more}."""
        return self.open(timeout)
'''


def fill(engine: Engine, folder: Path, *names: str, mentioned: bool = True) -> None:
    """The same files in each project; the others may mention billing, which is more than billing's own files do."""
    for name in names:
        (folder / name).mkdir(parents=True, exist_ok=True)
        more = "" if name.startswith("billing") or not mentioned else ", as billing does"
        (folder / name / "pool.py").write_text(POOL.format(more=more), "utf-8")
        (folder / name / "README.md").write_text(f"# Readme\n\nHow to acquire from the pool{more}.\n", "utf-8")
        engine.add(folder / name)


@pytest.fixture(params=["file", "postgres"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    db = tmp_path / "index.db" if request.param == "file" else request.getfixturevalue("postgres_url")
    with outcrop.open(db, data_dir=tmp_path) as opened:
        yield opened


@pytest.mark.parametrize("query", ["billing pool acquire", "how does billing acquire from the pool?"])
def test_the_project_that_is_named_comes_first(engine: Engine, tmp_path: Path, query: str) -> None:
    fill(engine, tmp_path, "billing-service", "orders-service")
    hits = engine.search(query).hits
    for path in ("pool.py", "README.md"):
        projects = [hit.document.collection for hit in hits if hit.document.path == path]
        assert projects == ["billing-service", "orders-service"]
    assert hits[0].document.collection == "billing-service"
    credit = [boost.amount for boost in hits[0].why.boosts if boost.name == "project name"]
    assert len(credit) == 1
    assert credit[0] > 0


@pytest.mark.parametrize("mode", ["keyword", "semantic"])
def test_a_name_counts_whichever_leg_searches(engine: Engine, tmp_path: Path, mode: SearchMode) -> None:
    fill(engine, tmp_path, "orders-service", "billing-service", mentioned=False)
    (tmp_path / "orders-service" / "pool.py").write_text(POOL.format(more=" at last"), "utf-8")
    engine.sync(tmp_path / "orders-service")
    assert engine.search("billing pool acquire", mode=mode).hits[0].document.collection == "billing-service"
    assert engine.search("orders pool acquire", mode=mode).hits[0].document.collection == "orders-service"


def test_one_project_ranks_as_if_it_had_no_name(engine: Engine, tmp_path: Path) -> None:
    fill(engine, tmp_path, "billing")
    hits = engine.search("billing pool acquire").hits
    assert hits
    assert all(boost.name != "project name" or not boost.amount for hit in hits for boost in hit.why.boosts)
    alone = [hit.score for hit in hits]
    fill(engine, tmp_path, "orders")
    within = engine.search("billing pool acquire", collections=["billing"]).hits
    assert [hit.document.uri for hit in within] == [hit.document.uri for hit in hits]
    assert all(boost.name != "project name" or not boost.amount for hit in within for boost in hit.why.boosts)
    assert alone


def test_a_word_that_all_names_share_tells_nothing(engine: Engine, tmp_path: Path) -> None:
    fill(engine, tmp_path, "billing-service", "orders-service")
    for hit in engine.search("service pool acquire").hits:
        assert all(boost.name != "project name" or not boost.amount for boost in hit.why.boosts)


def test_the_collection_without_a_name_is_not_named_by_the_word(engine: Engine, tmp_path: Path) -> None:
    engine.add(text="The default timeout of the pool is thirty seconds.", id="a")
    engine.add(text="The pool has a timeout.", id="b", collection="other")
    for hit in engine.search("default pool timeout").hits:
        assert all(boost.name != "project name" or not boost.amount for boost in hit.why.boosts)


def test_names_follow_the_index(engine: Engine, tmp_path: Path) -> None:
    fill(engine, tmp_path, "orders")
    store = engine._store
    assert store.collection_names() == ["orders"]
    fill(engine, tmp_path, "billing", "Zoo")
    assert store.collection_names() == ["Zoo", "billing", "orders"]
    assert engine.search("billing pool acquire").hits[0].document.collection == "billing"
    for document in engine.documents(Filter(collections=("billing",))):
        engine.delete(document.id)
    assert store.collection_names() == ["Zoo", "orders"]
    assert engine.search("billing pool acquire").hits
