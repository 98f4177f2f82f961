"""Outcrop beside its peers: the same chunks, the same vectors, the same queries, the same machine, one run.

    python -m benchmarks.peers --install                     once: a virtual environment for the peers
    python -m benchmarks.peers --chunks 20000 --corpus FOLDER_OR_JSONL
    python -m benchmarks.peers --data FOLDER                 a labelled set: adds nDCG@10

Dense: Chroma and LanceDB get Outcrop's vectors. Lexical: Tantivy and plain SQLite FTS5 get the title and text of
Outcrop's chunks, and queries without stop words. A peer's ingest is the indexing alone; "outcrop, whole" is the
walk, parse, chunk, embed, store and both indexes, and its searches include embedding the query, so its figures
are for more work; "outcrop, leg" is the like-for-like part. A labelled set has `corpus.jsonl` (id, title, text),
`queries.jsonl` (id, text) and `qrels.tsv` (query-id, corpus-id, score).
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import ROOT, WORK, Report, cpu_s, folder_bytes, percentile, run_child, say  # first

import numpy as np  # isort: skip

import outcrop
from benchmarks.peers.engines import OWN_PYTHON, TOP
from benchmarks.peers.quality import Labels, documents_of, lay_out_labelled, ndcg, overlap, read_labels, recall
from outcrop.engine import Engine
from outcrop.index.arrays import FEED_ROWS, SEGMENT_ROWS
from outcrop.index.bm25 import score_segment, weigh_terms
from outcrop.index.columns import build_segment
from outcrop.index.merging import merge_segments
from outcrop.index.nearest import nearest
from outcrop.index.packed import save_segment
from outcrop.index.segment import Segment
from outcrop.records import FeedRow, Vector
from outcrop.text.terms import STOP_WORDS, Terms

PEER_PACKAGES = ("chromadb", "lancedb", "tantivy", "numpy")
VENV = ROOT / ".artifacts" / "peers-venv"
DENSE, LEXICAL = ("chromadb", "lancedb"), ("tantivy", "fts5")
PEERS = (*DENSE, *LEXICAL)


def install(venv: Path) -> None:
    """Make a virtual environment with the peers, apart from the project's own."""
    say(f"installing {', '.join(PEER_PACKAGES)} into {venv}")
    if not (venv / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *PEER_PACKAGES], check=True)


def missing_peers(venv: Path) -> list[str]:
    """Peers that cannot be imported there."""
    python = venv / "bin" / "python"
    if not python.exists():
        return [name for name in PEERS if name not in OWN_PYTHON]
    absent = []
    for name in PEERS:
        if name not in OWN_PYTHON:
            tried = subprocess.run([str(python), "-c", f"import {name}"], capture_output=True, check=False)
            if tried.returncode:
                absent.append(name)
    return absent


# ------------------------------------------------------------------ what everybody gets


def export(engine: Engine, queries: Sequence[str], folder: Path) -> list[FeedRow]:
    """Write chunks, vectors and queries for the peers; the rows, in order."""
    rows: list[FeedRow] = []
    while feed := engine._store.feed(rows[-1].chunk_id if rows else 0, 4096):
        rows.extend(feed)
    with (folder / "chunks.jsonl").open("w", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps({"title": row.title, "text": row.text}) + "\n")
    weight = engine.parts.embedder.path_weight
    vectors = np.stack([_vector(row, weight) for row in rows])
    np.save(folder / "vectors.npy", vectors)
    np.save(
        folder / "query_vectors.npy", np.stack([engine.parts.embedder.embed_query(query) for query in queries])
    )
    listed = [{"text": query, "words": _meaningful(query, engine.parts.terms)} for query in queries]
    (folder / "queries.json").write_text(json.dumps(listed), "utf-8")
    return rows


def _vector(row: FeedRow, path_weight: float) -> Vector:
    assert row.vector is not None, "every chunk was just indexed"
    vector = row.vector.astype(np.float32)
    if row.path_vector is not None:
        vector = vector + path_weight * row.path_vector.astype(np.float32)
    length = float(np.linalg.norm(vector))
    unit: Vector = vector / max(length, 1e-12)
    return unit


def _meaningful(query: str, terms: Terms) -> list[str]:
    words = [surface for surface, _ in terms.words(query)]
    return [word for word in words if word.lower() not in STOP_WORDS] or words


def exact_nearest(folder: Path) -> tuple[list[list[int]], Any]:
    """The ten nearest rows of each query by brute force, and all vectors."""
    vectors, queries = np.load(folder / "vectors.npy"), np.load(folder / "query_vectors.npy")
    return [np.argsort(-(vectors @ query), kind="stable")[:TOP].tolist() for query in queries], vectors


# ------------------------------------------------------------------ ours


def whole_ingest(documents: Path, db: Path) -> dict[str, Any]:
    """Outcrop from files to an index, in a process of its own."""
    shutil.rmtree(db.parent, ignore_errors=True)
    db.parent.mkdir(parents=True)
    got = run_child(["benchmarks.speed", "--part", "ingest", "--folder", str(documents), "--db", str(db)])
    return {"ingest_cpu_s": got["cpu_s"], "bytes": got["index_bytes"], "chunks": got["chunks"]}


