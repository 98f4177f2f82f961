"""Chunking by itself: a text to chunks, without an index."""

from __future__ import annotations

from outcrop.chunk.strategies import ChunkOptions, StrategyName, chunk_document
from outcrop.parse.entry import parse
from outcrop.parse.limits import ParseLimits
from outcrop.records import Chunk
from outcrop.sources.text import text_source

_TIMEOUT_S = 60.0
_MEMORY_BYTES = 1024 * 1024 * 1024


def chunk_text(
    text: str,
    *,
    kind: str | None = None,
    path: str | None = None,
    chunker: StrategyName = "auto",
    target_tokens: int = 0,
    overlap: float | None = None,
    min_chars: int | None = None,
) -> tuple[Chunk, ...]:
    """Cut a text into chunks as the index would: `text[chunk.start:chunk.end] == chunk.text` for each.

    `kind` says how to read it (`md`, `text`, `json` …); without one the extension of `path` does, and a text without
    either is Markdown if it looks like it. `chunker` is the strategy; `target_tokens` (0), `overlap` (a share of the
    target, up to 0.5) and `min_chars` are the strategy's own unless given. Line ends become `\\n` first, and offsets of
    HTML are those of the text that is made of it.
    """
    options = ChunkOptions(chunker, target_tokens, overlap, min_chars)
    if not text.strip():
        return ()
    file, data = text_source(text, path, kind=kind)
    limits = ParseLimits(timeout_s=_TIMEOUT_S, memory_bytes=_MEMORY_BYTES)
    return chunk_document(parse(data, path=file.path, media_type=file.media_type, limits=limits), options)
