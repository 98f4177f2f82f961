"""How fast are models? CPU time on pieces of real files, worker processes counted.

A piece is 1.2 kB, about a chunk. Pieces are distinct; a static model is timed while it learns the words of its texts
(cold) and again when it knows them (warm).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.code.set import counted_files
from benchmarks.corpus import PIECE_CHARS
from benchmarks.models.named import FLOAT, Entry, open_model, open_reranker
from benchmarks.report import Report, percentile, say
from outcrop.contracts import Embedder
from outcrop.embed.batches import BATCH_TEXTS
from outcrop.rank.excerpt import PASSAGE_CHARS

PIECES = 20_000
SLOW_PIECES = 64
"""A transformer takes some 60 ms a piece: four seconds."""
QUERIES = 200
RERANKED = 20
RERANK_QUERIES = 15
CHUNKS_BAR = 10_000
RERANK_BAR_MS = 300
NO_HASTE_S = 120.0


def read_pieces(repos: Path, count: int = PIECES, size: int = PIECE_CHARS) -> list[str]:
    """Distinct pieces of the files of repositories, in turns of one a file, so that few cover many of them."""
    texts = []
    for tree in sorted(path for path in repos.iterdir() if path.is_dir()):
        for file in counted_files(tree):
            try:
                text = file.read_text("utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            if "\0" not in text:
                texts.append(text)
    pieces: dict[str, None] = {}
    turn = 0
    while texts and len(pieces) < count:
        texts = [text for text in texts if len(text) >= (turn + 1) * size]
        pieces.update(dict.fromkeys(text[turn * size : (turn + 1) * size] for text in texts))
        turn += 1
    return list(pieces)[:count]


def family_cpu_s(process: int | None = None) -> float:
    """CPU seconds of this process and of all that it started, those that run included, by /proc (ticks of 10 ms)."""
    ticks = os.sysconf("SC_CLK_TCK")
    root = os.getpid() if process is None else process
    facts = dict(_processes())
    family, waiting = 0.0, [root]
    while waiting:
        one = waiting.pop()
        if one in facts:
            family += facts[one][1] / ticks
        waiting.extend(child for child, (parent, _) in facts.items() if parent == one)
    return family


def _processes() -> Iterator[tuple[int, tuple[int, int]]]:
    """(process, (its parent, ticks of it and of its finished children)) of every process that can be read."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name stands in brackets and may hold anything; what follows is numbers.
            fields = path.read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        yield int(path.parent.name), (int(fields[1]), sum(map(int, fields[11:15])))


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU and wall seconds of some work."""

    cpu_s: float
    wall_s: float


def spend(work: Callable[[], Any]) -> Spent:
    """What a call takes, with all processes behind it."""
    cpu, wall = family_cpu_s(), time.perf_counter()
    work()
    return Spent(family_cpu_s() - cpu, time.perf_counter() - wall)


def time_model(
    report: Report, entry: Entry, pieces: Sequence[str], queries: Sequence[str], *, bar: bool
) -> None:
    """Chunks a CPU second and milliseconds a query."""
    embedder = open_model(entry.spec)
    try:
        texts = pieces[:SLOW_PIECES] if entry.is_slow else pieces
        embedder.embed_query("warm")

        def embed_all() -> None:
            for start in range(0, len(texts), BATCH_TEXTS):
                embedder.embed_documents(texts[start : start + BATCH_TEXTS])

        least = CHUNKS_BAR if bar else None
        for state in ("cold",) if entry.is_slow else ("cold", "warm"):
            rate = len(texts) / spend(embed_all).cpu_s
            report.add(f"{entry.name}: chunks per CPU second, {state}", rate, "chunks/s", at_least=least)
        _time_queries(report, entry.name, embedder, queries)
    finally:
        _close(embedder)


def _time_queries(report: Report, name: str, embedder: Embedder, queries: Sequence[str]) -> None:
    walls: list[float] = []

    def ask() -> None:
        for query in queries:
            start = time.perf_counter()
            embedder.embed_query(query)
            walls.append(1000 * (time.perf_counter() - start))

    spent = spend(ask)
    report.add(f"{name}: query, CPU mean of {len(queries)}", 1000 * spent.cpu_s / len(queries), "ms")
    report.add(f"{name}: query, wall p50", percentile(walls, 0.5), "ms")


def time_reranker(report: Report, entry: Entry, pieces: Sequence[str], queries: Sequence[str]) -> None:
    """Milliseconds for twenty candidates, as long as the engine hands them over."""
    reranker = open_reranker(entry)
    passages = [piece[:PASSAGE_CHARS] for piece in pieces[: (RERANK_QUERIES + 1) * RERANKED]]
    spents = []
    try:
        reranker.score(queries[0], passages[:RERANKED], NO_HASTE_S)  # the model is loaded
        for number, query in enumerate(queries[:RERANK_QUERIES], 1):
            part = passages[number * RERANKED : (number + 1) * RERANKED]
            spents.append(spend(partial(reranker.score, query, part, NO_HASTE_S)))
    finally:
        _close(reranker)
    cpu = [1000 * spent.cpu_s for spent in spents]
    what = f"{entry.name}: {RERANKED} candidates"
    report.add(f"{what}, CPU p50", percentile(cpu, 0.5), "ms", at_most=RERANK_BAR_MS)
    report.add(f"{what}, CPU max of {len(cpu)}", max(cpu), "ms")
    report.add(f"{what}, wall p50", percentile([1000 * spent.wall_s for spent in spents], 0.5), "ms")


def report_speed(
    report: Report, models: Sequence[Entry], rerankers: Sequence[Entry], repos: Path, queries: Sequence[str]
) -> None:
    """One seed of every model and every reranker: seeds differ in numbers, not in work."""
    pieces = read_pieces(repos)
    if len(pieces) < (RERANK_QUERIES + 1) * RERANKED:
        raise SystemExit(f"{repos} holds too little text to time models with")
    say(f"\nspeed, {len(pieces):,} pieces of {PIECE_CHARS} characters")
    for entry in first_seeds(models):
        time_model(report, entry, pieces, queries[:QUERIES], bar=entry.name == "static")
    for entry in first_seeds(rerankers):
        time_reranker(report, entry, pieces, queries)


def first_seeds(entries: Sequence[Entry]) -> list[Entry]:
    """The first entry of every name, without those that are only there as another's float."""
    first: dict[str, Entry] = {}
    for entry in (entry for entry in entries if not entry.label.endswith(FLOAT)):
        first.setdefault(entry.name, entry)
    return list(first.values())


def _close(part: object) -> None:
    closing = getattr(part, "close", None)
    if closing is not None:
        closing()