def whole_search(engine: Engine, queries: Sequence[str], mode: Any, at: dict[int, int]) -> dict[str, Any]:
    """`engine.search` in one mode: ten chunks a query, fetched and explained."""
    found, cpu_ms = [], []
    for query in queries[:20]:
        engine.search(query, mode=mode, merge=False, limit=TOP + 1)
    for query in queries:
        cpu = time.process_time()
        answer = engine.search(query, mode=mode, merge=False, limit=TOP, floor=0.0)
        cpu_ms.append(1000 * (time.process_time() - cpu))
        found.append([at[hit.chunk_ids[0]] for hit in answer.hits])
    return {"cpu_ms": cpu_ms, "found": found}


def dense_leg(rows: Sequence[FeedRow], engine: Engine, queries: Any, home: Path) -> dict[str, Any]:
    """The vectors alone: quantise, write, and search without the rest of the engine."""
    bare = [_without_text(row) for row in rows]
    cpu = cpu_s()
    segments = _build(bare, engine, home)
    used = cpu_s() - cpu
    found, cpu_ms = [], []
    for query in queries:
        cpu = time.process_time()
        near = nearest(segments, [None] * len(segments), query, TOP)
        found.append(_best([rows_ for rows_, _ in near], [cosine for _, cosine in near], segments))
        cpu_ms.append(1000 * (time.process_time() - cpu))
    return {"ingest_cpu_s": used, "cpu_ms": cpu_ms, "found": found, "bytes": folder_bytes(home)}


def lexical_leg(rows: Sequence[FeedRow], engine: Engine, queries: Sequence[str], home: Path) -> dict[str, Any]:
    """The words alone: analyse, invert, write, and search without the rest of the engine."""
    engine.parts.terms._seen.clear()
    bare = [_without_vector(row) for row in rows]
    cpu = cpu_s()
    segments = _build(bare, engine, home)
    used = cpu_s() - cpu
    mean_length = sum(int(segment.lengths.sum()) for segment in segments) / max(len(rows), 1)
    found, cpu_ms = [], []
    for query in queries:
        cpu = time.process_time()
        words = weigh_terms(query, engine.parts.terms, segments)
        scores = [score_segment(words, i, segment, mean_length) for i, segment in enumerate(segments)]
        hits = [np.flatnonzero(score > 0) for score in scores]
        found.append(_best(hits, [score[hit] for score, hit in zip(scores, hits, strict=True)], segments))
        cpu_ms.append(1000 * (time.process_time() - cpu))
    return {"ingest_cpu_s": used, "cpu_ms": cpu_ms, "found": found, "bytes": folder_bytes(home)}


