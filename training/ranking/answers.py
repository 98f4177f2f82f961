"""Whether an index answers at all: lists of candidates with the answer among them, and lists without it.

A list without its answer is the same list with every passage of the right files taken out, or what an index finds for
a question about something else.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

import outcrop
from outcrop.rank.chance import describe_list
from outcrop.rank.signals import apply_signals, learnt_weights
from outcrop.records import StoredChunk
from outcrop.records.candidates import Candidates
from outcrop.system.arrays import NDArray
from training.ranking.columns import Recorder, judge_chunk
from training.ranking.fit import FEWEST, Doubles
from training.ranking.judge import HELD_OUT, fit_logistic
from training.ranking.records import Asked

ELSEWHERE: Final = "elsewhere"
"""The kind of a question about something else."""
STRANGE_SHARE: Final = 0.5
"""What questions about something else count beside those whose answer was taken out. They are the easy ones."""
FEW: Final = 8
"""Files of a small index."""
KEPT: Final = 0.95
"""Of the questions whose answer is there, so many are not to be told that it probably is not."""


@dataclass(frozen=True, slots=True)
class Listed:
    """What a list says of its answer, and whether it holds one."""

    source: str
    kind: str
    columns: dict[str, float]
    answered: bool


def record_lists(
    engine: outcrop.Engine, source: str, questions: Sequence[Asked], strange: Sequence[Asked]
) -> list[Listed]:
    """Lists for each question whose answer came up, with it and without, as the index is and as if it held only a few
    of the files; and for each that is strange here."""
    rng = np.random.default_rng(1)
    chunks: dict[int, StoredChunk] = {}
    lists: list[Listed] = []
    for asked, found, words in ask(engine, questions):
        missing = [id_ for id_ in found.chunk_id.tolist() if id_ not in chunks]
        chunks.update({chunk.id: chunk for chunk in engine._store.chunks(missing)})
        right = np.array([judge_chunk(chunks[id_], asked)[0] for id_ in found.chunk_id.tolist()], np.bool_)
        some = right | draw_files(found, rng)
        if right.any() and (some & ~right).any():
            for answered, which in (
                (True, right | True),
                (False, ~right),
                (True, some),
                (False, some & ~right),
            ):
                lists.append(Listed(source, asked.kind, describe(leave(found, which), words), answered))
    for _, found, words in ask(engine, strange):
        for which in (np.ones(len(found), np.bool_), draw_files(found, rng)):
            lists.append(Listed(source, ELSEWHERE, describe(leave(found, which), words), False))
    return lists


def draw_files(found: Candidates, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which candidates lie in one of a few files: a small index finds no more."""
    files = np.unique(found.file)
    few = rng.choice(files, min(int(rng.integers(1, FEW + 1)), len(files)), replace=False)
    which: NDArray[np.bool_] = np.isin(found.file, few)
    return which


def ask(engine: outcrop.Engine, questions: Sequence[Asked]) -> Iterator[tuple[Asked, Candidates, int]]:
    """Each question with its candidates, before the signals, and how many words it has."""
    parts = engine.parts
    recorder = Recorder(engine._store, parts.index, parts.embedder, parts.terms)
    parts.retriever._ranker = recorder
    for asked in questions:
        recorder.last = None
        parts.retriever._answers.clear()
        engine.search(asked.text)
        if recorder.last is not None and len(recorder.last[1]):
            query, found = recorder.last
            yield asked, found, len(query.text.split())


def leave(found: Candidates, which: NDArray[np.bool_]) -> Candidates:
    """Some of the candidates, as if the others were not in the index."""
    rows = found.take(np.flatnonzero(which))
    return replace(rows, lexical_rank=_close(rows.lexical_rank), dense_rank=_close(rows.dense_rank))


def _close(ranks: NDArray[np.int32]) -> NDArray[np.int32]:
    """Ranks without the gaps that taking rows out has left."""
    listed = np.unique(ranks[ranks > 0])
    return np.where(ranks > 0, np.searchsorted(listed, ranks) + 1, 0).astype(np.int32)


def describe(found: Candidates, words: int) -> dict[str, float]:
    """A list in columns, as the engine describes it."""
    ranked = apply_signals(found)
    return describe_list(replace(ranked, order=np.argsort(-ranked.final, kind="stable")), words)


def fit_answers(lists: Sequence[Listed]) -> dict[str, float]:
    """What each column says of an answer, in log-odds. Every kind of question counts the same, and as much with its
    answer as without."""
    if not lists:
        return dict(learnt_weights().answer)
    names = list(lists[0].columns)
    rows = np.array([list(one.columns.values()) for one in lists])
    right = np.array([one.answered for one in lists], np.float64)
    counts = Counter((one.kind, one.answered) for one in lists)
    weight = np.array([1 / max(counts[one.kind, one.answered], FEWEST) for one in lists])
    strange = np.array([one.kind == ELSEWHERE for one in lists])
    if strange.any():
        weight[strange] *= STRANGE_SHARE * weight[(right == 0) & ~strange].sum() / weight[strange].sum()
    weight[right == 1] *= weight[right == 0].sum() / max(weight[right == 1].sum(), 1e-9)
    return dict(zip([*names, "offset"], fit_logistic(rows, right, weight).tolist(), strict=True))


def chances(lists: Sequence[Listed], worth: Mapping[str, float]) -> Doubles:
    """The chance of an answer, for each list."""
    odds = [worth["offset"] + sum(worth[name] * one.columns[name] for name in one.columns) for one in lists]
    chance: Doubles = 1 / (1 + np.exp(-np.array(odds)))
    return chance


def split_lists(lists: Sequence[Listed]) -> tuple[list[Listed], list[Listed]]:
    """Those to learn from, and those of a third of the sources, to judge by."""
    judges = set(sorted({one.source for one in lists})[::HELD_OUT])
    return [one for one in lists if one.source not in judges], [one for one in lists if one.source in judges]


def tell_lists(lists: Sequence[Listed], worth: Mapping[str, float]) -> list[str]:
    """By what chance KEPT of the answered are kept, how many of the others then fall below, and AUROC."""
    chance = chances(lists, worth)
    answered = np.array([one.answered for one in lists])
    strange = np.array([one.kind == ELSEWHERE for one in lists])
    bound = float(np.quantile(chance[answered], 1 - KEPT))
    lines = [f"{KEPT:.0%} of the answered have a chance of {bound:.3f} or more"]
    for name, others in (("answer taken out", ~answered & ~strange), ("about something else", strange)):
        if others.any():
            wins = (chance[answered][:, None] > chance[others][None]).mean()
            lines.append(f"{name}: AUROC {wins:.3f}, below that {(chance[others] < bound).mean():.3f}")
    return lines


def write_lists(lists: Sequence[Listed], path: Path) -> None:
    """One a line."""
    path.write_text("".join(json.dumps(asdict(one)) + "\n" for one in lists), "utf-8")


def read_lists(path: Path) -> list[Listed]:
    """What `write_lists` wrote."""
    return [Listed(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]
