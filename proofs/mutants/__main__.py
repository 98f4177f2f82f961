"""Would a test notice a small mistake in the code that ranks and packs?

    python -m proofs.mutants --sample 400 --seed 1 [--only MODULE …] [--minutes 60]
    python -m proofs.mutants --again benchmarks/results/mutants-COMMIT.json

Makes mutants (a comparison, a sum, a number, a condition changed; a statement left out), runs the tests that reach the
changed function, and lists those that no test noticed and `accepted.py` does not explain. `--again` tries only what was
alive in an earlier run, after tests were added. Ends with 1 when there are any.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.report import Report, say

from proofs.mutants.accepted import ACCEPTED
from proofs.mutants.make import Mutant, mutants_of
from proofs.mutants.trying import Reach, file_of, find_reach, load_libraries, try_mutant

MODULES = (
    *(f"outcrop.rank.{name}" for name in "chance excerpt fusion merge signals".split()),
    *(
        "outcrop.read.pack",
        "outcrop.read.rank:walk",
        "outcrop.read.rank:_receive",
        "outcrop.code.map:pagerank",
        "outcrop.text.tokens.estimate",
        "outcrop.code.pack",
        "outcrop.code.elements",
        "outcrop.code.elide",
    ),
    "outcrop.index.query",
)
"""The code that ranks and packs: modules, or functions of one."""
TESTS = (
    "tests/rank",
    *(
        "tests/read/test_pack.py",
        "tests/read/test_walk.py",
        "tests/code/test_pagerank.py",
        "tests/text/test_estimate.py",
        "tests/code/test_pack_code.py",
        "tests/code/test_elide.py",
        "tests/index/test_query_types.py",
    ),
)
"""The tests beside it: those of the whole engine reach every line and would notice much, a second each."""


def all_mutants(modules: tuple[str, ...]) -> list[Mutant]:
    """Every mutant of these modules, or of one function where it is named after a colon."""
    found: list[Mutant] = []
    for name in modules:
        module, _, function = name.partition(":")
        mutants = mutants_of(module, file_of(module).read_text("utf-8"))
        found += [mutant for mutant in mutants if mutant.function == function or not function]
    return found


def _reach() -> Reach:
    """In a process of its own, so that this one stays without any of our modules."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(find_reach, [name.partition(":")[0] for name in MODULES], TESTS).result()


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, help="so many mutants, by chance; all unless said")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        help="a module such as outcrop.read.pack, or outcrop.read.rank:walk",
    )
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="stop after so long, and say how far it came"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--again", type=Path, help="a kept result: try what was alive in it, and count the others as it does"
    )
    given = parser.parse_args()
    earlier: dict[str, Any] | None = json.loads(given.again.read_text("utf-8")) if given.again else None
    only: list[str] = earlier["parameters"]["only"] if earlier else given.only
    everything = all_mutants(tuple(only) or MODULES)
    mutants = everything
    if earlier:
        alive = {row["name"] for row in earlier["tables"]["alive"]}
        mutants = [mutant for mutant in everything if mutant.name in alive]
    elif given.sample and given.sample < len(everything):
        mutants = random.Random(given.seed).sample(everything, given.sample)
    reach = _reach()
    jobs = [(mutant, reach.tests_of(mutant)) for mutant in mutants]
    say(f"{len(mutants)} of {len(everything)} mutants, {len(reach.seconds)} tests")
    end = time.monotonic() + 60 * given.minutes
    verdicts: list[tuple[Mutant, str]] = []
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn"), initializer=load_libraries) as pool:
        waiting = {pool.submit(try_mutant, job): job[0] for job in jobs}
        for done in as_completed(waiting):
            mutant, verdict = waiting[done], done.result()
            verdicts.append((mutant, verdict))
            if verdict in {"survived", "uncovered"}:
                known = "accepted" if mutant.name in ACCEPTED else verdict
                say(
                    f"{known:9} {mutant.name} line {mutant.line} {mutant.kind}: {mutant.before!r} → {mutant.after!r}"
                )
            if time.monotonic() > end:
                pool.shutdown(wait=False, cancel_futures=True)
                break
    parameters = {"seed": given.seed, "sample": given.sample, "only": only}
    if earlier:
        parameters = {**earlier["parameters"], "again": given.again.stem}
        tried = {
            mutant.name for mutant, _ in verdicts
        }  # for the others there was no time: they stay as they were
        verdicts += [(mutant, "survived") for mutant in mutants if mutant.name not in tried]
    report = report_on(verdicts, len(everything), parameters, earlier)
    report.keep()
    return 1 if report.failed else 0


def report_on(
    verdicts: list[tuple[Mutant, str]],
    of: int,
    parameters: dict[str, Any],
    earlier: dict[str, Any] | None = None,
) -> Report:
    """The figures of a run, together with what an earlier one, a kept result, says of mutants not tried again."""
    only = [name.rpartition(".")[2].replace(":", "-") for name in parameters["only"]]
    report = Report("-".join(["mutants", *(only if len(only) <= 3 else ["several"])]), parameters)
    told = [
        (mutant, "accepted" if verdict in {"survived", "uncovered"} and mutant.name in ACCEPTED else verdict)
        for mutant, verdict in verdicts
    ]
    by_module: dict[str, Counter[str]] = {}
    for row in earlier["tables"]["modules"] if earlier else ():
        by_module[row["module"]] = Counter({name: row[name] for name in ("killed", "timeout", "accepted")})
    for mutant, verdict in told:
        by_module.setdefault(mutant.module, Counter())[verdict] += 1
    names = ("killed", "timeout", "survived", "uncovered", "accepted")
    rows = [
        {"module": module, "mutants": counted.total(), **{name: counted[name] for name in names}}
        for module, counted in by_module.items()
    ]
    report.add_table("modules", rows)
    report.tables["alive"] = [
        {
            "name": m.name,
            "line": m.line,
            "kind": m.kind,
            "before": m.before,
            "after": m.after,
            "verdict": verdict,
        }
        for m, verdict in told
        if verdict in {"survived", "uncovered"}
    ]
    counted = sum(by_module.values(), Counter[str]())
    noticed, tried = counted["killed"] + counted["timeout"], counted.total()
    report.add("mutants tried", tried, f"of {of}")
    report.add("noticed", 100 * noticed / max(1, tried), "%")
    report.add("noticed or accepted", 100 * (noticed + counted["accepted"]) / max(1, tried), "%")
    report.add("alive without a reason", counted["survived"] + counted["uncovered"], "mutants", at_most=0)
    return report


if __name__ == "__main__":
    sys.exit(main())
