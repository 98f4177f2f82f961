"""A document as rows: what either store writes of it, and what both refuse."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, Final

from outcrop.errors import StoreError
from outcrop.records import DocumentWrite, Model, Vector
from outcrop.store.quantized import check_vectors, pack_vectors, unpack_vectors
from outcrop.store.rows import join_headings, join_names, stated_date

CHUNK_FIELDS: Final = (
    "id, document_id, position, start_offset, end_offset, tokens, page, line_start, line_end, heading_path,"
    " text_key, gap, text"
)
NOTE_FIELDS: Final = "chunk_id, symbol, kind, signature, summary, summary_key, names"
DOCUMENT_FIELDS: Final = (
    "collection, uri, path, origin, root, kind, title, meta, sha256, mtime_ns, size, dated_at, created_at,"
    " updated_at, chunk_count, char_count, path_key, tail, language, role"
)


def check_shape(write: DocumentWrite) -> None:
    """Chunks must be cut from the text they claim to be cut from: the text is rebuilt from them."""
    if len(write.text_keys) != len(write.chunks):
        raise StoreError(f"{write.file.uri}: {len(write.chunks)} chunks came with {len(write.text_keys)} keys")
    if write.summary_keys and len(write.summary_keys) != len(write.chunks):
        raise StoreError(
            f"{write.file.uri}: {len(write.chunks)} chunks came with {len(write.summary_keys)} summaries"
        )
    text = write.document.text
    for chunk in write.chunks:
        if not 0 <= chunk.start <= chunk.end or text[chunk.start : chunk.end] != chunk.text:
            raise StoreError(f"{write.file.uri}: chunk {chunk.index} is not what its offsets say")


def require_same_model(active: tuple[int, Model] | None, model: Model) -> None:
    """Refuse a write that brings vectors of another model than the active one."""
    if active is not None and active[1] != model:
        raise StoreError(
            f"the index holds vectors of {active[1]}, this write brings vectors of {model}: "
            f"reembed the index, or go on with {active[1]}"
        )


def require_active(active: tuple[int, Model] | None, model: Model) -> int:
    """The id of a model that must be the active one."""
    if active is None or active[1] != model:
        raise StoreError(f"the index is searched with {active and active[1]}, not with {model}: reembed it")
    return active[0]


def require_complete(model: Model, missing: Sequence[int]) -> None:
    """Refuse a switch to a model of which chunks, summaries or paths have no vector."""
    if any(missing):
        chunks, summaries, paths = missing
        raise StoreError(
            f"{chunks} chunks, {summaries} summaries and {paths} paths have no vector of {model} yet;"
            " embed them first"
        )


def keys_of(write: DocumentWrite) -> set[bytes]:
    """The keys of all vectors of a document, without empty ones (a model without paths, a chunk without a summary)."""
    return {*write.text_keys, *write.summary_keys, write.path_key} - {b""}


def document_row(
    write: DocumentWrite, tail: str, now: float, before: tuple[float, float] | None
) -> tuple[Any, ...]:
    """The row of a document, as DOCUMENT_FIELDS; `before` is when the one it replaces was created and updated."""
    created_at = now if write.created_at is None else write.created_at
    updated_at = now if write.updated_at is None else write.updated_at
    if before is not None:
        created_at = before[0]
        updated_at = max(now, math.nextafter(before[1], math.inf))  # later even when the clock was set back
    file, document = write.file, write.document
    return (
        *(write.collection, file.uri, file.path, file.origin, file.root, document.kind, document.title),
        *(json.dumps(dict(document.meta), ensure_ascii=False), write.sha256, file.mtime_ns, file.size),
        *(stated_date(document.meta), created_at, updated_at, len(write.chunks), len(document.text)),
        *(write.path_key, tail, document.outline.language if document.outline else "", document.role),
    )


def chunk_rows(
    write: DocumentWrite, document_id: int, first_id: int, gaps: Sequence[str]
) -> list[tuple[Any, ...]]:
    """The rows of a document's chunks, as CHUNK_FIELDS."""
    return [
        (
            *(first_id + i, document_id, chunk.index, chunk.start, chunk.end, chunk.tokens, chunk.page),
            *(chunk.line_start, chunk.line_end, join_headings(chunk.heading_path), key, gap, chunk.text),
        )
        for i, (chunk, key, gap) in enumerate(zip(write.chunks, write.text_keys, gaps, strict=True))
    ]


def note_rows(write: DocumentWrite, first_id: int) -> list[tuple[Any, ...]]:
    """What is noted of those chunks that are code, as NOTE_FIELDS."""
    keys = write.summary_keys or (b"",) * len(write.chunks)
    return [
        (first_id + i, code.symbol, code.kind, code.signature, code.summary, key, join_names(code))
        for i, (chunk, key) in enumerate(zip(write.chunks, keys, strict=True))
        if (code := chunk.code) is not None
    ]


def vector_blobs(model: Model, rows: Sequence[Vector]) -> list[bytes]:
    """Vectors as float16, in bytes; refuses what `check_vectors` refuses.

    Rounded to the eight bits that a file keeps of them, which 16 hold exactly: the same documents rank alike wherever
    they are kept.
    """
    rounded = unpack_vectors(pack_vectors(check_vectors(model, rows)))
    return [row.tobytes() for row in rounded.astype("<f2")]
