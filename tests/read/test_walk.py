"""A walk along references, against the same by linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from outcrop.errors import Cancelled
from outcrop.index.evidence import Nodes
from outcrop.read import rank as walking
from outcrop.read.rank import DAMPING, MIN_FLOW, ROUNDS, EdgesOf, walk
from outcrop.system.limits import wanted_while

Columns = tuple[Nodes, Nodes, NDArray[np.float32]]
EDGES = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 7), st.floats(0.125, 4.0, width=32)),
    max_size=25,
    unique_by=lambda e: e[:2],
)


def columns_of(edges: list[tuple[int, int, float]]) -> Columns:
    return (
        np.array([source for source, _, _ in edges], np.int64),
        np.array([target for _, target, _ in edges], np.int64),
        np.array([weight for _, _, weight in edges], np.float32),
    )


def steps_of(columns: Columns) -> EdgesOf:
    source, target, weight = columns

    def steps(nodes: Nodes) -> Columns:
        mine = np.isin(source, nodes)
        return source[mine], target[mine], weight[mine]

    return steps


def transitions(count: int, columns: Columns) -> NDArray[np.float64]:
    """Row to column: where a walker goes; a row of zeros where it cannot."""
    matrix = np.zeros((count, count))
    np.add.at(matrix, (columns[0], columns[1]), columns[2].astype(np.float64))
    total = matrix.sum(axis=1, keepdims=True)
    result: NDArray[np.float64] = np.divide(matrix, total, out=np.zeros_like(matrix), where=total > 0)
    return result


def dense_walk(count: int, columns: Columns, start: NDArray[np.float64]) -> NDArray[np.float64]:
    solved = np.linalg.solve(np.eye(count) - DAMPING * transitions(count, columns).T, start)
    return ((1 - DAMPING) * solved).astype(np.float64)


def spread_out(count: int, nodes: Nodes, visits: NDArray[np.float32]) -> NDArray[np.float64]:
    result = np.zeros(count)
    result[nodes] = visits
    return result


@settings(max_examples=150, deadline=None)
@given(edges=EDGES, seeds=st.dictionaries(st.integers(0, 7), st.floats(0.125, 3.0, width=32), min_size=1))
def test_a_walk_that_is_given_time_equals_personalised_pagerank(
    edges: list[tuple[int, int, float]], seeds: dict[int, float]
) -> None:
    columns = columns_of(edges)
    nodes = np.array(list(seeds), np.int64)
    shares = np.array(list(seeds.values()), np.float32)
    start = spread_out(8, nodes, shares / shares.sum())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walking, "MIN_FLOW", 0.0)
        found, visits = walk(nodes, shares, steps_of(columns), rounds=60)
    assert spread_out(8, found, visits) == pytest.approx(dense_walk(8, columns, start), abs=1e-5)
    assert np.all(np.diff(found) > 0)


@settings(max_examples=150, deadline=None)
@given(edges=EDGES, seeds=st.lists(st.integers(0, 7), min_size=1, max_size=5))
def test_a_walk_as_it_is_cut_short_is_off_by_no_more_than_what_is_still_on_its_way(
    edges: list[tuple[int, int, float]], seeds: list[int]
) -> None:
    columns = columns_of(edges)
    nodes, shares = np.array(seeds, np.int64), np.ones(len(seeds), np.float32)
    start = np.bincount(nodes, minlength=8) / len(seeds)
    found, visits = walk(nodes, shares, steps_of(columns))
    got = spread_out(8, found, visits)
    assert float(visits.sum()) <= 1 + 1e-6
    assert np.all(visits >= 0)
    assert np.abs(got - dense_walk(8, columns, start)).sum() <= DAMPING**ROUNDS + 8 * MIN_FLOW
    again = walk(nodes, shares, steps_of(columns))
    assert np.array_equal(again[0], found)
    assert np.array_equal(again[1], visits)


def test_a_walk_from_more_seeds_than_pass_on_at_once_still_sends_each_share_along_its_own_edges() -> None:
    count = walking.MAX_AT_ONCE + 200
    seeds = np.arange(count, dtype=np.int64)
    shares = np.random.default_rng(7).uniform(0.5, 1.5, count).astype(np.float32)
    columns = (seeds, seeds + count, np.ones(count, np.float32))
    nodes, visits = walk(seeds, shares, steps_of(columns))
    got = spread_out(2 * count, nodes, visits)
    expected = DAMPING * (1 - DAMPING) * shares / shares.sum()
    reached = got[count:] > 0
    assert reached.sum() >= walking.MAX_AT_ONCE
    assert got[count:][reached] == pytest.approx(expected[reached], rel=1e-3)


def test_a_walk_from_nowhere_goes_nowhere() -> None:
    steps = steps_of(columns_of([(0, 1, 1.0)]))
    assert len(walk(np.zeros(0, np.int64), np.zeros(0, np.float32), steps)[0]) == 0
    assert len(walk(np.array([0]), np.zeros(1, np.float32), steps)[0]) == 0


@pytest.mark.parametrize("count", [255, 256, 1000])
def test_only_so_many_pass_something_on_and_those_with_the_most(count: int) -> None:
    asked: list[Nodes] = []

    def edges_of(nodes: Nodes) -> Columns:
        asked.append(nodes)
        return columns_of([])

    walk(np.arange(count), np.linspace(2, 1, count, dtype=np.float32), edges_of, rounds=1)
    assert [nodes.tolist() for nodes in asked] == [list(range(min(count, 256)))]


def test_too_little_goes_no_further() -> None:
    asked: list[int] = []

    def edges_of(nodes: Nodes) -> Columns:
        asked.extend(nodes.tolist())
        return columns_of([])

    walk(np.arange(3), np.array([1, 2e-4, 5e-5], np.float32), edges_of, rounds=1)
    assert asked == [0, 1]


def test_a_walk_from_nowhere_arrives_nowhere() -> None:
    for seeds, shares in (([], []), ([3, 4], [0, 0])):
        nodes, visits = walk(
            np.array(seeds, np.int64), np.array(shares, np.float32), steps_of(columns_of([(3, 4, 1)]))
        )
        assert len(nodes) == len(visits) == 0


def given_up() -> None:
    raise Cancelled("the client left")


def test_a_walk_that_nobody_waits_for_ends() -> None:
    with wanted_while(given_up), pytest.raises(Cancelled, match="left"):
        walk(np.array([0]), np.ones(1, np.float32), steps_of(columns_of([(0, 1, 1.0)])))
