"""Small deterministic documents with vectors, for the tests of every store."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from outcrop.contracts import Store
from outcrop.records import (
    Chunk,
    CodeNotes,
    Definition,
    Document,
    DocumentWrite,
    Mention,
    Meta,
    Model,
    Outline,
    Role,
    SourceFile,
    Vector,
)
from outcrop.store.sqlite.chunks import Entry, pack_block, unpack_block

MODEL = Model("small", "1", 8)
OTHER = Model("other", "2", 4)


def key(text: str) -> bytes:
    """The content address of a text."""
    return hashlib.sha256(text.encode()).digest()[:16]


def vector(of: bytes, model: Model = MODEL) -> Vector:
    """Some vector, always the same for a key and a model; exact in eight bits."""
    seed = int.from_bytes(hashlib.sha256(of + str(model).encode()).digest()[:8])
    numbers = np.random.default_rng(seed).standard_normal(model.dimensions)
    return (np.rint(16 * numbers) / 16 + 0.0).astype(
        np.float32
    )  # no negative zero, which eight bits do not know


def repack(packed: bytes, old: str, new: str) -> bytes:
    """A block of texts with other words in place of some, to be a function of SQL."""
    entries = unpack_block(packed)
    return pack_block([Entry(*(field and field.replace(old, new) for field in entry)) for entry in entries])  # type: ignore[arg-type]


def cut(text: str, spans: Sequence[tuple[int, int]]) -> tuple[Chunk, ...]:
    """The chunks of a text at these offsets."""
    return tuple(
        Chunk(
            index=i,
            start=start,
            end=end,
            text=text[start:end],
            tokens=max(1, (end - start) // 4),
            heading_path=("Guide", f"Part {i}") if i % 2 else (),
            line_start=1 + text.count("\n", 0, start),
            line_end=1 + text.count("\n", 0, end),
            page=i + 1 if i % 3 == 0 else None,
        )
        for i, (start, end) in enumerate(spans)
    )


def paragraphs(text: str) -> list[tuple[int, int]]:
    """The offsets of the parts between empty lines."""
    spans, start = [], 0
    for part in text.split("\n\n"):
        if part:
            spans.append((start, start + len(part)))
        start += len(part) + 2
    return spans


def make_write(
    path: str = "notes/a.md",
    text: str = "First words.\n\nSecond words.",
    *,
    spans: Sequence[tuple[int, int]] | None = None,
    collection: str = "main",
    root: str | None = "/home/me",
    uri: str | None = None,
    kind: str = "markdown",
    title: str = "A title",
    tags: tuple[str, ...] = (),
    meta: Meta | None = None,
    mtime_ns: int | None = 1_700_000_000_000_000_000,
    origin: Literal["file", "url", "text"] = "file",
) -> DocumentWrite:
    """A document as ingest would hand it over."""
    chunks = cut(text, paragraphs(text) if spans is None else spans)
    return DocumentWrite(
        file=SourceFile(
            uri=uri or f"{root or ''}/{path}",
            path=path,
            origin=origin,
            root=root,
            mtime_ns=mtime_ns,
            size=len(text),
        ),
        collection=collection,
        document=Document(text=text, kind=kind, title=title, meta=dict(meta or {})),
        chunks=chunks,
        text_keys=tuple(key(chunk.text) for chunk in chunks),
        path_key=key("path:" + path),
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        tags=tags,
    )


def notes_of(name: str, summary: str = "") -> CodeNotes:
    """What is known of a chunk that declares a class and its method, and calls something."""
    return CodeNotes(
        symbol=name,
        kind="class",
        signature=f"class {name}(Base):",
        summary=summary,
        defines=(Definition(name, "class", "", 3), Definition("close", "method", name, 9)),
        mentions=(Mention("Base", "inherit"), Mention("acquire", "call", "self.pool", 4)),
    )


def make_code(
    path: str = "src/pool.py",
    text: str = "class Pool:\n\nclass Lease:",
    *,
    notes: Sequence[CodeNotes | None] | None = None,
    language: str = "python",
    role: Role = "",
) -> DocumentWrite:
    """A source file as ingest would hand it over: a chunk a paragraph, notes for those that have some."""
    write = make_write(path, text, kind="code")
    if notes is None:
        notes = [notes_of(chunk.text.split()[-1].strip(":"), f"about {chunk.text}") for chunk in write.chunks]
    return replace(
        write,
        document=replace(write.document, outline=Outline(language), role=role),
        chunks=tuple(replace(chunk, code=code) for chunk, code in zip(write.chunks, notes, strict=True)),
        summary_keys=tuple(key("summary:" + code.summary) if code and code.summary else b"" for code in notes),
    )


def vectors_for(*writes: DocumentWrite, model: Model = MODEL) -> dict[bytes, Vector]:
    """Every vector these documents need."""
    keys = {k for write in writes for k in (*write.text_keys, *write.summary_keys, write.path_key)}
    return {k: vector(k, model) for k in keys if k}


def put(store: Store, *writes: DocumentWrite) -> list[int]:
    """Write documents with all their vectors."""
    return store.write(writes, vectors_for(*writes), MODEL)
