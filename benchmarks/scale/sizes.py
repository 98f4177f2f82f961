"""Where the bytes of an index are, table by table and array by array."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

import apsw

from benchmarks.report import folder_bytes


def measure_sizes(options: argparse.Namespace) -> dict[str, Any]:
    """Sizes in bytes, in all and a chunk."""
    from outcrop.index.packed import map_watched

    db = options.work / "index.db"
    connection = apsw.Connection(str(db), flags=apsw.SQLITE_OPEN_READONLY)
    ((chunks, text),) = connection.execute(
        "SELECT (SELECT count(*) FROM chunks), (SELECT sum(char_count) FROM documents)"
    ).fetchall()
    sizes: Counter[str] = Counter()
    for name, size in connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"):
        sizes[f"table {name}"] = size
    connection.close()
    for file in (db.parent / f"{db.name}.arrays").glob("segment-*"):
        for name, array in map_watched(file)[0].items():
            sizes[f"array {name}"] += array.nbytes
    return {
        "text_bytes": text,
        "database_bytes": db.stat().st_size,
        "array_bytes": folder_bytes(db.parent / f"{db.name}.arrays"),
        "parts": [
            {"part": name, "bytes a chunk": size / chunks, "to text": size / text}  # type: ignore[operator]
            for name, size in sizes.most_common()
            if size > chunks  # type: ignore[operator]
        ],
    }
