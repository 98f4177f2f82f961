"""The searches of `benchmarks.scale`: warm ones of several kinds, a cold one, a server's, and those after changes."""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.report import ROOT, WORK, percentile, timed

if TYPE_CHECKING:
    from outcrop import Engine

KINDS = (
    "common words",
    "rare words",
    "identifier",
    "sentence",
    "in one collection",
    "of one language",
    "phrase",
)
EACH = 40
"""Searches of each kind."""
SERVED = 200
COLD_RUNS = 5
STEPS = ("refresh", "embed", "search", "rank", "fetch")
COMMON = (
    "file name value data error type list function class object string number test return default set get use line "
    "code module option version path key user time server method argument"
).split()
_WORD = re.compile(r"[^\W\d_]{2,}")
_IDENTIFIER = re.compile(r"\b[A-Za-z]\w*(?:[._]\w+)+\b|\b[a-z]+[A-Z]\w+\b")


def measure_search(options: argparse.Namespace) -> dict[str, Any]:
    """Warm searches in a process of their own, all different."""
    import outcrop

    used = time.process_time()
    with outcrop.open(options.work / "index.db") as engine:
        engine.search("where does it begin")
        started = time.process_time() - used
        engine.warm()
        queries = draw_queries(engine, EACH + 5)
        rows = []
        for kind, drawn in queries.items():
            for text, filters in drawn[EACH:]:
                engine.search(text, **filters)
            rows += [_time(engine, kind, text, filters) for text, filters in drawn[:EACH]]
        collections = engine._store.collections()
        memory = memory_of(os.getpid())
        characters = _characters(options.work / "index.db")
    cpu, wall = [row["cpu_ms"] for row in rows], [row["wall_ms"] for row in rows]
    kinds = {
        kind: {
            "kind": kind,
            **{
                f"{name} {label}": percentile([row[f"{name}_ms"] for row in rows if row["kind"] == kind], share)
                for name in ("cpu", "wall")
                for label, share in (("p50 ms", 0.5), ("p95 ms", 0.95))
            },
        }
        for kind in queries
    }
    steps = [
        {
            "step": step,
            "p50 ms": percentile([row["steps"].get(step, 0.0) for row in rows], 0.5),
            "p95 ms": percentile([row["steps"].get(step, 0.0) for row in rows], 0.95),
        }
        for step in STEPS
    ]
    return {
        "cpu_p50_ms": percentile(cpu, 0.5),
        "cpu_p95_ms": percentile(cpu, 0.95),
        "wall_p50_ms": percentile(wall, 0.5),
        "wall_p95_ms": percentile(wall, 0.95),
        "kinds": kinds,
        "steps": steps,
        "start_cpu_s": started,
        "documents": sum(info.documents for info in collections),
        "characters": characters,
        **memory,
    }


def _time(engine: Engine, kind: str, text: str, filters: dict[str, Any]) -> dict[str, Any]:
    cpu, wall = time.process_time(), time.perf_counter()
    answer = engine.search(text, **filters)
    used, waited = time.process_time() - cpu, time.perf_counter() - wall
    return {"kind": kind, "cpu_ms": 1000 * used, "wall_ms": 1000 * waited, "steps": dict(answer.timings_ms)}


def draw_queries(engine: Engine, each: int, seed: int = 7) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """Queries of each kind, with their filters, from chunks drawn by chance."""
    chosen = random.Random(seed)
    last = engine.parts.index.refresh().last_chunk
    texts = [
        hit for hit in engine._store.chunks([chosen.randint(1, last) for _ in range(60 * each)]) if hit.text
    ]
    words = [(chunk, _WORD.findall(chunk.text)) for chunk in texts]
    long = [(chunk, found) for chunk, found in words if len(found) >= 14]
    named = [name for chunk in texts for name in _IDENTIFIER.findall(chunk.text)]
    rare = [[word for word in found if len(word) >= 9] for _, found in words]
    code = [(chunk, found) for chunk, found in long if chunk.document.language]

    def stretch(found: list[str], least: int, most: int) -> str:
        length = chosen.randint(least, most)
        start = chosen.randint(0, max(len(found) - length, 0))
        return " ".join(found[start : start + length])

    drawn: dict[str, list[tuple[str, dict[str, Any]]]] = {kind: [] for kind in KINDS}
    for i in range(each):
        chunk, found = long[i % len(long)]
        drawn["common words"].append((" ".join(chosen.sample(COMMON, chosen.randint(1, 4))), {}))
        drawn["rare words"].append((" ".join(chosen.choice([few for few in rare if len(few) > 2])[:3]), {}))
        drawn["identifier"].append((chosen.choice(named), {}))
        drawn["sentence"].append((stretch(found, 6, 14), {}))
        where = {"collections": (chunk.document.collection,)}
        drawn["in one collection"].append((stretch(found, 3, 8), where))
        if code:
            other, said = code[i % len(code)]
            drawn["of one language"].append((stretch(said, 3, 8), {"kinds": (other.document.language,)}))
        drawn["phrase"].append((f'"{_quoted(chunk.text, chosen)}"', {}))
    return {kind: queries for kind, queries in drawn.items() if queries}


