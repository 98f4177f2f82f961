"""Personalised PageRank from some nodes of a graph that is only looked at where the walk goes.

A walker starts at a seed, follows an edge with probability DAMPING and starts again otherwise. Its visits are
found by pushing: what lies at a node is settled there in part and passed on in part, until what is still on its way
is too little to matter. Only nodes that get something are ever asked for their edges, so the cost depends on the
answer and not on the size of the index.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from outcrop.system.arrays import NDArray, distinct, numbered
from outcrop.system.limits import check_wanted

Nodes = NDArray[np.int64]
EdgesOf = Callable[[Nodes], tuple[Nodes, Nodes, NDArray[np.float32]]]
"""Nodes to (source, target, weight) of the edges that leave them."""

PAGERANK_DAMPING: Final = 0.85
"""Over a whole graph, as in the original paper."""
MAX_ITERATIONS: Final = 50
CHANGE: Final = 1e-6
"""When an iteration moves less than this of all weight, or after so many, the ranks stand: 0.85 to the 50th is 3e-4."""

DAMPING: Final = 0.5
"""Half of the walkers go on: two steps away an eighth is left. PageRank's 0.85 is for a web of one topic; here what is
near the hits is what they lean on, and what is far is the standard library of the project (not measured)."""
ROUNDS: Final = 4
"""After four steps a sixteenth is still on its way (not measured)."""
LEAST: Final = 1e-4
"""Less than this goes no further."""
MAX_AT_ONCE: Final = 256
"""Nodes that pass something on in one round: those with the most. Bounds the time of a search."""


def walk(
    seeds: Nodes, shares: NDArray[np.float32], edges_of: EdgesOf, rounds: int = ROUNDS
) -> tuple[Nodes, NDArray[np.float32]]:
    """How often each node is visited by walkers who start at the seeds in these shares and go `rounds` steps at most;
    nodes ascending."""
    total = float(shares.sum())
    if not len(seeds) or total <= 0:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    nodes, place = numbered(seeds)
    waiting: NDArray[np.float64] = np.bincount(place, shares / total).astype(np.float64)
    settled = np.zeros(len(nodes))
    for _ in range(rounds):
        check_wanted()
        active = np.flatnonzero(waiting > LEAST)
        if not len(active):
            break
        if len(active) > MAX_AT_ONCE:
            active = np.sort(active[np.argpartition(-waiting[active], MAX_AT_ONCE)[:MAX_AT_ONCE]])
        moving = waiting[active]
        waiting[active] = 0
        settled[active] += (1 - DAMPING) * moving
        source, target, weight = edges_of(nodes[active])
        at = np.searchsorted(nodes[active], source)
        leaving = np.bincount(at, weight, len(active))
        flow = DAMPING * moving[at] * weight / np.maximum(leaving[at], 1e-12)
        nodes, settled, waiting = _receive(nodes, settled, waiting, target, flow)
    return nodes, (settled + (1 - DAMPING) * waiting).astype(np.float32)


def _receive(
    nodes: Nodes,
    settled: NDArray[np.float64],
    waiting: NDArray[np.float64],
    target: Nodes,
    flow: NDArray[np.float64],
) -> tuple[Nodes, NDArray[np.float64], NDArray[np.float64]]:
    """The nodes with those that get something for the first time, and what now waits at each."""
    merged = distinct(np.concatenate((nodes, target)))
    old = np.searchsorted(merged, nodes)
    grown_settled, grown_waiting = np.zeros(len(merged)), np.zeros(len(merged))
    grown_settled[old], grown_waiting[old] = settled, waiting
    grown_waiting += np.bincount(np.searchsorted(merged, target), flow, len(merged))
    return merged, grown_settled, grown_waiting


def pagerank(
    count: int,
    source: Nodes,
    target: Nodes,
    weight: NDArray[np.float32],
    start: NDArray[np.float32] | None = None,
) -> NDArray[np.float64]:
    """PageRank of a whole graph of `count` nodes, by iteration; `start` says where walkers begin (anywhere)."""
    leaving = np.bincount(source, weight, count)
    share = weight / np.maximum(leaving[source], 1e-12)
    begin = np.full(count, 1 / max(count, 1)) if start is None else start / max(float(start.sum()), 1e-12)
    rank: NDArray[np.float64] = begin.astype(np.float64)
    for _ in range(MAX_ITERATIONS):
        check_wanted()
        flowing = np.bincount(target, rank[source] * share, count)
        lost = 1 - float(flowing.sum())  # from nodes that lead nowhere
        fresh = PAGERANK_DAMPING * (flowing + lost * begin) + (1 - PAGERANK_DAMPING) * begin
        done = float(np.abs(fresh - rank).sum()) < CHANGE
        rank = fresh
        if done:
            break
    return rank
