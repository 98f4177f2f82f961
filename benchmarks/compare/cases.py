"""What is indexed and asked in the comparison: labelled sets, labelled repositories, and this project's own files."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.code.set import Question, Repository, Target, lay_out, load_repositories
from benchmarks.compare.known import lay_out_own
from benchmarks.peers.quality import lay_out_labelled, read_labels
from benchmarks.report import say

Course = Literal["text", "code", "mixed"]
SEED = 11
SETS, LARGE_SET = "labelled sets", "largest labelled set"
REPOSITORIES, ONE_INDEX = "repositories", "repositories, one index"
OWN = "own files"


@dataclass(frozen=True, slots=True)
class Job:
    """A folder of files and the questions asked of it. Paths of targets are those below the folder."""

    name: str
    folder: Path
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Jobs that one process of an engine does, one after the other.

    `scored` says whether a hit is a file (each counts once, where it first stands) or a place in one; `timed` whether
    the group is there for time, memory and size: it is one index then.
    """

    name: str
    course: Course
    jobs: tuple[Job, ...]
    scored: Literal["files", "places"]
    timed: bool


def own_group(work: Path, questions: int) -> Group:
    """Our sources and documentation, asked for items whose name was taken out."""
    folder = work / "own"
    return Group(
        OWN, "mixed", (Job("own", folder, tuple(lay_out_own(folder, questions))),), "files", timed=True
    )


def text_groups(
    data: Path, work: Path, questions: int, code: Mapping[str, str], smallest: int | None = None
) -> list[Group]:
    """Every labelled set below a folder, or so many of the smallest; the largest is timed.

    Sets whose gold is spans of characters are left out.
    """
    found = sorted((path.parent for path in data.glob("*/qrels.tsv")), key=_corpus_bytes)
    jobs = []
    for one in sorted(found[:smallest]):
        with (one / "queries.jsonl").open(encoding="utf-8") as lines:
            if "references" in json.loads(next(lines)):
                say(f"{one.name} is left out: its gold is spans of characters")
                continue
        jobs.append((_corpus_bytes(one), _labelled_job(one, work, questions, code)))
    if not jobs:
        raise SystemExit(f"{data} holds no folder with corpus.jsonl, queries.jsonl and qrels.tsv")
    largest = max(jobs, key=lambda sized: sized[0])[1]
    rest = tuple(job for _, job in jobs if job is not largest)
    groups = [Group(SETS, "text", rest, "files", timed=False)] if rest else []
    return [*groups, Group(LARGE_SET, "text", (largest,), "files", timed=True)]


def _corpus_bytes(data: Path) -> int:
    return (data / "corpus.jsonl").stat().st_size


def _labelled_job(data: Path, work: Path, questions: int, code: Mapping[str, str]) -> Job:
    folder = work / "sets" / data.name / "documents"
    asked = lay_out_labelled(data, folder, code.get(data.name, ".md"))
    names: list[str] = json.loads((folder.parent / "names.json").read_text("utf-8"))
    paths = {name: f"{i // 1000:03}/{i:06}{code.get(data.name, '.md')}" for i, name in enumerate(names)}
    labels = read_labels(data)
    made = [
        Question(id_, text, data.name, tuple(Target(paths[name]) for name in labels[id_] if name in paths))
        for id_, text in asked
        if id_ in labels
    ]
    return Job(data.name, folder, _drawn(made, questions))


def code_groups(data: Path, repos: Path, work: Path, questions: int, only: Iterable[str] = ()) -> list[Group]:
    """Every repository by itself with all its questions; all of them in one index, asked some, which is timed."""
    repositories = load_repositories(data, only)
    together, jobs, everything = work / "repositories", [], []
    shutil.rmtree(together, ignore_errors=True)
    for one in repositories:
        folder = together / one.name
        lay_out(repos / one.name / one.root, folder)
        jobs.append(Job(one.name, folder, tuple(_below(one))))
        everything += [_inside(question, one.name) for question in jobs[-1].questions]
    return [
        Group(REPOSITORIES, "code", tuple(jobs), "places", timed=False),
        Group(ONE_INDEX, "code", (Job("all", together, _drawn(everything, questions)),), "places", timed=True),
    ]


def _below(repository: Repository) -> list[Question]:
    """The questions of a repository with targets named from its root."""
    return [
        Question(
            question.id,
            question.text,
            question.category,
            tuple(Target(repository.below_root(target.path), target.lines) for target in question.targets),
        )
        for question in repository.questions
    ]


def _inside(question: Question, name: str) -> Question:
    """A question asked where the repository is one folder of many."""
    targets = tuple(Target(f"{name}/{target.path}", target.lines) for target in question.targets)
    return Question(f"{name}:{question.id}", question.text, question.category, targets)


def _drawn(questions: Sequence[Question], most: int) -> tuple[Question, ...]:
    """At most so many of the questions, drawn by a fixed seed, in their order."""
    kept = set(random.Random(SEED).sample(range(len(questions)), min(most, len(questions))))
    return tuple(question for i, question in enumerate(questions) if i in kept)
