"""The command that changes code to see whether a test notices: what it changes, and its list of what may live."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from proofs.mutants.__main__ import MODULES, TESTS, all_mutants, report_on
from proofs.mutants.accepted import ACCEPTED
from proofs.mutants.make import mutants_of

ROOT = Path(__file__).parents[2]
SOURCE = '''"""Docs."""
import math

LIMIT: int = 5


def best(values: list[int], least: int = 1) -> int:
    """The best."""
    total = 0
    for value in values:
        if not value:
            continue
        if value >= least and value != 7:
            total += value * 2
    print(
        total,
    )
    return total if values else -1
'''


def test_each_mutant_is_one_small_change_of_code_and_never_of_words() -> None:
    made = {(mutant.before, mutant.after) for mutant in mutants_of("m", SOURCE)}
    assert {
        ("5", "15"),
        ("1", "2"),
        ("not value", "(value)"),
        ("continue", "pass"),
        ("value >= least", "(value > least)"),
        ("value != 7", "(value == 7)"),
        ("7", "8"),
        ("value >= least and value != 7", "(value >= least or value != 7)"),
        ("total += value * 2", "pass"),
        ("value * 2", "(value / 2)"),
        ("values", "(not values)"),
        ("total if values else -1", "(-1 if values else total)"),
        ("return total if values else -1", "return None"),
    } <= made
    assert not any("Docs" in before or "math" in before or before == "int" for before, _ in made)


def test_a_mutant_compiles_and_what_follows_stays_on_its_line() -> None:
    for mutant in mutants_of("m", SOURCE):
        compile(mutant.source, "m", "exec")
        if mutant.kind.startswith("delete"):
            assert mutant.source.split("\n")[-2] == SOURCE.split("\n")[-2]


def test_names_tell_mutants_apart_and_every_accepted_one_is_still_there_with_a_reason() -> None:
    names = [mutant.name for mutant in all_mutants(MODULES)]
    assert len(names) == len(set(names)) > 1000
    assert ACCEPTED.keys() <= set(names), "a reason for a mutant that is no more"
    assert all(len(reason) > 15 for reason in ACCEPTED.values())
    assert all((ROOT / test).exists() for test in TESTS)


def test_what_is_tried_again_is_counted_with_what_was_noticed_before() -> None:
    one, other, third = mutants_of("m.one", SOURCE)[:3]
    first = report_on([(one, "killed"), (other, "survived"), (third, "uncovered")], 9, {"only": ["m.one"]})
    assert first.name == "mutants-one"
    assert [row["name"] for row in first.tables["alive"]] == [other.name, third.name]
    kept = {"tables": first.tables}
    again = report_on([(other, "killed"), (third, "survived")], 9, {"only": ["m.one"]}, kept)
    assert {figure.name: figure.value for figure in again.figures} == {
        "mutants tried": 3,
        "noticed": 200 / 3,
        "noticed or accepted": 200 / 3,
        "alive without a reason": 1,
    }
    assert [row["name"] for row in again.tables["alive"]] == [third.name]


_REACH = """
from proofs.mutants.trying import find_reach
what = ("is_never_below_what_tokenizers_count", "is_not_far_above_for_prose_and_code")
tests = [f"tests/text/test_estimate.py::test_the_estimate_{each}[prose]" for each in what]
reach = find_reach(["outcrop.text.tokens.estimate"], tests)
print("\\n" + str(reach.tests["outcrop.text.tokens.estimate", "_weigh_word"] == set(tests)))
"""


def test_every_test_that_needs_a_remembered_function_reaches_it() -> None:
    done = subprocess.run([sys.executable, "-c", _REACH], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "True"


_TRY = """
from dataclasses import replace
from proofs.mutants.make import mutants_of
from proofs.mutants.trying import file_of, try_mutant
name = "outcrop.rank.fusion"
first = mutants_of(name, file_of(name).read_text())[0]
tests = ["tests/rank/test_fusion.py::test_a_reranker_may_swap_two"]
said = [first.source + "\\nraise ZeroDivisionError", file_of(name).read_text(), "import os; os.kill(os.getpid(), 9)"]
print([try_mutant((replace(first, source=source), tests)) for source in said])
"""


def test_a_mutant_is_killed_by_a_test_that_fails_and_else_survives() -> None:
    done = subprocess.run([sys.executable, "-c", _TRY], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['killed', 'survived', 'timeout']"
