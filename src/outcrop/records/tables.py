"""Hits, documents and chunks as rows, for pandas, Polars, DuckDB or whatever else takes tables."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING, Any

from outcrop.errors import ConfigError
from outcrop.records.found import Hit
from outcrop.records.stored import DocumentInfo, StoredChunk

if TYPE_CHECKING:
    import pyarrow as pa

Item = Hit | StoredChunk | DocumentInfo


def to_rows(items: Iterable[Item]) -> list[dict[str, Any]]:
    """A dictionary for each, all with the same keys: what a hit or a chunk says and where, and its document."""
    return [_row_of(item) for item in items]


def to_arrow(items: Iterable[Item]) -> pa.Table:
    """The same as an Arrow table; metadata, whose types differ from document to document, is a column of JSON.
    ConfigError where pyarrow is not installed."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ConfigError("Arrow tables need pyarrow: `pip install pyarrow`, or use to_rows()") from error
    return pa.Table.from_pylist(
        [row | {"meta": json.dumps(row["meta"], default=_as_text)} for row in to_rows(items)]
    )


def _as_text(value: object) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def _row_of(item: Item) -> dict[str, Any]:
    if isinstance(item, DocumentInfo):
        return _about(item) | {
            "chunks": item.chunks,
            "characters": item.characters,
            "created_at": item.created_at,
            "updated_at": item.updated_at,
            "sha256": item.sha256,
        }
    place = {
        "text": item.text,
        "headings": list(item.heading_path),
        "line_start": item.line_start,
        "line_end": item.line_end,
        "page": item.page,
        "tokens": item.tokens,
    }
    if isinstance(item, Hit):
        own = {"score": item.score, "chunk_ids": list(item.chunk_ids)}
    else:
        own = {"chunk_id": item.id, "index": item.index, "start": item.start, "end": item.end}
    return own | place | _about(item.document)


def _about(document: DocumentInfo) -> dict[str, Any]:
    return {
        "document_id": document.id,
        "collection": document.collection,
        "uri": document.uri,
        "path": document.path,
        "title": document.title,
        "kind": document.kind,
        "language": document.language,
        "tags": list(document.tags),
        "meta": {
            name: list(value) if isinstance(value, tuple) else value for name, value in document.meta.items()
        },
    }
