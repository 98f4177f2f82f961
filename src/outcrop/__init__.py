"""Outcrop: the right passages of your documents, on your own machine, with exact sources.

>>> index = outcrop.open()
>>> index.add("~/notes")
>>> index.search("how are retries configured?").hits
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from outcrop.config import Config, load_config
    from outcrop.contracts import Embedder, Reranker, Store, Tokenizer
    from outcrop.engine import Engine
    from outcrop.engine import open_engine as open
    from outcrop.errors import OutcropError
    from outcrop.records import (
        Answer,
        Chunk,
        CodeMap,
        Context,
        Directive,
        DocumentInfo,
        Filter,
        Hit,
        IngestReport,
        Message,
        Progress,
        Related,
        SearchOptions,
        Text,
    )
    from outcrop.records.tables import to_arrow, to_rows
    from outcrop.write.prepare import chunk_text

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Chunk",
    "CodeMap",
    "Config",
    "Context",
    "Directive",
    "DocumentInfo",
    "Embedder",
    "Engine",
    "Filter",
    "Hit",
    "IngestReport",
    "Message",
    "OutcropError",
    "Progress",
    "Related",
    "Reranker",
    "SearchOptions",
    "Store",
    "Text",
    "Tokenizer",
    "chunk_text",
    "load_config",
    "open",
    "to_arrow",
    "to_rows",
]

# Where public names live that are not records. They are imported when first asked for: the command line imports this
# package to show its help, and must not wait for numpy and SQLite to do so.
_HOMES = {
    "chunk_text": "outcrop.write.prepare",
    **dict.fromkeys(("Config", "load_config"), "outcrop.config"),
    **dict.fromkeys(("Embedder", "Reranker", "Store", "Tokenizer"), "outcrop.contracts"),
    **dict.fromkeys(("Engine", "open"), "outcrop.engine"),
    "OutcropError": "outcrop.errors",
    **dict.fromkeys(("to_arrow", "to_rows"), "outcrop.records.tables"),
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'outcrop' has no attribute {name!r}")
    home = importlib.import_module(_HOMES.get(name, "outcrop.records"))
    value = getattr(home, "open_engine" if name == "open" else name)
    globals()[name] = value  # the next access does not come through here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
