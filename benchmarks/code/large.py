"""A large repository: how long does indexing take, and how soon is it fresh again?

    python -m benchmarks.code.large --tree FOLDER [--dry]

FOLDER is any large source tree, such as an unpacked source distribution of Django or CPython. It is copied, so that a
file can be edited. Measured: CPU time of the whole index for a million lines (children included), of a second run
without changes, and from saving an edit until a search finds it, by `sync` of the whole tree.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.report import Report, say  # first: it holds numpy to one core

import outcrop  # isort: skip
from benchmarks.code.engines import family_cpu_s  # isort: skip

BAR_CPU_S_PER_MILLION_LINES = 60.0
BAR_SECOND_S = 2.0
BAR_EDIT_S = 0.5
MARK = "def zanzibar_quagga_sentinel"
"""A name that no tree holds."""


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, required=True, help="a folder of source code")
    parser.add_argument("--dry", action="store_true", help="keep no results")
    options = parser.parse_args()
    report = Report("code-large", {"tree": options.tree.name})
    with tempfile.TemporaryDirectory() as home:
        tree = Path(home) / "tree"
        shutil.copytree(options.tree, tree, symlinks=True)
        measure(report, tree, Path(home) / "index.db")
    if not options.dry:
        report.keep()


def measure(report: Report, tree: Path, db: Path) -> None:
    """Index, index again, edit."""
    with outcrop.open(db) as engine:
        engine.warm()
        cpu, wall = family_cpu_s(), time.perf_counter()
        added = engine.add(tree)
        cpu, wall = family_cpu_s() - cpu, time.perf_counter() - wall
        documents = engine.documents()
        lines = sum(engine.text(document.id).count("\n") for document in documents)
        report.add("documents", len(documents), "")
        report.add("chunks", added.chunks, "")
        report.add("lines", lines, "")
        report.add("left out or failed", len(added.skipped) + len(added.failed), "")
        report.add("full index, wall", wall, "s")
        report.add("full index, CPU", cpu, "s")
        most = BAR_CPU_S_PER_MILLION_LINES
        report.add("full index, CPU for a million lines", cpu / lines * 1e6, "s", at_most=most)
        seconds = min(timed(lambda: engine.add(tree)) for _ in range(3))
        report.add("second run without changes, wall, best of 3", seconds, "s", at_most=BAR_SECOND_S)
        edited = next(
            document for document in documents if document.language == "python" and document.chunks > 3
        )
        seconds = min(edit(engine, tree, Path(edited.uri), number) for number in range(5))
        report.add("an edit searchable, wall, best of 5", seconds, "s", at_most=BAR_EDIT_S)
        usage = engine.status()
        report.add("database", usage.stats.bytes_on_disk / 1e6, "MB")
        report.add("search arrays", usage.array_bytes / 1e6, "MB")


def edit(engine: outcrop.Engine, tree: Path, path: Path, number: int) -> float:
    """Seconds from saving a new function into a file until a search has it first."""
    name = f"{MARK[4:]}_{number}"
    path.write_text(f"{path.read_text('utf-8')}\n\ndef {name}():\n    return {number}\n", "utf-8")
    begin = time.perf_counter()
    engine.sync(tree)
    hits = engine.search(name).hits
    seconds = time.perf_counter() - begin
    if not hits or name not in hits[0].text:
        say(f"the edit of {path} was not found")
        raise SystemExit(1)
    return seconds


def timed(work: Callable[[], object]) -> float:
    """Seconds some work takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
