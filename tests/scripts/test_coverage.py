"""What is not covered is told, and what was moved is not forgotten."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from scripts.coverage import ROOT, WHOLE, Measured, draw_table, find_below, read_report, share_of

GOOD = [Measured(pattern.replace("*", "some"), 10, 0) for pattern in WHOLE]


def test_every_line_of_the_list_names_modules_that_are_there() -> None:
    assert [pattern for pattern in WHOLE if not list(ROOT.glob(pattern))] == []


def test_all_bars_are_met_or_it_is_told_which_is_not() -> None:
    assert list(find_below(GOOD)) == []
    lacking = Measured("src/outcrop/chunk/cut.py", 100, 1, "7→9")
    assert list(find_below([*GOOD, lacking])) == [
        "src/outcrop/chunk/cut.py must be covered in whole; not taken: 7→9"
    ]
    others = Measured("src/outcrop/engine.py", 1000 - 10 * len(GOOD), 110)
    assert list(find_below([*GOOD, others])) == ["89.0% of the package is covered, less than 90%"]
    assert list(find_below(GOOD[1:])) == [f"{WHOLE[0]} fits no module that was measured; correct WHOLE"]
    assert "0.0% of the package" in list(find_below([]))[-1]


def test_the_table_holds_what_is_below_least_covered_first() -> None:
    modules = [Measured("a.py", 10, 2, "3"), Measured("b.py", 10, 9, "1-9"), Measured("c.py", 0, 0)]
    assert list(draw_table(modules)) == [" 10.0%  b.py  1-9", " 80.0%  a.py  3"]
    assert share_of(modules) == pytest.approx(0.45)


MODULE = """\
import sys

def tell(number):
    if number > 1:
        print("many")
    if number > 5:
        print("very")
        print("many")
    for _ in range(number):
        break
    return number

tell(int(sys.argv[1]))
"""


def test_what_was_measured_is_read_line_by_line_and_branch_by_branch(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(MODULE)
    for words in (["run", "--branch", "module.py", "2"], ["json", "-q", "-o", "report.json"]):
        subprocess.run(
            [sys.executable, "-m", "coverage", *words], cwd=tmp_path, check=True, capture_output=True
        )
    (module,) = read_report(tmp_path / "report.json")
    assert module.path == "module.py"
    assert module.missing == "7-8, 4→6, 9→11"
    assert module.missed == 5, "two lines, and the branches to them and past two others"
