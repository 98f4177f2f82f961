"""`outcrop grep` beside ripgrep on one large tree: python -m benchmarks.grep FOLDER… [--files 100000]

Copies the text files of the folders into one tree, so that both look at the same files, and takes their names (not the
texts, which grep never asks the index for) into an index. Then both look for the same patterns, turn by turn: ripgrep
walks the tree; Outcrop as a command, which starts Python each time, and in a process that is warm, as a server is. The
first two count lines, then print them; the last makes records of them. CPU time counts all processes. Fails if they
find different lines.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

from benchmarks.report import WORK, Report
from outcrop.config import load_config
from outcrop.engine import Engine
from outcrop.engine.reading import SIGNATURES
from outcrop.index.trigrams import Signatures
from outcrop.read.grep import sign_files
from outcrop.read.ripgrep import find_ripgrep
from outcrop.records import GrepOptions, SourceFile

PATTERNS: Final = (
    ("a word that is rare", "zebrafish"),
    ("a name", "SessionMiddleware"),
    ("a declaration", r"def \w+_timeout\("),
    ("two alternatives", "ECONNREFUSED|EADDRINUSE"),
    ("a common word", "deprecated"),
    ("no text at all", r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b"),
    ("a hundred thousand lines", "return self"),
)
HEAD: Final = 65_536
"""Bytes in which a NUL tells a binary file, as ripgrep has it."""
MAX_BYTES: Final = 32 << 20


def text_files(folders: list[Path]) -> Iterator[Path]:
    """The files below some folders that both would look into."""
    for folder in folders:
        for place, below, names in os.walk(folder):
            below.sort()
            for name in sorted(names):
                path = Path(place, name)
                if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_BYTES:
                    continue
                data = path.read_bytes()
                if data and b"\0" not in data:
                    yield path


def copy_tree(folders: list[Path], most: int, target: Path) -> int:
    """The same files in one tree; how many there are."""
    shutil.rmtree(target, ignore_errors=True)
    count = 0
    for path in islice(text_files(folders), most):
        copy = target / path.relative_to("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        count += 1
    return count


def take_names(engine: Engine, tree: Path) -> int:
    """Bring the names of the files into the index, each with a text of one word."""
    files = [
        SourceFile(
            str(path),
            str(path.relative_to(tree)),
            "file",
            str(tree),
            state.st_mtime_ns,
            state.st_size,
            "text/x-raw",
        )
        for path in sorted(tree.rglob("*"))
        if path.is_file() and (state := path.stat())
    ]
    for start in range(0, len(files), 5_000):
        engine.sync_files(
            files[start : start + 5_000],
            collection="tree",
            read=lambda file: f"{file.uri}\n".encode(),
            defer_embedding=True,
        )
    known = engine.hashes("tree")
    for file in files:
        if file.uri not in known:  # an index refuses some by their name
            Path(file.uri).unlink()
    return len(known)


def cpu_s() -> float:
    """Of this process and of those it started."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def measure(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """CPU and wall seconds, and what came of it."""
    started, cpu = time.perf_counter(), cpu_s()
    found = work()
    return cpu_s() - cpu, time.perf_counter() - started, found


def ask_ripgrep(tree: Path, pattern: str) -> set[tuple[str, int]]:
    command = [find_ripgrep(), "--no-config", "-uu", "--json", "-e", pattern, str(tree)]
    return _places(subprocess.run(command, capture_output=True, check=False).stdout, "match")


def _places(output: bytes, kind: str) -> set[tuple[str, int]]:
    messages = (json.loads(line) for line in output.splitlines())
    return {
        (message["data"]["path"]["text"], message["data"]["line_number"])
        for message in messages
        if message["type"] == kind
    }


def print_by_ripgrep(tree: Path, form: str, pattern: str) -> bytes:
    command = [find_ripgrep(), "--no-config", "-uu", form, "-e", pattern, str(tree)]
    return subprocess.run(command, capture_output=True, check=False).stdout


def print_by_command(db: Path, form: str, pattern: str) -> bytes:
    command = [str(Path(sys.executable).with_name("outcrop")), "--db", str(db), "grep", form, pattern]
    return subprocess.run(command, capture_output=True, check=False).stdout


def run(engine: Engine, db: Path, tree: Path, rounds: int) -> Iterator[dict[str, Any]]:
    """A row for each pattern: the least CPU and wall time of some rounds."""
    for name, pattern in PATTERNS:
        ours = {
            (file.document.uri, line.number)
            for file in engine.grep(pattern, GrepOptions(), masked=False)
            for line in file.lines
            if line.matched
        }
        if ours != ask_ripgrep(tree, pattern):
            raise SystemExit(f"{pattern} finds other lines than ripgrep does")
        ways: dict[str, Callable[[], Any]] = {
            "ripgrep": partial(print_by_ripgrep, tree, "-c", pattern),
            "command": partial(print_by_command, db, "-c", pattern),
            "ripgrep -n": partial(print_by_ripgrep, tree, "-n", pattern),
            "command -n": partial(print_by_command, db, "-n", pattern),
            "warm": lambda pattern=pattern: list(engine.grep(pattern, masked=False)),  # type: ignore[misc]
        }
        taken: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, work in ways.items():
                cpu, wall, _ = measure(work)
                taken[way].append((cpu, wall))
        row: dict[str, Any] = {"pattern": pattern, "what": name, "lines": len(ours)}
        for way, times in taken.items():
            row[f"{way} CPU s"] = round(min(cpu for cpu, _ in times), 3)
            row[f"{way} wall s"] = round(min(wall for _, wall in times), 3)
        yield row


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--files", type=int, default=100_000, help="files at most")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--again", action="store_true", help="with the tree and the index of the last run")
    given = parser.parse_args()
    place = WORK / "grep"
    tree, db = place / "tree", place / "index.db"
    if not given.again:
        shutil.rmtree(place, ignore_errors=True)
        copy_tree([folder.resolve() for folder in given.folders], given.files, tree)
    with Engine(load_config({"db": db})) as engine:
        shutil.rmtree(engine.config.beside(SIGNATURES), ignore_errors=True)
        indexed = len(engine.hashes("tree")) if given.again else take_names(engine, tree)
        report = Report("grep", {"folders": [str(folder) for folder in given.folders], "rounds": given.rounds})
        report.add("files", indexed, "files")
        report.add("text", sum(path.stat().st_size for path in tree.rglob("*") if path.is_file()) / 1e6, "MB")
        signatures = Signatures(engine.config.beside(SIGNATURES))
        cpu, _, signed = measure(lambda: sign_files(engine._store, signatures))
        report.add("files signed", signed, "files")
        report.add("signing", cpu, "s of CPU")
        size = sum(path.stat().st_size for path in engine.config.beside(SIGNATURES).iterdir())
        report.add("signatures", size / 1e6, "MB")
        report.add_table("grep beside ripgrep", list(run(engine, db, tree, given.rounds)))
    report.keep()


if __name__ == "__main__":
    main()
