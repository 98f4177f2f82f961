"""The stores that must pass the contract, and the way to the builders."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # `tests.store.builders`, here and in child processes

from outcrop.contracts import Store
from outcrop.store.sqlite import SqliteStore, open_sqlite

OpenStore = Callable[[Path], Store]

STORES: dict[str, OpenStore] = {"sqlite": lambda folder: open_sqlite(folder / "index.db")}
"""One line for each store; two calls with the same folder open the same database."""


@pytest.fixture(params=STORES)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Opens the same database again with each call."""
    opened: list[Store] = []

    def open_again() -> Store:
        opened.append(STORES[request.param](tmp_path))
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
