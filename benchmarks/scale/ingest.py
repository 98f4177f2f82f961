"""The ingest of `benchmarks.scale`: how fast it is at every size, where its CPU time goes, what it holds."""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.report import ROOT, folder_bytes, peak_rss_bytes
from outcrop.errors import Cancelled
from outcrop.records import Filter, Progress

MARKS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
SAMPLE_S = 0.01
"""CPU time between two looks at what the ingest is doing: a hundred a second cost nothing."""
PROBED = 3
"""Folders of each corpus that are added to see whether the size of the index matters."""
STAGES = ("sources", "parse", "mask", "chunk", "embed", "store", "search")


def measure_ingest(options: argparse.Namespace) -> dict[str, Any]:
    """Add folders until there are enough chunks; what each stretch took. Goes on where an earlier run stopped."""
    return Growing(options).run()


def measure_probe(options: argparse.Namespace) -> dict[str, Any]:
    """The same files added to an empty index, to the grown one, and to an empty one again: chunks a CPU second. They
    are the last folders of each corpus, which the growing did not come to."""
    import outcrop

    rates: dict[str, list[float]] = {"empty": [], "grown": []}
    for name, db in (("empty", "probe.db"), ("grown", "index.db"), ("empty", "probe.db")):
        for path in options.work.glob("probe.db*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        chunks, used = 0, 0.0
        with outcrop.open(options.work / db) as engine:
            engine.search("anything")
            before = _cpu_s()
            for corpus in options.corpus:
                for folder in sorted(path for path in corpus.iterdir() if path.is_dir())[-PROBED:]:
                    chunks += engine.add(folder, collection="probe").chunks
            used = _cpu_s() - before
            engine._store.delete([document.id for document in engine.documents(Filter(collections=("probe",)))])
            engine.parts.index.purge()
        rates[name].append(chunks / used)
    return {"empty": sum(rates["empty"]) / 2, "grown": rates["grown"][0], "chunks": chunks}


class Growing:
    """An index that grows."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._db: Path = options.work / "index.db"
        self._state = options.work / "ingest.json"
        self._marks = [mark for mark in MARKS if mark < options.chunks] + [options.chunks]
        self._kept: dict[str, Any] = {
            "points": [],
            "done": [],
            "given": {},
            "stages": {},
            "cpu_s": 0,
            "wall_s": 0,
        }
        if self._state.is_file():
            self._kept = json.loads(self._state.read_text("utf-8"))
        self._stages: Counter[str] = Counter(self._kept["stages"])
        self._cpu, self._wall = _cpu_s() - self._kept["cpu_s"], time.perf_counter() - self._kept["wall_s"]
        self._base = sum(self._kept["given"].values())
        self._anonymous = 0

    def run(self) -> dict[str, Any]:
        """Add folder after folder; what was noted at the marks."""
        import outcrop

        signal.signal(signal.SIGPROF, self._sample)
        with outcrop.open(self._db) as engine:
            for corpus, folder in self._folders():
                if self._base >= self._marks[-1]:
                    break
                signal.setitimer(signal.ITIMER_PROF, SAMPLE_S, SAMPLE_S)
                try:
                    report = engine.add(folder, progress=self._tell, stopped=self._is_enough)
                    chunks = report.chunks
                except Cancelled:
                    chunks = engine.status().stats.chunks - self._base
                signal.setitimer(signal.ITIMER_PROF, 0)
                self._base += chunks
                self._kept["given"][str(corpus)] = self._kept["given"].get(str(corpus), 0) + chunks
                self._kept["done"].append(str(folder))
                self._note_if_due(self._base)
                self._keep()
        total = sum(self._stages.values())
        stages = [{"stage": name, "share": count / total} for name, count in self._stages.most_common()]
        return {"points": self._kept["points"], "stages": stages}

    def _folders(self) -> Iterator[tuple[Path, Path]]:
        """The next folder of whichever corpus has given the fewest chunks."""
        left = {
            corpus: sorted(
                path for path in corpus.iterdir() if path.is_dir() and str(path) not in self._kept["done"]
            )
            for corpus in self._options.corpus
        }
        while any(left.values()):
            given = self._kept["given"]
            corpus = min(
                (corpus for corpus in left if left[corpus]), key=lambda found: given.get(str(found), 0)
            )
            yield corpus, left[corpus].pop(0)

    def _tell(self, progress: Progress) -> None:
        if progress.phase == "read":
            self._note_if_due(self._base + progress.chunks)

    def _is_enough(self) -> bool:
        return len(self._kept["points"]) == len(self._marks)

    def _note_if_due(self, chunks: int) -> None:
        points = self._kept["points"]
        if len(points) == len(self._marks) or chunks < self._marks[len(points)]:
            return
        signal.setitimer(signal.ITIMER_PROF, 0)
        paused, used = time.perf_counter(), _cpu_s()
        points.append(self._point(chunks, used - self._cpu, paused - self._wall))
        self._keep()
        self._wall += time.perf_counter() - paused
        self._cpu += _cpu_s() - used
        signal.setitimer(signal.ITIMER_PROF, SAMPLE_S, SAMPLE_S)

    def _point(self, chunks: int, cpu_s: float, wall_s: float) -> dict[str, Any]:
        """What there is now. Chunks that wait to be written are in `chunks`, as their CPU time is in `cpu_s`."""
        command = [
            sys.executable,
            "-m",
            "benchmarks.scale",
            "--part",
            "search",
            "--work",
            str(self._options.work),
        ]
        done = subprocess.run(
            [*command, "--corpus", *map(str, self._options.corpus)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"searching failed at {chunks} chunks:\n{done.stdout}{done.stderr}")
        found = json.loads(done.stdout.strip().splitlines()[-1])
        before = (
            self._kept["points"][-1]
            if self._kept["points"]
            else dict.fromkeys(("chunks", "characters", "cpu_s"), 0)
        )
        used = cpu_s - before["cpu_s"]
        whole = folder_bytes(*self._db.parent.glob(self._db.name + "*"))
        return {
            "chunks": chunks,
            "documents": found["documents"],
            "characters": found["characters"],
            "cpu_s": cpu_s,
            "wall_s": wall_s,
            "rate": (chunks - before["chunks"]) / used,
            "character_rate": (found["characters"] - before["characters"]) / used,
            "index_bytes": whole,
            "index_to_text": whole / found["characters"],
            "peak_rss": peak_rss_bytes(),
            "peak_anonymous": self._anonymous,
            "search_p50_ms": found["cpu_p50_ms"],
            "search_p95_ms": found["cpu_p95_ms"],
            "search_rss": found["rss"],
            "search_anonymous": found["anonymous"],
            "start_cpu_s": found["start_cpu_s"],
        }

    def _sample(self, _number: int, frame: FrameType | None) -> None:
        """Which stage is at work: the innermost folder of the package on the stack."""
        while frame is not None:
            _, package, below = frame.f_code.co_filename.rpartition("/outcrop/")
            stage = below.partition("/")[0]
            if package and stage in STAGES:
                self._stages[stage] += 1
                break
            frame = frame.f_back
        else:
            self._stages["other"] += 1
        if sum(self._stages.values()) % 100 == 0:
            self._anonymous = max(self._anonymous, _anonymous_bytes())

    def _keep(self) -> None:
        self._kept |= {"stages": dict(self._stages), "cpu_s": _cpu_s() - self._cpu}
        self._kept["wall_s"] = time.perf_counter() - self._wall
        self._state.write_text(json.dumps(self._kept), "utf-8")


def _cpu_s() -> float:
    """CPU seconds of this process and of its children, those that still run included (a parser does)."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    used = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text("ascii", "replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            used += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return used


def _anonymous_bytes() -> int:
    status = Path("/proc/self/status")
    lines = status.read_text("ascii").splitlines() if status.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:")), 0)
