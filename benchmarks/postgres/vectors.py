"""Which vector index of pgvector: how exact, how fast, how large, with a filter and after deletions?

    nice -n 10 python -m benchmarks.postgres.vectors --corpus FOLDER...

The server is the one of the tests, with 2 GB of shared buffers. Truth is the exact cosine of the half floats, computed
here; rows at the same distance count alike. `ms` and `p95` are wall clock at the client, one connection, everything in
memory; `cpu` is what the server used for a query, on average, which other work on the machine does not change. The
vectors are made once and kept in `--work`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any, Final

from benchmarks.postgres.points import Points, load_points, make_points
from benchmarks.report import WORK, Report, percentile, say  # before numpy

import numpy as np  # isort: skip
import psutil
import psycopg
from numpy.typing import NDArray
from tests.postgres.server import PostgresServer, create_server, open_home

COUNTS: Final = (10, 200)
"""How many neighbours are asked for: what a person reads, and what a hybrid search takes from this leg."""
FILTER_QUERIES: Final = 40
"""Queries a filtered setting is measured with: some take a second each."""
INSERTED: Final = 2000
DELETED_SHARE: Final = 0.3
_AS_NEAR: Final = 1e-5
"""Cosines that differ by less count as equal: sums in another order differ by a few millionths."""
DEFAULT_SCAN: Final = (("hnsw.max_scan_tuples", 20_000), ("hnsw.scan_mem_multiplier", 1))
DEEP_SCAN: Final = (("hnsw.max_scan_tuples", 400_000), ("hnsw.scan_mem_multiplier", 16))
"""How far an iterative scan goes: as pgvector has it, and as far as there are rows, with the memory for that."""
SERVER: Final = {
    "shared_buffers": "2GB",
    "maintenance_work_mem": "1GB",
    "max_parallel_maintenance_workers": "1",
    "max_parallel_workers_per_gather": "0",
    "effective_cache_size": "8GB",
    "jit": "off",
    "autovacuum": "off",
    "max_wal_size": "8GB",
}


@dataclass(frozen=True, slots=True)
class Index:
    """One kind of index: on which type, how it is made, and what trades time for exactness."""

    name: str
    type: str
    definition: str
    knob: str
    values: tuple[int, ...]
    bits: bool = False

    @property
    def method(self) -> str:
        return self.knob.partition(".")[0]

    def query(self, count: int, candidates: int, where: str = "true") -> str:
        """SQL for the ids of the nearest; bits find candidates, which the vectors put in order."""
        vector = f"%(q)s::{self.type}"
        if not self.bits:
            return f"SELECT id FROM points WHERE {where} ORDER BY embedding <=> {vector} LIMIT {count}"
        size = self.type.partition("(")[2].rstrip(")")
        bits = f"binary_quantize(embedding)::bit({size}) <~> binary_quantize({vector})::bit({size})"
        found = f"SELECT id, embedding FROM points WHERE {where} ORDER BY {bits} LIMIT {max(candidates, count)}"
        return f"SELECT id FROM ({found}) AS found ORDER BY embedding <=> {vector} LIMIT {count}"


def kinds(dimensions: int) -> tuple[Index, ...]:
    """What is compared."""
    vector, half = f"vector({dimensions})", f"halfvec({dimensions})"
    graph, searches = "WITH (m = {}, ef_construction = {})", (40, 100, 200, 400)
    plain, dense = graph.format(16, 64), graph.format(24, 128)
    bits = f"((binary_quantize(embedding)::bit({dimensions})) bit_hamming_ops)"
    lists, probes = "WITH (lists = 450)", (1, 5, 10, 20)
    return (
        Index("hnsw vector", vector, f"hnsw (embedding vector_cosine_ops) {plain}", "hnsw.ef_search", searches),
        Index("hnsw halfvec", half, f"hnsw (embedding halfvec_cosine_ops) {plain}", "hnsw.ef_search", searches),
        Index(
            "hnsw halfvec 24/128",
            half,
            f"hnsw (embedding halfvec_cosine_ops) {dense}",
            "hnsw.ef_search",
            searches,
        ),
        Index("hnsw bit", half, f"hnsw {bits} {plain}", "hnsw.ef_search", (*searches, 800), bits=True),
        Index(
            "ivfflat halfvec", half, f"ivfflat (embedding halfvec_cosine_ops) {lists}", "ivfflat.probes", probes
        ),
    )


class Truth:
    """The exact cosines of all points with all queries, and which points there are."""

    def __init__(self, points: Points) -> None:
        rows = points.vectors.astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        self._cosines = points.queries @ rows.T
        self.alive = np.ones(len(rows), np.bool_)

    def recall(
        self, query: int, found: Sequence[int], count: int, among: NDArray[np.bool_] | None = None
    ) -> float:
        """The share of the `count` nearest that was found; what is as near as the last of them counts too."""
        allowed = self.alive if among is None else self.alive & among
        cosines = self._cosines[query]
        there = np.sort(cosines[allowed])
        least = there[-min(count, len(there))] - _AS_NEAR
        return float((cosines[list(found)] >= least).sum()) / min(count, len(there))


@dataclass(frozen=True, slots=True)
class Bench:
    """A connection, the points, the truth about them, and the queries as pgvector reads them."""

    connection: psycopg.Connection[Any]
    points: Points
    truth: Truth
    queries: Sequence[str]

    def run(self, *statements: str) -> float:
        """Run statements; seconds."""
        began = time.perf_counter()
        for statement in statements:
            self.connection.execute(statement.encode())
        return time.perf_counter() - began

    def one(self, statement: str) -> Any:
        """The first column of the first row."""
        row = self.connection.execute(statement.encode()).fetchone()
        return row[0] if row else None

    def fill(self, kind: Index) -> None:
        """A new table with all points."""
        self.truth.alive[:] = True
        self.run(
            "DROP TABLE IF EXISTS points",
            f"CREATE TABLE points (id bigint PRIMARY KEY, document_id bigint NOT NULL, embedding {kind.type} NOT NULL)",
            "ALTER TABLE points ALTER COLUMN embedding SET STORAGE PLAIN",
        )
        self.copy(kind, np.arange(len(self.points.documents)))
        self.run("VACUUM ANALYZE points", "CHECKPOINT")

    def copy(self, kind: Index, ids: NDArray[np.int64], first: int = 0) -> None:
        """Copy points into the table, with ids from `first` on."""
        with self.connection.cursor() as cursor, cursor.copy("COPY points FROM STDIN (FORMAT BINARY)") as copy:
            copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
            for part in np.array_split(ids, max(len(ids) // 10_000, 1)):
                copy.write(binary_rows(self.points, kind, part, first))
            copy.write(b"\xff\xff")

    def measure(
        self, sql: str, count: int, among: NDArray[np.bool_] | None = None, most: int = 10**9
    ) -> dict[str, Any]:
        """Recall, median and 95th percentile of one query after the other."""
        times, recalls, rows = [], [], []
        server = psutil.Process(self.connection.info.backend_pid)
        used = sum(server.cpu_times()[:2])
        with self.connection.cursor() as cursor:
            for number, query in enumerate(self.queries[:most]):
                began = time.perf_counter()
                found = [row[0] for row in cursor.execute(sql.encode(), {"q": query}, prepare=True)]
                times.append(1000 * (time.perf_counter() - began))
                recalls.append(self.truth.recall(number, found, count, among))
                rows.append(len(found))
        return {
            f"recall@{count}": round(mean(recalls), 4),
            f"cpu {count}": round(1000 * (sum(server.cpu_times()[:2]) - used) / len(times), 2),
            f"ms {count}": round(median(times), 2),
            f"p95 {count}": round(percentile(times, 0.95), 2),
            f"rows {count}": round(mean(rows), 1),
        }


def binary_rows(points: Points, kind: Index, ids: NDArray[np.int64], first: int) -> bytes:
    """Rows as COPY reads them: a count of fields, and each with its length before it."""
    dimensions = points.vectors.shape[1]
    number = ">f2" if kind.type.startswith("halfvec") else ">f4"
    fields = [
        ("fields", ">i2"),
        ("l1", ">i4"),
        ("id", ">i8"),
        ("l2", ">i4"),
        ("document", ">i8"),
        ("l3", ">i4"),
    ]
    rows = np.zeros(
        len(ids), np.dtype([*fields, ("size", ">i2"), ("zero", ">i2"), ("row", number, (dimensions,))])
    )
    rows["fields"], rows["l1"], rows["l2"] = 3, 8, 8
    rows["l3"] = 4 + dimensions * np.dtype(number).itemsize
    rows["id"], rows["document"] = first + ids, points.documents[ids]
    rows["size"], rows["row"] = dimensions, points.vectors[ids]
    return rows.tobytes()


# ------------------------------------------------------------------ what is measured of an index


def build(bench: Bench, kind: Index) -> dict[str, Any]:
    """Fill a table, make the index, put a few more rows in and take them out again."""
    bench.fill(kind)
    seconds = bench.run(f"CREATE INDEX near ON points USING {kind.definition}")
    sizes = {
        "index MB": bench.one("SELECT pg_relation_size('near')") / 1e6,
        "table MB": bench.one("SELECT pg_table_size('points')") / 1e6,
    }
    total = len(bench.points.documents)
    began = time.perf_counter()
    bench.copy(kind, np.arange(INSERTED), first=total)
    inserting = 1000 * (time.perf_counter() - began) / INSERTED
    bench.run(f"DELETE FROM points WHERE id >= {total}", "VACUUM points")
    return {"index": kind.name, "build s": round(seconds, 1), **sizes, "insert ms a row": round(inserting, 3)}


def sweep(bench: Bench, kind: Index, values: Sequence[int], modes: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Every setting without a filter."""
    bench.measure(kind.query(10, 10), 10)  # bring it into memory
    for mode in modes:
        bench.run(f"SET {kind.method}.iterative_scan = {mode}")
        for value in values:
            bench.run(f"SET {kind.knob} = {value}", "DISCARD PLANS")
            row: dict[str, Any] = {"index": kind.name, "scan": mode, "setting": value}
            for count in COUNTS:
                row |= bench.measure(kind.query(count, value), count)
            say(str(row))
            yield row
    bench.run(f"SET {kind.method}.iterative_scan = off")


