"""What the crash ordeal works on, and what must be true of it after a kill (see proofs.crash)."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from outcrop.config import load_config
from outcrop.contracts import Embedder
from outcrop.engine import Engine
from outcrop.index.arrays import SearchArrays
from outcrop.index.segment import View
from outcrop.read.search import Retriever
from outcrop.records import DocumentInfo, SearchOptions

_WORDS = (
    "river stone harbour ledger signal copper window thread market garden engine lantern bridge orchard valley "
    "compass mirror anchor barrel canvas winter summer archive ballast cable dynamo easel furnace gravel hinge"
).split()

NEAR = 0.02
"""Distances that are the same, give or take a path. What is missing or of another version is much further off."""

Expected = dict[str, str]
"""uri → mark of the version a document holds."""


def content(mark: str) -> str:
    """The text of a version: every sentence names it, so that no chunk can hide where it is from."""
    chosen = random.Random(mark)
    paragraphs = [f"About {mark}."]
    for _ in range(chosen.randint(1, 10)):
        sentences = (
            f"{' '.join(chosen.choices(_WORDS, k=chosen.randint(6, 14)))} {mark}."
            for _ in range(chosen.randint(2, 9))
        )
        paragraphs.append(" ".join(sentences))
    return "\n\n".join(paragraphs) + "\n"


def mark_of(text: str) -> str:
    """Which version a text is."""
    return text.partition(".")[0].removeprefix("About ")


@dataclass(slots=True)
class Scene:
    """One index with its folder and journal, and what is known to be in it."""

    home: Path
    acknowledged: Expected = field(default_factory=dict)
    next_mark: int = 0
    url: str = ""
    """The Postgres database that the index is in, each in a schema of its own; empty: it is a file."""

    @property
    def folder(self) -> Path:
        """The folder that is indexed."""
        return self.home / "files"

    @property
    def db(self) -> Path | str:
        """The database."""
        return f"{self.url}?schema={self.home.name.replace('-', '_')}" if self.url else self.home / "index.db"

    @property
    def journal(self) -> Path:
        """What the child said: one JSON object a line."""
        return self.home / "journal.jsonl"

    def open(self, embedder: Embedder) -> Engine:
        """The index, with a model that is loaded already."""
        return Engine(load_config({"db": self.db, "data_dir": self.home}, environ={}), embedder=embedder)

    def files(self) -> Expected:
        """What lies on disk now."""
        return {str(path): mark_of(path.read_text("utf-8")) for path in sorted(self.folder.rglob("*.txt"))}


# ------------------------------------------------------------------ what must be true afterwards


@dataclass(frozen=True, slots=True)
class Promise:
    """What the journal says: `kept` was acknowledged; `wanted` is what the interrupted call was bringing about."""

    kept: Expected
    wanted: dict[str, str | None]
    acknowledgements: int
    marks: int

    def allows(self, uri: str, mark: str | None) -> bool:
        """Whether a document may hold this version (None: not be there)."""
        return mark == self.kept.get(uri) or (uri in self.wanted and mark == self.wanted[uri])


def read_journal(scene: Scene) -> Promise:
    """The journal of a round, on top of what was there before it."""
    kept, wanted, count, marks = dict(scene.acknowledged), {}, 0, scene.next_mark
    lines = scene.journal.read_bytes().split(b"\n")[:-1] if scene.journal.exists() else []
    for line in lines:  # a line without its end was never said
        said = json.loads(line)
        state = _full_state(said["state"], kept)
        marks = said["marks"]
        if said["kind"] == "want":
            wanted = state
        else:
            kept = {uri: mark for uri, mark in {**kept, **state}.items() if mark is not None}
            wanted, count = {}, count + 1
    return Promise(kept, wanted, count, marks)


def _full_state(state: Mapping[str, str | None], kept: Expected) -> dict[str, str | None]:
    """A call about the folder says what is there; what it does not name and was below the folder, is gone."""
    if any(not uri.startswith("/") for uri in state):
        return dict(state)
    return {uri: None for uri in kept if uri.startswith("/")} | dict(state)


def verify(scene: Scene, promise: Promise, embedder: Embedder) -> tuple[list[str], Expected]:
    """Everything that is wrong, in words, and what the index holds now."""
    engine = scene.open(embedder)
    with engine:
        documents = engine.documents()
        found = {document.uri: document for document in documents}
        holds = {uri: mark_of(engine.text(document.id)) for uri, document in found.items()}
        wrong = [f"{uri}: twice in the index" for uri in found if [d.uri for d in documents].count(uri) > 1]
        for uri in sorted({*found, *promise.kept, *promise.wanted}):
            if not promise.allows(uri, holds.get(uri)):
                wrong.append(
                    f"{uri}: holds {holds.get(uri)}, acknowledged {promise.kept.get(uri)}, "
                    f"being written {promise.wanted.get(uri, 'nothing')}"
                )
        for uri, document in found.items():
            wrong.extend(f"{uri}: {problem}" for problem in _document_problems(engine, document, holds[uri]))
        wrong.extend(_count_problems(engine, documents))
        wrong.extend(_search_problems(engine, embedder, holds))
    return wrong, holds


def _document_problems(engine: Engine, document: DocumentInfo, mark: str) -> Iterator[str]:
    text = engine.text(document.id)
    if text != content(mark):
        yield f"its text is not that of {mark}"
    if document.sha256 != sha256(content(mark).encode()).hexdigest():
        yield f"its hash is not that of {mark}"
    chunks = engine.chunks(document.id)
    if len(chunks) != document.chunks or not chunks:
        yield f"{len(chunks)} chunks instead of {document.chunks}"
    for chunk in chunks:
        if text[chunk.start : chunk.end] != chunk.text:
            yield f"chunk {chunk.index} is not what stands there"
        foreign = {word.rstrip(".") for word in chunk.text.split() if word.startswith("zq")} - {mark}
        if foreign:
            yield f"chunk {chunk.index} is from {foreign}"


def _count_problems(engine: Engine, documents: list[DocumentInfo]) -> Iterator[str]:
    stats = engine.status().stats
    if stats.documents != len(documents):
        yield f"{stats.documents} documents counted, {len(documents)} listed"
    chunks = sum(document.chunks for document in documents)
    if {stats.chunks, stats.chunks_with_vector} != {chunks}:
        yield f"counts disagree: {stats}, documents say {chunks} chunks"
    for check in engine.doctor():
        if not check.ok:
            yield f"doctor: {check.name}: {check.detail}"


def _search_problems(engine: Engine, embedder: Embedder, holds: Expected) -> Iterator[str]:
    """What the killed process left to be searched (arrays, caught up, or tables) against arrays made anew in memory."""
    left = engine.parts.index
    anew = SearchArrays(engine._store, None, engine.parts.terms, embedder.path_weight)
    rows_anew = _living(anew.refresh())
    rows_left = _living(left.refresh()) if isinstance(left, SearchArrays) else rows_anew
    if not np.array_equal(rows_left, rows_anew):
        yield f"the arrays hold chunks {sorted(set(rows_left) ^ set(rows_anew))[:5]} too many or too few"
    before = Retriever(engine._store, left, embedder, engine.parts.terms)
    after = Retriever(engine._store, anew, embedder, engine.parts.terms)
    marks = sorted(set(holds.values()))
    chosen = random.Random(len(marks)).sample(marks, min(3, len(marks)))
    for query in (*(" ".join(content(mark).split()[2:9]) for mark in chosen), "copper lantern by the river"):
        # The nearest vectors must be the same ones at the same distance. BM25 counts removed rows until they
        # are compacted, so for words the set of chunks that hold a rare one is compared instead.
        options = SearchOptions(limit=15, mode="semantic", merge=False)
        one, two = (
            {hit.text: hit.distance or 0.0 for hit in retriever.search(query, options).hits}
            for retriever in (before, after)
        )
        # The ten best of the one are among the fifteen best of the other: what is equally near may change places, and
        # of copies of a text, which lie a little apart by their paths, either may stand for all.
        apart = [abs(one[text] - two.get(text, 9.0)) for text in list(one)[:10]]
        apart += [abs(two[text] - one.get(text, 9.0)) for text in list(two)[:10]]
        if max(apart, default=0.0) > NEAR:
            yield f"semantic search for {query!r} differs from a rebuild: {one} {two}"
    for mark in chosen:
        options = SearchOptions(limit=200, mode="keyword", merge=False)
        sets = [{hit.chunk_ids for hit in r.search(mark, options).hits} for r in (before, after)]
        owners = {hit.document.uri for hit in before.search(mark, options).hits}
        if sets[0] != sets[1] or not sets[0]:
            yield f"keyword search for {mark} differs from a rebuild: {sets}"
        holders = {uri for uri, held in holds.items() if held == mark}
        if not owners or not owners <= holders:  # of copies a search shows one
            yield f"keyword search for {mark} finds {owners}, not {holders}"


def _living(view: View) -> Any:
    parts = [segment.chunk_ids[~gone] for segment, gone in zip(view.segments, view.deleted, strict=True)]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
