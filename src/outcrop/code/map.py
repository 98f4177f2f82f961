"""The map of a codebase: its most central declarations as an outline, within a token budget.

Central is what the rest leans on: PageRank over the reference graph says how much weight arrives at each chunk, and the
names by which it arrives share it out among the declarations of the chunk. A file that has one line in the map already
needs a better reason for the next, so that the map shows the whole codebase and not its largest file.

Beside it, a part of the reference graph to look at: what is around some chunks, or what a collection turns on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from outcrop.contracts import Store
from outcrop.index.evidence import Edges, Nodes
from outcrop.index.graph import Graph
from outcrop.index.names import HEADER, MODULE, PRIVATE, SMALL, name_mark, name_number
from outcrop.read.rank import walk
from outcrop.records import CodeMap, Definition, GraphEdge, GraphNode, MapEntry, StoredChunk
from outcrop.records import Graph as DrawnGraph
from outcrop.system.arrays import Columns, NDArray, distinct, is_among, numbered
from outcrop.system.dataclass import dataclass
from outcrop.system.limits import check_wanted

Count = Callable[[str], int]

# None of these was measured, except for what is taken from elsewhere.
REPEAT_SHARE: Final = 0.7
"""What each further declaration of a file counts against the one before."""
ROLE_SHARE: Final = 0.1
"""Tests, examples and generated files are on the map only where there is room."""
SMALL_SHARE: Final = 0.3
"""A constant or a field says less about a codebase than a function or a type."""
PRIVATE_SHARE: Final = 0.1
"""As aider's repo map weighs names that begin with an underscore."""
UNNAMED_SHARE: Final = 0.1
"""What a declaration gets of its chunk's rank beside what arrives by its name."""
FOCUS_SHARE: Final = 0.5
"""Share of walkers who start at the focus, where there is one."""
DAMPING: Final = 0.85
"""Share of walkers who follow an edge, as in the original paper of PageRank."""
MAX_ITERATIONS: Final = 50
CHANGE: Final = 1e-6
"""The ranks are final once an iteration moves less of the weight than this, or after so many: 0.85 to the 50th is
3e-4."""
STEPS: Final = 3
"""How far from the target: callers of callers of callers are a dozen steps of reading already."""
MAX_ASKED: Final = 64
"""Chunks whose users are looked for in one step: that look-up is what takes time."""
MAX_NODES: Final = 500
"""More than this nobody can look at, and a page would be slow to draw."""
MAX_LINE_CHARS: Final = 120
FETCHED: Final = 2000
"""Declarations that are looked at for a map: at about ten tokens each more than any budget holds."""


@dataclass(frozen=True, slots=True)
class _Ranked(Columns):
    """Declarations, best first: their node, their place among the names of a segment, and their rank."""

    node: Nodes
    segment: NDArray[np.int32]
    place: Nodes
    rank: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Placed:
    """An entry and its document: two repositories may hold the same path."""

    document: int
    collection: str
    entry: MapEntry


def draw_map(
    graph: Graph,
    store: Store,
    budget_tokens: int,
    count: Count,
    *,
    within: NDArray[np.int64] | None,
    focus: Nodes,
) -> CodeMap:
    """The outline. `within` are the documents that may be in it (None: all); walkers prefer to start at `focus`."""
    edges = graph.all_edges()
    ranked = _rank_declarations(graph, edges, focus)
    if within is not None:
        ranked = ranked.take(np.isin(graph.documents(ranked.node), within))
    entries = _entries(graph, store, _spread(graph, ranked))
    chosen, text = _fit(entries, budget_tokens, count)
    return CodeMap(
        text=text,
        tokens=count(text),
        budget_tokens=budget_tokens,
        entries=tuple(placed.entry for placed in chosen),
        files=len({placed.document for placed in chosen}),
        left_out=len(entries) - len(chosen),
    )


def rank_chunks(graph: Graph, within: NDArray[np.int64] | None) -> tuple[Nodes, NDArray[np.float64]]:
    """The chunks that hold central declarations, most central first, with the rank of the best they hold, 0 to 1."""
    ranked = _rank_declarations(graph, graph.all_edges(), np.zeros(0, np.int64))
    if within is not None:
        ranked = ranked.take(np.isin(graph.documents(ranked.node), within))
    ranked = _spread(graph, ranked)
    order = np.argsort(ranked.node, kind="stable")  # of the declarations of a chunk the best comes first
    first = order[np.searchsorted(ranked.node[order], distinct(ranked.node))]
    ranked = ranked.take(np.sort(first))
    return ranked.node, ranked.rank / max(float(ranked.rank.max(initial=0)), 1e-12)


