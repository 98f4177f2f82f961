"""The peers, each in a process of its own: index what `benchmarks.peers` prepared, answer its queries.

    python -m benchmarks.peers.engines NAME FOLDER        (started by benchmarks.peers)
    python -m benchmarks.peers.engines NAME PLAN          (by benchmarks.compare: the `folder` of each of its `jobs`)

Runs under the peers' own Python, without Outcrop. FOLDER holds `chunks.jsonl` (title, text), `vectors.npy`,
`queries.json` (text, words) and `query_vectors.npy`; rows are named by their number.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.report import cpu_s, folder_bytes, peak_rss_bytes  # first: it holds numpy to one core

TOP = 10
BATCH = 5000
"""Rows handed over at a time; the largest batch that every peer takes."""

Search = Callable[[int], list[int]]
"""The number of a query to the numbers of the rows found, best first."""


def open_chromadb(folder: Path, home: Path) -> tuple[Callable[[], None], Search]:
    """Chroma's persistent client with its HNSW index over our vectors."""
    import chromadb
    import numpy as np
    from chromadb.config import Settings

    vectors, queries = np.load(folder / "vectors.npy"), np.load(folder / "query_vectors.npy")
    client = chromadb.PersistentClient(str(home), settings=Settings(anonymized_telemetry=False))
    collection = client.create_collection(
        "chunks", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )

    def ingest() -> None:
        texts = [text for _, text in read_chunks(folder)]
        for start in range(0, len(vectors), BATCH):
            rows = range(start, min(start + BATCH, len(vectors)))
            collection.add(
                ids=[str(row) for row in rows],
                embeddings=vectors[start : rows.stop],
                documents=texts[start : rows.stop],
            )

    def search(number: int) -> list[int]:
        found = collection.query(
            query_embeddings=queries[number : number + 1], n_results=TOP, include=["documents", "distances"]
        )
        return [int(row) for row in found["ids"][0]]

    return ingest, search


def open_lancedb(folder: Path, home: Path) -> tuple[Callable[[], None], Search]:
    """LanceDB without an index: exact, and what it does by itself with tables of this size."""
    import lancedb
    import numpy as np
    import pyarrow as pa  # comes with LanceDB

    vectors, queries = np.load(folder / "vectors.npy"), np.load(folder / "query_vectors.npy")
    database = lancedb.connect(str(home))
    tables: list[Any] = []

    def ingest() -> None:
        texts = [text for _, text in read_chunks(folder)]
        flat = pa.array(vectors.astype(np.float32).reshape(-1))
        columns = {
            "row": pa.array(range(len(vectors)), pa.int64()),
            "text": pa.array(texts),
            "vector": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1]),
        }
        tables.append(database.create_table("chunks", pa.table(columns)))

    def search(number: int) -> list[int]:
        found = tables[0].search(queries[number]).distance_type("cosine").limit(TOP).to_arrow()
        return [int(row) for row in found["row"].to_pylist()]

    return ingest, search


def open_tantivy(folder: Path, home: Path) -> tuple[Callable[[], None], Search]:
    """Tantivy with its English stemmer: any of the words, title and text in one field."""
    import tantivy

    words = [query["words"] for query in json.loads((folder / "queries.json").read_text("utf-8"))]
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("row", stored=True)
    builder.add_text_field("text", stored=True, tokenizer_name="en_stem")
    home.mkdir(parents=True)
    index = tantivy.Index(builder.build(), path=str(home))

    def ingest() -> None:
        writer = index.writer(heap_size=128_000_000, num_threads=1)
        for row, (title, text) in enumerate(read_chunks(folder)):
            writer.add_document(tantivy.Document(row=row, text=f"{title}\n{text}"))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()

    def search(number: int) -> list[int]:
        query, _ = index.parse_query_lenient(" ".join(f'"{word}"' for word in words[number]), ["text"])
        searcher = index.searcher()
        found = [searcher.doc(address) for _, address in searcher.search(query, TOP).hits]
        return [int(document["row"][0]) for document in found]

    return ingest, search


def open_fts5(folder: Path, home: Path) -> tuple[Callable[[], None], Search]:
    """Plain SQLite FTS5 with its Porter stemmer: any of the words, ordered by bm25."""
    import apsw

    words = [query["words"] for query in json.loads((folder / "queries.json").read_text("utf-8"))]
    home.mkdir(parents=True)
    database = apsw.Connection(str(home / "fts.db"))
    database.execute("PRAGMA journal_mode = wal; PRAGMA synchronous = full")
    database.execute("CREATE VIRTUAL TABLE chunks USING fts5 (text, tokenize = 'porter unicode61')")

    def ingest() -> None:
        with database:
            rows = ((row, f"{title}\n{text}") for row, (title, text) in enumerate(read_chunks(folder)))
            database.executemany("INSERT INTO chunks (rowid, text) VALUES (?, ?)", rows)

    def search(number: int) -> list[int]:
        tokens = [part for word in words[number] for part in re.findall(r"\w+", word)]
        match = " OR ".join(f'"{token}"' for token in tokens)
        sql = f"SELECT rowid, text FROM chunks WHERE chunks MATCH ? ORDER BY rank LIMIT {TOP}"
        return [int(row) for row, _ in database.execute(sql, (match,))] if match else []

    return ingest, search


