"""What a benchmark leaves behind: a table to read, and a file that says what ran where.

Import this module before numpy: it holds numeric libraries to one core, because the figure that counts here is
CPU time on one.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_THREADED = ("OPENBLAS", "OMP", "MKL", "RAYON", "NUMEXPR")
os.environ.update({f"{library}_NUM_THREADS": "1" for library in _THREADED})

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
WORK = ROOT / ".artifacts" / "benchmarks"
STARTED = time.time()
"""When the run began: a benchmark is a command that imports this module first, and may make its report last."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number. `bar` says what it must be, with `passed` telling whether it is."""

    name: str
    value: float
    unit: str
    bar: str = ""
    passed: bool | None = None


@dataclass(slots=True)
class Report:
    """The figures of one run, printed as they come and kept as JSON at the end."""

    name: str
    parameters: Mapping[str, Any]
    figures: list[Figure] = field(default_factory=list)
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    started: float = STARTED

    def add(
        self,
        name: str,
        value: float,
        unit: str,
        *,
        at_most: float | None = None,
        at_least: float | None = None,
    ) -> None:
        """Note a figure and print it, with its bar where it has one."""
        bar, passed = "", None
        if at_most is not None:
            bar, passed = f"≤ {at_most:g}", value <= at_most
        elif at_least is not None:
            bar, passed = f"≥ {at_least:g}", value >= at_least
        figure = Figure(name, value, unit, bar, passed)
        self.figures.append(figure)
        verdict = "" if passed is None else f"{bar:>10}  {'pass' if passed else 'FAIL'}"
        say(f"{name:<52} {value:>14,.3f} {unit:<14} {verdict}")

    def add_table(self, title: str, rows: Sequence[dict[str, Any]]) -> None:
        """Note a table and print it; every row has the same keys."""
        self.tables[title] = list(rows)
        say(f"\n{title}")
        if not rows:
            say("  (no rows)")
            return
        cells = [[str(key) for key in rows[0]], *([_cell(value) for value in row.values()] for row in rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
        for row in cells:
            say(
                "  "
                + "  ".join(
                    cell.ljust(width) if i == 0 else cell.rjust(width)
                    for i, (cell, width) in enumerate(zip(row, widths, strict=True))
                )
            )

    @property
    def failed(self) -> list[Figure]:
        """Figures that miss their bar."""
        return [figure for figure in self.figures if figure.passed is False]

    def keep(self) -> Path:
        """Write the run to benchmarks/results/NAME-COMMIT.json; where that is."""
        commit, changed = commit_of(ROOT)
        RESULTS.mkdir(parents=True, exist_ok=True)
        path = RESULTS / f"{self.name}-{commit}.json"
        content = {
            "name": self.name,
            "commit": commit,
            "uncommitted_changes": changed,
            "date": datetime.fromtimestamp(self.started, UTC).isoformat(timespec="seconds"),
            "seconds": round(time.time() - self.started, 1),
            "machine": machine(),
            "parameters": dict(self.parameters),
            "figures": [asdict(figure) for figure in self.figures],
            "tables": self.tables,
        }
        path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")
        say(f"\nkept in {path.relative_to(ROOT)}")
        return path


def say(line: str) -> None:
    """Print a line at once, also when the output is a file."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def machine() -> dict[str, Any]:
    """The processor, its cores and load, and the versions that decide the figures."""
    import apsw
    import numpy as np

    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "system": platform.platform(),
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "numpy": np.__version__,
    }


def commit_of(root: Path) -> tuple[str, bool]:
    """The short commit of a checkout, and whether files differ from it; ("none", True) outside git."""
    try:
        commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=root, capture_output=True, text=True, check=True
        )
        changed = subprocess.run(
            ["git", "status", "--porcelain", "--", "src"], cwd=root, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "none", True
    return commit.stdout.strip(), bool(changed.stdout.strip())


def cpu_s() -> float:
    """CPU seconds of this process and of its finished children, so far."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def peak_rss_bytes() -> int:
    """The most memory this process ever held.

    From /proc where there is one: `ru_maxrss` of a started process begins with what its parent held.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text("ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    factor = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * factor


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """(CPU seconds, wall seconds) of a call, children included."""
    cpu, wall = cpu_s(), time.perf_counter()
    work()
    return cpu_s() - cpu, time.perf_counter() - wall


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` (0–1) of the values lie, without interpolation."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def folder_bytes(*paths: Path) -> int:
    """Size of files and of everything in folders."""
    files = (file for path in paths for file in ([path] if path.is_file() else path.rglob("*")))
    return sum(file.stat().st_size for file in files if file.is_file())


def run_child(arguments: Sequence[str], python: str = sys.executable) -> dict[str, Any]:
    """Run `python -m …` from the repository root in a process of its own; the JSON object of its last line."""
    done = subprocess.run([python, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    *before, last = done.stdout.strip().splitlines() or [""]
    for line in before:
        say(line)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    result: dict[str, Any] = json.loads(last)
    return result


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
