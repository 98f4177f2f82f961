"""How good are the answers? Every labelled set in a folder, each leg alone and both together, in one run.

    python -m benchmarks.quality --data FOLDER [--sets a,b] [--fusion rrf] [--out results]

A set is a folder with corpus.jsonl {id, text, title?}, queries.jsonl {id, text} and qrels.tsv. A set whose queries
carry character spans (`references`) is scored by spans: recall and IoU of the top five hits.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import outcrop
from outcrop.records import Text

# The corpus of this set is source code, so its documents are added as such; every other set is prose.
CODE_SETS = {"cosqa_dev": ".py"}
SPAN_LIMIT = 5
SPAN_CUTOFF = 0.7


@dataclass(frozen=True)
class LabelledSet:
    name: str
    corpus: list[dict[str, Any]]
    queries: list[dict[str, Any]]
    relevant: dict[str, set[str]]

    @property
    def has_spans(self) -> bool:
        return "references" in self.queries[0]


def load_set(folder: Path) -> LabelledSet:
    def lines(name: str) -> Iterator[dict[str, Any]]:
        with (folder / name).open(encoding="utf-8") as file:
            yield from map(json.loads, file)

    relevant: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        if float(grade) > 0:
            relevant.setdefault(query, set()).add(document)
    queries = [query for query in lines("queries.jsonl") if query["id"] in relevant]
    return LabelledSet(folder.name, list(lines("corpus.jsonl")), queries, relevant)


def index_set(kb: outcrop.Engine, data: LabelledSet) -> None:
    suffix = CODE_SETS.get(data.name, "")
    kb.add_texts(
        Text(document["text"], id=document["id"] + suffix, title=_title(document)) for document in data.corpus
    )


def _title(document: dict[str, Any]) -> str | None:
    title = document.get("title")
    return title.replace("_", " ") if title else None


def score_documents(kb: outcrop.Engine, data: LabelledSet, **options: Any) -> dict[str, float]:
    """Each document counts once, at its best hit."""
    suffix = CODE_SETS.get(data.name, "")
    rows = []
    for query in data.queries:
        answer = kb.search(query["text"], limit=40, floor=0.0, merge=False, **options)
        ranked = list(dict.fromkeys(hit.document.uri.removesuffix(suffix) for hit in answer.hits))[:10]
        rows.append(rank_metrics(ranked, data.relevant[query["id"]]))
    return {name: round(float(np.mean([row[name] for row in rows])), 4) for name in rows[0]}


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


def score_spans(kb: outcrop.Engine, data: LabelledSet, cutoff: float, **options: Any) -> dict[str, float]:
    rows = []
    for query in data.queries:
        answer = kb.search(query["text"], limit=SPAN_LIMIT, cutoff=cutoff, **options)
        spans = [(hit.document.uri, hit.start, hit.end) for hit in answer.hits]
        gold = union([(r["start"], r["end"]) for r in query["references"]])
        ours = union([(start, end) for uri, start, end in spans if uri == query["corpus_id"]])
        common = sum(max(0, min(b, d) - max(a, c)) for a, b in gold for c, d in ours)
        wanted = sum(b - a for a, b in gold)
        returned = sum(end - start for _, start, end in spans)
        rows.append(
            (common / wanted, common / (returned + wanted - common), common / max(returned, 1), returned)
        )
    recall, iou, precision, characters = np.mean(np.array(rows), axis=0)
    return {
        "recall": round(float(recall), 4),
        "iou": round(float(iou), 4),
        "precision": round(float(precision), 4),
        "characters": round(float(characters)),
    }


def union(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def run_set(data: LabelledSet, settings: dict[str, Any]) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder, outcrop.open(Path(folder) / "index.db", **settings) as kb:
        index_set(kb, data)
        if data.has_spans:
            return {
                "hybrid": score_spans(kb, data, SPAN_CUTOFF),
                "no cutoff": score_spans(kb, data, 0.0),
                "no merge": score_spans(kb, data, 0.0, merge=False),
                "keyword": score_spans(kb, data, SPAN_CUTOFF, mode="keyword"),
                "semantic": score_spans(kb, data, SPAN_CUTOFF, mode="semantic"),
            }
        return {
            "hybrid": score_documents(kb, data),
            "keyword": score_documents(kb, data, mode="keyword"),
            "semantic": score_documents(kb, data, mode="semantic"),
            "rrf": score_documents(kb, data, fusion="rrf"),
        }


def verdict(name: str, scores: dict[str, dict[str, float]]) -> str:
    hybrid = scores["hybrid"]
    if "iou" in hybrid:
        return bar(hybrid["recall"] >= 0.89 and hybrid["iou"] >= 0.075, "recall ≥ .89 with IoU ≥ .075")
    if name == "anthropic_docs_rag":
        return bar(hybrid["ndcg@10"] >= 0.78 and hybrid["mrr@3"] >= 0.83, "nDCG@10 ≥ .78, MRR@3 ≥ .83")
    better = max(scores["keyword"]["ndcg@10"], scores["semantic"]["ndcg@10"])
    return bar(hybrid["ndcg@10"] >= better, f"hybrid ≥ better leg ({better:.3f})")


def bar(met: bool, words: str) -> str:
    return f"{'ok  ' if met else 'MISS'} {words}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of labelled sets")
    parser.add_argument("--sets", default="", help="names, separated by commas; all by default")
    parser.add_argument("--setting", action="append", default=[], help="NAME=VALUE of the configuration")
    parser.add_argument("--dry", action="store_true", help="do not keep the results")
    arguments = parser.parse_args()
    folders = [path.parent for path in sorted(arguments.data.glob("*/queries.jsonl"))]
    wanted = set(filter(None, arguments.sets.split(",")))
    if not folders:
        raise SystemExit(f"{arguments.data} holds no labelled set (a folder with queries.jsonl)")
    settings = dict(setting.split("=", 1) for setting in arguments.setting)
    results: dict[str, Any] = {}
    for folder in folders:
        if wanted and folder.name not in wanted:
            continue
        data = load_set(folder)
        results[folder.name] = run_set(data, settings)
        print(f"\n{folder.name}: {len(data.queries)} queries, {len(data.corpus)} documents")
        for leg, scores in results[folder.name].items():
            print(f"  {leg:<10}" + "  ".join(f"{name} {value:.3f}" for name, value in scores.items()))
        print(f"  {verdict(folder.name, results[folder.name])}", flush=True)
    if not arguments.dry:
        from benchmarks.record import keep_results

        print(f"\nkept in {keep_results('quality', {'settings': settings}, results)}")


if __name__ == "__main__":
    main()
