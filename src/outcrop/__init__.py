"""Outcrop: the right passages of your documents, on your own machine, with exact sources.

>>> kb = outcrop.open()
>>> kb.add("~/notes")
>>> kb.search("how are retries configured?").hits
"""

from __future__ import annotations

from outcrop.config import Config, load_config
from outcrop.contracts import Embedder, Reranker, Store, Tokenizer
from outcrop.engine import Engine
from outcrop.engine import open_engine as open
from outcrop.errors import OutcropError
from outcrop.records import Answer, Context, DocumentInfo, Filter, Hit, IngestReport, Progress, SearchOptions

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Config",
    "Context",
    "DocumentInfo",
    "Embedder",
    "Engine",
    "Filter",
    "Hit",
    "IngestReport",
    "OutcropError",
    "Progress",
    "Reranker",
    "SearchOptions",
    "Store",
    "Tokenizer",
    "load_config",
    "open",
]
