"""Which store an index lies in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from outcrop.errors import ConfigError, NotFound
from outcrop.records.database_url import DatabaseUrl
from outcrop.records.derived import Deriver
from outcrop.store.opening import open_store
from outcrop.store.sqlite.store import SqliteStore, open_sqlite


def no_deriver() -> Deriver:
    raise AssertionError("a file is not searched in place")


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


OPEN_ON_A_FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from outcrop.errors import StoreError
from outcrop.store.sqlite.store import open_sqlite

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (14_336, 14_336))
try:
    open_sqlite(Path(sys.argv[1]))
except StoreError as error:
    print(error)
"""


def test_a_disk_without_room_for_the_files_beside_an_index_is_named_as_the_reason(tmp_path: Path) -> None:
    """The error of the disk ends the transaction in which it comes up; what is said is the disk's, not that."""
    index = tmp_path / "index.db"
    open_sqlite(index).close()
    done = subprocess.run(
        [sys.executable, "-c", OPEN_ON_A_FULL_DISK, str(index)], capture_output=True, text=True, check=True
    )
    assert "check the disk, then try again" in done.stdout
    open_sqlite(index).close()
