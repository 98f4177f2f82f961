"""Code and documentation in one index: does either drown the other?

    python -m benchmarks.code_mixed --data FOLDER --repos FOLDER [--dry]

The whole trees of the repositories below, documentation, tests and all. Asked are the questions about code that come
with them (NDCG@10, as in `benchmarks.code`), and the questions of a user below, which the documentation answers: how
often is a document, not code, the first hit, and among the first three? The user's questions were written for this, and
the weight of the signal `guide` was chosen with them in view.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from statistics import fmean
from typing import Any

from benchmarks.report import Report  # first: it holds numpy to one core

from benchmarks.code import add_arguments, ask, indexed  # isort: skip
from benchmarks.code_set import load_repositories, repository_means, score_repository  # isort: skip

QUESTIONS = {
    "aiohttp": (
        "how do I install aiohttp",
        "quickstart making a request with the client",
        "how to deploy a server behind nginx",
        "how do I write tests for my web application",
        "migrating to 3.x what changed",
        "frequently asked questions about sessions",
    ),
    "chi": (
        "how do I install chi",
        "example of a simple chi server",
        "which middlewares come with chi",
        "how to mount a sub-router usage",
    ),
    "click": (
        "how do I install click",
        "getting started with click commands and groups",
        "how to prompt for a password in my command",
        "how do I test my command line application",
        "why click instead of argparse",
        "how to add shell completion to my script",
    ),
    "ecto": ("how to get started with ecto guide", "how do I upgrade to ecto 3"),
    "express": (
        "how do I install express",
        "quick start with the generator",
        "what features does express have",
    ),
    "lazy.nvim": (
        "how do I install lazy.nvim",
        "how do I lazy-load a plugin on an event",
        "configuration options default settings",
    ),
    "monolog": (
        "how do I install monolog",
        "core concepts of handlers and formatters",
        "which handlers are available to send mail",
    ),
    "serde": ("how do I add serde to my Cargo project", "what is serde"),
    "starlette": (
        "how do I install starlette",
        "how do I serve static files",
        "tutorial for background tasks",
        "how to use the test client in my tests",
        "how to configure CORS for my app",
        "what is starlette",
        "how do I run the application with uvicorn",
    ),
}


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    options = parser.parse_args()
    report = Report("code-mixed", {"questions": sum(map(len, QUESTIONS.values()))})
    rows: list[dict[str, Any]] = []
    for repository in load_repositories(options.data, QUESTIONS):
        whole = replace(repository, root="")
        with indexed(whole, options.repos) as engine:
            code = repository_means(whole, score_repository(whole, ask(engine, whole)))
            answers = [engine.search(question, limit=3).hits for question in QUESTIONS[repository.name]]
        prose = [[hit.document.kind != "code" for hit in hits] for hits in answers]
        rows.append(
            {
                "repository": repository.name,
                "questions about code, ndcg@10": code.overall,
                "of a user: document first": fmean(any(hits[:1]) for hits in prose),
                "document in three": fmean(any(hits) for hits in prose),
            }
        )
    names = list(rows[0])[1:]
    mean = {name: fmean(row[name] for row in rows) for name in names}
    report.add_table("code and documentation in one index", [*rows, {"repository": "mean", **mean}])
    if not options.dry:
        report.keep()


if __name__ == "__main__":
    main()
