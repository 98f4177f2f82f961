"""A part of the reference graph that one can look at: what is around some chunks, or what a collection turns on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from outcrop.code.map import rank_chunks
from outcrop.contracts import Store
from outcrop.index.evidence import Nodes
from outcrop.index.graph import Graph as References
from outcrop.read.rank import walk
from outcrop.records import Graph, GraphEdge, GraphNode, StoredChunk
from outcrop.system.arrays import NDArray, is_among, numbered

# None of these was measured.
STEPS: Final = 3
"""How far from the target: callers of callers of callers are a dozen steps of reading already."""
MAX_ASKED: Final = 64
"""Chunks whose users are looked for in one step: that look-up is what takes time."""
MAX_NODES: Final = 500
"""More than this nobody can look at, and a page would be slow to draw."""


def draw_neighbourhood(
    graph: References, store: Store, limit: int, within: NDArray[np.int64] | None, target: Sequence[StoredChunk]
) -> Graph:
    """The chunks most visited by walkers who start at the target and follow references in both directions."""
    limit = min(limit, MAX_NODES)
    own = graph.find_chunks(chunk.id for chunk in target)[:limit]
    if not len(own):  # nothing has vectors or names for it yet: the target stands alone
        nodes = tuple(_as_node(chunk, 1.0) for chunk in target[:limit])
        return Graph(nodes, (), tuple(node.id for node in nodes))

    def both_ways(nodes: Nodes) -> tuple[Nodes, Nodes, NDArray[np.float32]]:
        out, into = graph.edges_from(nodes), graph.edges_to(nodes[:MAX_ASKED])
        return (
            np.concatenate((out.source, into.target)),
            np.concatenate((out.target, into.source)),
            np.concatenate((out.weight, into.weight)),
        )

    visited, visits = walk(own, np.ones(len(own), np.float32), both_ways, STEPS)
    keep = np.ones(len(visited), np.bool_) if within is None else np.isin(graph.documents(visited), within)
    keep |= is_among(visited, np.sort(own))
    visited, visits = visited[keep], visits[keep]
    first = is_among(visited, np.sort(own))  # what was asked about is there, however it ranks
    chosen = np.lexsort((visited, -visits, ~first))[:limit]
    chosen = chosen[np.lexsort((visited[chosen], -visits[chosen]))]
    ranks = visits[chosen] / max(float(visits[chosen].max(initial=0)), 1e-12)
    return _draw(graph, store, visited[chosen], ranks, tuple(graph.chunk_ids(own)), len(visited) - len(chosen))


def draw_centre(graph: References, store: Store, limit: int, within: NDArray[np.int64] | None) -> Graph:
    """The chunks with the most central declarations, as the map ranks them."""
    nodes, ranks = rank_chunks(graph, within)
    limit = min(limit, MAX_NODES)
    return _draw(graph, store, nodes[:limit], ranks[:limit], (), len(nodes) - len(nodes[:limit]))


def _draw(
    graph: References,
    store: Store,
    nodes: Nodes,
    ranks: NDArray[np.float32] | NDArray[np.float64],
    target: tuple[int, ...],
    left_out: int,
) -> Graph:
    rank_of = dict(zip(graph.chunk_ids(nodes), ranks.tolist(), strict=True))
    drawn = tuple(_as_node(chunk, rank_of[chunk.id]) for chunk in store.chunks(list(rank_of)))
    there = {node.id for node in drawn}  # one may have been deleted since
    edges = tuple(e for e in _edges_among(graph, nodes) if e.source in there and e.target in there)
    return Graph(drawn, edges, tuple(id_ for id_ in target if id_ in there), left_out)


def _edges_among(graph: References, nodes: Nodes) -> list[GraphEdge]:
    """Each pair of chunks once, strongest first: with all the weight between them, by the strongest of its uses."""
    found = graph.edges_from(nodes)
    found = found.take(is_among(found.target, np.sort(nodes)))
    if not len(found):
        return []
    pairs, place = numbered(found.source * len(graph) + found.target)
    total = np.bincount(place, found.weight, len(pairs))
    order = np.lexsort((-found.weight, place))
    strongest = order[np.searchsorted(place[order], np.arange(len(pairs)))]
    kinds = graph.kinds_of(found.take(strongest))
    by_weight = np.argsort(-total, kind="stable")
    ids = dict(zip(nodes.tolist(), graph.chunk_ids(nodes), strict=True))
    ends = [divmod(pair, len(graph)) for pair in pairs[by_weight].tolist()]
    return [
        GraphEdge(ids[source], ids[to], kinds[at], round(weight, 4))
        for (source, to), at, weight in zip(ends, by_weight.tolist(), total[by_weight].tolist(), strict=True)
    ]


def _as_node(chunk: StoredChunk, rank: float) -> GraphNode:
    document, code = chunk.document, chunk.code
    symbol, line = "", 0
    if code is not None:
        # Small declarations share a chunk that is named after none of them: the first stands for it.
        symbol = code.symbol or next((item.name for item in code.defines), "")
        last = symbol.rpartition(".")[2]
        line = next((item.line for item in code.defines if item.name == last), 0)
    return GraphNode(
        id=chunk.id,
        collection=document.collection,
        document_id=document.id,
        path=document.path,
        line=line or chunk.line_start,
        symbol=symbol,
        kind=(code.kind if code is not None else "") or document.kind,
        rank=round(rank, 4),
    )
