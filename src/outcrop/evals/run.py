"""Ask an index every question of a data set and see where the right documents come out.

Metrics are plain functions over gains: what each rank earned, best rank first, 0 for a wrong document. `grades` are the
gains of a perfect ranking, in any order: one for each expected document.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from outcrop.engine import Engine
from outcrop.errors import Cancelled, NotFound
from outcrop.evals.dataset import EvalCase
from outcrop.records import Hit, SearchOptions
from outcrop.system.dataclass import dataclass


def top_1(gains: Sequence[float]) -> float:
    """1 when the first document is a right one."""
    return float(bool(gains) and gains[0] > 0)


def recall_at(gains: Sequence[float], grades: Sequence[float], k: int) -> float:
    """The share of the expected documents that is among the first k."""
    return sum(gain > 0 for gain in gains[:k]) / len(grades) if grades else 0.0


def first_rank(gains: Sequence[float]) -> int | None:
    """Where the first right document stands, counted from 1."""
    return next((rank for rank, gain in enumerate(gains, 1) if gain > 0), None)


def reciprocal_rank(gains: Sequence[float]) -> float:
    """One over the rank of the first right document; 0 when there is none. Its mean over queries is the MRR."""
    rank = first_rank(gains)
    return 0.0 if rank is None else 1 / rank


def ndcg_at(gains: Sequence[float], grades: Sequence[float], k: int) -> float:
    """Discounted gain of the first k against that of a perfect ranking; gains count as they are, not as powers."""
    ideal = _discounted(sorted(grades, reverse=True)[:k])
    return _discounted(gains[:k]) / ideal if ideal else 0.0


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def mean(values: Sequence[float]) -> float:
    """The average; 0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed; 0 of nothing."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


HITS_PER_DOCUMENT: Final = 4
"""Hits asked for each document wanted: ranks count documents, and several hits can be of the same one."""


@dataclass(frozen=True, slots=True)
class Found:
    """A document at its rank: the best hit of it."""

    path: str
    score: float
    similarity: float | None
    gain: float


@dataclass(frozen=True, slots=True)
class EvalRow:
    """How one query went. `rank` is that of the first right document; `missing` are not in the index at all."""

    query: str
    expected: tuple[str, ...]
    missing: tuple[str, ...]
    found: tuple[Found, ...]
    rank: int | None
    recall: Mapping[int, float]
    ndcg_10: float
    embed_ms: float | None
    search_ms: float
    reason: str | None = None

    @property
    def right(self) -> Found | None:
        """The first right document."""
        return next((found for found in self.found if found.gain > 0), None)

    @property
    def wrong(self) -> Found | None:
        """The first wrong document."""
        return next((found for found in self.found if found.gain == 0), None)


