"""Which store an index lies in."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from outcrop.database_url import DatabaseUrl
from outcrop.derived import Deriver
from outcrop.errors import ConfigError, NotFound
from outcrop.store.opening import open_store
from outcrop.store.sqlite import SqliteStore


def no_deriver() -> Deriver:
    raise AssertionError("a file is not searched where it lies")


def test_a_path_is_a_sqlite_file(tmp_path: Path) -> None:
    store = open_store(tmp_path / "index.db", no_deriver)
    assert isinstance(store, SqliteStore)
    store.close()


def test_a_file_that_is_not_to_be_made_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="`outcrop add FOLDER` makes one"):
        open_store(tmp_path / "index.db", no_deriver, create=False)
    assert list(tmp_path.iterdir()) == []
    open_store(tmp_path / "index.db", no_deriver).close()
    open_store(tmp_path / "index.db", no_deriver, create=False).close()


def test_without_its_library_postgres_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigError, match=r"pip install 'outcrop\[postgres\]'"):
        open_store(DatabaseUrl.parse("postgresql://localhost/papers"), no_deriver)
