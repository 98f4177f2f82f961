"""Which branches of the package do the tests take?

    python -m scripts.coverage           run all tests, measure, judge
    python -m scripts.coverage --judge   judge what was measured last

Where an answer must not be lost, or a guard must not be passed, every branch is taken by a test; over the whole package
nine in ten are. What runs in child processes counts, what is killed does not. Exits with 1 when something is below.

Not part of `make test`: before Python 3.14 branches are measured by tracing, which doubles the processor time of the
tests (922 s against about 420 s on Python 3.11).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
REPORT: Final = ROOT / ".artifacts/coverage/report.json"

WHOLE: Final = (
    "src/outcrop/store/*.py",
    "src/outcrop/store/postgres/*.py",
    "src/outcrop/chunk/*.py",
    "src/outcrop/read/pack.py",
    "src/outcrop/code/pack.py",
    "src/outcrop/code/elide.py",
    "src/outcrop/sources/url.py",
    "src/outcrop/sources/address.py",
    "src/outcrop/serve/state.py",
    "src/outcrop/notes/names.py",
)
"""Modules of which every branch is taken: stores, chunkers, packers, and the guards of URLs and of paths."""
OVERALL: Final = 0.90
"""Of all lines and branches. Judgement: what is left is mostly messages of rare failures."""
SEED: Final = 0
"""Of the property tests, so that two runs measure the same."""
TEST_TIMEOUT_S: Final = 600
"""Of one test: five times as long as usual, for tracing is slow where a test is one tight loop."""


@dataclass(frozen=True, slots=True)
class Measured:
    """How many lines and branches a module has, how many were not taken, and which."""

    path: str
    total: int
    missed: int
    missing: str = ""

    @property
    def share(self) -> float:
        """How much of it was taken, 0 to 1."""
        return 1 - self.missed / self.total if self.total else 1.0


def read_report(report: Path) -> list[Measured]:
    """What a report of `coverage json` says of each module."""
    files: dict[str, Any] = json.loads(report.read_text("utf-8"))["files"]
    return [_measured(path, file) for path, file in sorted(files.items())]


def _measured(path: str, file: dict[str, Any]) -> Measured:
    summary = file["summary"]
    lines = set(file["missing_lines"])
    # A branch from a line that was not run at all, or to one, is told by the line.
    jumps = [(a, b) for a, b in file["missing_branches"] if a not in lines and b not in lines]
    return Measured(
        path=Path(path).as_posix(),
        total=summary["num_statements"] + summary["num_branches"],
        missed=summary["missing_lines"] + summary["missing_branches"],
        missing=", ".join([*_ranges(sorted(lines)), *(f"{a}→{'end' if b < 0 else b}" for a, b in jumps)]),
    )


def _ranges(numbers: Sequence[int]) -> Iterator[str]:
    """Line numbers, neighbours together: `3`, `7-9`."""
    start = 0
    for at in range(1, len(numbers) + 1):
        if at == len(numbers) or numbers[at] != numbers[at - 1] + 1:
            first, last = numbers[start], numbers[at - 1]
            yield str(first) if first == last else f"{first}-{last}"
            start = at


def find_below(modules: Sequence[Measured]) -> Iterator[str]:
    """What is below the bars, in words. A line of WHOLE that fits no module is: it was moved, and is not watched."""
    for pattern in WHOLE:
        named = [module for module in modules if _fits(module.path, pattern)]
        if not named:
            yield f"{pattern} fits no module that was measured; correct WHOLE"
        for module in named:
            if module.missed:
                yield f"{module.path} must be covered in whole; not taken: {module.missing}"
    overall = share_of(modules)
    if overall < OVERALL:
        yield f"{overall:.1%} of the package is covered, less than {OVERALL:.0%}"


def _fits(path: str, pattern: str) -> bool:
    return path.count("/") == pattern.count("/") and fnmatchcase(path, pattern)


def share_of(modules: Iterable[Measured]) -> float:
    """How much of some modules was taken, together."""
    counts = [(module.total, module.missed) for module in modules]
    total, missed = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0)
    return 1 - missed / total if total else 0.0


def draw_table(modules: Iterable[Measured]) -> Iterator[str]:
    """The modules that are below the overall bar, least covered first."""
    for module in sorted(modules, key=lambda module: module.share):
        if module.share < OVERALL:
            yield f"{module.share:6.1%}  {module.path}  {module.missing}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and judge; 0 when all bars are met."""
    parser = argparse.ArgumentParser(prog="python -m scripts.coverage", description=__doc__.partition("\n")[0])
    parser.add_argument("--judge", action="store_true", help="judge what was measured last")
    if not parser.parse_args(arguments).judge and (failed := _run_tests()):
        return failed
    modules = read_report(REPORT)
    print("\n".join(draw_table(modules)))
    below = list(find_below(modules))
    print(
        "\n".join(below) or f"{share_of(modules):.1%} of the package is covered, and all that must be in whole"
    )
    return 1 if below else 0


def _run_tests() -> int:
    """Run the tests and put what all processes measured together; how pytest ended."""
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    tests = ("-m", "pytest", f"--hypothesis-seed={SEED}", "-o", f"timeout={TEST_TIMEOUT_S}")
    two_at_a_time = ("-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")  # as `make test`
    _coverage("erase")
    if ended := _coverage("run", *tests, *two_at_a_time):
        return ended
    return _coverage("combine", "--quiet") or _coverage("json", "--quiet", "-o", str(REPORT))


def _coverage(*words: str) -> int:
    return subprocess.run([sys.executable, "-m", "coverage", *words], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
