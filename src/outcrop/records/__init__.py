"""The nouns that flow through the pipeline, from a source to a packed context; a module for each stretch of the way.

All are frozen: a stage makes new ones, it never edits another stage's. Wherever a noun lives, it is imported from here,
and its module is loaded when it is first asked for: a search does not wait for the reports of a write.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from outcrop.records.asked import (
        Directive,
        Filter,
        Fusion,
        Message,
        QueryType,
        SearchArguments,
        SearchMode,
        SearchOptions,
        When,
    )
    from outcrop.records.code import CodeMap, Graph, GraphEdge, GraphNode, MapEntry, Related, Relation, Relative
    from outcrop.records.embedded import Matrix, Model, Trust, Vector
    from outcrop.records.found import (
        EXTRACTED_KINDS,
        Answer,
        Boost,
        Clause,
        Context,
        Copy,
        Explanation,
        Hit,
        LeftOut,
        MatchType,
        MeaningShare,
        PackedSource,
        Reason,
        WhyLeftOut,
        place_of,
    )
    from outcrop.records.parsed import (
        Chunk,
        CodeNotes,
        Declaration,
        Definition,
        Document,
        Heading,
        Mention,
        Outline,
        Reference,
        ReferenceKind,
        Role,
    )
    from outcrop.records.reports import (
        MIN_OVERLAP,
        Check,
        Holdings,
        IngestReport,
        MovedCollection,
        MoveReport,
        OnProgress,
        Progress,
        RankingParity,
        StaleDocument,
        Status,
    )
    from outcrop.records.source import DEFAULT_COLLECTION, Failure, Skipped, SourceFile, Text
    from outcrop.records.stored import (
        CollectionInfo,
        DocumentInfo,
        DocumentWrite,
        FeedRow,
        FileState,
        Folder,
        StoredChunk,
        StoreStats,
    )

__all__ = [
    "DEFAULT_COLLECTION",
    "EXTRACTED_KINDS",
    "MIN_OVERLAP",
    "Answer",
    "Boost",
    "Check",
    "Chunk",
    "Clause",
    "CodeMap",
    "CodeNotes",
    "CollectionInfo",
    "Context",
    "Copy",
    "Declaration",
    "Definition",
    "Directive",
    "Document",
    "DocumentInfo",
    "DocumentWrite",
    "Explanation",
    "Failure",
    "FeedRow",
    "FileState",
    "Filter",
    "Folder",
    "Fusion",
    "Graph",
    "GraphEdge",
    "GraphNode",
    "Heading",
    "Hit",
    "Holdings",
    "IngestReport",
    "LeftOut",
    "MapEntry",
    "MatchType",
    "Matrix",
    "MeaningShare",
    "Mention",
    "Message",
    "Model",
    "MoveReport",
    "MovedCollection",
    "OnProgress",
    "Outline",
    "PackedSource",
    "Progress",
    "QueryType",
    "RankingParity",
    "Reason",
    "Reference",
    "ReferenceKind",
    "Related",
    "Relation",
    "Relative",
    "Role",
    "SearchArguments",
    "SearchMode",
    "SearchOptions",
    "Skipped",
    "SourceFile",
    "StaleDocument",
    "Status",
    "StoreStats",
    "StoredChunk",
    "Text",
    "Trust",
    "Vector",
    "When",
    "WhyLeftOut",
    "place_of",
]

_MODULES: Final = ("asked", "source", "embedded", "parsed", "stored", "found", "code", "reports")
"""Where nouns live, in the order in which a query meets them; each imports only earlier ones."""


def __getattr__(name: str) -> object:
    if name in __all__:
        for module in _MODULES:
            home = vars(importlib.import_module(f"outcrop.records.{module}"))
            if name in home:
                globals()[name] = home[name]  # the next access does not come through here
                return home[name]
    raise AttributeError(f"module 'outcrop.records' has no attribute {name!r}")
