"""How good are the answers? Every labelled set in a folder: each leg alone, both together, and without each signal.

    python -m benchmarks.quality --data FOLDER [--sets a,b] [--code NAME=.py] [--bar NAME:METRIC=LEAST] [--dry]

A set is a folder with corpus.jsonl {id, text, title?}, queries.jsonl {id, text} and qrels.tsv. A set whose queries
carry character spans (`references`) is scored by spans: recall and IoU of the top five hits. `--code` tells that a
set's documents are source code. Hybrid search must not lose to the better of its legs by more than noise: the 95 %
interval of the difference (paired bootstrap over queries) must reach zero.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.report import Report, say  # first: it holds numpy to one core

import numpy as np  # isort: skip
from numpy.typing import NDArray  # isort: skip

import outcrop  # isort: skip
from outcrop.rank import signals  # isort: skip
from outcrop.records import Text  # isort: skip
from outcrop.records.found import DOUBTFUL  # isort: skip

SPAN_BARS = {"recall": 0.89, "iou": 0.075}
"""Above the published frontier of span sets: recall 0.881 at IoU 0.069, 0.873 at 0.080, with a far larger model."""
SPAN_LIMIT = 5
SPAN_CUTOFF = 0.7
"""Hits below this share of the best are dropped: an option of search, for callers who pay for every token."""
BINS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0)

Scores = dict[str, NDArray[np.float64]]
"""metric → its value for every query."""


@dataclass(frozen=True)
class LabelledSet:
    """Documents, queries, and which documents answer which query."""

    name: str
    corpus: list[dict[str, Any]]
    queries: list[dict[str, Any]]
    relevant: dict[str, set[str]]
    suffix: str = ""

    @property
    def has_spans(self) -> bool:
        return "references" in self.queries[0]


def load_set(folder: Path, suffix: str = "") -> LabelledSet:
    def lines(name: str) -> Iterator[dict[str, Any]]:
        with (folder / name).open(encoding="utf-8") as file:
            yield from map(json.loads, file)

    relevant: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        if float(grade) > 0:
            relevant.setdefault(query, set()).add(document)
    queries = [query for query in lines("queries.jsonl") if query["id"] in relevant]
    return LabelledSet(folder.name, list(lines("corpus.jsonl")), queries, relevant, suffix)


def index_set(kb: outcrop.Engine, data: LabelledSet) -> None:
    report = kb.add_texts(as_text(document, data) for document in data.corpus)
    if report.failed:
        say(f"  {len(report.failed)} documents could not be added, the first: {report.failed[0]}")


def as_text(document: dict[str, Any], data: LabelledSet) -> Text:
    return Text(document["text"], id=document["id"] + data.suffix, title=_title(document))


def _title(document: dict[str, Any]) -> str | None:
    title = document.get("title")
    return title.replace("_", " ") if title else None


def score_documents(kb: outcrop.Engine, data: LabelledSet, **options: Any) -> Scores:
    """Each document counts once, at its best hit."""
    rows = []
    for query in data.queries:
        answer = kb.search(query["text"], limit=40, floor=0.0, merge=False, **options)
        ranked = list(dict.fromkeys(hit.document.uri.removesuffix(data.suffix) for hit in answer.hits))[:10]
        rows.append(rank_metrics(ranked, data.relevant[query["id"]]))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def rank_metrics(ranked: Sequence[str], relevant: set[str]) -> dict[str, float]:
    right = [document in relevant for document in ranked]
    ideal = sum(1 / math.log2(i + 2) for i in range(min(10, len(relevant))))
    first = next((i for i, hit in enumerate(right) if hit), None)
    return {
        "ndcg@10": sum(hit / math.log2(i + 2) for i, hit in enumerate(right)) / ideal,
        "mrr@3": 0.0 if first is None or first > 2 else 1 / (first + 1),
        "recall@3": sum(right[:3]) / len(relevant),
        "recall@5": sum(right[:5]) / len(relevant),
        "recall@10": sum(right[:10]) / len(relevant),
    }


def score_spans(kb: outcrop.Engine, data: LabelledSet, **options: Any) -> Scores:
    """Covered gold characters, and how many characters were returned for them."""
    rows = []
    for query in data.queries:
        answer = kb.search(query["text"], limit=SPAN_LIMIT, **options)
        spans = [(hit.document.uri, hit.start, hit.end) for hit in answer.hits]
        gold = union([(r["start"], r["end"]) for r in query["references"]])
        ours = union([(start, end) for uri, start, end in spans if uri == query["corpus_id"]])
        common = sum(max(0, min(b, d) - max(a, c)) for a, b in gold for c, d in ours)
        wanted = sum(b - a for a, b in gold)
        returned = sum(end - start for _, start, end in spans)
        rows.append(
            (common / wanted, common / (returned + wanted - common), common / max(returned, 1), returned)
        )
    columns = np.array(rows, np.float64).T
    return dict(zip(("recall", "iou", "precision", "characters"), columns, strict=True))


def union(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def score_set(kb: outcrop.Engine, data: LabelledSet) -> dict[str, Scores]:
    """Every way of searching that the table compares."""
    score = score_spans if data.has_spans else score_documents
    focus = {"cutoff": SPAN_CUTOFF} if data.has_spans else {}
    runs = {
        "hybrid": score(kb, data, **focus),
        "keyword": score(kb, data, mode="keyword", **focus),
        "semantic": score(kb, data, mode="semantic", **focus),
        "rrf": score(kb, data, fusion="rrf", **focus),
    }
    if data.has_spans:
        runs["hybrid, no cutoff"] = score(kb, data)
        runs["hybrid, no cutoff, no merge"] = score(kb, data, merge=False)
    weights = dict(signals.STRETCH_WEIGHT)
    signals.STRETCH_WEIGHT.update(dict.fromkeys(weights, 0.0))
    kb.add(text="the ablation starts with empty caches", id="ablation", collection="ablation")
    runs["hybrid without stretches"] = score(kb, data, collections=["default"], **focus)
    signals.STRETCH_WEIGHT.update(weights)
    return runs


def interval(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> tuple[float, float]:
    """The 95 % interval of the mean difference, by paired bootstrap."""
    difference = ours - theirs
    picks = np.random.default_rng(1).integers(0, len(difference), (2000, len(difference)))
    low, high = np.quantile(difference[picks].mean(axis=1), (0.025, 0.975))
    return float(low), float(high)


def judge(report: Report, data: LabelledSet, runs: dict[str, Scores], bars: dict[str, float]) -> None:
    """Hold the figures against the bars."""
    for metric, least in (bars or (SPAN_BARS if data.has_spans else {})).items():
        report.add(f"{data.name} {metric}", float(runs["hybrid"][metric].mean()), "", at_least=least)
    if data.has_spans:
        return
    legs = {leg: runs[leg]["ndcg@10"] for leg in ("keyword", "semantic")}
    better = max(legs, key=lambda leg: float(legs[leg].mean()))
    hybrid = runs["hybrid"]["ndcg@10"]
    low, high = interval(hybrid, legs[better])
    name = f"{data.name} nDCG@10, hybrid − {better}"
    report.add(name, float((hybrid - legs[better]).mean()), f"[{low:+.3f} {high:+.3f}]")
    report.add(f"{name}, upper end", high, "", at_least=0.0)


@dataclass(frozen=True)
class Judged:
    """What the scores of a set's hits are worth: (score, was it right) of the ten best of every query; the chance of an
    answer that every query was given; and the same with the documents that answer it taken out of the index."""

    pairs: list[tuple[float, bool]]
    chance: list[float]
    chance_without: list[float]


def reliability(kb: outcrop.Engine, data: LabelledSet) -> Judged:
    """Ask every query, with its answers and without, and keep the scores."""
    judged = Judged([], [], [])
    by_id = {document["id"]: document for document in data.corpus}
    for query in data.queries:
        answer = kb.search(query["text"], limit=40, merge=False)
        relevant = data.relevant[query["id"]]
        judged.pairs.extend(
            (hit.score, hit.document.uri.removesuffix(data.suffix) in relevant) for hit in answer.hits[:10]
        )
        judged.chance.append(answer.answerable or 0.0)
        gone = [by_id[id_] for id_ in sorted(relevant) if id_ in by_id]
        kb.delete(*(document["id"] + data.suffix for document in gone))
        judged.chance_without.append(kb.search(query["text"], limit=40, merge=False).answerable or 0.0)
        kb.add_texts(as_text(document, data) for document in gone)
    return judged


def calibration_error(pairs: Sequence[tuple[float, bool]]) -> float:
    """The expected calibration error: how far the mean score lies from the share of right hits, in ten ranges of
    scores, weighted by how many hits each range has."""
    score, right = np.array(pairs, np.float64).T
    place = np.minimum((10 * score).astype(int), 9)
    return float(abs(np.bincount(place, score - right, 10)).sum() / len(pairs))


def separation(with_answer: Sequence[float], without: Sequence[float]) -> float:
    """AUROC: how often a query whose answer is there has the higher chance than one whose answer is not."""
    ours, theirs = np.array(with_answer)[:, None], np.array(without)[None, :]
    return float((ours > theirs).mean() + (ours == theirs).mean() / 2)


def score_rows(judged: dict[str, Judged]) -> list[dict[str, Any]]:
    """A row for each set: calibration error, and whether the chance of an answer tells that it is not there."""
    rows = [
        {
            "set": name,
            "calibration error": round(calibration_error(found.pairs), 3),
            **answer_row(found.chance, found.chance_without),
        }
        for name, found in judged.items()
    ]
    chance = [chance for found in judged.values() for chance in found.chance]
    without = [chance for found in judged.values() for chance in found.chance_without]
    pairs = [pair for found in judged.values() for pair in found.pairs]
    whole = {"set": "all", "calibration error": round(calibration_error(pairs), 3) if pairs else 0.0}
    return [*rows, {**whole, **answer_row(chance, without)}] if rows else []


def answer_row(chance: Sequence[float], without: Sequence[float]) -> dict[str, float]:
    """How well the chance of an answer tells, and whom "probably not here" is told."""
    doubted = [sum(one < DOUBTFUL for one in some) / len(some) for some in (chance, without)]
    return {
        "answer there or not, AUROC": round(separation(chance, without), 3),
        "told that it is not: wrongly": round(doubted[0], 3),
        "rightly": round(doubted[1], 3),
    }


def reliability_rows(pairs: dict[str, list[tuple[float, bool]]]) -> list[dict[str, Any]]:
    """What a score means: of the hits in each range of scores, how many were right, as a mean over the sets."""
    rows = []
    for low, high in pairwise(BINS):
        shares, hits = [], 0
        for found in pairs.values():
            inside = [right for score, right in found if low <= score < high]
            hits += len(inside)
            if len(inside) >= 10:
                shares.append(sum(inside) / len(inside))
        share = sum(shares) / len(shares) if shares else None
        rows.append(
            {"score": f"{low:.1f}–{high:.1f}", "hits": hits, "right (mean of sets)": share, "sets": len(shares)}
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of labelled sets")
    parser.add_argument("--sets", default="", help="names, separated by commas; all by default")
    parser.add_argument("--code", action="append", default=[], help="NAME=SUFFIX of a set of source code")
    parser.add_argument("--bar", action="append", default=[], help="NAME:METRIC=LEAST that a set must reach")
    parser.add_argument("--setting", action="append", default=[], help="NAME=VALUE of the configuration")
    parser.add_argument("--dry", action="store_true", help="do not keep the results")
    arguments = parser.parse_args()
    folders = [path.parent for path in sorted(arguments.data.glob("*/queries.jsonl"))]
    wanted = set(filter(None, arguments.sets.split(",")))
    if not folders:
        raise SystemExit(f"{arguments.data} holds no labelled set (a folder with queries.jsonl)")
    settings = dict(setting.split("=", 1) for setting in arguments.setting)
    suffixes = dict(code.split("=", 1) for code in arguments.code)
    bars: dict[str, dict[str, float]] = {}
    for bar in arguments.bar:
        name, _, rest = bar.partition(":")
        metric, _, least = rest.partition("=")
        bars.setdefault(name, {})[metric] = float(least)
    report = Report("quality", {"settings": settings, "code": suffixes, "bars": bars})
    judged: dict[str, Judged] = {}
    for folder in folders:
        if wanted and folder.name not in wanted:
            continue
        data = load_set(folder, suffixes.get(folder.name, ""))
        with tempfile.TemporaryDirectory() as place, outcrop.open(Path(place) / "index.db", **settings) as kb:
            index_set(kb, data)
            if not data.has_spans:
                judged[data.name] = reliability(kb, data)
            runs = score_set(kb, data)
        title = f"{folder.name}: {len(data.queries)} queries, {len(data.corpus)} documents"
        means = [
            {"search": run, **{name: round(float(values.mean()), 4) for name, values in scores.items()}}
            for run, scores in runs.items()
        ]
        report.add_table(title, means)
        judge(report, data, runs, bars.get(data.name, {}))
    report.add_table(
        "what a score means", reliability_rows({name: found.pairs for name, found in judged.items()})
    )
    report.add_table("what a score tells", score_rows(judged))
    if not arguments.dry:
        report.keep()
    if report.failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
