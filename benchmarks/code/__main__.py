"""How well does Outcrop find code? Questions about repositories, NDCG@10 of the files that answer them.

    python -m benchmarks.code --data FOLDER --repos FOLDER [--only a,b] [--ablate] [--against RESULTS] [--dry]

`--data` holds the labelled sets (see benchmarks/code/set.py), `--repos` the trees they are about. `--ablate` asks
again without each ranking signal and in each leg alone. `--against` compares with a kept run, question by question:
a paired bootstrap that draws within each repository.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.report import Report, say  # first: it holds numpy to one core

import numpy as np  # isort: skip

import outcrop  # isort: skip
from benchmarks.code.set import (  # isort: skip
    TOP,
    Means,
    Place,
    Repository,
    lay_out,
    load_repositories,
    mean_of,
    repository_means,
    score_repository,
)
from outcrop.rank import fusion, signals  # isort: skip
from outcrop.rank.signals import SIGNALS  # isort: skip
from outcrop.index import columns  # isort: skip
import pytest  # isort: skip

BAR = 0.88
BAR_SYMBOLS = 0.97
"""Published best on these repositories: 0.857, with a model of 137 million parameters."""
HYBRID = "hybrid"
DRAWS = 2000

Scores = dict[str, dict[str, float]]
"""repository → question id → NDCG@10."""


@contextmanager
def indexed(repository: Repository, repos: Path, **settings: Any) -> Iterator[outcrop.Engine]:
    """The part of a repository that counts, in an index of its own that is gone afterwards."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / repository.name
        lay_out(repos / repository.name / repository.root, folder)
        with outcrop.open(Path(place) / "index.db", **settings) as engine:
            engine.add(folder)
            yield engine


def ask(engine: outcrop.Engine, repository: Repository, **options: Any) -> dict[str, list[Place]]:
    """The ten best chunks of every question, unmerged."""
    engine.parts.retriever._answers.clear()  # answers are kept by question and options, not by signal
    return {
        question.id: [
            (repository.path_of(hit.document.path), hit.line_start, hit.line_end)
            for hit in engine.search(question.text, limit=TOP, merge=False, **options).hits
        ]
        for question in repository.questions
    }


@contextmanager
def without_signal(name: str) -> Iterator[None]:
    """The ranking as if a signal had never been written; the weights of the others stay as they were learnt with it."""
    whole = dict(SIGNALS)
    SIGNALS.pop(name)
    try:
        yield
    finally:
        SIGNALS.clear()
        SIGNALS.update(whole)


def score_runs(
    engine: outcrop.Engine, repository: Repository, *, ablate: bool
) -> Iterator[tuple[str, dict[str, float]]]:
    """(name, score of every question) of each way of searching."""
    yield HYBRID, score_repository(repository, ask(engine, repository))
    if not ablate:
        return
    for mode in ("keyword", "semantic"):
        yield mode, score_repository(repository, ask(engine, repository, mode=mode))
    for name in tuple(SIGNALS):
        with without_signal(name):
            yield f"without {name}", score_repository(repository, ask(engine, repository))
    for name, (owner, attribute, value) in other_parts(engine).items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(owner, attribute, value)
            engine.parts.index.rebuild()
            yield name, score_repository(repository, ask(engine, repository))
    engine.parts.index.rebuild()


def other_parts(engine: outcrop.Engine) -> dict[str, tuple[object, str, object]]:
    """Parts of the ranking that are no signals: what to set, where, to be without them."""
    return {
        "without repeats": (signals, "REPEAT", 0.0),
        "without path words in the text": (columns, "PATH_WEIGHT", 0),
        "without the file's name in the text": (columns, "TITLE_WEIGHT", 0),
        "without scope and name in the text": (columns, "HEADING_WEIGHT", 0),
        "without the path in the vector": (engine.parts.index, "_path_weight", 0.0),
        "without summaries": (columns, "_summary_rows", lambda _feed: []),
        "one weight for every type of query": (
            fusion,
            "SEMANTIC_SHARE",
            dict.fromkeys(("exact", "mixed", "semantic"), 0.6),
        ),
    }


# ------------------------------------------------------------------ tables


def all_means(repositories: Sequence[Repository], scores: Scores) -> dict[str, Means]:
    """repository → its means."""
    return {one.name: repository_means(one, scores[one.name]) for one in repositories}


def repository_rows(repositories: Sequence[Repository], means: Mapping[str, Means]) -> list[dict[str, Any]]:
    """A row for every repository and one for their mean."""
    rows = [{"repository": one.name, "language": one.language, **means[one.name].row()} for one in repositories]
    return [*rows, {"repository": "mean", "language": "", **mean_of(list(means.values())).row()}]


