"""Code search engines, each in a process of its own: index the folders of a plan, answer their questions.

    python -m benchmarks.code.engines NAME PLAN        (started by benchmarks.code.peers)

Semble runs under its own Python, without Outcrop. PLAN is a JSON file: `model`, a folder for semble, and `jobs`,
each with `name`, `folder` and `questions` (id, text); `floor` for Outcrop and `content` for semble where the defaults
are not meant. Every question is asked once, so that none is answered from a
cache, after a few others have warmed the engine up.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.report import cpu_s, folder_bytes, peak_rss_bytes  # first: it holds numpy to one core

TOP = 10
WARM_UP = (
    "where is the main entry point",
    "parse arguments",
    "HttpServer",
    "error handling",
    "read_config_file",
)
"""None of them is asked in a set."""

Found = list[tuple[str, int, int]]
Search = Callable[[str], Found]
Opened = tuple[Search, Callable[[], int], Callable[[], None]]
"""How to search, how many chunks there are, and what to do at the end."""


Plan = dict[str, Any]
Index = Callable[[Path, Path], Opened]
"""From a folder, and a place for the index, to an engine that answers."""


def open_outcrop(plan: Plan) -> Index:
    """Outcrop with its defaults: an index on disk, durable when the call returns."""
    import outcrop
    from outcrop.embed.models import open_embedder

    embedder = open_embedder("static", url="", key="", query_prefix="")
    embedder.embed_query("warm")

    def index(folder: Path, home: Path) -> Opened:
        engine = outcrop.Engine(outcrop.Config(db=home / "index.db"), embedder=embedder)
        engine.add(folder)

        def search(text: str) -> Found:
            merge = plan.get("merge", False)  # a place is a chunk; a file may be shown by several in one hit
            hits = engine.search(text, limit=TOP, merge=merge, floor=plan.get("floor")).hits
            return [(hit.document.path, hit.line_start, hit.line_end) for hit in hits]

        return search, lambda: engine.status().stats.chunks, engine.close

    return index


def open_semble(plan: Plan) -> Index:
    """Semble's library with its defaults (source code only), an index in memory, and a model from disk."""
    from semble.index import SembleIndex  # type: ignore[import-not-found]  # in its own environment
    from semble.index.dense import load_model  # type: ignore[import-not-found]
    from semble.types import ContentType  # type: ignore[import-not-found]

    model = plan["model"]
    content = [ContentType(name) for name in plan.get("content", ["code"])]
    load_model(model)

    def index(folder: Path, home: Path) -> Opened:
        os.environ["SEMBLE_CACHE_LOCATION"] = str(home)  # it would write its statistics into the user's folder
        made = SembleIndex.from_path(folder, content=content, model_path=model)

        def search(text: str) -> Found:
            chunks = (result.chunk for result in made.search(text, top_k=plan.get("top", TOP)))
            return [(chunk.file_path, chunk.start_line, chunk.end_line) for chunk in chunks]

        return search, lambda: made.stats.total_chunks, lambda: made.save(home / "saved")

    return index


ENGINES: dict[str, Callable[[Plan], Index]] = {
    "outcrop": open_outcrop,
    "semble": open_semble,
}


def family_cpu_s() -> float:
    """CPU seconds of this process and its children, also of those still running.

    `cpu_s` knows a child only once it has ended. Outcrop keeps the process that parses untrusted formats: without its
    share an ingest of many HTML files would seem to cost half of what it does. Read from /proc, where there is one.
    """
    total, tick, me = cpu_s(), os.sysconf("SC_CLK_TCK"), str(os.getpid())
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text("utf-8", "replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            continue
        if fields[1] == me:
            total += (int(fields[11]) + int(fields[12])) / tick
    return total


def run_job(index: Index, job: dict[str, Any], home: Path) -> dict[str, Any]:
    """Index one folder and ask its questions."""
    cpu_before, wall_before = family_cpu_s(), time.perf_counter()
    search, count, close = index(Path(job["folder"]), home)
    wall_index, cpu_index = time.perf_counter() - wall_before, family_cpu_s() - cpu_before
    for text in WARM_UP:
        search(text)
    found, cpu_ms, wall_ms = {}, [], []
    for name, text in job["questions"]:
        cpu, wall = cpu_s(), time.perf_counter()
        found[name] = search(text)
        cpu_ms.append(1000 * (cpu_s() - cpu))
        wall_ms.append(1000 * (time.perf_counter() - wall))
    chunks = count()
    close()
    return {
        "chunks": chunks,
        "index_cpu_s": cpu_index,
        "index_wall_s": wall_index,
        "cpu_ms": cpu_ms,
        "wall_ms": wall_ms,
        "bytes": folder_bytes(home),
        "found": found,
    }


def main(name: str, plan: Path, engines: dict[str, Callable[[Plan], Index]] = ENGINES) -> dict[str, Any]:
    """Every job of the plan with one engine. The model is loaded, and the imports are done, before any clock runs."""
    content = json.loads(plan.read_text("utf-8"))
    before = family_cpu_s()
    index = engines[name](content)
    loaded = family_cpu_s() - before
    jobs = {}
    for job in content["jobs"]:
        with tempfile.TemporaryDirectory() as home:
            jobs[job["name"]] = run_job(index, job, Path(home))
    return {"load_cpu_s": loaded, "peak_rss": peak_rss_bytes(), "jobs": jobs}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1], Path(sys.argv[2]))) + "\n")
