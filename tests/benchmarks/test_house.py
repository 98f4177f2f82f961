"""What `benchmarks.house` counts is what is there."""

from __future__ import annotations

from pathlib import Path

from benchmarks.house import Tree, functions
from benchmarks.report import ROOT

from benchmarks import house


def test_functions_are_measured_from_def_to_their_last_line(tmp_path: Path) -> None:
    source = tmp_path / "some.py"
    source.write_text(
        "@decorated\ndef short():\n    return 1\n\n\nclass A:\n    async def long(self):\n\n\n        pass\n"
    )
    assert sorted(functions(source)) == [(2, "some.py:short"), (4, "some.py:long")]


def test_a_tree_is_counted_and_its_search_is_timed(tmp_path: Path) -> None:
    tree = house.lay_out(tmp_path, None)
    counts = house.count(tree)
    assert counts["root modules"] == len(list((ROOT / "src" / "outcrop").glob("*.py")))
    assert 10 < counts["modules a search runs"] <= counts["modules imported by a search"] < counts["modules"]
    (taken,) = house.time_in_turn([tree], 1)["now"]
    assert 10 < taken < 100_000


def test_a_tree_runs_its_own_code_and_not_the_installed_one(tmp_path: Path) -> None:
    (tmp_path / "outcrop").mkdir()
    (tmp_path / "outcrop" / "__init__.py").write_text("print('this one')")
    done, _ = Tree("other", tmp_path, tmp_path).run("-c", "import outcrop")
    assert done.stdout == "this one\n"