def _quoted(text: str, chosen: random.Random) -> str:
    """Some words as they stand in a line of the text."""
    lines = [line.split() for line in text.replace('"', " ").splitlines()]
    words = max(lines, key=len)
    start = chosen.randint(0, max(len(words) - 4, 0))
    return " ".join(words[start : start + chosen.randint(2, 4)])


def _characters(db: Path) -> int:
    import apsw

    connection = apsw.Connection(str(db), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return int(connection.execute("SELECT sum(char_count) FROM documents").fetchone()[0])  # type: ignore[index]
    finally:
        connection.close()


def memory_of(pid: int) -> dict[str, int]:
    """RSS, PSS (a page that several share counts in part) and what is its own and no file's, in bytes."""
    names = {"Rss:": "rss", "Pss:": "pss", "Anonymous:": "anonymous"}
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
    return {names[line.split()[0]]: int(line.split()[1]) * 1024 for line in lines if line.split()[0] in names}


def measure_cold(options: argparse.Namespace) -> dict[str, Any]:
    """The command line from a standing start; the median counts."""
    command = [
        sys.executable,
        "-m",
        "outcrop",
        "--db",
        str(options.work / "index.db"),
        "search",
        "parse a date",
    ]
    times = [timed(lambda: _check(command)) for _ in range(COLD_RUNS + 1)][1:]
    cpu, wall = zip(*times, strict=True)
    return {"cpu_s": percentile(cpu, 0.5), "wall_s": percentile(wall, 0.5)}


def _check(command: list[str]) -> None:
    # An installed program has its bytecode; a checkout may have been told not to write any.
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(WORK / "bytecode")}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command} failed:\n{done.stdout}{done.stderr}")


def measure_server(options: argparse.Namespace) -> dict[str, Any]:
    """What `outcrop serve` holds after some hundred searches over HTTP."""
    import outcrop

    with outcrop.open(options.work / "index.db") as engine:
        drawn = draw_queries(engine, SERVED // 5)
    queries = [text for kind in KINDS[:4] for text, _ in drawn[kind]][:SERVED]
    command = [sys.executable, "-m", "outcrop", "--db", str(options.work / "index.db"), "serve", "--port", "0"]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        try:
            assert server.stdout is not None
            address = next(found[0] for line in server.stdout if (found := re.search(r"http://[\w.:]+", line)))
            for query in queries:
                _ask(address, query)
            return memory_of(server.pid)
        finally:
            server.terminate()


def _ask(address: str, query: str) -> None:
    body = json.dumps({"query": query}).encode()
    request = urllib.request.Request(f"{address}/api/search", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        answer.read()


def measure_renewal(options: argparse.Namespace) -> dict[str, Any]:
    """Deleting a document and adding it again in an index of this size, each until a search sees it."""
    import outcrop

    found: dict[str, list[float]] = {"adding a document": [], "deleting a document": []}
    with outcrop.open(options.work / "index.db") as engine:
        engine.warm()
        for i in range(10):
            used = time.process_time()
            (id_,) = engine.add(
                text=f"# Quillwort {i}\n\nA plant of ponds, seen {i} times.", id="q"
            ).document_ids
            assert engine.search(f"quillwort of ponds {i}", mode="keyword").hits
            found["adding a document"].append(time.process_time() - used)
            used = time.process_time()
            engine.delete(id_)
            engine.search(f"quillwort of ponds {i} again", mode="keyword")
            found["deleting a document"].append(time.process_time() - used)
    return {f"{name} and searching, CPU p50": 1000 * percentile(times, 0.5) for name, times in found.items()}