def filters(points: Points) -> dict[str, tuple[str, NDArray[np.bool_]]]:
    """Two of one percent: documents here and there, and documents that belong together."""
    documents = points.documents
    spread = "document_id %% 100 = 7"
    middle = len(documents) // 2
    first, last = int(documents[middle]), int(documents[middle + len(documents) // 100])
    together = f"document_id BETWEEN {first} AND {last}"
    return {
        "spread": (spread, documents % 100 == 7),
        "together": (together, (documents >= first) & (documents <= last)),
    }


def filtered(bench: Bench, kind: Index, value: int) -> Iterator[dict[str, Any]]:
    """Every way of going on when a filter leaves too few, at one setting of the knob."""
    modes: list[tuple[str, str]] = [("off", "default"), ("relaxed_order", "default")]
    if kind.method == "hnsw":
        modes += [("relaxed_order", "deep"), ("strict_order", "default"), ("strict_order", "deep")]
    bench.run(f"SET {kind.knob} = {value}")
    for mode, depth in modes:
        limits = DEEP_SCAN if depth == "deep" else DEFAULT_SCAN
        bench.run(*(f"SET {name} = {limit}" for name, limit in limits))
        bench.run(f"SET {kind.method}.iterative_scan = {mode}", "DISCARD PLANS")
        for name, (where, among) in filters(bench.points).items():
            row: dict[str, Any] = {
                "index": kind.name,
                "setting": value,
                "scan": mode,
                "depth": depth,
                "filter": name,
            }
            for count in COUNTS:
                row |= bench.measure(kind.query(count, 4 * count, where), count, among, FILTER_QUERIES)
            say(str(row))
            yield row
    bench.run(f"SET {kind.method}.iterative_scan = off")


def thin_out(bench: Bench, kind: Index) -> dict[str, Any]:
    """Delete a share of the documents and VACUUM."""
    documents = np.unique(bench.points.documents)
    gone = np.random.default_rng(7).choice(documents, int(DELETED_SHARE * len(documents)), replace=False)
    with bench.connection.cursor() as cursor:
        cursor.execute("DELETE FROM points WHERE document_id = ANY (%s)", (gone.tolist(),))
    bench.truth.alive[:] = ~np.isin(bench.points.documents, gone)
    seconds = bench.run("VACUUM points")
    return {
        "index": kind.name,
        "rows left": int(bench.truth.alive.sum()),
        "vacuum s": round(seconds, 1),
        "index MB": bench.one("SELECT pg_relation_size('near')") / 1e6,
    }


def exact(bench: Bench, kind: Index) -> Iterator[dict[str, Any]]:
    """Without a vector index: all rows, and the rows of a filter by its own index."""
    bench.fill(kind)
    bench.run(
        "CREATE INDEX by_document ON points (document_id)",
        "CREATE INDEX by_spread ON points ((document_id % 100))",
    )
    cases: dict[str, tuple[str, NDArray[np.bool_] | None]] = {"none": ("true", None), **filters(bench.points)}
    for name, (where, among) in cases.items():
        row: dict[str, Any] = {"filter": name}
        for count in COUNTS:
            row |= bench.measure(kind.query(count, count, where), count, among, FILTER_QUERIES)
        yield row


def planned(bench: Bench, kind: Index) -> str:
    """Which index the planner takes for a plain query when it is left alone."""
    with bench.connection.cursor() as cursor:
        cursor.execute(("EXPLAIN " + kind.query(200, 200)).encode(), {"q": bench.queries[0]})
        return "near" if any("near" in row[0] for row in cursor) else "none"


def compare(server: PostgresServer, points: Points, names: Sequence[str], report: Report) -> None:
    """Measure every kind of index, and print each table when it is complete."""
    tables: dict[str, list[dict[str, Any]]] = {
        title: [] for title in ("indexes", "without a filter", "a filter of one percent", "after deleting 30 %")
    }
    queries = ["[" + ",".join(f"{number:.6g}" for number in query) + "]" for query in points.queries]
    with psycopg.connect(server.admin_url(), autocommit=True) as connection:
        bench = Bench(connection, points, Truth(points), queries)
        chosen = [kind for kind in kinds(points.vectors.shape[1]) if not names or kind.name in names]
        report.add_table("exact", list(exact(bench, kinds(points.vectors.shape[1])[1])))
        for kind in chosen:
            say(f"\n{kind.name}: {kind.definition}")
            tables["indexes"].append(build(bench, kind) | {"planner takes": planned(bench, kind)})
            bench.run("SET enable_seqscan = off")
            modes = ("off", "relaxed_order")
            tables["without a filter"] += sweep(bench, kind, kind.values, modes)
            tables["a filter of one percent"] += filtered(bench, kind, kind.values[2])
            thinned = thin_out(bench, kind)
            after = list(sweep(bench, kind, kind.values[1:3], ("off",)))
            tables["after deleting 30 %"] += [thinned | row for row in after]
            bench.run("RESET enable_seqscan")
            for title, rows in tables.items():
                report.tables[title] = rows
    for title, rows in tables.items():
        report.add_table(title, rows)


def main() -> None:
    """Make the vectors if need be, then compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, nargs="+", default=[], help="folders to index, in this order")
    parser.add_argument("--points", type=int, default=200_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--only", nargs="+", default=[], help="names of indexes")
    parser.add_argument("--work", type=Path, default=WORK / "pg_vectors")
    options = parser.parse_args()
    kept = options.work / f"points-{options.points}.npz"
    if not kept.exists():
        made = make_points(options.corpus, options.work / "points.db", options.points, options.queries)
        made.save(kept)
    points = load_points(kept)
    parameters = {
        "points": len(points.documents),
        "documents": len(np.unique(points.documents)),
        "dimensions": points.vectors.shape[1],
        "queries": len(points.questions),
        "corpus": [folder.name for folder in options.corpus],
        "server": SERVER,
    }
    with open_home() as home:
        server = create_server(home, "vectors", settings=SERVER)
        version = server.execute("SELECT version(), extversion FROM pg_extension WHERE extname = 'vector'")
        report = Report(f"pg_vectors-{len(points.documents)}", parameters | {"postgres": version[0]})
        compare(server, points, options.only, report)
    report.keep()


if __name__ == "__main__":
    main()
