"""How much should meaning weigh against words, for each type of query? The model's own trust beside the shares of K6.

    python -m benchmarks.shares --repos FOLDER --only owner+name,… [--sample 60] [--dry]

Commit subjects are asked of the newest tree of each repository: code is judged by the source files a commit changed,
prose by its pages of documentation, each among its kind only. `own` is the engine as it ships; a trust of 1 weighs
meaning 30, 60 and 85 % for exact, mixed and semantic queries; the others are in between.
"""

from __future__ import annotations

import argparse
import math
import random
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.issues import MOST_CHANGED, _git, counts, git_directory, lay_out
from benchmarks.report import Report, say

import outcrop  # isort: skip
from outcrop.rank.fusion import dense_weight  # isort: skip
from outcrop.records import QueryType, Trust  # isort: skip
from outcrop.search.query import read_query  # isort: skip

PROMISED = 1.0
TRUSTS = (0.0, 0.02, 0.1, 0.3, PROMISED)
PAGES = (".rst", ".md")
LEAST_WORDS = 3
MOST_READ = 3000
"""Commits that are looked at, the newest first."""


def read_subjects(git: Path) -> list[tuple[str, frozenset[str], frozenset[str]]]:
    """(subject, source files changed, pages changed) of commits that changed few files, all still there."""
    now = set(_git(git, "ls-tree", "-r", "--name-only", "HEAD").decode("utf-8", "replace").splitlines())
    arguments = ("log", "--no-merges", f"-{MOST_READ}", "--name-only", "--format=%x01%s")
    log = _git(git, *arguments).decode("utf-8", "replace")
    found = []
    for entry in log.split("\x01")[1:]:
        subject, *names = entry.strip().splitlines()
        changed = {name for name in names if name in now}
        if len(subject.split()) < LEAST_WORDS or not 0 < len(changed) <= MOST_CHANGED:
            continue
        source = frozenset(name for name in changed if counts(name) and not name.endswith(PAGES))
        pages = frozenset(name for name in changed if name.endswith(PAGES) and "change" not in name.lower())
        found.append((subject, source, pages))
    return found


def ndcg(found: Sequence[str], gold: frozenset[str]) -> float:
    """NDCG@10 of files."""
    gains = sum(1 / math.log2(place + 2) for place, path in enumerate(found[:10]) if path in gold)
    return gains / sum(1 / math.log2(place + 2) for place in range(min(len(gold), 10)))


def ask(engine: outcrop.Engine, subject: str, paths: Sequence[str], trust: float | None) -> list[str]:
    """The files of an answer, best first; with the model's own trust where none is given."""
    balance = None
    if trust is not None:
        balance = dense_weight(read_query(subject).kind, trust)
    hits = engine.search(subject, limit=40, paths=paths, balance=balance).hits
    return list(dict.fromkeys(hit.document.path for hit in hits))


Scores = dict[tuple[str, str, str], list[float]]
"""(what is judged, type of query, setting) → NDCG@10 of each question."""


def judge(git: Path, sample: int, scores: Scores) -> None:
    """Ask the subjects of one repository."""
    subjects = read_subjects(git)
    random.Random(9).shuffle(subjects)
    with tempfile.TemporaryDirectory() as place:
        tree = Path(place) / "tree"
        tree.mkdir()
        lay_out(git, "HEAD", tree)
        names = [str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()]
        suffixes = {Path(name).suffix for name in names if counts(name)} - {"", *PAGES}
        with outcrop.open(Path(place) / "index.db") as engine:
            engine.add(tree)
            kinds = {
                "code": ([f"**/*{suffix}" for suffix in sorted(suffixes)], 0),
                "prose": ([f"**/*{suffix}" for suffix in PAGES], 1),
            }
            for what, (paths, column) in kinds.items():
                asked = [(subject, (source, pages)[column]) for subject, source, pages in subjects]
                for subject, gold in [item for item in asked if item[1]][:sample]:
                    kind: QueryType = read_query(subject).kind
                    for trust in (None, *TRUSTS):
                        key = (what, kind, "own" if trust is None else f"{trust:g}")
                        scores[key].append(ndcg(ask(engine, subject, paths, trust), gold))


def table(scores: Mapping[tuple[str, str, str], list[float]], own: Trust) -> list[dict[str, object]]:
    """A row for each kind of text and type of query: the share of meaning now, and NDCG@10 at every trust."""
    rows: list[dict[str, object]] = []
    for what, kind in sorted({key[:2] for key in scores}):
        trust = own.code if what == "code" else own.prose
        row: dict[str, object] = {
            "judged": what,
            "type": kind,
            "questions": len(scores[what, kind, "own"]),
            "share": round(dense_weight(kind, trust), 3),  # type: ignore[arg-type]
        }
        row |= {
            f"trust {t}": round(fmean(scores[what, kind, t]), 4) for t in ("own", *map("{:g}".format, TRUSTS))
        }
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, required=True, help="folder of git directories")
    parser.add_argument("--only", required=True, help="names of repositories, separated by commas")
    parser.add_argument("--sample", type=int, default=60, help="questions of each repository and kind")
    parser.add_argument("--dry", action="store_true", help="do not keep the results")
    options = parser.parse_args()
    scores: Scores = defaultdict(list)
    for name in options.only.split(","):
        say(name)
        judge(git_directory(options.repos, name), options.sample, scores)
    from outcrop.embed.static import StaticEmbedder

    report = Report("shares", {"only": options.only, "sample": options.sample})
    report.add_table("NDCG@10 by how far the model is trusted", table(scores, StaticEmbedder().trust))
    if not options.dry:
        report.keep()


if __name__ == "__main__":
    main()
