"""How large is the house, and how much of it does one search need?

    python -m benchmarks.house [--against COMMIT] [--rounds 15] [--dry]

Counts the modules at the root, the lines of `src`, the longest file and function; the modules that a cold
`outcrop search` imports; and the modules a reader must know, which are those whose functions run while a warm engine
answers one query. With `--against` the same is counted for another commit, and cold searches of both run in turn:
CPU time, medians. Both trees are copies in a temporary folder, run by this Python, and each fills an index of its own
with the same pages.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import ROOT, Report

QUERY = "how are secrets kept out of the index"
ROUNDS = 15
BARS = {"root modules": 6.0, "longest file": 400.0, "longest function": 60.0}
"""Held by every commit."""
SHARES = {"modules imported by a search": 2 / 3, "modules a search runs": 2 / 3, "cold search, CPU": 0.7}
"""Held against the commit before the house was rebuilt, with LINES_SAVED."""
LINES_SAVED = 2000

WALK = """
import json, sys, threading
import outcrop
package = outcrop.__file__.rpartition("__init__")[0]
called = set()
def note(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(package):
        called.add(code.co_filename[len(package):])
with outcrop.open(db=sys.argv[1]) as index:
    index.search("the first search of a process prepares what later ones find ready")
    threading.setprofile(note)
    sys.setprofile(note)
    index.search(sys.argv[2])
    sys.setprofile(None)
print(json.dumps(sorted(called)))
"""


@dataclass(frozen=True, slots=True)
class Tree:
    """A copy of `src`, and the index that it filled."""

    name: str
    src: Path
    home: Path

    def run(self, *words: str) -> tuple[subprocess.CompletedProcess[str], float]:
        """Run Python on this tree, away from any settings of the user's; what it printed, and its CPU seconds."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("OUTCROP_", "PYTHON"))
        }
        own = {"PYTHONPATH": str(self.src), "HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home)}
        before = _children_s()
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.home,
            env=kept | own,
            capture_output=True,
            text=True,
            check=False,
        )
        used = _children_s() - before
        if done.returncode:
            raise SystemExit(f"{self.name}: {' '.join(words)} failed:\n{done.stdout}{done.stderr}")
        return done, used

    @property
    def index(self) -> str:
        return str(self.home / "index.db")

    def search(self, *options: str) -> tuple[subprocess.CompletedProcess[str], float]:
        """A cold `outcrop search`."""
        return self.run(*options, "-m", "outcrop", "search", "--db", self.index, QUERY)


def lay_out(work: Path, commit: str | None) -> Tree:
    """Copy the `src` of a commit, or of the working tree, and let it index the documentation."""
    name = commit or "now"
    home = work / name
    home.mkdir()
    if commit is None:
        shutil.copytree(ROOT / "src", home / "src", ignore=shutil.ignore_patterns("__pycache__"))
    else:
        packed = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=True)
        subprocess.run(["tar", "-x", "-C", str(home)], input=packed.stdout, check=True)
    tree = Tree(name, home / "src", home)
    tree.run("-m", "outcrop", "add", "--db", tree.index, str(ROOT / "docs"))
    return tree


def functions(path: Path) -> Iterator[tuple[int, str]]:
    """(lines, name) of every function of a file."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or node.lineno) - node.lineno + 1, f"{path.name}:{node.name}"


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def count(tree: Tree) -> dict[str, float]:
    """What can be counted of a tree."""
    package = tree.src / "outcrop"
    lines = {path: len(path.read_text("utf-8").splitlines()) for path in package.rglob("*.py")}
    imports, _ = tree.search("-X", "importtime")
    imported = {line.rpartition("|")[2].strip() for line in imports.stderr.splitlines() if "|" in line}
    walked, _ = tree.run("-c", WALK, tree.index, QUERY)
    return {
        "root modules": len(list(package.glob("*.py"))),
        "modules": len(lines),
        "lines": sum(lines.values()),
        "longest file": max(lines.values()),
        "longest function": max(length for path in lines for length, _ in functions(path)),
        "modules imported by a search": sum(name.partition(".")[0] == "outcrop" for name in imported),
        "modules a search runs": len(json.loads(walked.stdout)),
    }


def time_in_turn(trees: list[Tree], rounds: int) -> dict[str, list[float]]:
    """CPU milliseconds of cold searches, one of each tree after the other; which one begins alternates."""
    for tree in trees:
        tree.search()  # writes bytecode and brings files into memory
    taken: dict[str, list[float]] = {tree.name: [] for tree in trees}
    for number in range(rounds):
        for tree in trees if number % 2 == 0 else trees[::-1]:
            taken[tree.name].append(1000 * tree.search()[1])
    return taken


def report_trees(report: Report, trees: list[Tree], rounds: int) -> None:
    """Figures of the tree that is here, with bars, and a table with the other beside it."""
    counts = {tree.name: count(tree) for tree in trees}
    for name, taken in time_in_turn(trees, rounds).items():
        counts[name]["cold search, CPU"] = statistics.median(taken)
    now, *others = counts.values()
    before = others[0] if others else None
    for name, value in now.items():
        bar = BARS.get(name)
        if before is not None and name in SHARES:
            bar = SHARES[name] * before[name]
        elif before is not None and name == "lines":
            bar = before[name] - LINES_SAVED
        report.add(name, value, "ms" if name.endswith("CPU") else "", at_most=bar)
    if before is not None:
        rows = [
            {"": name, trees[1].name: before[name], "now": value, "ratio": value / before[name]}
            for name, value in now.items()
        ]
        report.add_table("before and now", rows)


def main() -> None:
    """Count, and keep what was counted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", metavar="COMMIT", help="count this commit too, and time both in turn")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="cold searches of each tree")
    parser.add_argument("--dry", action="store_true", help="keep no result")
    options = parser.parse_args()
    report = Report("house", {"against": options.against, "rounds": options.rounds, "query": QUERY})
    with tempfile.TemporaryDirectory(prefix="outcrop-house-") as work:
        commits = [None, options.against] if options.against else [None]
        report_trees(report, [lay_out(Path(work), commit) for commit in commits], options.rounds)
    if not options.dry:
        report.keep()
    sys.exit(1 if report.failed else 0)


if __name__ == "__main__":
    main()
