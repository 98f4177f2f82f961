"""Databases as earlier versions of Outcrop wrote them, with what an index of today holds."""

from __future__ import annotations

from pathlib import Path

import apsw
import numpy as np

from outcrop.contracts import Store
from outcrop.store.rows import join_headings, split_text
from outcrop.store.shaping import document_row, keys_of
from outcrop.store.sqlite.schema import MIGRATIONS, migrate


def write_version_1(store: Store, db: Path) -> None:
    """Make a database of version 1, which knew nothing of code, of the documents of a store."""
    raw = apsw.Connection(str(db))
    raw.execute("PRAGMA auto_vacuum = incremental; PRAGMA journal_mode = wal").fetchall()
    migrate(raw, MIGRATIONS[:1])
    model = store.active_model()
    assert model is not None
    raw.execute("INSERT INTO models VALUES (1, ?, ?, ?)", (model.name, model.version, model.dimensions))
    raw.execute("INSERT INTO meta VALUES ('active_model', 1)")
    for name, value in store.settings().items():
        raw.execute("INSERT INTO settings VALUES (?, ?)", (name, value))
    chunk_id = 0
    for id_, write in store.export(0, 10_000):
        gaps, tail = split_text(write.document.text, write.chunks)
        values = document_row(write, tail, 0.0, None)[:18]
        raw.execute(f"INSERT INTO documents VALUES ({', '.join('?' * 19)})", (id_, *values))
        for chunk, key, gap in zip(write.chunks, write.text_keys, gaps, strict=True):
            chunk_id += 1
            row = (
                chunk_id,
                id_,
                chunk.index,
                chunk.start,
                chunk.end,
                chunk.tokens,
                chunk.page,
                chunk.line_start,
            )
            rest = (chunk.line_end, join_headings(chunk.heading_path), key, gap, chunk.text)
            raw.execute(f"INSERT INTO chunks VALUES ({', '.join('?' * 13)})", (*row, *rest))
            raw.execute("INSERT INTO keywords (rowid, body) VALUES (?, ?)", (chunk_id, chunk.text))
        keys = keys_of(write) - set(write.summary_keys)
        for key, vector in store.kept_vectors(model, keys).items():
            raw.execute(
                "INSERT INTO vectors (model_id, key, vector) VALUES (1, ?, ?) ON CONFLICT DO NOTHING",
                (key, vector.astype(np.dtype("<f2")).tobytes()),
            )
        for tag in write.tags:
            raw.execute("INSERT INTO tags VALUES (?, ?)", (id_, tag))
    raw.close()
