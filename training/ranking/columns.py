"""Asks an index each question and keeps what the signals say of every candidate.

The columns are those that the engine computes while it searches, so what is learnt is what runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

import outcrop
from outcrop.index.query import Query
from outcrop.index.seam import Matches
from outcrop.rank.signals import make_columns
from outcrop.read.rank import Ranker
from outcrop.records import SearchOptions, StoredChunk
from outcrop.records.candidates import Candidates
from training.ranking.fit import PRIOR
from training.ranking.records import Asked, Case


class Recorder(Ranker):
    """A ranker that remembers what it was asked last, and the candidates as the signals see them."""

    last: tuple[Query, Candidates] | None = None

    def describe(self, query: Query, options: SearchOptions, seen: Matches) -> Candidates:
        """As a search does it."""
        found = super().describe(query, options, seen)
        self.last = query, found
        return found


def record(engine: outcrop.Engine, source: str, questions: Sequence[Asked]) -> list[Case]:
    """A case for each question that has a candidate; nothing is learnt from the others."""
    parts, store = engine.parts, engine._store
    recorder = Recorder(store, parts.index, parts.embedder, parts.terms)
    parts.retriever._ranker = recorder
    chunks: dict[int, StoredChunk] = {}
    cases: list[Case] = []
    for asked in questions:
        recorder.last = None
        parts.retriever._answers.clear()  # a topic may have been asked as a heading
        engine.search(asked.text)
        if recorder.last is None:
            continue
        query, found = recorder.last
        if asked.kind == "topic":  # the heading itself stands in the documentation
            found = found.take(np.flatnonzero(found.code))
        if len(found):
            missing = [id_ for id_ in found.chunk_id.tolist() if id_ not in chunks]
            chunks.update({chunk.id: chunk for chunk in store.chunks(missing)})
            cases.append(make_case(source, asked, query, found, chunks))
    return cases


def make_case(
    source: str, asked: Asked, query: Query, found: Candidates, chunks: Mapping[int, StoredChunk]
) -> Case:
    """The candidates of a question in columns, and which of them are right."""
    columns = make_columns(found)
    nothing = np.zeros(len(found), np.float32)  # a role that the query asks for has no column
    right = [judge_chunk(chunks[id_], asked) for id_ in found.chunk_id.tolist()]
    return Case(
        source,
        asked.kind,
        query.kind,
        len(query.text.split()),
        len(asked.gold),
        columns=np.column_stack([columns.get(name, nothing) for name in PRIOR]).astype(np.float32),
        fused=found.fused,
        file=np.unique(found.file, return_inverse=True)[1].astype(np.intp),
        code=found.code,
        right_file=np.array([in_file for in_file, _ in right], np.bool_),
        right=np.array([is_passage for _, is_passage in right], np.bool_),
    )


def judge_chunk(chunk: StoredChunk, asked: Asked) -> tuple[bool, bool]:
    """Whether a chunk lies in a right file, and whether it is a right passage: the one holds half of the other."""
    in_file = is_passage = False
    for path, first, last in asked.gold:
        if path not in (chunk.document.path, chunk.document.uri):
            continue
        in_file = True
        shared = min(chunk.line_end, last) - max(chunk.line_start, first) + 1
        shorter = min(chunk.line_end - chunk.line_start, last - first) + 1
        is_passage |= last == 0 or shared >= 0.5 * shorter
    return in_file, is_passage
