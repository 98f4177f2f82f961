"""Real vectors for benchmarks of databases: folders are indexed, and what the search would compare is kept as arrays.

One document in fifty is held out: its headings and the first lines of its docstrings are the queries, and none of its
chunks is a point.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report import say  # first: it holds numpy to one core

import numpy as np  # isort: skip
from numpy.typing import NDArray

import outcrop
from outcrop.embed.models import open_embedder
from outcrop.embed.transformer import unit_rows
from outcrop.records import FeedRow, Matrix, Vector
from outcrop.store.sqlite.store import open_sqlite

HELD_OUT_EVERY = 50
FEED_ROWS = 2000
"""Chunks read from the store at a time."""
_DOCSTRING = re.compile(r'"""\s*([A-Z][^\n"]{20,110}?)\.?(?:"""|\n)')
_MIN_WORDS = 3
"""A heading of fewer says too little to be asked."""


@dataclass(frozen=True, slots=True)
class Points:
    """Vectors of unit length as half floats with the document of each, and queries with theirs."""

    vectors: NDArray[np.float16]
    documents: NDArray[np.int64]
    questions: Sequence[str]
    queries: Matrix

    def save(self, path: Path) -> None:
        """Keep them in one file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(
            path,
            vectors=self.vectors,
            documents=self.documents,
            questions=np.array(self.questions),
            queries=self.queries,
        )


def load_points(path: Path) -> Points:
    """What `save` kept."""
    with np.load(path) as kept:
        return Points(
            kept["vectors"], kept["documents"], [str(one) for one in kept["questions"]], kept["queries"]
        )


def make_points(folders: Sequence[Path], db: Path, count: int, queries: int) -> Points:
    """Index folders and take `count` points; a point is the vector of a chunk or of a summary of code.

    `db` is kept: what it holds already is not indexed again.
    """
    db.parent.mkdir(parents=True, exist_ok=True)
    with outcrop.open(db, model="static") as engine:
        for folder in folders:
            report = engine.add(folder, collection=folder.name)
            chunks = engine.status().stats.chunks
            say(f"{folder.name:<30} {report.added:>7,} files added  {chunks:>9,} chunks in all")
    store = open_sqlite(db)
    try:
        return _collect(store, count, queries)
    finally:
        store.close()


def _collect(store: Any, count: int, queries: int) -> Points:
    embedder = open_embedder("static", url="", key="", query_prefix="")
    vectors: list[Vector] = []
    documents: list[int] = []
    asked: dict[str, None] = {}
    for row in _rows(store):
        if row.document_id % HELD_OUT_EVERY == 0:
            asked.update(dict.fromkeys(_questions(row)))
            continue
        path = np.zeros(1, np.float32) if row.path_vector is None else row.path_vector.astype(np.float32)
        for vector in (row.vector, row.summary_vector):
            if vector is not None and vector.any():
                vectors.append(vector.astype(np.float32) + np.float32(embedder.path_weight) * path)
                documents.append(row.document_id)
    chosen = _some_documents(np.array(documents, np.int64), count)
    known = [(text, embedder.embed_query(text)) for text in asked]
    known = [(text, vector) for text, vector in known if vector.any()]
    known = known[:: max(len(known) // queries, 1)][:queries]
    return Points(
        unit_rows(np.stack([vectors[place] for place in chosen])).astype(np.float16),
        np.array(documents, np.int64)[chosen],
        [text for text, _ in known],
        np.stack([vector for _, vector in known]).astype(np.float32),
    )


def _some_documents(documents: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The places of `count` points: those of documents from all folders, whole, in the order in which they were."""
    if len(documents) < count:
        raise SystemExit(f"the folders hold {len(documents):,} points of {count:,}: give more with --corpus")
    different, which = np.unique(documents, return_inverse=True)
    rank = np.random.default_rng(1).permutation(len(different))[which]
    return np.sort(np.argsort(rank, kind="stable")[:count])


def _rows(store: Any) -> Iterator[FeedRow]:
    after = 0
    while rows := store.feed(after, FEED_ROWS):
        yield from rows
        after = rows[-1].chunk_id


def _questions(row: FeedRow) -> Iterator[str]:
    """Headings of prose and first lines of docstrings."""
    if row.language:
        yield from _DOCSTRING.findall(row.text)[:1]
    elif row.heading_path and len(row.heading_path[-1].split()) >= _MIN_WORDS:
        yield row.heading_path[-1]
