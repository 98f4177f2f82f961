"""How much should meaning weigh against words? NDCG@10 at every trust in the model, beside the trust that ships.

    python -m benchmarks.shares --repos FOLDER --only owner+name,… [--judge code,pages,sections] [--sample 60] [--dry]

`code` and `pages` ask commit subjects of the newest tree: what a commit changed should be found, source files among the
source files, pages among the pages. `sections` asks headings of the sections below them, which are added without any
heading. `own` is the engine as it ships; a trust of 1 weighs meaning 30, 60 and 85 % for exact, mixed and semantic
queries. Each trust is compared with `own` question by question: the mean difference and its 95 % interval, drawn anew
within each repository. A model knows the packages it was trained on (`training/collect/packages`): name others.
"""

from __future__ import annotations

import argparse
import io
import math
import random
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from benchmarks.code.__main__ import interval  # first of all: it holds numpy to one core
from benchmarks.issues import MAX_CHANGED, MAX_FILE_BYTES, counts, git_directory, run_git
from benchmarks.report import Report, say
from benchmarks.sections import PAGES, asked_of, read_sections

import outcrop  # isort: skip
from outcrop.rank.fusion import dense_weight  # isort: skip
from outcrop.records import QueryType, Text  # isort: skip
from outcrop.index.query import read_query  # isort: skip

TRUSTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
OWN = "own"
SETTINGS = (OWN, *map("{:g}".format, TRUSTS))
JUDGED = ("code", "pages", "sections")
MIN_WORDS = 3
MAX_READ = 3000
"""Commits that are looked at, the newest first."""

Ask = Callable[[str, float | None], list[str]]
"""(question, share of meaning if it is not the engine's own) → what was found, best first."""


@dataclass(frozen=True, slots=True)
class Question:
    """A text that was asked, and NDCG@10 of its answer at every setting."""

    judged: str
    repository: str
    text: str
    kind: QueryType
    scores: dict[str, float]


def read_subjects(git: Path) -> list[tuple[str, frozenset[str], frozenset[str]]]:
    """(subject, source files changed, pages changed) of commits that changed few files, all still there."""
    now = set(run_git(git, "ls-tree", "-r", "--name-only", "HEAD").decode("utf-8", "replace").splitlines())
    arguments = ("log", "--no-merges", "--no-renames", f"-{MAX_READ}", "--name-only", "--format=%x01%s")
    log = run_git(git, *arguments).decode("utf-8", "replace")
    found = []
    for entry in log.split("\x01")[1:]:
        subject, *names = entry.strip().splitlines() or [""]
        changed = {name for name in names if name in now}
        if len(subject.split()) < MIN_WORDS or not 0 < len(changed) <= MAX_CHANGED:
            continue
        source = frozenset(name for name in changed if counts(name) and not name.endswith(PAGES))
        pages = frozenset(name for name in changed if name.endswith(PAGES) and "change" not in name.lower())
        found.append((subject, source, pages))
    return found


def ndcg(found: Sequence[str], gold: Collection[str]) -> float:
    """NDCG@10 of files."""
    gains = sum(1 / math.log2(place + 2) for place, path in enumerate(found[:10]) if path in gold)
    return gains / sum(1 / math.log2(place + 2) for place in range(min(len(gold), 10)))


def score(judged: str, repository: str, text: str, gold: Collection[str], ask: Ask) -> Question:
    """Ask one question at every setting."""
    kind = read_query(text).kind
    balances = (None, *(dense_weight(kind, trust) for trust in TRUSTS))
    scores = {name: ndcg(ask(text, at), gold) for name, at in zip(SETTINGS, balances, strict=True)}
    return Question(judged, repository, text, kind, scores)


def judge_subjects(name: str, git: Path, tree: Path, judged: Collection[str], most: int) -> Iterator[Question]:
    """Commit subjects, asked of the tree."""
    subjects = read_subjects(git)
    random.Random(9).shuffle(subjects)
    suffixes = {
        path.suffix for path in tree.rglob("*") if path.is_file() and counts(str(path.relative_to(tree)))
    }
    kinds = {"code": sorted(suffixes - {"", *PAGES}), "pages": PAGES}
    with outcrop.open(tree.parent / "tree.db") as engine:
        engine.add(tree)
        for column, (what, ends) in enumerate(kinds.items()):
            paths = [f"**/*{end}" for end in ends]

            def ask(text: str, balance: float | None, paths: list[str] = paths) -> list[str]:
                hits = engine.search(text, limit=40, paths=paths, balance=balance).hits
                return list(dict.fromkeys(hit.document.path for hit in hits))

            asked = [(subject, gold[column]) for subject, *gold in subjects if gold[column] and what in judged]
            for subject, gold in asked[:most]:
                yield score(what, name, subject, gold, ask)


