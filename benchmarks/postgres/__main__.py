"""An index on Postgres: how fast it is filled and searched, and what a filter or many deletions do to its answers.

    python -m benchmarks.postgres --chunks 200000 [--corpus FOLDER_OR_JSONL] [--url postgresql://…]

The same prose goes into SQLite and into Postgres (a real server with durable settings, started for it unless one is
named), so that the rates stand side by side. Searches are timed by the clock, server included, one after the other.
Exactness is of the vectors: the ten nearest by the index against the ten nearest of all, without a filter, in a slice
of one percent, and after three documents in ten are deleted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import (  # first: it holds numpy to one core
    WORK,
    Report,
    percentile,
    run_child,
    say,
)

import numpy as np  # isort: skip
import psutil  # isort: skip

import outcrop  # isort: skip
from benchmarks.corpus import draw_queries, lay_out, read_sources  # isort: skip
from benchmarks.speed import remove_index  # isort: skip
from outcrop.records import Filter  # isort: skip
from outcrop.store.postgres import PostgresStore  # isort: skip
from tests.postgres.server import create_server, open_home  # isort: skip

SEARCH_BAR_MS, SEARCH_BAR_MANY_MS = 30.0, 60.0
"""p95 of a hybrid search at up to 200 000 chunks, and beyond."""
RECALL_BAR = 0.95
INGEST_BAR = 0.8
"""Of the rate of SQLite on the same machine."""
SETTINGS = {"shared_buffers": "2GB", "max_wal_size": "8GB", "maintenance_work_mem": "1GB"}
"""What an administrator would set for an index of this size; the rest is as it comes."""
SLICE = Filter(paths=("slice/**",))
EXACT = 200
"""Questions whose nearest vectors are looked up twice."""


def main() -> None:
    """The command."""
    options = parse()
    if options.part:
        sys.stdout.write(json.dumps(ingest(options.db, options.folder)) + "\n")
        return
    report = Report(f"postgres-{options.chunks}", {"chunks": options.chunks, "settings": SETTINGS})
    work = options.work / (options.corpus.name if options.corpus else "default")
    work.mkdir(parents=True, exist_ok=True)
    pieces = read_sources(options.corpus)
    queries = draw_queries(pieces, options.count + 20)
    layout = lay_out(pieces, options.chunks, work / f"prose-{options.chunks}")
    del pieces
    with server_url(options.url) as url:
        report_ingest(report, work, layout.folder, layout.text_bytes, url, skip_sqlite=options.skip_sqlite)
        with outcrop.open(url) as engine:
            engine.warm()
            report_sizes(report, engine)
            report_searches(report, engine, queries)
            report_recall(report, "fresh from the build", engine, queries)
            if not options.skip_deletion:
                report_deletion(report, engine, queries)
    report.keep()
    raise SystemExit(1 if report.failed else 0)


def parse() -> argparse.Namespace:
    """What was typed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=200_000)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--count", type=int, default=400, help="questions drawn from the corpus")
    parser.add_argument("--url", help="an empty database; one is started where none is named")
    parser.add_argument("--work", type=Path, default=WORK)
    parser.add_argument("--skip-sqlite", action="store_true")
    parser.add_argument("--skip-deletion", action="store_true")
    for hidden in ("--part", "--db", "--folder"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    return parser.parse_args()


@contextlib.contextmanager
def server_url(url: str | None) -> Iterator[str]:
    """The database that was named, or a new one that is gone afterwards."""
    if url is not None:
        yield url
        return
    with open_home() as home:
        server = create_server(home, "benchmark", durable=True, settings=SETTINGS)
        yield server.url("outcrop")


# ------------------------------------------------------------------ ingest


def ingest(db: str, folder: str) -> dict[str, float]:
    """Add a folder to a new index, durable and searchable, its vector index built."""
    before = server_cpu_s()
    with outcrop.open(db) as engine:
        _ = engine.parts
        own, wall = time.process_time(), time.perf_counter()
        report = engine.add(folder, collection="prose")
        return {
            "chunks": report.chunks,
            "wall_s": time.perf_counter() - wall,
            "cpu_s": time.process_time() - own,
            "server_s": server_cpu_s() - before,
            "bytes": engine.status().stats.bytes_on_disk,
        }


def server_cpu_s() -> float:
    """CPU seconds of all processes of PostgreSQL on this machine, those that ended included."""
    total = 0.0
    for process in psutil.process_iter(["name"]):
        if process.info["name"] == "postgres":
            with contextlib.suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                total += times.user + times.system + times.children_user + times.children_system
    return total


def report_ingest(
    report: Report, work: Path, folder: Path, text_bytes: int, url: str, *, skip_sqlite: bool
) -> None:
    """Both stores, each filled by a process of its own."""
    rates, own = {}, {}
    file = work / "index-beside-postgres" / "index.db"
    file.parent.mkdir(exist_ok=True)
    remove_index(file)
    for name, db in (("postgres", url), *(() if skip_sqlite else (("sqlite", str(file)),))):
        got = run_child(["benchmarks.postgres", "--part", "ingest", "--db", db, "--folder", str(folder)])
        rates[name], own[name] = got["chunks"] / got["wall_s"], got["cpu_s"] / got["chunks"]
        report.add(f"{name} ingest, chunks", got["chunks"], "chunks")
        report.add(f"{name} ingest, wall", got["wall_s"], "s")
        report.add(f"{name} ingest, CPU of the client", got["cpu_s"], "s")
        if name == "postgres":
            report.add("postgres ingest, CPU of the server", got["server_s"], "s")
        report.add(f"{name} ingest, rate by the clock", rates[name], "chunks/s")
        report.add(f"{name} index size to text size", got["bytes"] / text_bytes, "×")
    if not skip_sqlite:
        share = rates["postgres"] / rates["sqlite"]
        report.add("postgres ingest to sqlite ingest, vector index included", share, "×", at_least=INGEST_BAR)
        report.add("the same by the CPU of the client", own["sqlite"] / own["postgres"], "×")


def report_sizes(report: Report, engine: outcrop.Engine) -> None:
    """Where the bytes are, a chunk."""
    store = engine._store
    assert isinstance(store, PostgresStore)
    chunks = engine.status().stats.chunks
    rows = store._read(
        "SELECT c.relname, pg_table_size(c.oid), pg_indexes_size(c.oid) FROM pg_class c WHERE c.relkind = 'r'"
        " AND c.relnamespace = current_schema()::regnamespace ORDER BY pg_total_relation_size(c.oid) DESC LIMIT 9"
    )
    report.add_table(
        "bytes a chunk",
        [{"table": name, "rows": size / chunks, "indexes": more / chunks} for name, size, more in rows],
    )


# ------------------------------------------------------------------ search


def search_bar(engine: outcrop.Engine) -> float:
    """What the p95 of a hybrid search may be."""
    return SEARCH_BAR_MS if engine.status().stats.chunks <= 250_000 else SEARCH_BAR_MANY_MS


def report_searches(report: Report, engine: outcrop.Engine, queries: Sequence[str]) -> None:
    """Warm searches, all different."""
    for query in queries[-20:]:
        engine.search(query)
    for label, options in (
        ("hybrid search", {}),
        ("hybrid search in 1 % by path", {"paths": ("slice/**",)}),
        ("hybrid search in 1 %, no floor or merging", {"paths": ("slice/**",), "floor": 0.0, "merge": False}),
        ("keyword search", {"mode": "keyword"}),
        ("semantic search", {"mode": "semantic"}),
    ):
        wall, own, hits, steps = [], [], [], []
        before = server_cpu_s()
        for query in queries[:-20]:
            start, cpu = time.perf_counter(), time.process_time()
            answer = engine.search(query, **options)
            wall.append(1000 * (time.perf_counter() - start))
            own.append(1000 * (time.process_time() - cpu))
            hits.append(len(answer.hits))
            steps.append(answer.timings_ms)
        server = 1000 * (server_cpu_s() - before) / len(wall)
        bar = search_bar(engine) if label.startswith("hybrid") else None
        report.add(f"{label}, p50", percentile(wall, 0.5), "ms")
        report.add(f"{label}, p95", percentile(wall, 0.95), "ms", at_most=bar)
        report.add(f"{label}, CPU of the client p50", percentile(own, 0.5), "ms")
        report.add(f"{label}, CPU of all servers of this machine, mean", server, "ms")
        full = None if "floor" not in options else 1.0
        report.add(
            f"{label}, answers with all 10", sum(n == 10 for n in hits) / len(hits), "share", at_least=full
        )
        if not options:
            names = [name for name in steps[0] if name != "total"]
            rows = [{"step": n, "p50 ms": percentile([s.get(n, 0.0) for s in steps], 0.5)} for n in names]
            report.add_table("steps of a hybrid search", rows)
    report.add("searching process, memory", psutil.Process(os.getpid()).memory_info().rss / 1e6, "MB")


def report_recall(report: Report, when: str, engine: outcrop.Engine, queries: Sequence[str]) -> None:
    """The ten nearest by the index against the ten nearest of all."""
    store = engine._store
    assert isinstance(store, PostgresStore)
    few = store.narrow(SLICE, 1_000_000)
    whole: list[float] = []
    sliced: list[float] = []
    wide: list[float] = []
    for query in queries[:EXACT]:
        vector = engine.parts.embedder.embed_query(query)
        if not vector.any():
            continue
        best = exact_nearest(store, vector)
        whole.append(agreement(store.nearest(vector, 200)[1][:10], best))
        inside = exact_nearest(store, vector, few)
        sliced.append(agreement(store.nearest(vector, 10, among=few)[1], inside))
        wide.append(agreement(store.nearest(vector, 10, SLICE)[1], inside))
    report.add(f"recall@10 {when}", float(np.mean(whole)), "share", at_least=RECALL_BAR)
    report.add(f"recall@10 in 1 %, as searched, {when}", float(np.mean(sliced)), "share", at_least=RECALL_BAR)
    report.add(
        f"recall@10 in 1 %, through the index, {when}", float(np.mean(wide)), "share", at_least=RECALL_BAR
    )


def exact_nearest(store: PostgresStore, vector: Any, among: Any = None) -> Any:
    """Cosines of the ten nearest chunks, each compared."""
    condition = "true" if among is None else "chunk_id = ANY (%(among)s)"
    from outcrop.store.postgres.values import half_vectors
    from outcrop.store.postgres.vectors import fresh, points

    (half,) = half_vectors(vector[None, :].astype(np.float16))
    (active,) = store._read("SELECT active_model FROM state")[0]
    both = " UNION ALL ".join(
        f"SELECT chunk_id, embedding FROM {table} WHERE {condition}"
        for table in (points(active), fresh(active))
    )
    rows = store._read(
        f"WITH every AS MATERIALIZED ({both}) SELECT 1 - min(embedding <=> %(vector)s) AS near FROM every"
        " GROUP BY chunk_id ORDER BY near DESC LIMIT 10",
        {"vector": half, "among": None if among is None else among.tolist()},
    )
    return np.array([near for (near,) in rows])


def agreement(found: Any, best: Any) -> float:
    """Counted by cosine: chunks at the same distance are as good as each other."""
    return float((np.sort(found)[-len(best) :] >= best[-1] - 1e-4).sum()) / len(best)


def report_deletion(report: Report, engine: outcrop.Engine, queries: Sequence[str]) -> None:
    """Three documents in ten go; then a vacuum, as autovacuum would do it."""
    store = engine._store
    assert isinstance(store, PostgresStore)
    ids = store.select(Filter())
    gone = ids[np.random.default_rng(1).permutation(len(ids))[: 3 * len(ids) // 10]]
    start = time.perf_counter()
    store.delete(gone.tolist())
    report.add(f"deleting {len(gone)} documents", time.perf_counter() - start, "s")
    start = time.perf_counter()
    with store._connections.connect() as connection:
        connection.execute("VACUUM ANALYZE")
    report.add("vacuum after that", time.perf_counter() - start, "s")
    report_recall(report, "after deleting 30 % and vacuum", engine, queries)
    wall = []
    for query in queries[:200]:
        begin = time.perf_counter()
        engine.search(query)
        wall.append(1000 * (time.perf_counter() - begin))
    report.add("hybrid search after that, p95", percentile(wall, 0.95), "ms", at_most=search_bar(engine))
    problems = list(store.check())
    say("\n".join(problems) or "the check finds nothing")
    report.add("problems found by the check", len(problems), "", at_most=0)


if __name__ == "__main__":
    main()
