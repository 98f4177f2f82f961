"""Which of several models? NDCG@10 by kind of question on held-out packages, by the files that would ship.

    python -m training.choose --pairs FOLDER --model NAME=SPEC … [--packages 40] [--questions 60] [--paths 0,0.3]

A model is what the setting `model` takes, or static:FOLDER. A question is asked among the documents of its package;
`wide` asks the questions about Python among the Python documents of all of them. `--paths` tries weights of the path in
place of the model's own. Benchmarks are no part of this.
"""

from __future__ import annotations

import argparse
import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outcrop.contracts import Embedder
from outcrop.embed.keys import context_text
from outcrop.embed.models import open_embedder
from outcrop.embed.static import StaticEmbedder
from outcrop.records import Matrix
from training.lines import read_held_out

FEWEST = 20
"""A kind that was asked less often says nothing."""
MAX_DOCUMENTS = 300
"""Of a package: the right ones of the questions, and others up to this."""


@dataclass(frozen=True)
class Sample:
    """Some documents of held-out packages and questions about them."""

    documents: list[dict[str, Any]]
    package: NDArray[np.int64]
    questions: list[tuple[str, str, int]]
    """Text, kind, place of the right document."""


def draw(folder: Path, packages: int, questions: int, kinds: Sequence[str] = ()) -> Sample:
    """Which packages and questions hangs on names and on a fixed seed alone."""
    documents, pairs = read_held_out(folder)
    by_package: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for document in documents.values():
        by_package[document["package"]].append(document)
    asked: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for pair in pairs:
        if kinds and pair["kind"] not in kinds:
            continue
        asked[documents[pair["doc"]]["package"]].append(pair)
    rng = np.random.default_rng(0)
    kept: list[dict[str, Any]] = []
    numbers: list[int] = []
    found: list[tuple[str, str, int]] = []
    names = sorted(asked, key=lambda name: zlib.crc32(name.encode()))[:packages]
    for number, name in enumerate(names):
        picked = [asked[name][at] for at in rng.permutation(len(asked[name]))[:questions]]
        wanted = {pair["doc"] for pair in picked}
        others = [one["id"] for one in by_package[name] if one["id"] not in wanted]
        room = max(0, MAX_DOCUMENTS - len(wanted))
        chosen = [*wanted, *(others[at] for at in rng.permutation(len(others))[:room])]
        place = {identity: len(kept) + at for at, identity in enumerate(chosen)}
        kept += [documents[identity] for identity in chosen]
        numbers += [number] * len(chosen)
        found += [(pair["q"], pair["kind"], place[pair["doc"]]) for pair in picked]
    return Sample(kept, np.array(numbers), found)


def as_embedded(document: dict[str, Any]) -> str:
    """A document's text below its title and headings."""
    parts = [part for part in document["head"].split(" > ") if part]
    return context_text(parts[0] if parts else "", parts[1:], document["text"])


def rank(sample: Sample, rows: Matrix, queries: Matrix) -> dict[str, float]:
    """NDCG@10 by kind, `wide`, and the mean of them all.

    A question whose scores do not tell documents apart (a zero vector, NaN) counts as not answered.
    """
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    scores = queries @ (rows / np.maximum(length, 1e-9)).T
    gains: dict[str, list[float]] = defaultdict(list)
    python = np.array([document["lang"] == "python" for document in sample.documents])
    for (_, kind, right), row in zip(sample.questions, scores, strict=True):
        told = float(np.ptp(row) > 0)
        better = row > row[right]
        near = int((better & (sample.package == sample.package[right])).sum()) + 1
        gains[kind].append(told * gain(near))
        if kind == "question" and python[right]:
            gains["wide"].append(told * gain(int((better & python).sum()) + 1))
    means = {kind: float(np.mean(found)) for kind, found in sorted(gains.items()) if len(found) >= FEWEST}
    if not means:
        raise SystemExit(f"no kind of question was asked {FEWEST} times: take more packages or questions")
    return {"mean": float(np.mean(list(means.values()))), **means}


def gain(place: int) -> float:
    """NDCG@10 of one right document."""
    return float(1 / np.log2(place + 1)) if place <= 10 else 0.0


def open_spec(spec: str) -> Embedder:
    """What the setting `model` takes, or a static model in a folder."""
    kind, _, rest = spec.partition(":")
    return (
        StaticEmbedder(Path(rest))
        if kind == "static" and rest
        else open_embedder(spec, url="", key="", query_prefix="")
    )


def judge(sample: Sample, embedder: Embedder, weights: Sequence[float]) -> None:
    """Print a line for each weight of the path."""
    texts = embedder.embed_documents([as_embedded(document) for document in sample.documents])
    paths = embedder.embed_paths([document["path"] for document in sample.documents])
    queries = np.array([embedder.embed_query(text) for text, _, _ in sample.questions], np.float32)
    for weight in weights or (embedder.path_weight,):
        said = rank(sample, texts + np.float32(weight) * paths, queries)
        print(
            f"path {weight:.2f} " + " ".join(f"{kind} {value:.3f}" for kind, value in said.items()), flush=True
        )


def main() -> None:
    """Judge each model on the same sample."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--model", action="append", required=True, metavar="NAME=SPEC")
    parser.add_argument("--packages", type=int, default=40)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--paths", default="")
    parser.add_argument("--kinds", default="", help="only these kinds of pairs, by comma")
    options = parser.parse_args()
    kinds = [one for one in options.kinds.split(",") if one]
    sample = draw(options.pairs, options.packages, options.questions, kinds)
    print(f"{len(sample.documents)} documents, {len(sample.questions)} questions", flush=True)
    weights = [float(one) for one in options.paths.split(",") if one]
    for given in options.model:
        name, _, spec = given.partition("=")
        print(name, end=": ", flush=True)
        judge(sample, open_spec(spec), weights)


if __name__ == "__main__":
    main()