def judge_sections(name: str, tree: Path, most: int) -> Iterator[Question]:
    """Headings, asked of the sections they stood above."""
    sections = read_sections(tree)
    asked = asked_of(sections)
    random.Random(9).shuffle(asked)
    with outcrop.open(tree.parent / "sections.db") as engine:
        engine.add_texts(Text(section.body, id=f"{place}.md") for place, section in enumerate(sections))

        def ask(text: str, balance: float | None) -> list[str]:
            hits = engine.search(text, limit=40, balance=balance).hits
            return list(dict.fromkeys(hit.document.uri for hit in hits))

        for place in asked[:most]:
            yield score("sections", name, sections[place].heading, {f"{place}.md"}, ask)


def lay_out_newest(git: Path, folder: Path) -> None:
    """Write the files of the newest commit, without those a partial copy of a repository lacks (`git archive` would
    refuse) and without large ones."""
    listing = run_git(git, "ls-tree", "-r", "-z", "HEAD").decode("utf-8", "surrogateescape")
    files = [entry.partition("\t") for entry in listing.split("\0") if entry.startswith("100")]
    ids = [meta.split()[2] for meta, _, _ in files]
    sizes = dict(
        line.split() for line in _ask_git(git, "--batch-check=%(objectname) %(objectsize)", ids).splitlines()
    )
    small = {blob for blob, size in sizes.items() if size != b"missing" and int(size) <= MAX_FILE_BYTES}
    wanted = [(blob, path) for blob, (_, _, path) in zip(ids, files, strict=True) if blob.encode() in small]
    stream = io.BytesIO(_ask_git(git, "--batch=%(objectsize)", [blob for blob, _ in wanted]))
    for _, path in wanted:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(stream.read(int(stream.readline())))
        stream.readline()


def _ask_git(git: Path, how: str, ids: Sequence[str]) -> bytes:
    return run_git(git, "cat-file", how, given="".join(f"{blob}\n" for blob in ids).encode())


def judge(name: str, git: Path, judged: Collection[str], most: int) -> Iterator[Question]:
    """All questions of one repository."""
    with tempfile.TemporaryDirectory() as place:
        tree = Path(place) / "tree"
        tree.mkdir()
        lay_out_newest(git, tree)
        if {"code", "pages"} & set(judged):
            yield from judge_subjects(name, git, tree, judged, most)
        if "sections" in judged:
            yield from judge_sections(name, tree, most)


def by_repository(questions: Sequence[Question], setting: str) -> dict[str, dict[str, float]]:
    """repository → question → NDCG@10."""
    found: dict[str, dict[str, float]] = {}
    for number, question in enumerate(questions):
        found.setdefault(question.repository, {})[str(number)] = question.scores[setting]
    return found


def sweep(questions: Sequence[Question]) -> list[dict[str, object]]:
    """A row for each thing judged and each setting: the mean over repositories, and what it gains on `own`."""
    rows: list[dict[str, object]] = []
    for what in dict.fromkeys(question.judged for question in questions):
        asked = [question for question in questions if question.judged == what]
        own = by_repository(asked, OWN)
        for setting in SETTINGS:
            ours = by_repository(asked, setting)
            gain, low, high = interval(ours, own)
            mean = fmean(fmean(scores.values()) for scores in ours.values())
            rows.append(
                {
                    "judged": what,
                    "questions": len(asked),
                    "trust": setting,
                    "ndcg@10": round(mean, 4),
                    "− own": round(gain, 4),
                    "95 %": f"{low:+.3f} {high:+.3f}",
                }
            )
    return rows


def by_type(questions: Sequence[Question]) -> list[dict[str, object]]:
    """A row for each thing judged and each type of query: NDCG@10 at every setting, over all questions."""
    rows: list[dict[str, object]] = []
    for what, kind in sorted({(question.judged, question.kind) for question in questions}):
        asked = [question.scores for question in questions if (question.judged, question.kind) == (what, kind)]
        row: dict[str, object] = {"judged": what, "type": kind, "questions": len(asked)}
        rows.append(row | {setting: round(fmean(s[setting] for s in asked), 4) for setting in SETTINGS})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, required=True, help="folder of git directories")
    parser.add_argument("--only", required=True, help="names of repositories, separated by commas")
    parser.add_argument("--judge", default=",".join(JUDGED), help="what is judged, separated by commas")
    parser.add_argument("--sample", type=int, default=60, help="questions of each repository and kind")
    parser.add_argument("--dry", action="store_true", help="do not keep the results")
    options = parser.parse_args()
    judged = options.judge.split(",")
    if unknown := set(judged) - set(JUDGED):
        parser.error(f"--judge takes {', '.join(JUDGED)}, not {', '.join(sorted(unknown))}")
    questions: list[Question] = []
    for name in options.only.split(","):
        questions += judge(name, git_directory(options.repos, name), judged, options.sample)
        say(f"{name}: {len(questions)} questions so far")
    report = Report("shares", {"only": options.only, "judge": options.judge, "sample": options.sample})
    report.add_table("NDCG@10 by how far the model is trusted", sweep(questions))
    report.add_table("By type of query", by_type(questions))
    if not options.dry:
        report.keep()


if __name__ == "__main__":
    main()
