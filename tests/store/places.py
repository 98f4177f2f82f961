"""Stores by the place they lie in: a file, or a URL. Imports when it needs to: child processes are many."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from outcrop.contracts import Store
from outcrop.records.database_url import DatabaseUrl, has_scheme
from outcrop.store.sqlite.store import open_sqlite

if TYPE_CHECKING:
    from outcrop.store.postgres import PostgresStore, Tuning


def open_at(place: str) -> Store:
    """The store in a file, or at a URL."""
    return open_at_url(place) if has_scheme(place) else open_sqlite(Path(place))


def open_at_url(url: str, tuning: Tuning | None = None) -> PostgresStore:
    """A store on Postgres that derives what search looks up as the engine does."""
    from outcrop.store.postgres import Tuning, open_postgres
    from outcrop.store.postgres.in_place.derive import SearchDeriver
    from outcrop.text.terms import Terms

    return open_postgres(DatabaseUrl.parse(url), lambda: SearchDeriver(Terms(), 0.5), tuning=tuning or Tuning())