def _rank_declarations(graph: Graph, edges: Edges, focus: Nodes) -> _Ranked:
    start = None
    if len(focus):
        start = np.full(len(graph), (1 - FOCUS_SHARE) / max(len(graph), 1), np.float32)
        start[focus] += FOCUS_SHARE / len(focus)
    rank = pagerank(len(graph), edges.source, edges.target, edges.weight, start)
    leaving = np.bincount(edges.source, edges.weight, len(graph))
    arriving = rank[edges.source] * edges.weight / np.maximum(leaving[edges.source], 1e-12)
    parts: list[tuple[NDArray[Any], ...]] = []
    for number, segment in enumerate(graph.view.segments):
        check_wanted()
        names = segment.names
        mine = edges.segment == number
        total: NDArray[np.float64] = np.bincount(
            edges.declared[mine], arriving[mine].astype(np.float64), len(names.defined)
        ).astype(np.float64)
        node = names.defined_rows.astype(np.int64) + graph.node(number, 0)
        inside = np.bincount(names.defined_rows, minlength=len(segment))[names.defined_rows]
        # What nobody names may still be worth a line; what is asked for is.
        share = np.where(np.isin(node, focus), 1.0, UNNAMED_SHARE)
        total = total + share * rank[node] / np.maximum(inside, 1)
        kind = names.defined_kinds & ~np.uint8(PRIVATE)
        total = np.where(kind == SMALL, SMALL_SHARE * total, total)
        total = np.where(names.defined_kinds & PRIVATE, PRIVATE_SHARE * total, total)
        total = np.where(segment.roles[names.defined_rows] & ~np.uint8(HEADER), ROLE_SHARE * total, total)
        keep = np.flatnonzero((kind < MODULE) & ~graph.view.deleted[number][names.defined_rows])
        parts.append((node[keep], np.full(len(keep), number, np.int32), keep, total[keep]))
    if not parts:
        empty = np.zeros(0, np.int64)
        return _Ranked(empty, empty.astype(np.int32), empty, empty.astype(np.float64))
    ranked = _Ranked(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    order = np.argsort(-ranked.rank, kind="stable")
    return ranked.take(order)


def _spread(graph: Graph, ranked: _Ranked) -> _Ranked:
    """Lower each further declaration of a file, and order again."""
    document = graph.documents(ranked.node)
    order = np.argsort(document, kind="stable")
    first = np.concatenate(([True], document[order][1:] != document[order][:-1])) if len(order) else order > 0
    at = np.arange(len(order))
    place = np.empty(len(order), np.int64)
    place[order] = at - np.maximum.accumulate(np.where(first, at, 0)) if len(order) else at
    rank = ranked.rank * REPEAT_SHARE**place
    return replace(ranked, rank=rank).take(np.argsort(-rank, kind="stable")[:FETCHED])


def _entries(graph: Graph, store: Store, ranked: _Ranked) -> list[_Placed]:
    """The declarations with their lines, still best first."""
    ids = graph.chunk_ids(ranked.node)
    chunks = {chunk.id: chunk for chunk in store.chunks(list(dict.fromkeys(ids)))}
    most = float(ranked.rank[0]) if len(ranked.rank) else 1.0
    entries: dict[tuple[int, int], _Placed] = {}
    for chunk_id, segment, place, rank in zip(
        ids, ranked.segment.tolist(), ranked.place.tolist(), ranked.rank.tolist(), strict=True
    ):
        chunk = chunks.get(chunk_id)
        names = graph.view.segments[segment].names
        item = _definition(chunk, int(names.defined[place]), int(names.defined_marks[place])) if chunk else None
        if chunk is None or item is None:
            continue
        line = _line(chunk, item)
        entry = MapEntry(
            path=chunk.document.path,
            line=item.line,
            text=line,
            symbol=f"{item.scope}.{item.name}" if item.scope else item.name,
            rank=round(rank / most, 4),
        )
        document = chunk.document
        entries.setdefault((document.id, entry.line), _Placed(document.id, document.collection, entry))
    return list(entries.values())


def _definition(chunk: StoredChunk, number: int, mark: int) -> Definition | None:
    defines = chunk.code.defines if chunk.code else ()
    return next((d for d in defines if name_number(d.name) == number and name_mark(d.name) == mark), None)


def _line(chunk: StoredChunk, item: Definition) -> str:
    """The line on which a declaration stands, without what opens its body."""
    lines = chunk.text.split("\n")
    at = item.line - chunk.line_start
    line = lines[at].rstrip() if 0 <= at < len(lines) else item.name
    line = line if item.name in line else f"{line[: len(line) - len(line.lstrip())]}{item.kind} {item.name}"
    line = line.rstrip(" {:=").rstrip() or line
    return line if len(line) <= MAX_LINE_CHARS else f"{line[: MAX_LINE_CHARS - 1]}…"


def _fit(entries: Sequence[_Placed], budget_tokens: int, count: Count) -> tuple[list[_Placed], str]:
    """As many of the best entries as fit: found by halving, since the text grows with each."""
    low, high = 0, len(entries)
    text = ""
    while low < high:
        middle = (low + high + 1) // 2
        attempt = _render(entries[:middle])
        if count(attempt) <= budget_tokens:
            low, text = middle, attempt
        else:
            high = middle - 1
    return list(entries[:low]), text


def _render(entries: Iterable[_Placed]) -> str:
    """Files in the order of their best declaration, declarations in the order of their lines."""
    by_file: dict[int, list[_Placed]] = {}
    for placed in entries:
        by_file.setdefault(placed.document, []).append(placed)
    paths = Counter(inside[0].entry.path for inside in by_file.values())
    blocks = []
    for inside in by_file.values():
        first = inside[0]
        path = first.entry.path if paths[first.entry.path] == 1 else f"{first.entry.path} ({first.collection})"
        ordered = sorted((placed.entry for placed in inside), key=lambda entry: entry.line)
        blocks.append("\n".join((path, *(f"  {entry.line}: {entry.text}" for entry in ordered))))
    return "\n".join(blocks)


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
        fresh = DAMPING * (flowing + lost * begin) + (1 - DAMPING) * begin
        done = float(np.abs(fresh - rank).sum()) < CHANGE
        rank = fresh
        if done:
            break
    return rank


# ------------------------------------------------------------------ the graph to look at


def draw_neighbourhood(
    graph: Graph, store: Store, limit: int, within: NDArray[np.int64] | None, target: Sequence[StoredChunk]
) -> DrawnGraph:
    """The chunks most visited by walkers who start at the target and follow references in both directions."""
    limit = min(limit, MAX_NODES)
    own = graph.find_chunks(chunk.id for chunk in target)[:limit]
    if not len(own):  # nothing has vectors or names for it yet: the target stands alone
        nodes = tuple(_as_node(chunk, 1.0) for chunk in target[:limit])
        return DrawnGraph(nodes, (), tuple(node.id for node in nodes))

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


def draw_centre(graph: Graph, store: Store, limit: int, within: NDArray[np.int64] | None) -> DrawnGraph:
    """The chunks with the most central declarations, as the map ranks them."""
    nodes, ranks = rank_chunks(graph, within)
    limit = min(limit, MAX_NODES)
    return _draw(graph, store, nodes[:limit], ranks[:limit], (), len(nodes) - len(nodes[:limit]))


def _draw(
    graph: Graph,
    store: Store,
    nodes: Nodes,
    ranks: NDArray[np.float32] | NDArray[np.float64],
    target: tuple[int, ...],
    left_out: int,
) -> DrawnGraph:
    rank_of = dict(zip(graph.chunk_ids(nodes), ranks.tolist(), strict=True))
    drawn = tuple(_as_node(chunk, rank_of[chunk.id]) for chunk in store.chunks(list(rank_of)))
    there = {node.id for node in drawn}  # one may have been deleted since
    edges = tuple(e for e in _edges_among(graph, nodes) if e.source in there and e.target in there)
    return DrawnGraph(drawn, edges, tuple(id_ for id_ in target if id_ in there), left_out)


def _edges_among(graph: Graph, nodes: Nodes) -> list[GraphEdge]:
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
