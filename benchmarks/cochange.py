"""Do files that used to change together, or that changed lately, help to find what a change is about?

    python -m benchmarks.cochange --repos FOLDER --choose a+b,c+d --judge e+f,g+h [--sample N] [--dry]

`--repos` holds git directories, as for benchmarks.issues. Of each repository the latest commits are questions: their
messages, for which the files that they changed should be found in the tree before all of them. What changed together,
and when, is counted in the commits before that tree, never in those that are asked. The ten files that a search finds
first are taken as they are, and with evidence added to their scores:

`together` adds to a file, for each of the three files found first, the share of that file's commits that changed both;
files that the search did not find can come in. `lately` adds e^(-age), the age in commits since the file last changed
over the number of files. Each has one weight, which is chosen on the repositories of `--choose`; what it brings is told
for those of `--judge`, with intervals over commits.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import numpy as np

from benchmarks.issues import HITS, MAX_CHANGED, MIN_WORDS, counts, git_directory, lay_out, run_git
from benchmarks.report import Report, say

import outcrop  # isort: skip

LEADERS: Final = 3
TOP: Final = 10
PRIOR: Final = 2
"""Commits that a file is given in which it changed alone: one shared commit of two proves little."""
WEIGHTS: Final = (0.05, 0.1, 0.2, 0.4, 0.8)
MOST_FILES: Final = 20
"""A commit that changes more says nothing of any two of them."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What a commit says and which files it changes."""

    id: str
    parent: str
    text: str
    files: frozenset[str]


@dataclass
class Past:
    """What the commits before a tree tell."""

    seen: Counter[str] = field(default_factory=Counter)
    both: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    last: dict[str, int] = field(default_factory=dict)

    @classmethod
    def count(cls, commits: Sequence[Commit]) -> Past:
        """From commits, the latest first."""
        past = cls()
        for age, commit in enumerate(commits):
            for one in commit.files:
                past.last.setdefault(one, age)
            if len(commit.files) > MOST_FILES:
                continue
            for one in commit.files:
                past.seen[one] += 1
                past.both[one].update(other for other in commit.files if other != one)
        return past

    def together(self, scores: Mapping[str, float]) -> dict[str, float]:
        """What each file gets for those found first."""
        found: defaultdict[str, float] = defaultdict(float)
        for leader in sorted(scores, key=lambda name: -scores[name])[:LEADERS]:
            for other, shared in self.both[leader].items():
                share = shared / (self.seen[leader] + PRIOR)
                found[other] = max(found[other], scores[leader] * share)
        return dict(found)

    def lately(self, scores: Mapping[str, float]) -> dict[str, float]:
        """What each file that was found gets for having changed lately."""
        size = max(1, len(self.last))
        return {name: math.exp(-self.last[name] / size) for name in scores if name in self.last}


def read_commits(git: Path) -> list[Commit]:
    """The commits of a repository that are no merges, the latest first."""
    log = run_git(git, "log", "--no-merges", "--no-renames", "--name-only", "--format=%x01%H%x00%P%x00%B%x00")
    found = []
    for entry in log.decode("utf-8", "replace").split("\x01")[1:]:
        commit, parent, text, names = entry.split("\x00", 3)
        files = frozenset(name for name in names.split("\n") if name and counts(name))
        found.append(Commit(commit, parent, text.strip(), files))
    return found


def split(commits: Sequence[Commit], sample: int) -> tuple[list[Commit], list[Commit]]:
    """The latest commits that can be asked, and all that are older than the oldest of them."""
    asked: list[Commit] = []
    for at, commit in enumerate(commits):
        if commit.parent and len(commit.text.split()) >= MIN_WORDS and 1 < len(commit.files) <= MAX_CHANGED:
            asked.append(commit)
        if len(asked) == sample:
            return asked, list(commits[at + 1 :])
    return asked, []


@dataclass(frozen=True, slots=True)
class Asked:
    """A commit that was asked: what the search found, what the past adds, and the files it changed."""

    scores: Mapping[str, float]
    added: Mapping[str, Mapping[str, float]]
    files: frozenset[str]

    def recall(self, evidence: str, weight: float) -> float:
        """The share of its files among the first ten."""
        added = self.added[evidence] if weight else {}
        names = dict.fromkeys([*self.scores, *added])  # of equal scores the search's own order stays
        order = sorted(names, key=lambda name: -(self.scores.get(name, 0.0) + weight * added.get(name, 0.0)))
        return len(self.files.intersection(order[:TOP])) / len(self.files)


def ask(git: Path, sample: int) -> Iterator[Asked]:
    """The latest commits of a repository, asked of the tree before them."""
    asked, before = split(read_commits(git), sample)
    if not before:
        return
    past = Past.count(before)
    with tempfile.TemporaryDirectory() as place, outcrop.open(Path(place) / "index.db") as engine:
        folder = Path(place) / "tree"
        folder.mkdir()
        lay_out(git, before[0].id, folder)
        engine.add(folder)
        there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
        for commit in asked:
            files = commit.files & there
            if not files:
                continue
            scores: dict[str, float] = {}
            for hit in engine.search(commit.text, limit=HITS).hits:
                if counts(hit.document.path):
                    scores.setdefault(hit.document.path, hit.score)
            added = {"together": past.together(scores), "lately": past.lately(scores)}
            yield Asked(scores, {name: _only(there, found) for name, found in added.items()}, files)


def _only(there: set[str], found: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in found.items() if name in there}


def choose(asked: Sequence[Asked], evidence: str) -> float:
    """The weight that finds most."""
    return max((0.0, *WEIGHTS), key=lambda weight: fmean(one.recall(evidence, weight) for one in asked))


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """Where 95 % of means of such a sample lie."""
    values, random = np.asarray(differences), np.random.default_rng(7)
    means = random.choice(values, (2000, len(values))).mean(axis=1)
    return float(np.percentile(means, 2.5)), float(np.percentile(means, 97.5))


def main() -> None:
    """Choose, judge, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, required=True, help="folder of git directories")
    parser.add_argument("--choose", required=True, help="repositories the weights are chosen on, with commas")
    parser.add_argument("--judge", required=True, help="repositories that judge, with commas")
    parser.add_argument("--sample", type=int, default=40, help="commits that are asked of each")
    parser.add_argument("--dry", action="store_true", help="do not keep the results")
    given = parser.parse_args()
    groups = {name: getattr(given, name).split(",") for name in ("choose", "judge")}
    report = Report("cochange", {**groups, "sample": given.sample})
    asked: dict[str, list[Asked]] = {}
    for group, names in groups.items():
        asked[group] = []
        for name in names:
            found = list(ask(git_directory(given.repos, name), given.sample))
            say(f"{name}: {len(found)} commits")
            asked[group] += found
    rows: list[dict[str, Any]] = []
    for evidence in ("together", "lately"):
        weight = choose(asked["choose"], evidence)
        for group, every in asked.items():
            plain = [one.recall(evidence, 0.0) for one in every]
            helped = [one.recall(evidence, weight) for one in every]
            low, high = interval([after - before for after, before in zip(helped, plain, strict=True)])
            rows.append(
                {
                    "evidence": evidence,
                    "weight": weight,
                    "repositories": group,
                    "commits": len(every),
                    "recall@10": round(fmean(plain), 3),
                    "with it": round(fmean(helped), 3),
                    "95 % of the difference": f"{low:+.3f} to {high:+.3f}",
                }
            )
    report.add_table("share of the changed files among the first ten", rows)
    if not given.dry:
        report.keep()


if __name__ == "__main__":
    main()
