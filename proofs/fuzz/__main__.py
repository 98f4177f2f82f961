"""Does anything crash, hang, take all memory or break its promise, whatever it is given?

    python -m proofs.fuzz --inputs 1000000 --seed 1 [--only NAME …] [--corpus FOLDER] [--guided]
    python -m proofs.fuzz --replay FILE

Inputs are real files (this repository's, made ones, and some of --corpus) changed by chance, shared among the targets
by what each costs. `--guided` gives a third of those for plain Python to atheris. An input after which something was
wrong is kept in .artifacts/fuzz; `--replay` tries it again. Ends with 1 when anything was found.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.report import ROOT, Report, say

from proofs.fuzz.guided import is_available, run_guided
from proofs.fuzz.running import Tally, attempt, run
from proofs.fuzz.seeds import Seeds, gather
from proofs.fuzz.servers import SERVERS
from proofs.fuzz.targets import TARGETS

FOUND = ROOT / ".artifacts" / "fuzz"
GUIDED_SHARE = 1 / 3
"""Of the inputs of a guided target: it runs at a third of the speed (not measured)."""
SHOWN = 3
"""Inputs of one kind of finding that are kept."""


def shares(inputs: int, names: list[str]) -> dict[str, int]:
    """How many inputs each target gets; together at least as many as were asked for."""
    weights = {name: target.share for name, target in TARGETS.items()} | {
        name: share for name, (share, _) in SERVERS.items()
    }
    chosen = {
        name: weight
        for name, weight in weights.items()
        if not names or any(name == each or name.startswith(f"{each}.") for each in names)
    }
    if not chosen:
        raise SystemExit(f"there is no target {' '.join(names)}; there are {', '.join(weights)}")
    whole = sum(chosen.values())
    return {name: -(-weight * inputs // whole) for name, weight in chosen.items()}


def run_all(counts: dict[str, int], seeds: Seeds, seed: int, *, guided: bool, jobs: int) -> dict[str, Tally]:
    """Run every target; what each came to."""
    tallies = {name: Tally() for name in counts}

    def add(name: str, part: Tally) -> None:
        tallies[name].add(part)
        say(f"{name:<28} {tallies[name].inputs:>9,} inputs, {len(tallies[name].findings)} findings")

    own = {TARGETS[name]: count for name, count in counts.items() if name in TARGETS}
    chosen = {target: int(count * GUIDED_SHARE) for target, count in own.items() if guided and target.guided}
    with ThreadPoolExecutor(1) as beside:
        waiting = {
            target: beside.submit(run_guided, target, seeds, seed, count) for target, count in chosen.items()
        }
        plain = [(target, count - chosen.get(target, 0)) for target, count in own.items()]
        for name, part in run(plain, seeds, seed, jobs):
            add(name, part)
        for target, future in waiting.items():
            add(target.name, future.result())
    # One that atheris ended early, at what it found, gets the rest of its inputs all the same.
    rest = [(target, count - tallies[target.name].inputs) for target, count in own.items()]
    for name, part in run([(target, count) for target, count in rest if count > 0], seeds, seed + 1, jobs):
        add(name, part)
    for name in counts.keys() & SERVERS.keys():
        add(name, SERVERS[name][1](seed, counts[name]))
    return tallies


def report_on(tallies: dict[str, Tally], parameters: dict[str, object]) -> Report:
    """The figures of a run; inputs of findings are written to files."""
    report = Report("fuzz", parameters)
    rows = []
    for name, tally in tallies.items():
        promise = TARGETS[name].promise if name in TARGETS else "as the protocol says, in time, no traceback"
        rows.append(
            {
                "target": name,
                "inputs": tally.inputs,
                "cpu s": round(tally.cpu_s, 1),
                "slowest ms": round(tally.slowest_ms, 1),
                "growth MB": round(tally.growth_bytes / 2**20, 1),
                "findings": len(tally.findings),
                "promise": promise,
            }
        )
    report.add_table("targets", rows)
    findings = [finding for tally in tallies.values() for finding in tally.findings]
    seen: Counter[tuple[str, str]] = Counter()
    told = []
    for finding in findings:
        seen[finding.target, finding.kind] += 1
        if seen[finding.target, finding.kind] <= SHOWN:
            told.append((finding, finding.keep(FOUND)))
    for finding, file in told:
        say(f"\nFOUND {finding.target}: {finding.kind}\n{finding.detail}\n  --replay {file.relative_to(ROOT)}")
    report.tables["findings"] = [
        {
            "target": finding.target,
            "kind": finding.kind,
            "times": seen[finding.target, finding.kind],
            "file": file.name,
        }
        for finding, file in told
    ]
    report.add("inputs", sum(tally.inputs for tally in tallies.values()), "inputs")
    report.add("findings", len(findings), "findings", at_most=0)
    return report


def replay(file: Path) -> int:
    """Try a kept input again; 1 when it still does what it did."""
    name = file.name.rpartition("-")[0]
    found = attempt(TARGETS[name], file.read_bytes())
    say(found.detail if found else f"{name}: nothing is wrong with it now")
    return 1 if found else 0


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", default=[], help="a target, or the first part of its name")
    parser.add_argument("--corpus", type=Path, help="a folder of real files to begin with")
    parser.add_argument("--guided", action="store_true", help="let atheris choose some of the inputs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--replay", type=Path, help="a kept input to try again")
    given = parser.parse_args()
    if given.replay:
        return replay(given.replay)
    if given.guided and not is_available():
        raise SystemExit("--guided needs atheris: pip install atheris")
    with tempfile.TemporaryDirectory(prefix="outcrop-fuzz-") as folder:
        seeds = gather(Path(folder) / "seeds", given.corpus, given.seed)
        counts = shares(given.inputs, given.only)
        tallies = run_all(counts, seeds, given.seed, guided=given.guided, jobs=given.jobs)
    parameters = {"inputs": given.inputs, "seed": given.seed, "only": given.only, "guided": given.guided}
    report = report_on(tallies, {**parameters, "corpus": bool(given.corpus), "jobs": given.jobs})
    report.keep()
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
