"""Labelled questions about repositories of code, and the metric that scores an answer to them.

A set is a folder of JSON files, one a repository: `root` (files count below it), `language` and `queries`, each with
its `targets`, files that answer it, some with the lines that do. The trees lie in another folder, each named as its
JSON file. An answer is the ten best chunks, in order, as (path, first line, last line).
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from statistics import fmean

TOP = 10
CATEGORIES = ("architecture", "semantic", "symbol")
MAX_FILE_BYTES = 1_000_000
LEFT_OUT = frozenset(
    {".git", "node_modules", ".venv", "venv", "dist", "build", ".cache", ".eggs", "__pycache__"}
)
"""Folders whose files do not count, as the authors of the set have it."""

Place = tuple[str, int, int]
"""A chunk of an answer: its file's path in the repository, its first and last line."""


@dataclass(frozen=True, slots=True)
class Target:
    """A file that answers a question; `lines` (first, last) where only a part of it does."""

    path: str
    lines: tuple[int, int] | None = None

    def is_met(self, place: Place) -> bool:
        """Whether a chunk is of this file and, where the target has lines, touches them."""
        path, first, last = place
        return path == self.path and (self.lines is None or (first <= self.lines[1] and last >= self.lines[0]))


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a repository."""

    id: str
    text: str
    category: str
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True)
class Repository:
    """A tree of files and the questions about it. Paths of targets start at the tree, not at `root`."""

    name: str
    root: str
    language: str
    questions: tuple[Question, ...]

    def path_of(self, below_root: str) -> str:
        """The path in the repository of a file named from the root."""
        return str(PurePosixPath(self.root) / below_root)

    def below_root(self, path: str) -> str:
        """The path from the root of a file named in the repository; one that lies elsewhere is as it was."""
        whole = PurePosixPath(path)
        return str(whole.relative_to(self.root)) if whole.is_relative_to(self.root) else path


def load_repositories(data: Path, only: Iterable[str] = ()) -> list[Repository]:
    """Every repository of a set by name, or those named."""
    names = sorted(path.stem for path in data.glob("*.json"))
    wanted = set(only)
    if not names or wanted - set(names):
        raise SystemExit(
            f"{data} holds no JSON file for: {', '.join(sorted(wanted - set(names))) or 'anything'}"
        )
    return [_load_repository(data / f"{name}.json") for name in names if not wanted or name in wanted]


def _load_repository(path: Path) -> Repository:
    content = json.loads(path.read_text("utf-8"))
    questions = tuple(
        Question(
            query["id"],
            query["text"],
            query["category"],
            tuple(
                Target(
                    target["path"],
                    (target["start_line"], target["end_line"]) if "start_line" in target else None,
                )
                for target in query["targets"]
            ),
        )
        for query in content["queries"]
    )
    return Repository(path.stem, content["root"], content["language"], questions)


# ------------------------------------------------------------------ files


def counted_files(folder: Path) -> Iterator[Path]:
    """The files below a folder that count, in a fixed order: no link, none over 1 MB, none of an installed tree."""
    for entry in sorted(folder.iterdir()):
        if entry.is_symlink():
            continue
        if entry.is_dir():
            if entry.name not in LEFT_OUT:
                yield from counted_files(entry)
        elif entry.is_file() and entry.stat().st_size <= MAX_FILE_BYTES:
            yield entry


def lay_out(tree: Path, target: Path) -> int:
    """Copy the files that count, so that every engine is given the same ones and none writes into the tree."""
    if not tree.is_dir():
        raise SystemExit(f"there is no folder {tree}: check the repository out there")
    copied = 0
    for file in counted_files(tree):
        place = target / file.relative_to(tree)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)
        copied += 1
    return copied


# ------------------------------------------------------------------ the metric


def ndcg(ranked: Sequence[Place], targets: Sequence[Target]) -> float:
    """NDCG@10 with binary gains: a target counts once, where it is first met; ideal is all targets on top."""
    ranks = (
        next((rank for rank, place in enumerate(ranked[:TOP]) if target.is_met(place)), None)
        for target in targets
    )
    gain = sum(1 / math.log2(rank + 2) for rank in ranks if rank is not None)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(TOP, len(targets))))


def score_repository(repository: Repository, answers: Mapping[str, Sequence[Place]]) -> dict[str, float]:
    """question id → NDCG@10; a question without an answer scores nothing."""
    return {
        question.id: ndcg(answers.get(question.id, ()), question.targets) for question in repository.questions
    }


@dataclass(frozen=True, slots=True)
class Means:
    """The mean over a repository's questions, or over repositories: all together and by category."""

    overall: float
    by_category: Mapping[str, float]

    def row(self) -> dict[str, float | None]:
        """The cells of a table; None where there is no question of a category."""
        return {"ndcg@10": self.overall, **{name: self.by_category.get(name) for name in CATEGORIES}}


def repository_means(repository: Repository, scores: Mapping[str, float]) -> Means:
    """The means of one repository."""
    found: dict[str, list[float]] = {}
    for question in repository.questions:
        found.setdefault(question.category, []).append(scores[question.id])
    return Means(fmean(scores.values()), {category: fmean(values) for category, values in found.items()})


def mean_of(means: Sequence[Means]) -> Means:
    """The mean over repositories, each counting alike; a category over those that ask it."""
    by_category = {
        category: fmean(one.by_category[category] for one in means if category in one.by_category)
        for category in CATEGORIES
        if any(category in one.by_category for one in means)
    }
    return Means(fmean(one.overall for one in means), by_category)
