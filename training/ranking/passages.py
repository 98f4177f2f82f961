"""What a reranker is shown: the engine's best candidates for each question, as passages, and which of them are right.

`python -m training.ranking --passages` writes them, a line a list, packed by xz; `training.gpu.lists` learns from them.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import outcrop
from outcrop.index.query import Query
from outcrop.index.seam import Matches
from outcrop.rank.excerpt import passage
from outcrop.read.rank import Ranker
from outcrop.read.rerank import name_place
from outcrop.records import SearchOptions, StoredChunk
from training.ranking.columns import judge_chunk
from training.ranking.judge import HELD_OUT
from training.ranking.records import Asked

SUFFIX: Final = ".jsonl.xz"
SHOWN: Final = 30
"""Candidates of a list, in the engine's order: half as many again as the engine shows a reranker."""
MORE_RIGHT: Final = 2
"""Right candidates further down that are added, so that there is something to learn from."""


class Listener(Ranker):
    """A ranker that remembers what it put in order last."""

    last: tuple[Query, Matches] | None = None

    def rank(self, query: Query, options: SearchOptions, seen: Matches, *, hop: bool = False) -> Matches:
        """As a search does it."""
        ranked = super().rank(query, options, seen, hop=hop)
        self.last = query, ranked
        return ranked


def list_candidates(
    engine: outcrop.Engine, questions: Sequence[Asked], *, unanswerable: bool = False
) -> Iterator[dict[str, Any]]:
    """A list for each question that has two candidates, in the columns of the engine's order; `unanswerable` asks
    without the right documents."""
    parts, store = engine.parts, engine._store
    listener = Listener(store, parts.index, parts.embedder, parts.terms)
    parts.retriever._ranker = listener
    chunks: dict[int, StoredChunk] = {}
    names = {one.id: {one.path, one.uri} for one in store.documents()}
    for number, asked in enumerate(questions):
        listener.last = None
        parts.retriever._answers.clear()
        gold = {path for path, _, _ in asked.gold}
        others = tuple(id_ for id_, known in names.items() if not known & gold) if unanswerable else ()
        engine.search(asked.text, documents=others)
        if listener.last is None:
            continue
        query, seen = listener.last
        found = seen.found
        order = found.order
        if asked.kind == "topic":  # the heading itself stands in the documentation
            order = order[found.code[order]]
        if len(order) < 2:
            continue
        ids = found.chunk_id[order].tolist()
        missing = [id_ for id_ in ids if id_ not in chunks]
        chunks.update({chunk.id: chunk for chunk in store.chunks(missing)})
        right = np.array([judge_chunk(chunks[id_], asked) for id_ in ids], np.int8)
        kept = np.arange(min(SHOWN, len(ids)))
        further = SHOWN + np.flatnonzero(right[SHOWN:].sum(1) == right.sum(1).max())[:MORE_RIGHT]
        kept = np.append(kept, further if right.any() else [])
        kept = kept.astype(np.intp)
        wanted = seen.words.weights if seen.words is not None else parts.index.weigh(seen.view, query.text)
        places = order[kept]
        yield {
            "question": number,
            "kind": asked.kind,
            "type": query.kind,
            "query": query.text,
            "answers": len(asked.gold),
            "rank": kept.tolist(),
            "final": np.round(found.final[places], 4).tolist(),
            "score": np.round(found.score[places], 4).tolist(),
            "fused": np.round(found.fused[places], 4).tolist(),
            "lexical": np.round(found.lexical[places], 4).tolist(),
            "cosine": np.round(found.cosine[places], 4).tolist(),
            "file": found.file[places].tolist(),
            "code": found.code[places].astype(int).tolist(),
            "right": right[kept].sum(1).tolist(),
            "passages": [
                passage(one.document.path, name_place(one), one.text, wanted, parts.terms.of)
                for one in (chunks[ids[at]] for at in kept.tolist())
            ],
        }


def pick_sources(names: Iterable[str]) -> set[str]:
    """The sources that judge, one in three."""
    return set(sorted(set(names))[::HELD_OUT])


def pick_rows(
    level: NDArray[np.int64], rank: NDArray[np.int64], count: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.bool_]] | None:
    """At most `count` rows of a list and which of them are right; None if there is nothing to choose. `level` says of
    each row: 0 wrong, 1 in the right file, 2 the right passage."""
    right = np.flatnonzero(level == 2)
    wrong = np.flatnonzero(level == 0)  # beside the right passage, its file is neither right nor wrong
    if not len(right) or not len(wrong):
        return None
    right = rng.permutation(right)[: max(count // 3, 1)]
    # The first come first: those are what the right one has to pass.
    wrong = wrong[np.argsort(rank[wrong] * rng.random(len(wrong)))][: count - len(right)]
    rows = np.concatenate((right, wrong))
    return rows, np.arange(len(rows)) < len(right)


def read_passages(files: Iterable[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every list with the name of its source."""
    for file in files:
        with lzma.open(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield file.name.removesuffix(SUFFIX), json.loads(line)


def write_passages(engine: outcrop.Engine, questions: Sequence[Asked], path: Path) -> None:
    """The lists of one source: of each question with its answers in the index, and without them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    with lzma.open(new, "wt", encoding="utf-8", preset=1) as file:
        for unanswerable in (False, True):
            for one in list_candidates(engine, questions, unanswerable=unanswerable):
                file.write(json.dumps({**one, "without": unanswerable}) + "\n")
    new.rename(path)