def open_lancedb_hybrid(folder: Path, home: Path) -> tuple[Callable[[], None], Search]:
    """LanceDB with its index of words beside the vectors, joined by its default, reciprocal ranks."""
    import lancedb
    import numpy as np

    ingest_vectors, _ = open_lancedb(folder, home)
    queries = np.load(folder / "query_vectors.npy")
    texts = [query["text"] for query in json.loads((folder / "queries.json").read_text("utf-8"))]
    tables: list[Any] = []

    def ingest() -> None:
        ingest_vectors()
        table = lancedb.connect(str(home)).open_table("chunks")
        table.create_fts_index("text")
        tables.append(table)

    def search(number: int) -> list[int]:
        asked = tables[0].search(query_type="hybrid", vector_column_name="vector", fts_columns="text")
        found = asked.vector(queries[number]).text(texts[number]).limit(TOP).to_arrow()
        return [int(row) for row in found["row"].to_pylist()]

    return ingest, search


def open_milvus(folder: Path, home: Path) -> tuple[Callable[[], None], Search]:
    """Milvus Lite: a collection as its guide makes it, then flushed and loaded, without which a search takes 50 times
    as long (5 000 rows: 200 ms against 4)."""
    import numpy as np
    from pymilvus import MilvusClient  # type: ignore[import-not-found]  # in its own environment

    vectors, queries = np.load(folder / "vectors.npy"), np.load(folder / "query_vectors.npy")
    home.mkdir(parents=True)
    client = MilvusClient(str(home / "milvus.db"))
    client.create_collection("chunks", dimension=vectors.shape[1], metric_type="COSINE", auto_id=False)

    def ingest() -> None:
        texts = [text for _, text in read_chunks(folder)]
        for start in range(0, len(vectors), BATCH):
            rows = range(start, min(start + BATCH, len(vectors)))
            client.insert(
                "chunks", [{"id": row, "vector": vectors[row].tolist(), "text": texts[row]} for row in rows]
            )
        client.flush("chunks")
        client.release_collection("chunks")
        client.load_collection("chunks")

    def search(number: int) -> list[int]:
        found = client.search("chunks", data=[queries[number].tolist()], limit=TOP, output_fields=["text"])
        return [int(hit["id"]) for hit in found[0]]

    return ingest, search


def open_txtai(folder: Path, home: Path) -> tuple[Callable[[], None], Search]:
    """Txtai's hybrid index with content, its vectors from ours: a text is looked up, never embedded."""
    import numpy as np
    from txtai import Embeddings  # type: ignore[import-not-found]  # in its own environment

    listed = json.loads((folder / "queries.json").read_text("utf-8"))
    texts = [f"{title}\n{text}" for title, text in read_chunks(folder)]
    asked = [query["text"] for query in listed]
    known = dict(zip(texts, np.load(folder / "vectors.npy"), strict=True))
    known |= dict(zip(asked, np.load(folder / "query_vectors.npy"), strict=True))
    embeddings = Embeddings(
        {
            "method": "external",
            "transform": lambda some: np.stack([known[text] for text in some]),
            "content": True,
            "hybrid": True,
        }
    )

    def ingest() -> None:
        embeddings.index((row, text, None) for row, text in enumerate(texts))
        embeddings.save(str(home))

    def search(number: int) -> list[int]:
        return [int(hit["id"]) for hit in embeddings.search(asked[number], TOP)]

    return ingest, search


PEERS: dict[str, Callable[[Path, Path], tuple[Callable[[], None], Search]]] = {
    "chromadb": open_chromadb,
    "lancedb": open_lancedb,
    "tantivy": open_tantivy,
    "fts5": open_fts5,
    "lancedb-hybrid": open_lancedb_hybrid,
    "milvus": open_milvus,
    "txtai": open_txtai,
}
OWN_PYTHON = frozenset({"fts5"})
"""Peers that need nothing but what Outcrop itself needs, and run under the same SQLite."""


def read_chunks(folder: Path) -> Iterator[tuple[str, str]]:
    """(title, text) of every row."""
    with (folder / "chunks.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield row["title"], row["text"]


def run_plan(name: str, plan: Path) -> dict[str, Any]:
    """Every job of a plan with one peer."""
    jobs = {}
    for job in json.loads(plan.read_text("utf-8"))["jobs"]:
        folder = Path(job["folder"])
        shutil.rmtree(folder / f"index-{name}", ignore_errors=True)
        jobs[job["name"]] = main(name, folder)
    return {"jobs": jobs}


def main(name: str, folder: Path) -> dict[str, Any]:
    """Index and search with one peer."""
    home = folder / f"index-{name}"
    ingest, search = PEERS[name](folder, home)
    cpu, wall = cpu_s(), time.perf_counter()
    ingest()
    cpu_ingest, wall_ingest = cpu_s() - cpu, time.perf_counter() - wall
    count = len(json.loads((folder / "queries.json").read_text("utf-8")))
    for number in range(min(20, count)):
        search(number)
    found, cpu_ms, wall_ms = [], [], []
    for number in range(count):
        cpu, wall = time.process_time(), time.perf_counter()
        found.append(search(number))
        cpu_ms.append(1000 * (time.process_time() - cpu))
        wall_ms.append(1000 * (time.perf_counter() - wall))
    return {
        "ingest_cpu_s": cpu_ingest,
        "ingest_wall_s": wall_ingest,
        "cpu_ms": cpu_ms,
        "wall_ms": wall_ms,
        "bytes": folder_bytes(home),
        "peak_rss": peak_rss_bytes(),
        "found": found,
    }


if __name__ == "__main__":
    given = Path(sys.argv[2])
    sys.stdout.write("\n" + json.dumps((main if given.is_dir() else run_plan)(sys.argv[1], given)) + "\n")
