"""A folder read by a Ray cluster: what do one and two workers bring, beside the process that writes?

    python -m benchmarks.ray_ingest --corpus FOLDER [--model NAME] [--dry]

Three runs over the same folder, each into a new index: in one process, and by a cluster of this machine with one core
and with two. Starting and stopping Ray takes as long for ten files as for a million, so rates count from the first
file that was done to the last; how long the first took stands beside it. Two workers, the driver and the process that
writes want four cores: with fewer the bar is not applied.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import ROOT, Report  # first: it holds numpy to one core

import outcrop  # isort: skip
from outcrop.records import IngestReport, Progress  # isort: skip

BAR_TWO_WORKERS = 1.6
CORES_FOR_BAR = 4


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: what it did, how long it took in all, and seconds and chunks when the first and the last file were
    done."""

    report: IngestReport
    seconds: float
    first: tuple[float, int]
    last: tuple[float, int]

    @property
    def rate(self) -> float:
        """Chunks a second from the first file to the last."""
        return (self.last[1] - self.first[1]) / (self.last[0] - self.first[0])


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="the folder to index")
    parser.add_argument("--model", default="static", help="the embedding model")
    parser.add_argument("--dry", action="store_true", help="keep no results")
    parser.add_argument("--cluster", type=int, metavar="CORES", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cluster:
        serve_cluster(options.cluster)
        return
    if options.corpus is None:
        parser.error("--corpus names the folder to index")
    report = Report("ray-ingest", {"corpus": options.corpus.name, "model": options.model})
    measure(report, options.corpus, options.model)
    if not options.dry:
        report.keep()
    if report.failed:
        raise SystemExit(1)


def measure(report: Report, corpus: Path, model: str) -> None:
    """The three runs."""
    here = ingest(corpus, model, None)
    report.add("documents", here.report.added, "")
    report.add("chunks", here.report.chunks, "")
    report.add("one process, wall", here.seconds, "s")
    report.add("one process", here.rate, "chunks/s")
    rates = []
    for workers in (1, 2):
        with cluster(workers) as address:
            there = ingest(corpus, model, address)
        if (there.report.added, there.report.chunks) != (here.report.added, here.report.chunks):
            raise SystemExit(f"{workers} workers made {there.report} of it, one process {here.report}")
        name = f"Ray, {workers} worker{'s' if workers > 1 else ''}"
        report.add(f"{name}, until the first file", there.first[0], "s")
        report.add(f"{name}, wall", there.seconds, "s")
        report.add(name, there.rate, "chunks/s")
        rates.append(there.rate)
    bar = BAR_TWO_WORKERS if (os.cpu_count() or 1) >= CORES_FOR_BAR else None
    report.add("two workers against one", rates[1] / rates[0], "×", at_least=bar)


def ingest(corpus: Path, model: str, address: str | None) -> Measured:
    """Index the folder anew."""
    steps: list[tuple[float, int]] = []
    with tempfile.TemporaryDirectory() as home, outcrop.open(Path(home) / "index.db", model=model) as engine:
        engine.warm()
        begin = time.perf_counter()

        def note(progress: Progress) -> None:
            if progress.phase == "read":
                steps.append((time.perf_counter() - begin, progress.chunks))

        report = engine.add(corpus, ray=address, progress=note)
        seconds = time.perf_counter() - begin
    return Measured(report, seconds, steps[0], steps[-1])


@contextmanager
def cluster(cores: int) -> Iterator[str]:
    """The address of a cluster of this machine, in processes of its own."""
    command = [sys.executable, "-m", "benchmarks.ray_ingest", "--cluster", str(cores)]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
    ) as process:
        yield process.stdout.readline().strip() if process.stdout else ""
        process.communicate()


def serve_cluster(cores: int) -> None:
    """Be a cluster until stdin ends."""
    from ray.cluster_utils import Cluster

    running = Cluster(initialize_head=True, head_node_args={"num_cpus": cores, "include_dashboard": False})
    print(running.address, flush=True)
    sys.stdin.read()
    running.shutdown()


if __name__ == "__main__":
    main()
