"""Code and documentation in one index: does either drown the other?

    python -m benchmarks.code.mixed --data FOLDER --repos FOLDER [--dry]

The whole trees of the repositories below, documentation, tests and all. Asked are the questions about code that come
with them (NDCG@10, as in `benchmarks.code`), and the questions of a user below, which the documentation answers: how
often is a document, not code, the first hit, and among the first three? The user's questions were written for this, and
the weight of the signal `guide` was chosen with them in view.

The second table takes headings out of the documents of some repositories and asks for them (as
`benchmarks.compare.known`): the document that a heading was taken from is the answer. Beside it again the questions
about code, of which some are answered as well by a page of the documentation, which counts as wrong here.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.report import Report  # first: it holds numpy to one core

import outcrop  # isort: skip
from benchmarks.code.__main__ import add_arguments, ask, indexed  # isort: skip
from benchmarks.code.set import (  # isort: skip
    Question,
    Repository,
    Target,
    lay_out,
    load_repositories,
    repository_means,
    score_repository,
)
from benchmarks.compare.known import SEED, find_items, without  # isort: skip
from benchmarks.compare.score import score_question  # isort: skip

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

DOCUMENTED = ("alamofire", "click", "ecto", "exposed", "fmtlib", "gson", "nvm", "rack", "vitest")
"""Repositories with a good many headings of three words or more in Markdown; release notes are left out."""
HEADINGS = 40
_RELEASE_NOTES = re.compile(r"change|history|news|release", re.IGNORECASE)


@contextmanager
def without_headings(repository: Repository, repos: Path) -> Iterator[tuple[outcrop.Engine, list[Question]]]:
    """The whole tree of a repository without some headings of its documents, and these as questions."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / repository.name
        lay_out(repos / repository.name, folder)
        texts = {
            path.relative_to(folder).as_posix(): path.read_text("utf-8", "replace")
            for path in sorted(folder.rglob("*.md"))
        }
        items = [
            item
            for path, text in texts.items()
            if not _RELEASE_NOTES.search(path)
            for item in find_items(path, text)
        ]
        chosen = random.Random(SEED).sample(items, min(HEADINGS, len(items)))
        for path in {item.path for item in chosen}:
            kept = without(texts[path], [item for item in chosen if item.path == path])
            (folder / path).write_text(kept, "utf-8")
        with outcrop.open(Path(place) / "index.db") as engine:
            engine.add(folder)
            yield (
                engine,
                [
                    Question(str(n), item.words, item.kind, (Target(item.path),))
                    for n, item in enumerate(chosen)
                ],
            )


def heading_row(repository: Repository, repos: Path) -> dict[str, Any]:
    """How well documents are found by a heading that was taken out of them, and code beside them."""
    with without_headings(repository, repos) as (engine, questions):
        asked = replace(repository, root="", questions=tuple(questions))
        answers = ask(engine, asked)
        whole = replace(repository, root="")
        code = repository_means(whole, score_repository(whole, ask(engine, whole)))
    found = fmean(score_question(question, answers[question.id], "files")[0] for question in questions)
    return {
        "repository": repository.name,
        "headings": len(questions),
        "headings, ndcg@10": found,
        "questions about code, ndcg@10": code.overall,
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
    report.add_table("code and documentation in one index", [*rows, mean_row(rows)])
    rows = [heading_row(one, options.repos) for one in load_repositories(options.data, DOCUMENTED)]
    report.add_table("headings of documents beside code", [*rows, mean_row(rows)])
    if not options.dry:
        report.keep()


def mean_row(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The mean of every column over repositories."""
    return {"repository": "mean", **{name: fmean(row[name] for row in rows) for name in list(rows[0])[1:]}}


if __name__ == "__main__":
    main()
