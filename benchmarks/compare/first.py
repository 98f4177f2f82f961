"""The smallest case of the comparison: a few of our files and one question, for the time to a first answer."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from scripts.try_wheel import EXPECTED, QUERY, lay_out

from benchmarks.code.set import Question, Target
from benchmarks.compare.cases import Group, Job

FIRST: Final = "first answer"


def first_group(work: Path) -> Group:
    """A small folder and one question."""
    folder = work / "first"
    shutil.rmtree(folder, ignore_errors=True)
    lay_out(folder)
    question = Question("first", QUERY, "first", (Target(f"chunk/{EXPECTED}"),))
    return Group(FIRST, "mixed", (Job("first", folder, (question,)),), "files", timed=False)
