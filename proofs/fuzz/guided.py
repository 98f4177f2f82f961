"""Inputs chosen by what code they reach: atheris, in a process of its own, for targets that are plain Python.

atheris is no dependency of the project (its wheels are for Linux): `pip install atheris`. What it finds is written to
a file and becomes a finding like any other; it stops at its first.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from benchmarks.report import ROOT

from proofs.fuzz.running import Finding, Tally, attempt
from proofs.fuzz.seeds import Seeds
from proofs.fuzz.target import Target

LONGEST = 3_000
"""Bytes of an input: more make a run slow and reach nothing new."""
BEGINNINGS = 300
"""Inputs of the target's own that it begins with."""


def is_available() -> bool:
    """Whether atheris is installed."""
    return find_spec("atheris") is not None


def run_guided(target: Target, seeds: Seeds, seed: int, inputs: int) -> Tally:
    """Have atheris try so many inputs of a target."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        (home / "corpus").mkdir()
        for number in range(BEGINNINGS):
            data = target.input(seed, number, seeds)
            if len(data) <= LONGEST:
                (home / "corpus" / f"{number:04}").write_bytes(data)
        command = [sys.executable, "-m", "proofs.fuzz.guided", target.name, f"-runs={inputs}"]
        options = [
            f"-seed={seed + 1}",
            f"-max_len={LONGEST}",
            f"-timeout={int(12 * target.deadline_s)}",
            f"-rss_limit_mb={(target.growth_bytes >> 20) + 600}",
            f"-artifact_prefix={home}/found-",
            "-print_final_stats=1",
            str(home / "corpus"),
        ]
        done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, check=False)
        tally = Tally(inputs=_figure("number_of_executed_units", done.stderr))
        for file in home.glob("found-*"):
            data = file.read_bytes()
            kind = f"{file.name.split('-')[1]} in atheris"
            tally.findings.append(
                attempt(target, data) or Finding(target.name, kind, done.stderr[-2_000:], data)
            )
        if done.returncode and not tally.findings:
            tally.findings.append(
                Finding(target.name, f"atheris ended with {done.returncode}", done.stderr[-2_000:], b"")
            )
        return tally


def _figure(name: str, log: str) -> int:
    found = re.search(rf"stat::{name}:\s+(\d+)", log)
    return int(found[1]) if found else 0


def main() -> None:
    """The process: `python -m proofs.fuzz.guided TARGET OPTION…`, options of libFuzzer."""
    import atheris

    with atheris.instrument_imports(include=["outcrop"]):
        from proofs.fuzz.targets import TARGETS
    atheris.Setup([sys.argv[0], *sys.argv[2:]], TARGETS[sys.argv[1]].check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
