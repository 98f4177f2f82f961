"""How good a list of ten is: against the exact nearest, against our BM25, against people's labels."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.engines import TOP
from outcrop.engine import Engine
from outcrop.records import FeedRow

Labels = dict[str, dict[str, int]]
"""query id → document id → how relevant."""


def recall(found: Sequence[Sequence[int]], exact: Sequence[Sequence[int]], vectors: Any, queries: Any) -> float:
    """Share of the ten found that are as near as the exact tenth; rows at the same distance count alike."""
    shares = []
    for rows, truth, query in zip(found, exact, queries, strict=True):
        if query.any():
            least = (
                float(vectors[truth[-1]] @ query) - 1e-4
            )  # our rows are in eight bits: a tie is a tie within that
            shares.append(sum(float(vectors[row] @ query) >= least for row in rows[:TOP]) / len(truth))
    return sum(shares) / max(len(shares), 1)


def overlap(found: Sequence[Sequence[int]], ours: Sequence[Sequence[int]]) -> float:
    """Share of our ten that a peer lists too."""
    shares = [len(set(a) & set(b)) / len(b) for a, b in zip(found, ours, strict=True) if b]
    return sum(shares) / max(len(shares), 1)


def ndcg(found: Sequence[Sequence[int]], ids: Sequence[str], documents: Sequence[str], labels: Labels) -> float:
    """nDCG@10 over documents: a document stands where its first chunk stands."""
    total, count = 0.0, 0
    for rows, query_id in zip(found, ids, strict=True):
        relevant = labels.get(query_id)
        if not relevant:
            continue
        ranked = list(dict.fromkeys(documents[row] for row in rows))[:10]
        gain = sum((2 ** relevant.get(name, 0) - 1) / math.log2(i + 2) for i, name in enumerate(ranked))
        best = sorted(relevant.values(), reverse=True)[:10]
        total += gain / sum((2**score - 1) / math.log2(i + 2) for i, score in enumerate(best))
        count += 1
    return total / max(count, 1)


def lay_out_labelled(data: Path, folder: Path, suffix: str = ".md") -> list[tuple[str, str]]:
    """A labelled set as a folder of files named by number; (id, text) of its queries. Only Markdown has titles."""
    shutil.rmtree(folder, ignore_errors=True)
    names = []
    for number, line in enumerate((data / "corpus.jsonl").read_text("utf-8").splitlines()):
        row = json.loads(line)
        path = folder / f"{number // 1000:03}" / f"{number:06}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        title = " ".join(str(row.get("title") or "").split()) if suffix == ".md" else ""
        path.write_text(f"# {title}\n\n{row['text']}\n" if title else f"{row['text']}\n", "utf-8")
        names.append(str(row["id"]))
    (folder.parent / "names.json").write_text(json.dumps(names), "utf-8")
    queries = map(json.loads, (data / "queries.jsonl").read_text("utf-8").splitlines())
    return [(str(query["id"]), query["text"]) for query in queries]


def read_labels(data: Path) -> Labels:
    """query id → document id → score."""
    labels: Labels = {}
    for line in (data / "qrels.tsv").read_text("utf-8").splitlines():
        query, document, score = line.split("\t")[:3]
        if score.lstrip("-").isdigit() and int(score) > 0:
            labels.setdefault(query, {})[document] = int(score)
    return labels


def documents_of(engine: Engine, rows: Sequence[FeedRow], names: Sequence[str]) -> list[str]:
    """For each row the id its document has in the labelled set."""
    paths = {document.id: document.path for document in engine.documents()}
    return [names[int(Path(paths[row.document_id]).stem)] for row in rows]
