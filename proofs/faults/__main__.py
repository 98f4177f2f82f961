"""A disk that is full, broken or read-only, at every single point where something is written.

    python -m proofs.faults [--every 1] [--scene ingest]

An ingest, a deletion, notes, vectors that were waiting, a change of model and a migration are done with the n-th write,
sync, truncation, opening, renaming or removal failing, for every n and each kind of fault. After each:

- what was asked for was done, or an error of ours said what to do next; never a library's error or a false success;
- every document and every note is as before or as after, the database opens and its check finds nothing;
- the next try, with the same engine and without a fault, succeeds, and leaves what an undisturbed one leaves.

A full disk and a read-only one stay so until the work is given up; a broken one fails once. The same is done with a
real limit on the size of files and, where the machine allows it, with a real file system that is too small
(`faults/disks.py`).
Damaged files are `faults/damage.py`. Exits with 1 when anything is wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.report import Report, say  # first: it holds numpy to one core

from proofs.faults.damage import try_damages  # isort: skip
from proofs.faults.disks import try_disks
from proofs.faults.points import KINDS
from proofs.faults.scenes import SCENES, Scene, lay, try_fault


def run_scene(scene: Scene, folder: Path, every: int = 1) -> tuple[dict[str, Any], Counter[str], list[str]]:
    """Every so many-th point of a scene: its line of the table, what was said, what is wrong."""
    folder.mkdir(parents=True)
    trial = lay(scene, folder)
    said: Counter[str] = Counter()
    wrong: list[str] = []
    tried = harmless = 0
    for at in range(1, len(trial.points) + 1, every):
        for kind in KINDS:
            outcome = try_fault(trial, folder, at, kind, lasting=kind != "broken")
            tried += 1
            harmless += not outcome.said
            said[outcome.said] += bool(outcome.said)
            where = f"{scene.name}, {kind} at {at} ({outcome.failed or trial.points[at - 1]})"
            wrong += [f"{where}: {problem}" for problem in outcome.wrong]
    line = {
        "scene": scene.name,
        "points": len(trial.points),
        "faults": tried,
        "errors that said what to do": tried - harmless,
        "did no harm": harmless,
        "wrong": len(wrong),
    }
    return line, said, wrong


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="try every so many-th point only")
    parser.add_argument("--scene", help="one scene only")
    options = parser.parse_args()
    report = Report("faults", {"every": options.every, "scene": options.scene})
    lines, wrong = [], []
    said: Counter[str] = Counter()
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(
        prefix="outcrop-faults-", dir=memory if memory.is_dir() else None
    ) as place:
        for scene in SCENES:
            if options.scene in (None, scene.name):
                line, messages, problems = run_scene(
                    scene, Path(place) / scene.name.replace(" ", "-"), options.every
                )
                say(f"{scene.name}: {line['faults']} faults, {len(problems)} wrong")
                lines.append(line)
                said += messages
                wrong += problems
        if options.scene is None:
            for name, rows, problems in (
                ("disks", *try_disks(Path(place) / "disks", options.every)),
                ("damage", *try_damages(Path(place) / "damage", options.every)),
            ):
                report.add_table(name, rows)
                wrong += problems
    report.add("faults injected", sum(line["faults"] for line in lines), "faults")
    report.add("wrong", len(wrong), "faults", at_most=0)
    report.add_table("faults by scene", lines)
    report.add_table(
        "what was said", [{"message": text, "times": times} for text, times in said.most_common(40)]
    )
    for problem in wrong[:200]:
        say(problem)
    report.keep()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
