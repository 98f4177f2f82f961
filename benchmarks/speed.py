"""How fast, how large, how exact: ingest, sync, search and start on real prose.

    python -m benchmarks.speed --chunks 20000 --corpus FOLDER_OR_JSONL

CPU time on one core is what counts (children included); wall time stands beside it. Every part runs in a process
of its own, so that memory and caches are its own too. Exits with 1 when a figure misses its bar.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks import report as reporting  # first: it holds numpy to one core
from benchmarks.report import (
    ROOT,
    WORK,
    Report,
    cpu_s,
    folder_bytes,
    peak_rss_bytes,
    percentile,
    run_child,
    say,
)
from benchmarks.starts import measure_mcp, measure_serve

STEPS = ("refresh", "embed", "search", "rank", "fetch")
COLD_RUNS = 7
"""Runs of a cold start; the median counts."""
PROFILE_LINES = 25

SEARCH_BARS_MS = {20_000: 15.0, 200_000: 40.0}
"""p95 of a warm search at up to this many chunks."""
MEMORY_BAR_MB = 400.0
INGEST_BAR = 1500.0
SYNC_BAR_S = 1.0
HELP_BAR_MS = 150.0
SERVE_BAR_MS = 500.0
MCP_BAR_MS = 300.0
COLD_BAR_MS = 400.0
"""For 20 000 chunks; with more it is printed without a bar."""


# ------------------------------------------------------------------ parts, each run in a process of its own


def measure_ingest(options: argparse.Namespace) -> dict[str, Any]:
    """Add a folder to a new index, end to end and durable."""
    import outcrop

    sampler = AnonymousMemory()
    with outcrop.open(options.db) as engine:
        cpu, wall = cpu_s(), time.perf_counter()
        report = profiled(options.profile, lambda: engine.add(options.folder, collection="prose"))
        used, waited = cpu_s() - cpu, time.perf_counter() - wall
    if report.failed:
        raise SystemExit(f"{len(report.failed)} files failed, the first: {report.failed[0]}")
    return {
        "cpu_s": used,
        "wall_s": waited,
        "chunks": report.chunks,
        "embedded": report.embedded,
        "documents": report.added,
        "peak_rss": peak_rss_bytes(),
        "peak_anonymous": sampler.stop(),
        "index_bytes": index_bytes(options.db),
    }


def measure_sync(options: argparse.Namespace) -> dict[str, Any]:
    """Sync a folder in which nothing changed."""
    import outcrop

    with outcrop.open(options.db) as engine:
        cpu, wall = cpu_s(), time.perf_counter()
        report = profiled(options.profile, lambda: engine.sync(options.folder))
        used, waited = cpu_s() - cpu, time.perf_counter() - wall
    if report.added or report.changed or report.removed:
        raise SystemExit(f"files changed under a sync that should find none changed: {report}")
    return {"cpu_s": used, "wall_s": waited, "files": report.unchanged}


def measure_search(options: argparse.Namespace) -> dict[str, Any]:
    """Warm searches, all different, plain and within a slice of one percent."""
    import outcrop

    queries: list[str] = json.loads(options.queries.read_text("utf-8"))
    with outcrop.open(options.db) as engine:
        engine.warm()
        for query in queries[-20:]:
            engine.search(query)
        queries = queries[:-20]
        plain = profiled(options.profile, lambda: _time_searches(engine, queries, {}))
        by_path = _time_searches(engine, queries[:150], {"paths": ("slice/**",)})
        by_tag = _time_searches(engine, queries[:150], {"tags": ("slice",)})
        # Without floor and merging a filter must leave ten hits: the slice holds far more chunks than that.
        bare = _time_searches(engine, queries[:150], {"paths": ("slice/**",), "floor": 0.0, "merge": False})
        return {"plain": plain, "path": by_path, "tag": by_tag, "bare": bare, "peak_rss": peak_rss_bytes()}


def _time_searches(engine: Any, queries: list[str], filters: dict[str, Any]) -> dict[str, Any]:
    cpu_ms, wall_ms, hits, steps = [], [], [], []
    for query in queries:
        cpu, wall = time.process_time(), time.perf_counter()
        answer = engine.search(query, **filters)
        cpu_ms.append(1000 * (time.process_time() - cpu))
        wall_ms.append(1000 * (time.perf_counter() - wall))
        hits.append(len(answer.hits))
        steps.append(dict(answer.timings_ms))
    return {"cpu_ms": cpu_ms, "wall_ms": wall_ms, "hits": hits, "steps": steps}


def measure_recall(options: argparse.Namespace) -> dict[str, Any]:
    """The ten nearest by bit scan and rescoring against the ten nearest of all rows."""
    import numpy as np

    import outcrop
    from outcrop.index.nearest import nearest, similarities

    queries: list[str] = json.loads(options.queries.read_text("utf-8"))[:200]
    shares, worst = [], 1.0
    with outcrop.open(options.db) as engine:
        segments = engine.parts.index.refresh().segments
        for query in queries:
            vector = engine.parts.embedder.embed_query(query)
            if not vector.any():
                continue
            found = nearest(segments, [None] * len(segments), vector, 10)
            quick = np.concatenate([cosine for _, cosine in found])
            exact = np.concatenate(
                [similarities(segment, np.arange(len(segment)), vector) for segment in segments]
            )
            # Counted by cosine, so that chunks at the same distance (give or take rounding) are as good as each other.
            tenth = np.sort(exact)[-10] - 1e-6
            share = float((np.sort(quick)[-10:] >= tenth).sum()) / 10
            shares.append(share)
            worst = min(worst, share)
    return {"recall": sum(shares) / len(shares), "worst": worst, "queries": len(shares)}


PARTS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "ingest": measure_ingest,
    "sync": measure_sync,
    "search": measure_search,
    "recall": measure_recall,
}


class AnonymousMemory:
    """The most memory of its own (not mapped from files) this process held, looked at 20 times a second."""

    def __init__(self) -> None:
        self._peak = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> int:
        """The peak in bytes; 0 where there is no /proc."""
        self._done.set()
        self._thread.join()
        return self._peak

    def _watch(self) -> None:
        status = Path("/proc/self/status")
        while status.exists() and not self._done.wait(0.05):
            for line in status.read_text("ascii").splitlines():
                if line.startswith("RssAnon:"):
                    self._peak = max(self._peak, int(line.split()[1]) * 1024)


def profiled(wanted: bool, work: Callable[[], Any]) -> Any:
    """Run and, if wanted, print where the time went."""
    if not wanted:
        return work()
    profile = cProfile.Profile()
    result = profile.runcall(work)
    pstats.Stats(profile, stream=sys.stdout).sort_stats("tottime").print_stats(PROFILE_LINES)
    return result


def index_bytes(db: Path) -> int:
    """Size of the database, its log and the search arrays."""
    return folder_bytes(*db.parent.glob(db.name + "*"))


# ------------------------------------------------------------------ cold starts


def measure_command(command: list[str]) -> tuple[float, float]:
    """Median (CPU, wall) milliseconds of a command started anew."""
    times = []
    for _ in range(COLD_RUNS + 1):  # the first one also fills the file cache and is not counted
        times.append(reporting.timed(lambda: _run_quietly(command)))
    cpu, wall = zip(*times[1:], strict=True)
    return 1000 * percentile(cpu, 0.5), 1000 * percentile(wall, 0.5)


def _run_quietly(command: list[str]) -> None:
    # An installed program has its bytecode; a checkout may have been told not to write any.
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(WORK / "bytecode")}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command} failed:\n{done.stdout}{done.stderr}")


@cache
def has_command_line() -> bool:
    """Whether `python -m outcrop search` works in this checkout."""
    command = [sys.executable, "-m", "outcrop", "search", "--help"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0


def search_command(db: Path, query: str) -> list[str]:
    """A search as a new process: the command line, or the library where there is no command line yet."""
    if has_command_line():
        return [sys.executable, "-m", "outcrop", "--db", str(db), "search", query]
    script = "import sys, outcrop; print(outcrop.open(sys.argv[1]).search(sys.argv[2]).hits[0].text)"
    return [sys.executable, "-c", script, str(db), query]


# ------------------------------------------------------------------ the run


def report_ingest(report: Report, options: argparse.Namespace, folder: Path, text_bytes: int, db: Path) -> None:
    """(a) Prose into a durable index."""
    remove_index(db)
    got = run_child([*_child("ingest", options), "--folder", str(folder), "--db", str(db)])
    large = got["chunks"] >= 200_000
    report.add("chunks indexed", got["chunks"], "chunks")
    report.add("chunks of distinct content", got["embedded"] / got["chunks"], "share")
    report.add("ingest, chunks per CPU second", got["chunks"] / got["cpu_s"], "chunks/s", at_least=INGEST_BAR)
    report.add("ingest, CPU", got["cpu_s"], "s")
    report.add("ingest, wall", got["wall_s"], "s")
    report.add("ingest, text per CPU second", text_bytes / got["cpu_s"] / 1e6, "MB/s")
    report.add(
        "ingest, peak memory (RSS)", got["peak_rss"] / 1e6, "MB", at_most=MEMORY_BAR_MB if large else None
    )
    report.add("ingest, peak memory of its own (no mapped files)", got["peak_anonymous"] / 1e6, "MB")
    report.add("index size", got["index_bytes"] / 1e6, "MB")
    report.add("index size to text size", got["index_bytes"] / text_bytes, "×")


def report_sync(report: Report, options: argparse.Namespace, folder: Path, db: Path) -> None:
    """(b) A sync that finds nothing to do."""
    if not db.exists():
        run_child(["benchmarks.speed", "--part", "ingest", "--folder", str(folder), "--db", str(db)])
    got = run_child([*_child("sync", options), "--folder", str(folder), "--db", str(db)])
    bar = SYNC_BAR_S if got["files"] >= 10_000 else None
    report.add(f"sync of {got['files']:,} unchanged files, CPU", got["cpu_s"], "s", at_most=bar)
    report.add(f"sync of {got['files']:,} unchanged files, wall", got["wall_s"], "s")


def report_search(report: Report, options: argparse.Namespace, db: Path, queries: Path, chunks: int) -> None:
    """(c) Warm searches; (e) what the approximate step costs in exactness."""
    got = run_child([*_child("search", options), "--db", str(db), "--queries", str(queries)])
    bar = next((ms for size, ms in SEARCH_BARS_MS.items() if chunks <= 1.1 * size), None)
    for name, label in (
        ("plain", "search"),
        ("path", "search in 1 % by path"),
        ("tag", "search in 1 % by tag"),
    ):
        part = got[name]
        count = len(part["cpu_ms"])
        report.add(f"{label}, CPU p50 of {count}", percentile(part["cpu_ms"], 0.5), "ms")
        report.add(f"{label}, CPU p95", percentile(part["cpu_ms"], 0.95), "ms", at_most=bar)
        report.add(f"{label}, CPU max", max(part["cpu_ms"]), "ms")
        report.add(f"{label}, wall p95", percentile(part["wall_ms"], 0.95), "ms")
        report.add(f"{label}, answers with all 10 hits", sum(n == 10 for n in part["hits"]) / count, "share")
    full = sum(n == 10 for n in got["bare"]["hits"]) / len(got["bare"]["hits"])
    report.add("search in 1 % without floor and merging, all 10 hits", full, "share")
    report.add("searching process, peak memory (RSS)", got["peak_rss"] / 1e6, "MB")
    steps = [
        {
            "step": step,
            **{
                name: percentile([s.get(step, 0.0) for s in got["plain"]["steps"]], share)
                for name, share in (("p50 ms", 0.5), ("p95 ms", 0.95))
            },
        }
        for step in STEPS
    ]
    report.add_table("Steps of a search (wall, as the answer tells)", steps)
    say("")
    recall = run_child(["benchmarks.speed", "--part", "recall", "--db", str(db), "--queries", str(queries)])
    report.add(f"recall@10 of the bit scan, {recall['queries']} queries", recall["recall"], "share")
    report.add("recall@10 of the worst query", recall["worst"], "share")


def report_cold(report: Report, db: Path, query: str, chunks: int) -> None:
    """(d) A search, a help text and servers from a standing start."""
    how = "command line" if has_command_line() else "library, no command line yet"
    cpu, wall = measure_command(search_command(db, query))
    report.add(f"cold search ({how}), CPU", cpu, "ms", at_most=COLD_BAR_MS if chunks <= 22_000 else None)
    report.add(f"cold search ({how}), wall", wall, "ms")
    if has_command_line():
        cpu, wall = measure_command([sys.executable, "-m", "outcrop", "--help"])
        report.add("--help, CPU", cpu, "ms", at_most=HELP_BAR_MS)
        report.add("--help, wall", wall, "ms")
        if Path("/proc/self/stat").exists():
            report.add("serve to its first answer, CPU", measure_serve(db), "ms", at_most=SERVE_BAR_MS)
            report.add("mcp to its list of tools, CPU", measure_mcp(db), "ms", at_most=MCP_BAR_MS)
    else:
        say("--help: not measured, there is no command line yet")


def remove_index(db: Path) -> None:
    """Forget an index of an earlier run."""
    for path in db.parent.glob(db.name + "*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def read_queries(path: Path) -> list[str]:
    """The `text` of each line of a .jsonl file."""
    return [json.loads(line)["text"] for line in path.read_text("utf-8").splitlines() if line.strip()]


def _child(part: str, options: argparse.Namespace) -> list[str]:
    return ["benchmarks.speed", "--part", part, *(["--profile"] if options.profile else [])]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--corpus", type=Path, help="a folder of text and HTML, or a .jsonl with a text a line")
    parser.add_argument(
        "--queries", type=Path, help="a .jsonl with a text a line, searched besides the drawn ones"
    )
    parser.add_argument("--files", type=int, default=10_000, help="files of the sync that finds nothing to do")
    parser.add_argument("--count", type=int, default=400, help="queries drawn from the corpus")
    parser.add_argument("--work", type=Path, default=WORK, help="where prose and indexes are kept between runs")
    parser.add_argument("--profile", action="store_true", help="print where ingest and search spend their time")
    for hidden in ("--part", "--folder", "--db"):
        kind: Callable[[str], Any] = str if hidden == "--part" else Path
        parser.add_argument(hidden, type=kind, help=argparse.SUPPRESS)
    return parser


def main() -> int:
    """The command."""
    options = _parser().parse_args()
    if options.part:
        sys.stdout.write(json.dumps(PARTS[options.part](options)) + "\n")
        return 0
    from benchmarks.corpus import draw_queries, lay_out, lay_out_small, read_sources

    report = Report(
        f"speed-{options.chunks}",
        {
            "chunks": options.chunks,
            "corpus": options.corpus and options.corpus.name,
            "files": options.files,
            "queries": options.count,
        },
    )
    work = options.work / (options.corpus.name if options.corpus else "default")
    work.mkdir(parents=True, exist_ok=True)
    pieces = read_sources(options.corpus)
    queries = draw_queries(pieces, options.count + 20)
    if options.queries:
        queries = list(dict.fromkeys([*read_queries(options.queries), *queries]))
    listed = work / "queries.json"
    listed.write_text(json.dumps(queries), "utf-8")
    layout = lay_out(pieces, options.chunks, work / f"prose-{options.chunks}")
    small = lay_out_small(pieces, options.files, work / f"small-{options.files}")
    del pieces
    size = f"{layout.text_bytes / 1e6:,.1f} MB"
    say(f"{layout.files:,} files, {layout.chunks:,} chunks, {size} of text in {layout.folder}\n")
    db = work / f"index-{options.chunks}" / "index.db"
    db.parent.mkdir(exist_ok=True)
    report_ingest(report, options, layout.folder, layout.text_bytes, db)
    report_search(report, options, db, listed, layout.chunks)
    report_cold(report, db, queries[0], layout.chunks)
    small_db = work / f"index-small-{options.files}" / "index.db"
    small_db.parent.mkdir(exist_ok=True)
    report_sync(report, options, small, small_db)
    report.keep()
    for figure in report.failed:
        say(f"MISSED: {figure.name}: {figure.value:,.3f} {figure.unit}, must be {figure.bar}")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
