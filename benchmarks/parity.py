"""Does it matter which store an index lies in? The same documents and questions on SQLite and on Postgres.

    python -m benchmarks.parity --data FOLDER [--code NAME=.py] [--repositories FOLDER --repos FOLDER] [--sets a,b]

Labelled sets of documents as in `benchmarks.quality`, of source code as in `benchmarks.code` (`--repositories` has the
questions, `--repos` the trees). For each set: how many of the ten best hits of the one store are among the ten best of
the other, and NDCG@10 on both. A real server is started for it.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.report import Report, say  # first: it holds numpy to one core

import numpy as np  # isort: skip

import outcrop  # isort: skip
from benchmarks.code.__main__ import ask  # isort: skip
from benchmarks.code.set import Repository, lay_out, load_repositories, score_repository  # isort: skip
from benchmarks.quality import LabelledSet, index_set, load_set, score_documents  # isort: skip
from tests.postgres.server import create_server, open_home  # isort: skip

OVERLAP_BAR = 0.95
NDCG_BAR = 0.005


def main() -> None:
    """Compare every set."""
    options = parse()
    report = Report("parity", {"sets": options.sets or "all", "code": bool(options.repositories)})
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, open_home() as home:
        server = create_server(home, "parity", settings={"shared_buffers": "512MB"})
        for number, each in enumerate(sets(options)):
            with (
                outcrop.open(Path(folder) / f"{number}.db") as ours,
                outcrop.open(server.url(f"set_{number}")) as theirs,
            ):
                each.fill(ours)
                each.fill(theirs)
                row: dict[str, Any] = {"set": each.name, "questions": len(each.queries)}
                row |= {**compare(ours, theirs, each.queries), "sqlite": None, "postgres": None}
                if each.score is not None:
                    row |= {"sqlite": each.score(ours), "postgres": each.score(theirs)}
            rows.append(row)
            report.add(f"{each.name} top-10 overlap", row["overlap"], "", at_least=OVERLAP_BAR)
            if each.score is not None:
                apart = abs(row["sqlite"] - row["postgres"])
                report.add(f"{each.name} NDCG@10 apart", apart, "", at_most=NDCG_BAR)
    report.add_table("parity", rows)
    if not options.dry:
        report.keep()
    raise SystemExit(1 if report.failed else 0)


def parse() -> argparse.Namespace:
    """What was typed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", default="")
    parser.add_argument("--code", action="append", default=[], metavar="NAME=.py")
    parser.add_argument("--repositories", type=Path)
    parser.add_argument("--repos", type=Path)
    parser.add_argument("--dry", action="store_true")
    return parser.parse_args()


@dataclass(frozen=True)
class Set:
    """A set by name: how to fill an index with it, its questions, how to score an index by it."""

    name: str
    fill: Callable[[outcrop.Engine], object]
    queries: list[str]
    score: Callable[[outcrop.Engine], float] | None


def sets(options: argparse.Namespace) -> Iterator[Set]:
    """Every set that is asked for."""
    code = dict(item.split("=", 1) for item in options.code)
    wanted = {name for name in options.sets.split(",") if name}
    folders = sorted(path for path in options.data.iterdir() if path.is_dir()) if options.data else []
    for folder in folders:
        if wanted and folder.name not in wanted:
            continue
        say(f"{folder.name} …")
        data = load_set(folder, code.get(folder.name, ""))
        score = None if data.has_spans else partial(score_set, data)
        queries = [query["text"] for query in data.queries]
        yield Set(folder.name, partial(fill_set, data), queries, score)
    for repository in load_repositories(options.repositories) if options.repositories else []:
        if not wanted or repository.name in wanted:
            say(f"{repository.name} …")
            yield from code_sets(repository, options.repos)


def fill_set(data: LabelledSet, kb: outcrop.Engine) -> None:
    """Add the documents of a set."""
    index_set(kb, data)


def score_set(data: LabelledSet, kb: outcrop.Engine) -> float:
    """NDCG@10 of a set."""
    return float(score_documents(kb, data)["ndcg@10"].mean())


def code_sets(repository: Repository, repos: Path) -> Iterator[Set]:
    """The set of one repository, laid out while it is asked for."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / repository.name
        lay_out(repos / repository.name / repository.root, folder)
        yield Set(
            repository.name,
            lambda kb: kb.add(folder),
            [question.text for question in repository.questions],
            lambda kb: float(np.mean(list(score_repository(repository, ask(kb, repository)).values()))),
        )


def compare(ours: outcrop.Engine, theirs: outcrop.Engine, queries: Sequence[str]) -> dict[str, float]:
    """Mean share of the ten best hits that both have, how often the first is the same, how far apart scores are."""
    shares, first, apart = [], [], []
    for query in queries:
        one, other = (places(kb, query) for kb in (ours, theirs))
        if one or other:
            shares.append(len({*one} & {*other}) / max(len(one), len(other)))
            first.append(list(one)[:1] == list(other)[:1])
            apart += [abs(one[place] - other[place]) for place in {*one} & {*other}]
    return {
        "overlap": float(np.mean(shares)),
        "same first": float(np.mean(first)),
        "scores apart": float(np.mean(apart)),
    }


def places(kb: outcrop.Engine, query: str) -> dict[tuple[str, int], float]:
    """The ten best hits by place, with their scores."""
    hits = kb.search(query, limit=10, floor=0.0, merge=False).hits
    return {(hit.document.uri, hit.start): hit.score for hit in hits}


if __name__ == "__main__":
    main()
