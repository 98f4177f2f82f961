"""How much of the answer fits into a prompt? The share of target files in a context packed within a budget.

    python -m benchmarks.code.budget --data FOLDER --repos FOLDER [--tokenizer FILE] [--only a,b] [--dry]

For every question a context of 500, 2 000 and 8 000 tokens is packed; a target counts when its file is a source of it.
Means are over the questions of a repository, then over repositories. Tokens are counted by the safe estimate, which
counts code 1.4 to 1.8 times as long as tokenizers do, and with `--tokenizer` also by a model's own tokenizer.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

from benchmarks.report import Report  # first: it holds numpy to one core

import outcrop  # isort: skip
from benchmarks.code.__main__ import add_arguments, indexed  # isort: skip
from benchmarks.code.set import Repository, load_repositories  # isort: skip
from outcrop.contracts import Tokenizer  # isort: skip
from outcrop.read.pack import FileTokenizer  # isort: skip

BUDGETS_TOKENS = (500, 2000, 8000)
BARS = {500: 0.90, 2000: 0.97, 8000: 0.99}
Found = dict[str, dict[str, dict[int, float]]]

Pack = Callable[[outcrop.Engine, str, int], set[str]]
"""(engine, question, budget in tokens) → paths of the files in the context, from the folder that was added."""


def pack_by(tokenizer: Tokenizer | None) -> Pack:
    """The files that `engine.code_context` draws on, tokens counted by a tokenizer or by the safe estimate."""

    def pack(engine: outcrop.Engine, query: str, budget_tokens: int) -> set[str]:
        context = engine.code_context(query, budget_tokens=budget_tokens, tokenizer=tokenizer)
        if context.tokens > budget_tokens:
            raise AssertionError(f"{context.tokens} tokens in a context of {budget_tokens}")
        return {source.hit.document.path for source in context.sources}

    return pack


def recall(engine: outcrop.Engine, repository: Repository, budget_tokens: int, pack: Pack) -> float:
    """The share of a question's target files in its context, as a mean over the questions of a repository."""
    shares = []
    for question in repository.questions:
        wanted = {target.path for target in question.targets}
        found = {repository.path_of(path) for path in pack(engine, question.text, budget_tokens)}
        shares.append(len(wanted & found) / len(wanted))
    return fmean(shares)


def measure(repositories: list[Repository], repos: Path, packs: dict[str, Pack]) -> Found:
    """repository → counting → budget → recall."""
    found: Found = {}
    for repository in repositories:
        with indexed(repository, repos) as engine:
            found[repository.name] = {
                name: {budget: recall(engine, repository, budget, pack) for budget in BUDGETS_TOKENS}
                for name, pack in packs.items()
            }
    return found


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument(
        "--tokenizer", type=Path, help="a tokenizer.json to count with, beside the safe estimate"
    )
    options = parser.parse_args()
    repositories = load_repositories(options.data, filter(None, options.only.split(",")))
    packs = {"safe estimate": pack_by(None)}
    if options.tokenizer is not None:
        packs["tokenizer"] = pack_by(FileTokenizer(options.tokenizer))
    report = Report("code-budget", {"budgets_tokens": BUDGETS_TOKENS, "only": options.only})
    found = measure(repositories, options.repos, packs)
    for name in packs:
        rows = [
            {"repository": repository, **{f"{b} tokens": of[name][b] for b in BUDGETS_TOKENS}}
            for repository, of in found.items()
        ]
        mean = {f"{b} tokens": fmean(of[name][b] for of in found.values()) for b in BUDGETS_TOKENS}
        title = f"share of target files in the context, tokens by the {name}"
        report.add_table(title, [*rows, {"repository": "mean", **mean}])
        for budget, least in BARS.items():
            report.add(f"recall at {budget} tokens, {name}", mean[f"{budget} tokens"], "", at_least=least)
    if not options.dry:
        report.keep()


if __name__ == "__main__":
    main()
