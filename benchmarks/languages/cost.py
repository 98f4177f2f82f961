"""What do the rules of other languages cost an index that holds none, and do they change an answer?

    python -m benchmarks.languages.cost --data FOLDER --sets squad_pool,cosqa_dev [--code cosqa_dev=.py] [--dry]

Every set is indexed and asked with the rules and without them, in turn, each in a process of its own. Without them no
passage and no question is told its language, the model has no dictionary, and no question is translated: what the
commit before all of that did, with everything else as it is now. CPU time; of a few rounds the median.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.report import (
    Report,
    cpu_s,
    folder_bytes,
    percentile,
    run_child,
    say,
)  # first: one core for numpy

import numpy as np  # isort: skip

import outcrop  # isort: skip
from benchmarks.quality import LabelledSet, index_set, interval, load_set, rank_metrics  # isort: skip
from outcrop.index.wording import Spoken  # isort: skip

DOCUMENTS, QUESTIONS, ROUNDS = 4000, 400, 3
WAYS = ("with", "without")
OFF = {
    "outcrop.index.columns.detect_language": lambda *_: "",
    "outcrop.index.bm25.find_language": lambda *_: Spoken(),
    "outcrop.read.search.translate_query": lambda query, *_: query,
    "outcrop.embed.static.LEXICON_CARD": "no dictionary",
}
"""What stands in for the rules in a process that runs without them."""
BARS = {"ingest": 1 / 0.9, "query p50": 1.1, "size": 1.15}
"""With the rules against without."""


def cut_set(data: LabelledSet, documents: int, questions: int) -> LabelledSet:
    """Some questions, evenly spread, their documents, and others up to a number."""
    asked = data.queries[:: max(len(data.queries) // questions, 1)][:questions]
    wanted = {one for query in asked for one in data.relevant[query["id"]]}
    corpus = [document for document in data.corpus if document["id"] in wanted]
    rest = [document for document in data.corpus if document["id"] not in wanted]
    return replace(data, corpus=corpus + rest[: max(documents - len(corpus), 0)], queries=asked)


def run_way(data: LabelledSet) -> dict[str, Any]:
    """What one index takes, and what it answers."""
    with tempfile.TemporaryDirectory() as place, outcrop.open(Path(place) / "index.db") as kb:
        began = cpu_s()
        index_set(kb, data)
        ingest = cpu_s() - began
        took, ranked = [], []
        for query in data.queries[:20] + data.queries:  # the first are to warm up
            began = cpu_s()
            answer = kb.search(query["text"], limit=20, floor=0.0, merge=False)
            took.append(1000 * (cpu_s() - began))
            uris = (hit.document.uri.removesuffix(data.suffix) for hit in answer.hits)
            ranked.append(list(dict.fromkeys(uris))[:10])
        size = folder_bytes(Path(place))
    return {"ingest": ingest, "query p50": percentile(took[20:], 0.5), "size": size, "ranked": ranked[20:]}


def compare(name: str, data: LabelledSet, runs: dict[str, list[dict[str, Any]]], report: Report) -> None:
    """Figures of one set."""
    row: dict[str, Any] = {"set": name}
    for figure, most in BARS.items():
        medians = [statistics.median(run[figure] for run in runs[way]) for way in WAYS]
        row[f"{figure}, with / without"] = medians[0] / medians[1]
        report.add(f"{name}: {figure}, with / without", medians[0] / medians[1], "", at_most=most)
    scores = [
        np.array(
            [
                rank_metrics(ranked, data.relevant[query["id"]])["ndcg@10"]
                for query, ranked in zip(data.queries, runs[way][0]["ranked"], strict=True)
            ]
        )
        for way in WAYS
    ]
    low, high = interval(scores[0], scores[1])
    same = sum(ours == theirs for ours, theirs in zip(*(runs[way][0]["ranked"] for way in WAYS), strict=True))
    row |= {"NDCG@10 with": float(scores[0].mean()), "without": float(scores[1].mean())}
    row |= {"difference": f"[{low:+.4f} {high:+.4f}]", "same answers": f"{same} of {len(data.queries)}"}
    report.add_table(name, [row])
    report.add(f"{name}: NDCG@10 lost beyond noise", max(-high, 0.0), "", at_most=0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of labelled sets in English")
    parser.add_argument("--sets", required=True, help="names, separated by commas")
    parser.add_argument("--code", action="append", default=[], help="NAME=.py: the documents are source code")
    parser.add_argument("--documents", type=int, default=DOCUMENTS, help="of a set, at most about so many")
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="of a set, evenly spread")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of each way")
    parser.add_argument("--dry", action="store_true", help="do not keep the results")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    suffixes = dict(one.split("=", 1) for one in arguments.code)
    sets = {
        name: cut_set(
            load_set(arguments.data / name, suffixes.get(name, "")), arguments.documents, arguments.questions
        )
        for name in arguments.sets.split(",")
    }
    if arguments.way:
        with contextlib.ExitStack() as stack:
            for place, other in OFF.items() if arguments.way == "without" else ():
                stack.enter_context(patch(place, other))
            print(json.dumps(run_way(next(iter(sets.values())))))
        return
    report = Report(
        "languages-cost", {key: str(value) for key, value in vars(arguments).items() if key != "dry"}
    )
    for name, data in sets.items():
        runs: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
        for turn in range(arguments.rounds):
            for way in WAYS if turn % 2 else WAYS[::-1]:
                command = [
                    "benchmarks.languages.cost",
                    "--data",
                    str(arguments.data),
                    "--sets",
                    name,
                    "--way",
                    way,
                ]
                command += ["--documents", str(arguments.documents), "--questions", str(arguments.questions)]
                command += [f"--code={name}={suffixes[name]}"] if name in suffixes else []
                runs[way].append(run_child(command))
                say(f"{name} {way}: " + ", ".join(f"{key} {runs[way][-1][key]:,.3f}" for key in BARS))
        compare(name, data, runs, report)
    if not arguments.dry:
        report.keep()
    if report.failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
