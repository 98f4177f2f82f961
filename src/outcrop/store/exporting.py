"""Documents as the writes that make them again, for another store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from outcrop.records import Chunk, Document, DocumentWrite, Outline, SourceFile
from outcrop.records.meta import load_meta
from outcrop.store.rows import NOTE_COLUMNS, code_notes, join_text, split_headings

BATCH_CHARACTERS = 4_000_000
BATCH_CHUNKS = 1024
"""The most that the documents of one batch hold together, unless it is a single document: bounds memory and the
transaction that writes them. As large as a batch of an ingest."""

DOCUMENT_COLUMNS: Final = (
    "id, collection, uri, path, origin, root, kind, title, meta, sha256, mtime_ns, size, created_at, updated_at,"
    " path_key, language, role, tail"
)
CHUNK_COLUMNS: Final = (
    "c.document_id, c.position, c.start_offset, c.end_offset, c.text, c.tokens, c.heading_path, c.line_start,"
    f" c.line_end, c.page, c.gap, c.text_key, n.summary_key, {NOTE_COLUMNS}"
)


def first_batch(sizes: Iterable[tuple[int, int, int]]) -> list[int]:
    """The ids of as many documents, given as (id, chunks, characters), as one batch may hold."""
    ids: list[int] = []
    characters = chunks = 0
    for id_, more_chunks, more_characters in sizes:
        characters, chunks = characters + more_characters, chunks + more_chunks
        if ids and (characters > BATCH_CHARACTERS or chunks > BATCH_CHUNKS):
            break
        ids.append(id_)
    return ids


def as_writes(
    documents: Iterable[tuple[Any, ...]], tags: Iterable[tuple[int, str]], chunks: Iterable[tuple[Any, ...]]
) -> list[tuple[int, DocumentWrite]]:
    """Rows of DOCUMENT_COLUMNS, of (document id, tag) and, by document and position, of CHUNK_COLUMNS as writes."""
    tags_of: dict[int, list[str]] = defaultdict(list)
    for id_, tag in tags:
        tags_of[id_].append(tag)
    chunks_of = {id_: list(rows) for id_, rows in groupby(chunks, key=itemgetter(0))}
    return [
        (row[0], _write_of(row, tuple(sorted(tags_of[row[0]])), chunks_of.get(row[0], []))) for row in documents
    ]


def _write_of(row: tuple[Any, ...], tags: tuple[str, ...], chunks: list[tuple[Any, ...]]) -> DocumentWrite:
    _, collection, uri, path, origin, root, kind, title, meta, sha256, mtime_ns, size = row[:12]
    created_at, updated_at, path_key, language, role, tail = row[12:]
    summary_keys = tuple(chunk[12] or b"" for chunk in chunks)
    return DocumentWrite(
        file=SourceFile(uri, path, origin, root, mtime_ns, size),
        collection=collection,
        document=Document(
            text=join_text(((chunk[2], chunk[10], chunk[4]) for chunk in chunks), tail),
            kind=kind,
            title=title,
            meta=load_meta(meta),
            outline=Outline(language) if language else None,
            role=role,
        ),
        chunks=tuple(
            Chunk(*(*chunk[1:6], split_headings(chunk[6]), *chunk[7:10], code_notes(chunk[13:])))
            for chunk in chunks
        ),
        text_keys=tuple(chunk[11] for chunk in chunks),
        path_key=path_key,
        sha256=sha256,
        tags=tags,
        summary_keys=summary_keys if any(summary_keys) else (),
        created_at=created_at,
        updated_at=updated_at,
    )
