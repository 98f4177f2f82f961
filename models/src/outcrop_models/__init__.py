"""The models of Outcrop: where their folders lie.

Each folder of a transformer holds model.onnx, tokenizer.json and card.json, which says what the
model is, how it was trained and what it scores.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

__version__ = "0.1.0"

__all__ = ["mini", "ocr", "rerank"]

mini: Final = Path(__file__).parent / "mini"
"""The embedding model: texts to vectors."""
ocr: Final = Path(__file__).parent / "ocr"
"""The models that read pictures of pages: detect.onnx and read.onnx."""
rerank: Final = Path(__file__).parent / "rerank"
"""The reranker: a query and a text to a score."""