def language_rows(repositories: Sequence[Repository], means: Mapping[str, Means]) -> list[dict[str, Any]]:
    """Every language held out: its own mean, and that of all the others, which no constant may trade for it."""
    rows = []
    for language in sorted({one.language for one in repositories}):
        own = [means[one.name] for one in repositories if one.language == language]
        others = [means[one.name] for one in repositories if one.language != language]
        rows.append(
            {
                "held out": language,
                "repositories": len(own),
                "its mean": mean_of(own).overall,
                "mean of the others": mean_of(others).overall if others else None,
            }
        )
    return rows


def interval(ours: Scores, theirs: Scores) -> tuple[float, float, float]:
    """Mean difference over repositories and its 95 % interval; both sides hold the same questions."""
    draw = np.random.default_rng(1)
    total, drawn = 0.0, np.zeros(DRAWS)
    for name, scores in ours.items():
        difference = np.array([value - theirs[name][question] for question, value in scores.items()])
        picks = draw.integers(0, len(difference), (DRAWS, len(difference)))
        total += float(difference.mean())
        drawn += difference[picks].mean(axis=1)
    low, high = np.quantile(drawn / len(ours), (0.025, 0.975))
    return total / len(ours), float(low), float(high)


def add_difference(report: Report, name: str, ours: Scores, theirs: Scores) -> None:
    """Note a mean difference with its interval."""
    difference, low, high = interval(ours, theirs)
    report.add(name, difference, f"[{low:+.3f} {high:+.3f}]")


def keep_questions(report: Report, scores: Scores) -> None:
    """The score of every question goes into the kept run, unprinted, for later comparisons."""
    report.tables["questions"] = [
        {"repository": name, "question": question, "ndcg@10": round(value, 4)}
        for name, found in scores.items()
        for question, value in found.items()
    ]


def read_questions(path: Path) -> Scores:
    """What `keep_questions` kept."""
    scores: Scores = {}
    for row in json.loads(path.read_text("utf-8"))["tables"]["questions"]:
        scores.setdefault(row["repository"], {})[row["question"]] = row["ndcg@10"]
    return scores


def in_common(scores: Scores, other: Scores) -> Scores:
    """The questions that both sides answered."""
    both = {
        name: {question: value for question, value in found.items() if question in other.get(name, {})}
        for name, found in scores.items()
    }
    return {name: found for name, found in both.items() if found}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What every benchmark of code is told."""
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of labelled sets, one JSON a repository"
    )
    parser.add_argument(
        "--repos", type=Path, required=True, help="folder of the trees, named as the JSON files"
    )
    parser.add_argument("--only", default="", help="repositories, separated by commas; all by default")
    parser.add_argument("--dry", action="store_true", help="do not keep the results")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--ablate", action="store_true", help="also without each signal, and each leg alone")
    parser.add_argument("--against", type=Path, help="a kept run to compare with")
    parser.add_argument("--setting", action="append", default=[], help="NAME=VALUE of the configuration")
    options = parser.parse_args()
    settings = dict(setting.split("=", 1) for setting in options.setting)
    repositories = load_repositories(options.data, filter(None, options.only.split(",")))
    report = Report("code", {"settings": settings, "only": options.only, "ablate": options.ablate})
    runs: dict[str, Scores] = {}
    for repository in repositories:
        with indexed(repository, options.repos, **settings) as engine:
            for run, scores in score_runs(engine, repository, ablate=options.ablate):
                runs.setdefault(run, {})[repository.name] = scores
        means = repository_means(repository, runs[HYBRID][repository.name])
        say(f"{repository.name:<24} {means.overall:.3f}")
    means_of = {run: all_means(repositories, scores) for run, scores in runs.items()}
    report.add_table("NDCG@10 by repository", repository_rows(repositories, means_of[HYBRID]))
    report.add_table("one language held out", language_rows(repositories, means_of[HYBRID]))
    if options.ablate:
        rows = [{"search": run, **mean_of(list(means.values())).row()} for run, means in means_of.items()]
        report.add_table("what each part brings", rows)
        for run, ablated in runs.items():
            if run != HYBRID:
                add_difference(report, f"{HYBRID} − {run}", runs[HYBRID], ablated)
    if options.against:
        before = read_questions(options.against)
        common = in_common(runs[HYBRID], before)
        add_difference(report, f"now − {options.against.stem}", common, in_common(before, common))
    total = mean_of(list(means_of[HYBRID].values()))
    report.add("NDCG@10", total.overall, "", at_least=BAR)
    report.add("NDCG@10, symbols", total.by_category["symbol"], "", at_least=BAR_SYMBOLS)
    keep_questions(report, runs[HYBRID])
    if not options.dry:
        report.keep()
    if report.failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
