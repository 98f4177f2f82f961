"""PageRank of a whole graph, against the same by linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.read.test_walk import EDGES, columns_of, given_up, transitions

from outcrop.code.map import pagerank
from outcrop.errors import Cancelled
from outcrop.system.limits import wanted_while


@settings(max_examples=150, deadline=None)
@given(edges=EDGES, start=st.none() | st.lists(st.floats(0.125, 2.0, width=32), min_size=8, max_size=8))
def test_pagerank_sums_to_one_and_equals_the_solution_of_its_equations(
    edges: list[tuple[int, int, float]], start: list[float] | None
) -> None:
    columns = columns_of(edges)
    begin = np.full(8, 1 / 8) if start is None else np.array(start) / sum(start)
    moving = transitions(8, columns)
    moving[moving.sum(axis=1) == 0] = begin
    expected = 0.15 * np.linalg.solve(np.eye(8) - 0.85 * moving.T, begin)
    rank = pagerank(8, *columns, None if start is None else np.array(start, np.float32))
    assert float(rank.sum()) == pytest.approx(1)
    assert np.abs(rank - expected).sum() < 0.002


def test_pagerank_of_nothing_is_nothing_and_of_one_node_is_all() -> None:
    assert len(pagerank(0, *columns_of([]))) == 0
    assert pagerank(1, *columns_of([])).tolist() == pytest.approx([1])


def test_where_walkers_begin_is_told_in_shares() -> None:
    source, target, weight = columns_of([(0, 1, 1), (1, 2, 1), (2, 0, 1)])
    few, many = (pagerank(3, source, target, weight, np.array([x, 0, 0], np.float32)) for x in (0.125, 8))
    assert few.tolist() == many.tolist()
    assert few.sum() == pytest.approx(1)


def test_a_ranking_that_nobody_waits_for_ends() -> None:
    with wanted_while(given_up), pytest.raises(Cancelled, match="left"):
        pagerank(2, *columns_of([(0, 1, 1.0)]))
