"""What peers get that take ready-made chunks and vectors, and our own legs over the same rows.

    python -m benchmarks.compare.rows PLAN        (started by benchmarks.compare)

For every job of the plan (`name`, `folder`, `questions`, `rows`: where to write) Outcrop indexes the folder; its
chunks, vectors and the queries are written as `peers/engines.py` reads them, and `places.json` tells where each row
is from. Where the plan says `legs`, both legs of our own search run over these rows, as `benchmarks.peers` has them.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import cpu_s  # first: it holds numpy to one core

import outcrop  # isort: skip
from benchmarks.peers.__main__ import dense_leg, export, lexical_leg  # isort: skip
from outcrop.engine import Engine  # isort: skip
from outcrop.records import FeedRow  # isort: skip

import numpy as np  # isort: skip

LOOKED_UP = 500
"""Chunks asked of the store at a time."""


def places_of(engine: Engine, rows: Sequence[FeedRow]) -> list[tuple[str, int, int]]:
    """Path, first and last line of every row."""
    places: dict[int, tuple[str, int, int]] = {}
    for start in range(0, len(rows), LOOKED_UP):
        for chunk in engine._store.chunks([row.chunk_id for row in rows[start : start + LOOKED_UP]]):
            places[chunk.id] = (chunk.document.path, chunk.line_start, chunk.line_end)
    return [places[row.chunk_id] for row in rows]


def prepare(job: dict[str, Any], *, legs: bool) -> dict[str, Any]:
    """Write the rows of one job; what our legs did with them."""
    home = Path(job["rows"])
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    texts = [text for _, text in job["questions"]]
    before = cpu_s()
    with outcrop.open(home / "index.db") as engine:
        engine.add(Path(job["folder"]))
        rows = export(engine, texts, home)
        (home / "places.json").write_text(json.dumps(places_of(engine, rows)), "utf-8")
        made: dict[str, Any] = {"chunks": len(rows), "cpu_s": cpu_s() - before}
        if legs:
            vectors = np.load(home / "query_vectors.npy")
            made["dense"] = dense_leg(rows, engine, vectors, home / "leg-dense")
            made["lexical"] = lexical_leg(rows, engine, texts, home / "leg-lexical")
    return made


def main(plan: Path) -> dict[str, Any]:
    """Every job of the plan."""
    content = json.loads(plan.read_text("utf-8"))
    return {job["name"]: prepare(job, legs=content["legs"]) for job in content["jobs"]}


if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(main(Path(sys.argv[1]))) + "\n")