@dataclass(frozen=True, slots=True)
class EvalReport:
    """Every query, and the means over them. `similarity` is that of the first right documents."""

    model: str
    limit: int
    rows: tuple[EvalRow, ...]
    top_1: float
    recall_3: float
    recall_5: float
    recall_10: float
    mrr: float
    ndcg_10: float
    similarity: float
    embed_p50_ms: float
    embed_p95_ms: float
    search_p50_ms: float
    search_p95_ms: float

    @property
    def missing(self) -> tuple[str, ...]:
        """Expected documents that are not in the index."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.missing))


def evaluate(
    engine: Engine,
    cases: Sequence[EvalCase],
    *,
    limit: int = 10,
    options: SearchOptions | None = None,
    on_row: Callable[[int, EvalRow], None] | None = None,
    stopped: Callable[[], bool] | None = None,
) -> EvalReport:
    """Search every query and score it by the ranks of distinct documents, down to `limit`. `options` are those of the
    search; its limit and collections are set here. A case whose expected documents are not in the index counts as
    failed, and the report names them."""
    engine.warm()  # the first query would otherwise pay for loading the model
    places = _Places(engine)
    rows = []
    for number, case in enumerate(cases, 1):
        if stopped is not None and stopped():
            raise Cancelled("stopped before all queries were asked; nothing was measured")
        rows.append(_ask(engine, case, places, limit, options or SearchOptions()))
        if on_row is not None:
            on_row(number, rows[-1])
    return _summarise(str(engine.status().model), limit, rows)


def _ask(engine: Engine, case: EvalCase, places: _Places, limit: int, options: SearchOptions) -> EvalRow:
    where = replace(options.where, collections=case.collections or options.where.collections)
    options = replace(options, limit=limit * HITS_PER_DOCUMENT, where=where)
    answer = engine.run_search(case.query, options)
    wanted = {name: places.find(name, where.collections) for name in case.expected}
    found = _rank_documents(answer.hits, limit, case, wanted)
    gains = [item.gain for item in found]
    grades = list(case.expected.values())
    embed_ms = answer.timings_ms.get("embed")
    return EvalRow(
        query=case.query,
        expected=tuple(case.expected),
        missing=tuple(name for name, ids in wanted.items() if not ids),
        found=found,
        rank=first_rank(gains),
        recall={k: recall_at(gains, grades, k) for k in (3, 5, 10)},
        ndcg_10=ndcg_at(gains, grades, 10),
        embed_ms=embed_ms,
        search_ms=answer.timings_ms.get("total", 0.0) - (embed_ms or 0.0),
        reason=None if answer.reason is None else answer.detail or answer.reason,
    )


def _rank_documents(
    hits: Iterable[Hit], limit: int, case: EvalCase, wanted: Mapping[str, frozenset[int]]
) -> tuple[Found, ...]:
    """Distinct documents in order; an expected name earns its grade once, however many documents bear it."""
    open_names = dict(case.expected)
    ranked: dict[int, Found] = {}
    for hit in hits:
        if hit.document.id in ranked:
            continue
        if len(ranked) == limit:
            break
        name = next((name for name in open_names if hit.document.id in wanted[name]), None)
        gain = 0.0 if name is None else open_names.pop(name)
        ranked[hit.document.id] = Found(hit.document.path, hit.score, hit.why.similarity, gain)
    return tuple(ranked.values())


def _summarise(model: str, limit: int, rows: Sequence[EvalRow]) -> EvalReport:
    gains = [[found.gain for found in row.found] for row in rows]
    embed = [row.embed_ms for row in rows if row.embed_ms is not None]
    search = [row.search_ms for row in rows]
    right = [row.right.similarity for row in rows if row.right is not None and row.right.similarity is not None]
    return EvalReport(
        model=model,
        limit=limit,
        rows=tuple(rows),
        top_1=mean([top_1(earned) for earned in gains]),
        recall_3=mean([row.recall[3] for row in rows]),
        recall_5=mean([row.recall[5] for row in rows]),
        recall_10=mean([row.recall[10] for row in rows]),
        mrr=mean([reciprocal_rank(earned) for earned in gains]),
        ndcg_10=mean([row.ndcg_10 for row in rows]),
        similarity=mean(right),
        embed_p50_ms=percentile(embed, 0.5),
        embed_p95_ms=percentile(embed, 0.95),
        search_p50_ms=percentile(search, 0.5),
        search_p95_ms=percentile(search, 0.95),
    )


class _Places:
    """Which documents a name stands for: by uri or path first, since a data set's ids may look like ours."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._named: dict[str, set[int]] = defaultdict(set)
        self._collections: dict[int, str] = {}
        for info in engine.documents():
            self._collections[info.id] = info.collection
            self._named[info.uri].add(info.id)
            self._named[info.path].add(info.id)

    def find(self, name: str, collections: Sequence[str]) -> frozenset[int]:
        """Documents of that name in these collections; none when there is no such document."""
        ids = self._named.get(name) or self._named.get(str(Path(name).expanduser().absolute()))
        if not ids:
            try:
                ids = {self._engine.get(name).id}
            except NotFound:
                return frozenset()
        return frozenset(i for i in ids if not collections or self._collections.get(i) in collections)
