"""The front door: a Config becomes an index one can add to and search.

    index = outcrop.open()
    index.add("~/notes")
    for hit in index.search("how are retries configured?").hits: ...
    print(index.context("how are retries configured?", budget_tokens=2000).text)

An Engine may be used from many threads, and many processes may have the same index open. A search imports what a
search needs; the write path, the questions about code and the upkeep are imported when they are first called.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from outcrop.config import load_config
from outcrop.engine.history import HistoryQuestions
from outcrop.engine.upkeep import Upkeep
from outcrop.read.ask import as_timestamp
from outcrop.read.timeline import Timeline
from outcrop.records.database_url import DatabaseUrl

if TYPE_CHECKING:
    from outcrop.records import Check

__all__ = ["Engine", "Timeline", "as_timestamp", "examine_machine", "open_engine"]


class Engine(HistoryQuestions, Upkeep):
    """One index: add, sync, search, context, get, documents, delete, stale, reembed."""

    def __enter__(self) -> Engine:
        return self


def open_engine(db: str | Path | DatabaseUrl | None = None, **settings: object) -> Engine:
    """Open an index, creating it where there is none. `settings` are those of Config."""
    return Engine(load_config({"db": db, **settings}))


def examine_machine() -> list[Check]:
    """What the doctor can examine where there is no index yet."""
    from outcrop.maintain.health import examine_languages

    return [examine_languages()]
