"""The reference graph as something to look at, through the front door."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cost import cpu_below

import outcrop
from outcrop.code.map import MAX_NODES
from outcrop.errors import Ambiguous, NotFound, QueryError
from outcrop.records import Graph

FILES = {
    "acme/pool.py": "from acme.lease import make_lease\n\n\nclass ConnectionPool:\n    def acquire(self):\n"
    "        return make_lease(self)\n",
    "acme/lease.py": "class Lease:\n    pass\n\n\ndef make_lease(pool):\n    return Lease(pool)\n",
    "acme/service.py": "from acme.pool import ConnectionPool\n\n\ndef serve():\n    pool = ConnectionPool()\n"
    "    return pool.acquire()\n",
    "acme/special.py": "from acme.pool import ConnectionPool\n\n\nclass SpecialPool(ConnectionPool):\n    pass\n",
    "acme/alone.py": "def nobody_calls_this():\n    return 1\n",
    "tests/test_pool.py": "from acme.pool import ConnectionPool\n\n\ndef test_it_acquires():\n"
    "    assert ConnectionPool().acquire()\n",
    "docs/pool.md": "# Pools\n\nCall `ConnectionPool.acquire()` to get a lease.\n",
    "one/util.py": "def first_util():\n    return 1\n",
    "two/util.py": "def second_util():\n    return 2\n",
}


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[outcrop.Engine]:
    folder = tmp_path_factory.mktemp("graph")
    for name, text in FILES.items():
        path = folder / "repo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    with outcrop.open(folder / "index.db") as engine:
        engine.add(folder / "repo")
        engine.add(text="def elsewhere():\n    return ConnectionPool()\n", id="x.py", collection="other")
        yield engine


def paths(graph: Graph) -> set[str]:
    return {node.path for node in graph.nodes}


def edges(graph: Graph) -> set[tuple[str, str, str]]:
    path_of = {node.id: node.path for node in graph.nodes}
    return {(path_of[edge.source], edge.relation, path_of[edge.target]) for edge in graph.edges}


def test_around_a_declaration_stand_those_who_use_it_and_what_it_uses(kb: outcrop.Engine) -> None:
    graph = kb.graph("ConnectionPool.acquire", collection="repo")
    assert graph.nodes[0].path == "acme/pool.py"
    assert graph.target == (graph.nodes[0].id,)
    assert graph.nodes[0].symbol == "ConnectionPool"
    assert graph.nodes[0].line == 4
    assert graph.nodes[0].rank == 1.0
    assert paths(graph) == {
        *("acme/pool.py", "acme/lease.py", "acme/service.py", "acme/special.py"),
        *("tests/test_pool.py", "docs/pool.md"),
    }
    assert {
        ("acme/service.py", "call", "acme/pool.py"),
        ("acme/pool.py", "call", "acme/lease.py"),
        ("acme/special.py", "inherit", "acme/pool.py"),
    } <= edges(graph)


def test_ranks_fall_and_every_edge_joins_two_nodes_once(kb: outcrop.Engine) -> None:
    for graph in (kb.graph("make_lease"), kb.graph(), kb.graph("acme/pool.py", limit=2)):
        ranks = [node.rank for node in graph.nodes]
        assert ranks == sorted(ranks, reverse=True)
        assert ranks[0] == 1.0
        ids = {node.id for node in graph.nodes}
        assert len(ids) == len(graph.nodes)
        pairs = [(edge.source, edge.target) for edge in graph.edges]
        assert len(pairs) == len(set(pairs))
        assert all(source in ids and target in ids and source != target for source, target in pairs)
        assert all(edge.weight > 0 for edge in graph.edges)


def test_a_target_may_be_a_file_a_line_or_a_chunk(kb: outcrop.Engine) -> None:
    chunks = kb.chunks("acme/pool.py")
    assert kb.graph("acme/pool.py").target == tuple(chunk.id for chunk in chunks)
    (chunk,) = [chunk for chunk in chunks if chunk.line_start <= 5 <= chunk.line_end]
    around = kb.graph("acme/pool.py:5")
    assert around.target == (chunk.id,)
    assert kb.graph(str(chunk.id)) == around
    assert kb.graph(f"#{chunk.id}") == around
    assert kb.related(f"#{chunk.id}").target == (chunk,)


def test_without_a_target_it_shows_what_the_map_shows_first(kb: outcrop.Engine) -> None:
    graph = kb.graph(limit=1)
    assert graph.target == ()
    assert graph.nodes[0].path == kb.map(budget_tokens=200).entries[0].path
    assert graph.left_out > 0


def test_a_limit_keeps_the_nearest_and_the_target(kb: outcrop.Engine) -> None:
    graph = kb.graph("ConnectionPool", limit=2)
    assert len(graph.nodes) == 2
    assert graph.nodes[0].path == "acme/pool.py"
    assert graph.left_out > 0


def test_a_collection_bounds_it(kb: outcrop.Engine) -> None:
    assert "x.py" not in paths(kb.graph("ConnectionPool", collection="repo"))
    assert {node.collection for node in kb.graph(collection="other").nodes} <= {"other"}
    with pytest.raises(NotFound):
        kb.graph("ConnectionPool", collection="other")
    with pytest.raises(NotFound, match="did you mean"):
        kb.graph(collection="rep")


def test_what_is_not_there_or_not_one_thing_is_said(kb: outcrop.Engine) -> None:
    for target in ("no_such_name", "no/such/file.py", "no/such/file.py:3", "99999999", "#0", "9" * 40, "#x"):
        with pytest.raises(NotFound):
            kb.graph(target)
    with pytest.raises(Ambiguous):
        kb.graph("util.py")
    with pytest.raises(QueryError, match="limit"):
        kb.graph(limit=0)


def test_what_nothing_refers_to_stands_alone(kb: outcrop.Engine) -> None:
    graph = kb.graph("nobody_calls_this")
    assert paths(graph) == {"acme/alone.py"}
    assert graph.edges == ()


def test_an_empty_index_has_an_empty_graph(tmp_path: Path) -> None:
    with outcrop.open(tmp_path / "i.db") as kb:
        assert kb.graph() == Graph((), ())
        kb.add(text="nothing of code here", id="note")
        assert kb.graph() == Graph((), ())
        assert [node.path for node in kb.graph("note").nodes] == ["note"]


def test_a_name_that_all_use_costs_little_time_and_few_nodes(tmp_path: Path) -> None:
    folder = tmp_path / "hub"
    folder.mkdir()
    (folder / "hub.py").write_text("def the_hub():\n    return 1\n")
    for i in range(700):
        (folder / f"user_{i}.py").write_text(
            f"from hub import the_hub\n\n\ndef user_{i}():\n    return the_hub()\n"
        )
    with outcrop.open(tmp_path / "i.db") as kb:
        kb.add(folder)
        with cpu_below(5):
            graph = kb.graph("the_hub", limit=100_000)
        assert 1 < len(graph.nodes) <= MAX_NODES
        assert len(kb.graph(limit=100_000).nodes) <= MAX_NODES


# ------------------------------------------------------------------ definitions


def test_definitions_are_found_by_plain_and_qualified_names(kb: outcrop.Engine) -> None:
    for name in ("acquire", "ConnectionPool.acquire", "ConnectionPool::acquire()", "connectionpool"):
        (chunk,) = kb.definitions(name)
        assert chunk.document.path == "acme/pool.py"
    assert kb.definitions("Lease.acquire") == ()
    assert kb.definitions("acquire", collection="other") == ()
    with pytest.raises(QueryError):
        kb.definitions("acquire", limit=0)
    with pytest.raises(NotFound):
        kb.definitions("acquire", collection="nowhere")
