"""Two steps to schema versions that do not exist, by which the mechanism of migrations is tested.

This is what a step looks like, for both stores: plain SQL through the connection, no transaction of its own. The first
step adds a column, the second fills it in. Registered, they bring every index two versions further.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from outcrop.store.sqlite import schema as sqlite_schema

Step = Callable[[Any], None]


def add_shelf(connection: Any) -> None:
    """Documents get a column."""
    connection.execute("ALTER TABLE documents ADD COLUMN shelf text")


def fill_shelf(connection: Any) -> None:
    """The column is filled in, and can be looked up."""
    connection.execute("UPDATE documents SET shelf = collection || '/' || path")
    connection.execute("CREATE INDEX documents_by_shelf ON documents (shelf)")


STEPS: Sequence[Step] = (add_shelf, fill_shelf)
_CURRENT: dict[str, Sequence[Step]] = {}


@contextmanager
def registered(steps: Sequence[Step] = STEPS, schema: ModuleType = sqlite_schema) -> Iterator[None]:
    """Inside, these steps follow those of a store's schema module."""
    before = schema.MIGRATIONS
    current = _CURRENT.setdefault(schema.__name__, before)
    schema.MIGRATIONS = (*current, *steps)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        schema.MIGRATIONS = before  # type: ignore[attr-defined]
