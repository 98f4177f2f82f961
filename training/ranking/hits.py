"""What the score of a hit in prose should say: a logistic curve through the best hits of labelled sets.

A set is a folder with corpus.jsonl {id, text, title}, queries.jsonl {id, text} and qrels.tsv (query, document, grade).
Each question is asked as the index is, without the documents that answer it, and of an index of a few files; and each
index is asked questions of the other sets, which it cannot answer.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

import outcrop
from outcrop.rank.chance import describe_hits
from outcrop.rank.signals import apply_signals
from outcrop.records import Text
from outcrop.records.candidates import Candidates
from outcrop.system.arrays import NDArray
from training.ranking.answers import ELSEWHERE, ask, draw_files, leave
from training.ranking.fit import Doubles
from training.ranking.judge import BEST, fit_logistic
from training.ranking.records import Asked

SET_QUESTIONS: Final = 300
SET_STRANGE: Final = 12
"""Questions of a set that are asked, and of each other set that are asked of it."""
WORTH: Final[Mapping[str, float]] = {
    **{"there": 1.0, "taken out": 0.25, "few": 0.5, "few, taken out": 0.25},
    **{"strange": 1.0, "few, strange": 0.5},
}
"""What hits of each kind of list count. Every set counts the same."""


@dataclass(frozen=True, slots=True)
class Hits:
    """The best hits of a list: what their chance follows from, a row each, and which are right."""

    source: str
    kind: str
    names: tuple[str, ...]
    rows: Doubles
    right: NDArray[np.bool_]


def read_sets(folders: Sequence[Path]) -> dict[str, tuple[list[Text], list[Asked]]]:
    """The texts and questions of each set."""
    sets = {}
    for folder in folders:
        right: dict[str, list[str]] = {}
        for line in (folder / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
            query, document, grade = line.split("\t")
            if float(grade) > 0:
                right.setdefault(query, []).append(document)
        corpus, queries = (
            [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]
            for name in ("corpus.jsonl", "queries.jsonl")
        )
        texts = [Text(one["text"], id=one["id"], title=one.get("title")) for one in corpus]
        asked = [
            Asked("set", one["text"], tuple((name, 0, 0) for name in right[one["id"]]))
            for one in queries
            if one["id"] in right
        ]
        random.Random(folder.name).shuffle(asked)
        sets[folder.name] = texts, asked[:SET_QUESTIONS]
    return sets


def record_sets(folders: Sequence[Path]) -> list[Hits]:
    """The best hits of every question of every set."""
    sets = read_sets(folders)
    hits: list[Hits] = []
    for name, (texts, asked) in sets.items():
        draw = random.Random(name)
        strange = [
            Asked(ELSEWHERE, one.text, ())
            for other, (_, theirs) in sets.items()
            if other != name
            for one in draw.sample(theirs, min(SET_STRANGE, len(theirs)))
        ]
        with tempfile.TemporaryDirectory() as place, outcrop.open(Path(place) / "index.db") as engine:
            engine.add_texts(texts)
            hits += record_hits(engine, name, [*asked, *strange])
    return hits


def record_hits(engine: outcrop.Engine, source: str, questions: Sequence[Asked]) -> list[Hits]:
    """The best hits of each question, of each kind of list that its index can be made to give."""
    rng = np.random.default_rng(1)
    names = {document.id: document.uri for document in engine.documents()}
    hits: list[Hits] = []
    for asked, found, words in ask(engine, questions):
        gold = {name for name, *_ in asked.gold}
        right = np.array([names[id_] in gold for id_ in found.document_id.tolist()], np.bool_)
        if asked.kind == ELSEWHERE:
            lists = {"strange": right | True, "few, strange": draw_files(found, rng)}
        else:
            few = draw_files(found, rng) | right
            lists = {"there": right | True, "taken out": ~right, "few": few, "few, taken out": few & ~right}
        for kind, which in lists.items():
            if which.any():
                hits.append(best_hits(source, kind, found, right, which, words))
    return hits


def best_hits(
    source: str,
    kind: str,
    found: Candidates,
    right: NDArray[np.bool_],
    which: NDArray[np.bool_],
    words: int,
) -> Hits:
    """The ten best of some candidates."""
    ranked = apply_signals(leave(found, which))
    order = np.argsort(-ranked.final, kind="stable")
    columns = describe_hits(replace(ranked, order=order), words)
    rows = np.column_stack([np.broadcast_to(column, len(order)) for column in columns.values()])
    return Hits(source, kind, tuple(columns), rows[order[:BEST]], right[which][order[:BEST]])


def fit_hits(hits: Sequence[Hits]) -> dict[str, float]:
    """What each column says of a hit, in log-odds."""
    sizes: dict[str, int] = {}
    for one in hits:
        sizes[one.source] = sizes.get(one.source, 0) + len(one.right)
    weight = np.concatenate([np.full(len(one.right), WORTH[one.kind] / sizes[one.source]) for one in hits])
    rows, right = np.vstack([one.rows for one in hits]), np.concatenate([one.right for one in hits])
    fitted = fit_logistic(rows, right.astype(np.float64), weight)
    return dict(zip([*hits[0].names, "offset"], fitted.tolist(), strict=True))


def tell_sets(hits: Sequence[Hits]) -> list[str]:
    """For each set how far the mean score lies from the share of right hits, learnt from the other sets."""
    lines = []
    for source in dict.fromkeys(one.source for one in hits):
        others = [one for one in hits if one.source != source]
        if others:
            own = [one for one in hits if one.source == source]
            told = {
                kind: _error([one for one in own if one.kind == kind], fit_hits(others))
                for kind in ("there", "few")
            }
            lines.append(f"{source}: calibration error {told['there']:.3f}, of a few files {told['few']:.3f}")
    return lines


def _error(hits: Sequence[Hits], worth: Mapping[str, float], bins: int = 10) -> float:
    rows = np.vstack([one.rows for one in hits])
    odds = rows @ np.array([worth[name] for name in hits[0].names]) + worth["offset"]
    chance, right = 1 / (1 + np.exp(-odds)), np.concatenate([one.right for one in hits])
    place = np.minimum((chance * bins).astype(int), bins - 1)
    return float(np.abs(np.bincount(place, chance - right, bins)).sum() / len(right))
