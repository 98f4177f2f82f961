"""What a condition on metadata costs a search: python -m benchmarks.where [--chunks 200000] [--corpus FOLDER]

Documents of ten chunks with metadata, and every query asked plain, with a condition that half of them meet and with one
that a thousandth meets: always the same condition, as a filter of a page or of an agent is, and another one each time,
for which nothing can be kept. CPU time of one process; the ways take turns. Whether results are full is asked beside
that, without floor and merging: then ten hits must come back from any slice.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from benchmarks.corpus import draw_queries, extend, read_sources
from benchmarks.report import WORK, Report, percentile, say
from outcrop.engine import Engine, open_engine
from outcrop.records import Scalar, Text

CHUNKS: Final = 200_000
PIECES_A_DOCUMENT: Final = 5
"""Which make about ten chunks."""
ROUND: Final = 1_000
"""Documents between two looks at how many chunks there are."""
QUERIES: Final = 200
SLOTS: Final = 1_000
MAX_RATIO: Final = 1.3
NAMES: Final = ("Ann Lee", "Bo Chen", "Cy Diaz", "Dee Okafor", "Eve Lindgren", "Flo Haddad", "Gus Novak")


def make_texts(pieces: list[Any]) -> Iterator[Text]:
    """Documents of some pieces each; half of them are drafts, and a thousandth has any one slot."""
    waiting: list[str] = []
    number = 0
    for piece in extend(pieces):
        waiting.append(piece.text)
        if len(waiting) == PIECES_A_DOCUMENT:
            meta: dict[str, Scalar | list[Scalar]] = {
                "draft": number % 2 == 0,
                "slot": number % SLOTS,
                "serial": number,
                "year": 2000 + number % 25,
                "authors": [NAMES[number % 7], NAMES[number // 7 % 7]],
            }
            yield Text("\n\n".join(waiting), id=f"documents/{number:06}.md", meta=meta)
            waiting, number = [], number + 1


def fill(engine: Engine, corpus: Path | None, chunks: int, kept: Path) -> list[str]:
    """Add the documents unless they are there, and draw the queries."""
    if kept.is_file():
        queries: list[str] = json.loads(kept.read_text("utf-8"))
        return queries
    pieces = read_sources(corpus)
    texts = make_texts(pieces)
    while engine.status().stats.chunks < chunks:
        report = engine.add_texts(islice(texts, ROUND), collection="documents")
        if report.failed:
            raise SystemExit(f"{len(report.failed)} documents failed, the first: {report.failed[0]}")
    queries = draw_queries(pieces, QUERIES + 20)
    kept.write_text(json.dumps(queries), "utf-8")
    return queries


def conditions(number: int) -> dict[str, str | None]:
    """The ways in which a query is asked."""
    return {
        "no condition": None,
        "half": "draft == true",
        "half, another each time": f"draft == true and serial >= {number % 50}",
        "a thousandth": "slot == 17",
        "a thousandth, another each time": f"slot == {number % SLOTS}",
        "text and number": 'authors contains "lee" and year >= 2010',
        "text and number, another each time": f'authors contains "lee" and (year >= 2010 or serial == {number})',
    }


def measure(engine: Engine, queries: list[str]) -> dict[str, list[float]]:
    """CPU milliseconds of each search, by way."""
    taken: dict[str, list[float]] = {name: [] for name in conditions(0)}
    engine.warm()
    for number, query in enumerate(queries[QUERIES:]):
        for where in conditions(number + QUERIES).values():
            engine.search(query, where=where)
    for number, query in enumerate(queries[:QUERIES]):
        ways = list(conditions(number).items())
        for at in range(len(ways)):
            name, where = ways[(at + number) % len(ways)]
            before = time.process_time()
            engine.search(query, where=where)
            taken[name].append(1000 * (time.process_time() - before))
    return taken


def count_short(engine: Engine, queries: list[str]) -> tuple[int, int]:
    """How many searches of a slice come back with fewer than ten hits, and how many hits do not meet the condition."""
    short = wrong = 0
    for number, query in enumerate(queries[:50]):
        hits = engine.search(query, where=f"slot == {number}", floor=0.0, merge=False).hits
        short += len(hits) < 10
        wrong += sum(hit.document.meta["slot"] != number for hit in hits)
        hits = engine.search(query, where="draft == true", floor=0.0, merge=False).hits
        short += len(hits) < 10
        wrong += sum(hit.document.meta["draft"] is not True for hit in hits)
    return short, wrong


def main() -> int:
    """Fill an index, or take up the one of an earlier run, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=CHUNKS)
    parser.add_argument("--corpus", type=Path, help="a folder of text; what most machines have unless given")
    parser.add_argument("--db", help="a file or a Postgres URL; a new file unless given")
    parser.add_argument("--work", type=Path, default=WORK / "where", help="where files of the run are kept")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    db = options.db or str(options.work / f"{options.chunks}.db")
    kept = options.work / f"{options.chunks}-{'given' if options.db else 'file'}.json"
    if not kept.exists() and not options.db:
        shutil.rmtree(db + ".arrays", ignore_errors=True)
        Path(db).unlink(missing_ok=True)
    store = "Postgres" if "://" in db else "SQLite"
    report = Report("where", {"chunks": options.chunks, "store": store, "queries": QUERIES})
    with open_engine(db) as engine:
        queries = fill(engine, options.corpus, options.chunks, kept)
        stats = engine.status().stats
        report.add("chunks", stats.chunks, "chunks")
        report.add("documents", stats.documents, "documents")
        say("")
        taken = measure(engine, queries)
        short, wrong = count_short(engine, queries)
    plain = percentile(taken["no condition"], 0.95)
    report.add_table(
        f"CPU ms of a search on {store}",
        [
            {
                "condition": name,
                "p50": round(percentile(values, 0.5), 2),
                "p95": round(percentile(values, 0.95), 2),
                "× without": round(percentile(values, 0.95) / plain, 3),
            }
            for name, values in taken.items()
        ],
    )
    for name in ("half", "a thousandth", "half, another each time", "a thousandth, another each time"):
        report.add(f"p95, {name}", percentile(taken[name], 0.95) / plain, "× without", at_most=MAX_RATIO)
    report.add("searches of a slice with fewer than ten hits", short, "of 100", at_most=0)
    report.add("hits that do not meet the condition", wrong, "hits", at_most=0)
    report.keep()
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