def _build(rows: Sequence[FeedRow], engine: Engine, home: Path) -> list[Segment]:
    """Segments as the engine makes them: small ones first, merged into large ones."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    segments = []
    dimensions = engine.parts.embedder.model.dimensions if rows[0].vector is not None else 0
    for first in range(0, len(rows), SEGMENT_ROWS):
        parts = [
            build_segment(
                rows[start : start + FEED_ROWS],
                engine.parts.terms,
                dimensions,
                engine.parts.embedder.path_weight,
            )
            for start in range(first, min(first + SEGMENT_ROWS, len(rows)), FEED_ROWS)
        ]
        segment = merge_segments(parts, [np.zeros(len(part), np.bool_) for part in parts])
        save_segment(segment, home / str(first))
        segments.append(segment)
    return segments


def _without_text(row: FeedRow) -> FeedRow:
    return FeedRow(row.chunk_id, row.document_id, row.kind, "", (), "", "", row.vector, row.path_vector)


def _without_vector(row: FeedRow) -> FeedRow:
    return FeedRow(
        row.chunk_id, row.document_id, row.kind, row.title, row.heading_path, row.path, row.text, None, None
    )


def _best(rows: list[Any], scores: list[Any], segments: Sequence[Segment]) -> list[int]:
    offsets = np.cumsum([0, *(len(segment) for segment in segments[:-1])])
    places = np.concatenate([part + offset for part, offset in zip(rows, offsets, strict=True)])
    score = np.concatenate(scores)
    if len(score) > TOP:
        top = np.argpartition(-score, TOP)[:TOP]
        places, score = places[top], score[top]
    best: list[int] = places[np.argsort(-score, kind="stable")].tolist()
    return best


# ------------------------------------------------------------------ the run


def line(
    name: str, got: dict[str, Any], base: dict[str, Any], quality: dict[str, float | None]
) -> dict[str, Any]:
    """A row of a table, with ratios to our row: above 1 is more than ours."""
    p50, p95 = percentile(got["cpu_ms"], 0.5), percentile(got["cpu_ms"], 0.95)
    base_p50 = percentile(base["cpu_ms"], 0.5)
    return {
        "engine": name,
        "ingest CPU s": got["ingest_cpu_s"],
        "× ours": got["ingest_cpu_s"] / base["ingest_cpu_s"],
        "query CPU p50 ms": p50,
        "p95 ms": p95,
        "p50 × ours": p50 / base_p50,
        "size MB": got["bytes"] / 1e6,
        "size × ours": got["bytes"] / base["bytes"],
        **quality,
    }


def run_peer(name: str, folder: Path, venv: Path) -> dict[str, Any]:
    """One peer in a process of its own."""
    shutil.rmtree(folder / f"index-{name}", ignore_errors=True)
    python = sys.executable if name in OWN_PYTHON else str(venv / "bin" / "python")
    return run_child(["benchmarks.peers.engines", name, str(folder)], python=python)


def compare(
    report: Report, options: argparse.Namespace, documents: Path, queries: list[tuple[str, str]], labels: Labels
) -> None:
    """Everything on one corpus, in two tables."""
    work, texts, ids = documents.parent, [text for _, text in queries], [id_ for id_, _ in queries]
    db = work / "index-outcrop" / "index.db"
    whole = whole_ingest(documents, db)
    with outcrop.open(db) as engine:
        engine.warm()
        rows = export(engine, texts, work)
        at = {row.chunk_id: i for i, row in enumerate(rows)}
        names = (
            documents_of(engine, rows, json.loads((work / "names.json").read_text("utf-8"))) if labels else []
        )
        vectors_of_queries = np.load(work / "query_vectors.npy")
        ours = {
            "outcrop, dense leg": dense_leg(rows, engine, vectors_of_queries, work / "leg-dense"),
            "outcrop, lexical leg": lexical_leg(rows, engine, texts, work / "leg-lexical"),
            "outcrop, whole (semantic)": whole | whole_search(engine, texts, "semantic", at),
            "outcrop, whole (keyword)": whole | whole_search(engine, texts, "keyword", at),
            "outcrop, whole (hybrid)": whole | whole_search(engine, texts, "hybrid", at),
        }
    del rows
    theirs = {name: run_peer(name, work, options.venv) for name in PEERS if name not in options.absent}
    exact, vectors = exact_nearest(work)
    both = ours | theirs
    bm25 = ours["outcrop, lexical leg"]["found"]

    def labelled(name: str) -> dict[str, float | None]:
        return {"nDCG@10": ndcg(both[name]["found"], ids, names, labels)} if labels else {}

    dense = [
        n
        for n in ("outcrop, dense leg", "outcrop, whole (semantic)", "outcrop, whole (hybrid)", *DENSE)
        if n in both
    ]
    report.add_table(
        f"Dense: {whole['chunks']:,} chunks, {len(queries)} queries",
        [
            line(
                n,
                both[n],
                both["outcrop, dense leg"],
                {
                    "recall@10": None
                    if "hybrid" in n
                    else recall(both[n]["found"], exact, vectors, vectors_of_queries),
                    **labelled(n),
                },
            )
            for n in dense
        ],
    )
    lexical = [
        n
        for n in ("outcrop, lexical leg", "outcrop, whole (keyword)", "outcrop, whole (hybrid)", *LEXICAL)
        if n in both
    ]
    report.add_table(
        f"Lexical: {whole['chunks']:,} chunks, {len(queries)} queries",
        [
            line(
                n,
                both[n],
                both["outcrop, lexical leg"],
                {"overlap@10": overlap(both[n]["found"], bm25), **labelled(n)},
            )
            for n in lexical
        ],
    )


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--corpus", type=Path, help="a folder of text and HTML, or a .jsonl with a text a line")
    parser.add_argument("--data", type=Path, help="a labelled set instead of a corpus")
    parser.add_argument(
        "--queries", type=int, default=300, help="queries drawn from the corpus, or taken of the set"
    )
    parser.add_argument("--work", type=Path, default=WORK)
    parser.add_argument("--venv", type=Path, default=VENV, help="where the peers are installed")
    parser.add_argument("--install", action="store_true", help="install the peers there first")
    options = parser.parse_args()
    if options.install:
        install(options.venv)
    options.absent = missing_peers(options.venv)
    if options.absent:
        say(
            f"left out, because not installed in {options.venv}: {', '.join(options.absent)} (run with --install)"
        )
    if options.data:
        name = options.data.name
        work = options.work / f"peers-{name}"
        queries = lay_out_labelled(options.data, work / "documents")
        labels = read_labels(options.data)
        queries = [query for query in queries if query[0] in labels][: options.queries]
        documents = work / "documents"
    else:
        from benchmarks.corpus import draw_queries, lay_out, read_sources

        name = str(options.chunks)
        work = options.work / (options.corpus.name if options.corpus else "default") / f"peers-{name}"
        work.mkdir(parents=True, exist_ok=True)
        pieces = read_sources(options.corpus)
        documents, labels = lay_out(pieces, options.chunks, work / "documents").folder, {}
        queries = [(str(i), text) for i, text in enumerate(draw_queries(pieces, options.queries))]
    report = Report(f"peers-{name}", {"chunks": options.chunks, "set": name, "queries": len(queries)})
    compare(report, options, documents, queries, labels)
    report.keep()
    return 0


if __name__ == "__main__":
    sys.exit(main())
