"""What an index costs as it grows to a million chunks: time, memory and disk, on real folders.

    python -m benchmarks.scale --corpus FOLDER... --chunks 1000000 --work DIR

The folders below each corpus are added one by one, always from the corpus that has given the fewest chunks so far, so
that the mix is the same at every size. At 10 000, 30 000, 100 000 … chunks the ingest pauses, and another process
searches what is there. When all is in: size by table and array, searches of several kinds, a cold command line, the
memory of a server, deleting and adding again. CPU time counts; wall time stands beside it, the machine may be shared.
A run that was interrupted is taken up where it stopped. Exits with 1 when a figure misses its bar.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import report as reporting  # first: it holds numpy to one core
from benchmarks.report import Report, run_child, say
from benchmarks.scale.ingest import measure_ingest, measure_probe
from benchmarks.scale.plots import draw_plots
from benchmarks.scale.search import KINDS, measure_cold, measure_renewal, measure_search, measure_server
from benchmarks.scale.sizes import measure_sizes

PARTS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "ingest": measure_ingest,
    "search": measure_search,
    "sizes": measure_sizes,
    "cold": measure_cold,
    "server": measure_server,
    "renewal": measure_renewal,
    "probe": measure_probe,
}

MIN_RATE = 2 / 3
"""The rate at which files are added to the grown index, to that at which they are added to an empty one."""
SEARCH_P50_MS, SEARCH_P95_MS = 25.0, 80.0
COLD_S = 1.0
SERVER_MB = 1000.0
SIZE_TO_TEXT = 2.5


def main() -> int:
    """Run everything, or the one part that a child is for."""
    options = _parser().parse_args()
    if options.part:
        sys.stdout.write(json.dumps(PARTS[options.part](options)) + "\n")
        return 0
    options.work.mkdir(parents=True, exist_ok=True)
    corpora = ", ".join(folder.name for folder in options.corpus)
    report = Report(f"scale-{options.chunks}", {"chunks": options.chunks, "corpora": corpora})
    got = _run("ingest", options)
    found = _run("search", options)
    got["points"][-1] |= {  # of what is there now, in a process of its own
        "search_p50_ms": found["cpu_p50_ms"],
        "search_p95_ms": found["cpu_p95_ms"],
        "search_rss": found["rss"],
        "search_anonymous": found["anonymous"],
    }
    _report_ingest(report, got)
    _report_sizes(report, _run("sizes", options))
    _report_search(report, found, got["points"])
    cold = _run("cold", options)
    report.add("cold search on the command line, CPU", cold["cpu_s"], "s", at_most=COLD_S)
    report.add("cold search on the command line, wall", cold["wall_s"], "s")
    _report_server(report, _run("server", options))
    renewal = _run("renewal", options)
    for name, value in renewal.items():
        report.add(name, value, "ms")
    probe = _run("probe", options)
    report.add("chunks of the files added to both", probe["chunks"], "chunks")
    report.add("ingest into an empty index, chunks per CPU second", probe["empty"], "chunks/s")
    report.add("ingest into the grown index, chunks per CPU second", probe["grown"], "chunks/s")
    report.add("ingest, grown to empty", probe["grown"] / probe["empty"], "×", at_least=MIN_RATE)
    say(f"plots: {', '.join(str(path) for path in draw_plots(report.keep()))}")
    return 1 if report.failed else 0


def _run(part: str, options: argparse.Namespace) -> dict[str, Any]:
    corpora = [str(folder) for folder in options.corpus]
    return run_child(
        [
            *("benchmarks.scale", "--part", part, "--work", str(options.work), "--chunks", str(options.chunks)),
            *("--corpus", *corpora),
        ]
    )


def _report_ingest(report: Report, got: dict[str, Any]) -> None:
    points = got["points"]
    first, last = points[0], points[-1]
    report.add("chunks", last["chunks"], "chunks")
    report.add("documents", last["documents"], "documents")
    report.add("ingest, CPU", last["cpu_s"], "s")
    report.add("ingest, wall without pauses", last["wall_s"], "s")
    report.add("ingest, chunks per CPU second, all", last["chunks"] / last["cpu_s"], "chunks/s")
    report.add("ingest, chunks per CPU second, first stretch", first["rate"], "chunks/s")
    report.add("ingest, chunks per CPU second, last stretch", last["rate"], "chunks/s")
    report.add("ingest, peak memory (RSS)", last["peak_rss"] / 1e6, "MB")
    report.add("ingest, peak memory of its own", last["peak_anonymous"] / 1e6, "MB")
    report.add_table("Growth", points)
    report.add_table("CPU of the ingest by stage, in the process that writes", got["stages"])


def _report_sizes(report: Report, got: dict[str, Any]) -> None:
    report.add("text", got["text_bytes"] / 1e6, "MB")
    report.add("database", got["database_bytes"] / 1e6, "MB")
    report.add("search arrays", got["array_bytes"] / 1e6, "MB")
    whole = got["database_bytes"] + got["array_bytes"]
    report.add("index to text", whole / got["text_bytes"], "×", at_most=SIZE_TO_TEXT)
    report.add_table("Bytes a chunk", got["parts"])


def _report_search(report: Report, got: dict[str, Any], points: list[dict[str, Any]]) -> None:
    report.add("search, CPU p50", got["cpu_p50_ms"], "ms", at_most=SEARCH_P50_MS)
    report.add("search, CPU p95", got["cpu_p95_ms"], "ms", at_most=SEARCH_P95_MS)
    report.add("search, wall p50", got["wall_p50_ms"], "ms")
    report.add("search, wall p95", got["wall_p95_ms"], "ms")
    report.add_table("Searches by kind", [got["kinds"][kind] for kind in KINDS if kind in got["kinds"]])
    report.add_table("Steps of a search (wall)", got["steps"])
    first = points[0]["search_p50_ms"]
    report.add("search, CPU p50 at the first point", first, "ms")


def _report_server(report: Report, got: dict[str, Any]) -> None:
    report.add("server after 200 searches, RSS", got["rss"] / 1e6, "MB", at_most=SERVER_MB)
    report.add("server after 200 searches, PSS", got["pss"] / 1e6, "MB")
    report.add("server after 200 searches, memory of its own", got["anonymous"] / 1e6, "MB")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, nargs="+", required=True, help="folders of folders with text")
    parser.add_argument("--chunks", type=int, default=1_000_000)
    parser.add_argument("--work", type=Path, default=reporting.WORK / "scale")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
