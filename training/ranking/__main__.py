"""Learns what the engine's signals are worth, and what the score of a hit in code says.

    python -m training.ranking --repos FOLDER [--only owner+name,…] [--pages FOLDER …] [--sets FOLDER …]
        --into FOLDER [--passages]

The folder of repositories holds clones with their history, named `owner+name`; without `--only` those are used that
`repositories.txt` lists. `--into` gets `trees`, `questions` and `cases` of each source, which are not made again where
there are cases, and `weights.json` for src/outcrop/rank. The constants of chance.py are printed. Labelled `--sets` of
prose teach what the score of a hit in prose says; without them that stays as it is. With `--passages` it
also gets `passages`, which a reranker learns from (`training.gpu.lists`).
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import outcrop
from outcrop.rank.signals import learnt_weights
from training.ranking.answers import fit_answers, read_lists, record_lists, split_lists, tell_lists, write_lists
from training.ranking.columns import record
from training.ranking.fit import PRIOR, Weights, fit_weights, hand_set, score_by
from training.ranking.hits import fit_hits, record_sets, tell_sets
from training.ranking.judge import CHANCE, fit_chance, measure, measure_error, split_cases
from training.ranking.pages import make_page_questions
from training.ranking.passages import SUFFIX, write_passages
from training.ranking.questions import make_questions
from training.ranking.records import TYPES, Asked, Case, read_cases, write_cases, write_questions
from training.ranking.trees import find_git

ABOUT: Final = (
    "What each column of rank/signals.py is worth for each type of query; made by python -m training.ranking"
)
STRANGE: Final = 30
"""Questions about something else that an index is asked."""
LISTED: Final = Path(__file__).parent / "repositories.txt"


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def list_repositories(folder: Path) -> list[str]:
    """The listed ones that are there, as folders are named."""
    lines = LISTED.read_text("utf-8").splitlines()
    names = [line.strip().replace("/", "+") for line in lines if line.strip() and not line.startswith("#")]
    return [name for name in names if (folder / name).exists() or (folder / f"{name}.git").exists()]


def prepare(name: str, source: Path, into: Path, *, pages: bool, passages: bool = False) -> list[Case]:
    """The cases of one source; its questions and its index are made where there are none."""
    cases, lists = into / "cases" / f"{name}.npz", into / "lists" / f"{name}.jsonl"
    shown = into / "passages" / f"{name}{SUFFIX}"
    if cases.exists() and lists.exists() and (shown.exists() or not passages):
        return read_cases(cases)
    tree = into / "trees" / name
    shutil.rmtree(tree, ignore_errors=True)
    for folder in (tree, into / "questions", into / "cases", into / "lists"):
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, outcrop.open(Path(place) / "index.db") as engine:
        if pages:
            texts, asked = make_page_questions(source)
            engine.add_texts(texts)
        else:
            asked = make_questions(find_git(source, name), name, tree)
            engine.add(tree)
        found = record(engine, name, asked)
        typed = [one for one in asked if one.kind != "topic"]  # whose heading stands in the documentation
        write_lists(record_lists(engine, name, typed, draw_strange(into / "questions", name)), lists)
        if passages:
            write_passages(engine, asked, shown)
    write_questions(asked, into / "questions" / f"{name}.jsonl")
    write_cases(found, cases)
    kinds = Counter(case.kind for case in found)
    say(f"{name}: " + ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())))
    return found


def draw_strange(folder: Path, name: str) -> list[Asked]:
    """Questions about other sources, of those that are already made; a name may well be in several."""
    others = [path for path in sorted(folder.glob("*.jsonl")) if path.stem != name]
    lines = [line for path in others for line in path.read_text("utf-8").splitlines()]
    asked = [Asked(one["kind"], one["text"], ()) for one in map(json.loads, lines) if one["kind"] != "name"]
    return random.Random(name).sample(asked, min(STRANGE, len(asked)))


def tell_table(cases: Sequence[Case], learnt: Weights) -> list[str]:
    """NDCG@10 of files and right passages among five, by kind of question: legs alone, set by hand, learnt."""
    scores = (lambda case: case.fused, score_by(hand_set()), score_by(learnt))
    tables = [measure(cases, score) for score in scores]
    counts = Counter(case.kind for case in cases)
    lines = [f"{'held out':12}{'count':>6}" + "".join(f"{name:>16}" for name in ("legs", "by hand", "learnt"))]
    for kind in tables[0]:
        cells = (
            f"{gain:.3f}" + ("" if math.isnan(among) else f" / {among:.3f}")
            for gain, among in (table[kind] for table in tables)
        )
        lines.append(f"{kind:12}{counts[kind]:6}" + "".join(f"{cell:>16}" for cell in cells))
    return lines


def write_weights(
    weights: Weights, prose: Mapping[str, float], answer: Mapping[str, float], questions: int, path: Path
) -> None:
    """As the engine reads them."""
    columns = {
        name: {kind: round(float(weights[kind][place]), 4) for kind in TYPES}
        for place, name in enumerate(PRIOR)
    }
    of_prose, of_answer = (
        {name: round(value, 4) for name, value in worth.items()} for worth in (prose, answer)
    )
    kept = {"about": ABOUT, "questions": questions, "columns": columns, "prose": of_prose, "answer": of_answer}
    path.write_text(json.dumps(kept, indent=1), "utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Make what is missing, learn, judge; 1 when there is nothing to learn from."""
    parser = argparse.ArgumentParser(
        prog="python -m training.ranking",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--only", default="", help="owner+name,… instead of what is listed")
    parser.add_argument("--pages", type=Path, nargs="*", default=[], help="folders of HTML pages")
    parser.add_argument(
        "--sets", type=Path, nargs="*", default=[], help="folders of labelled sets (see hits.py)"
    )
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--passages", action="store_true", help="also write what a reranker would be shown")
    options = parser.parse_args(arguments)
    names = [name for name in options.only.split(",") if name] or list_repositories(options.repos)
    sources = [(name, options.repos, False) for name in names]
    sources += [(f"pages-{folder.resolve().name}", folder.resolve(), True) for folder in options.pages]
    cases = [
        case
        for name, source, is_pages in sources
        for case in prepare(name, source, options.into, pages=is_pages, passages=options.passages)
    ]
    if not cases:
        sys.stderr.write(
            f"no questions: {options.repos} holds none of the repositories, or they have no history\n"
        )
        return 1
    learn_from, judges = split_cases(cases)
    learnt = fit_weights(learn_from)
    for line in tell_table(judges, learnt):
        say(line)
    error = measure_error(judges, learnt, fit_chance(learn_from, learnt))
    say(f"expected calibration error of hits in code, held out: {error:.3f}")
    weights = fit_weights(cases)
    answered = sum(bool(case.right_file.any()) for case in cases)
    lists = [one for name, *_ in sources for one in read_lists(options.into / "lists" / f"{name}.jsonl")]
    for line in tell_lists(split_lists(lists)[1], fit_answers(split_lists(lists)[0])):
        say(f"held out, {line}")
    hits = record_sets(options.sets)
    for line in tell_sets(hits):
        say(f"held out, {line}")
    prose = fit_hits(hits) if hits else learnt_weights().prose
    write_weights(weights, prose, fit_answers(lists), answered, options.into / "weights.json")
    for name, value in zip(CHANCE, fit_chance(cases, weights), strict=True):
        say(f"{name} {value:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
