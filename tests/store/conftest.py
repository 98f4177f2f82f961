"""The stores that must pass the contract, and the way to the builders."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # `tests.store.builders`, here and in child processes

from tests.store.places import open_at_url

from outcrop.contracts import Store
from outcrop.store.sqlite.store import SqliteStore, open_sqlite

STORES = ("sqlite", "postgres")
"""Every store; each passes the same contract."""


@pytest.fixture(params=STORES)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Opens the same database again with each call."""
    opened: list[Store] = []
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""

    def open_again() -> Store:
        opened.append(open_at_url(url) if url else open_sqlite(tmp_path / "index.db"))
        return opened[-1]

    yield open_again
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Callable[[], Store]) -> Store:
    """A new, empty store."""
    return open_store()


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """Where a SQLite test keeps its database."""
    return tmp_path / "index.db"


@pytest.fixture
def sqlite(db: Path) -> Iterator[SqliteStore]:
    """A new, empty SQLite store at `db`."""
    opened = open_sqlite(db)
    yield opened
    opened.close()
