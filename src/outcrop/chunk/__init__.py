"""Documents to Chunks, with exact offsets."""

from __future__ import annotations

from outcrop.chunk.size import estimate_tokens
from outcrop.chunk.strategies import AUTO_TARGET_TOKENS, ChunkOptions, StrategyName, chunk_document

__all__ = ["AUTO_TARGET_TOKENS", "ChunkOptions", "StrategyName", "chunk_document", "estimate_tokens"]
