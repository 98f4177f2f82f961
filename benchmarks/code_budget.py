"""How much of the answer fits into a prompt? The share of target files in a context packed within a budget.

    python -m benchmarks.code_budget --data FOLDER --repos FOLDER [--only a,b] [--dry]

For every question a context of 500, 2 000 and 8 000 tokens is packed; a target counts when its file is a source of it.
Means are over the questions of a repository, then over repositories.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

from benchmarks.report import Report  # first: it holds numpy to one core

import outcrop  # isort: skip
from benchmarks.code import add_arguments, indexed  # isort: skip
from benchmarks.code_set import Repository, load_repositories  # isort: skip

BUDGETS_TOKENS = (500, 2000, 8000)

Pack = Callable[[outcrop.Engine, str, int], set[str]]
"""(engine, question, budget in tokens) → paths of the files in the context, from the folder that was added."""


def pack_context(engine: outcrop.Engine, query: str, budget_tokens: int) -> set[str]:
    """The files that `engine.context` draws on."""
    context = engine.context(query, budget_tokens=budget_tokens)
    return {source.hit.document.path for source in context.sources}


def recall(engine: outcrop.Engine, repository: Repository, budget_tokens: int, pack: Pack) -> float:
    """The share of a question's target files in its context, as a mean over the questions of a repository."""
    shares = []
    for question in repository.questions:
        wanted = {target.path for target in question.targets}
        found = {repository.path_of(path) for path in pack(engine, question.text, budget_tokens)}
        shares.append(len(wanted & found) / len(wanted))
    return fmean(shares)


def measure(repositories: list[Repository], repos: Path, pack: Pack) -> dict[str, dict[int, float]]:
    """repository → budget → recall."""
    found = {}
    for repository in repositories:
        with indexed(repository, repos) as engine:
            found[repository.name] = {
                budget: recall(engine, repository, budget, pack) for budget in BUDGETS_TOKENS
            }
    return found


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    options = parser.parse_args()
    repositories = load_repositories(options.data, filter(None, options.only.split(",")))
    report = Report("code-budget", {"budgets_tokens": BUDGETS_TOKENS, "only": options.only})
    found = measure(repositories, options.repos, pack_context)
    rows = [
        {"repository": name, **{f"{b} tokens": of[b] for b in BUDGETS_TOKENS}} for name, of in found.items()
    ]
    mean = {f"{b} tokens": fmean(of[b] for of in found.values()) for b in BUDGETS_TOKENS}
    report.add_table("share of target files in the context", [*rows, {"repository": "mean", **mean}])
    if not options.dry:
        report.keep()


if __name__ == "__main__":
    main()
