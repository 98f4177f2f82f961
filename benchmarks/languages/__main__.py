"""How good are the answers in other languages, and from one language into another, beside peers in the same run?

    python -m benchmarks.languages --install             once: the multilingual encoder, a peer
    python -m benchmarks.languages --data FOLDER [--sets a,b] [--systems a,b] [--across] [--questions N] [--dry]

FOLDER holds labelled sets (see `benchmarks.quality`), one a language. Sets whose questions have the same ids are
translations of each other: with `--across` the questions of each are asked over the documents of every other.
`--bar LANGUAGE=LEAST` holds hybrid search to an NDCG@10, `--bar across=LEAST` the mean over all pairs.
`benchmarks.languages.manuals` asks documents of several languages in one index.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report import Report, cpu_s, say  # first: it holds numpy to one core

import numpy as np  # isort: skip

from benchmarks.languages.encoder import VENV, install  # isort: skip
from benchmarks.languages.systems import System, choose_systems  # isort: skip
from benchmarks.quality import LabelledSet, Scores, interval, load_set, rank_metrics  # isort: skip

MAIN = "hybrid"
"""The system that bars are for, and that others are compared with."""


@dataclass(frozen=True)
class Translated:
    """A labelled set and its language."""

    language: str
    data: LabelledSet

    def is_translation_of(self, other: Translated) -> bool:
        """Whether most questions of both have the same ids."""
        ours, theirs = ({query["id"] for query in part.data.queries} for part in (self, other))
        return len(ours & theirs) > len(ours | theirs) / 2


def load_sets(folder: Path, wanted: set[str]) -> list[Translated]:
    """The sets of a folder, by language: of `meta.json`, or else of the end of the name (`xquad_de`)."""
    found = []
    for path in sorted(folder.glob("*/queries.jsonl")):
        meta = path.with_name("meta.json")
        about: dict[str, Any] = json.loads(meta.read_text("utf-8")) if meta.exists() else {}
        language = about.get("language") or path.parent.name.rpartition("_")[2]
        if not wanted or wanted & {path.parent.name, language}:
            found.append(Translated(language, load_set(path.parent)))
    if not found:
        raise SystemExit(f"{folder} holds no labelled set (a folder with queries.jsonl) that is wanted")
    return found


def ask(system: System, questions: LabelledSet, relevant: dict[str, set[str]], most: int) -> Scores:
    """Metrics of a system over some questions, at most so many, evenly spread."""
    asked = [query for query in questions.queries if query["id"] in relevant]
    step = max(len(asked) // most, 1) if most else 1
    rows = [rank_metrics(system.rank(query["text"])[:10], relevant[query["id"]]) for query in asked[::step]]
    firsts = [row["mrr@3"] == 1.0 for row in rows]
    names = rows[0]
    return {
        **{name: np.array([row[name] for row in rows]) for name in names},
        "first": np.array(firsts, np.float64),
    }


def ask_all(
    system: System, documents: Translated, sets: list[Translated], most: int, *, across: bool
) -> dict[str, Scores]:
    """What a system finds among the documents of one language, by the language of the questions."""
    system.index(documents.data)
    return {
        asked.language: ask(system, asked.data, documents.data.relevant, most)
        for asked in sets
        if asked is documents or (across and asked.is_translation_of(documents))
    }


def compare(name: str, scores: Scores, main: Scores | None) -> dict[str, Any]:
    """A row: means, and how far the NDCG@10 lies from that of the main system."""
    row: dict[str, Any] = {"system": name}
    row.update({metric: round(float(scores[metric].mean()), 4) for metric in ("ndcg@10", "first", "recall@5")})
    low, high = (0.0, 0.0) if main is None else interval(scores["ndcg@10"], main["ndcg@10"])
    row["less hybrid"] = "" if main is None else f"[{low:+.3f} {high:+.3f}]"
    return row


def report_same(report: Report, found: dict[tuple[str, str, str], Scores], bars: dict[str, float]) -> None:
    """A table a language: its questions over its documents."""
    for language in dict.fromkeys(documents for _, asked, documents in found if asked == documents):
        rows = {name: scores for (name, *pair), scores in found.items() if pair == [language, language]}
        main = rows.get(MAIN)
        report.add_table(
            f"{language} → {language}", [compare(name, scores, main) for name, scores in rows.items()]
        )
        if main is not None:
            report.add(f"{language} NDCG@10", float(main["ndcg@10"].mean()), "", at_least=bars.get(language))


def report_across(report: Report, found: dict[tuple[str, str, str], Scores], bars: dict[str, float]) -> None:
    """A row for each pair of languages, a column for each system."""
    pairs = sorted({(asked, documents) for _, asked, documents in found if asked != documents})
    names = list(dict.fromkeys(name for name, *_ in found))
    means = {key: float(scores["ndcg@10"].mean()) for key, scores in found.items()}
    table = [
        {"across, NDCG@10": f"{asked} → {documents}"}
        | {name: round(means[name, asked, documents], 4) for name in names}
        for asked, documents in pairs
    ]
    if not table:
        return
    average = {name: round(sum(float(row[name]) for row in table) / len(table), 4) for name in names}
    report.add_table("across languages", [*table, {"across, NDCG@10": "mean", **average}])
    if MAIN in average:
        report.add("across NDCG@10", average[MAIN], "", at_least=bars.get("across"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of labelled sets, one a language")
    parser.add_argument("--install", action="store_true", help="get the multilingual encoder, a peer, and stop")
    parser.add_argument("--sets", default="", help="names or languages, separated by commas; all by default")
    parser.add_argument("--systems", default="", help="names, separated by commas; all by default")
    parser.add_argument("--across", action="store_true", help="ask from every language into every other")
    parser.add_argument(
        "--questions", type=int, default=0, help="questions of a set, evenly spread; all by default"
    )
    parser.add_argument("--setting", action="append", default=[], help="NAME=VALUE of the configuration")
    parser.add_argument("--bar", action="append", default=[], help="LANGUAGE=LEAST or across=LEAST")
    parser.add_argument("--dry", action="store_true", help="do not keep the results")
    arguments = parser.parse_args()
    if arguments.install:
        install(VENV)
        return
    if arguments.data is None:
        parser.error("name a folder of labelled sets with --data")
    sets = load_sets(arguments.data, set(filter(None, arguments.sets.split(","))))
    settings = dict(setting.split("=", 1) for setting in arguments.setting)
    bars = {name: float(least) for name, least in (bar.split("=", 1) for bar in arguments.bar)}
    systems = choose_systems(list(filter(None, arguments.systems.split(","))))
    name = "languages-across" if arguments.across else "languages"
    report = Report(name, {"settings": settings, "questions": arguments.questions, "bars": bars})
    found: dict[tuple[str, str, str], Scores] = {}
    for name, made in systems.items():
        system, began = made(settings), cpu_s()
        for documents in sets:
            answers = ask_all(system, documents, sets, arguments.questions, across=arguments.across)
            found.update(((name, asked, documents.language), scores) for asked, scores in answers.items())
        system.close()
        say(f"{name}: {cpu_s() - began:.0f} s of CPU")
    report_same(report, found, bars)
    report_across(report, found, bars)
    if not arguments.dry:
        report.keep()
    if report.failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
