"""Maps of repositories in the comparison: aider's beside ours, within the same budgets, as `code/map.py` has them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.code.map import BUDGETS_TOKENS, map_row, outcrop_maps
from benchmarks.code.set import load_repositories
from benchmarks.compare.run import run_measured


def map_rows(
    data: Path, repos: Path, names: Sequence[str], python: str, work: Path, limit_s: float
) -> tuple[list[dict[str, Any]], str]:
    """The rows of both, and what went wrong with aider's; its folders are those that were laid out for the others."""
    repositories = load_repositories(data, names)
    maps = {"outcrop": outcrop_maps(repositories, repos)}
    plan = work / "plans" / "aider.json"
    jobs = [{"name": one.name, "folder": str(work / "repositories" / one.name)} for one in repositories]
    plan.write_text(json.dumps({"budgets_tokens": BUDGETS_TOKENS, "jobs": jobs}), "utf-8")
    done = run_measured([python, "-m", "benchmarks.code.aider", str(plan)], limit_s=limit_s)
    if not done.problem:
        maps["aider"] = done.answer
    rows = [
        map_row(engine, budget, repositories, made)
        | {"CPU s": sum(made[one.name]["cpu_s"] for one in repositories)}
        for engine, made in maps.items()
        for budget in BUDGETS_TOKENS
    ]
    return rows, done.problem
