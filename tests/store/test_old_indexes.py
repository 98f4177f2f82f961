"""A real index that an earlier Outcrop made opens, becomes a current one, and is searched; a kill on the way costs
nothing.

`old/make.py` says how the fixtures were made.
"""

from __future__ import annotations

import lzma
import signal
import subprocess
import sys
from pathlib import Path

import apsw
import psycopg
import pytest
from tests.postgres.server import PostgresServer
from tests.store.old.make import SCHEMA
from tests.store.places import open_at_url

import outcrop
from outcrop.contracts import Store
from outcrop.engine import Engine
from outcrop.errors import NewerDatabase
from outcrop.records.database_url import DatabaseUrl
from outcrop.store.postgres.schema import MIGRATIONS as POSTGRES_MIGRATIONS
from outcrop.store.sqlite.converting import finish_conversion, is_converting
from outcrop.store.sqlite.schema import MIGRATIONS, migrate
from outcrop.store.sqlite.store import open_sqlite

ROOT = Path(__file__).parents[2]
OLD = Path(__file__).with_name("old")
SQLITE = {int(file.name.split("_")[1].split(".")[0]): file for file in sorted(OLD.glob("sqlite_*.db.xz"))}
POSTGRES = {int(file.name.split("_")[1].split(".")[0]): file for file in sorted(OLD.glob("postgres_*.sql.xz"))}
DOCUMENTS = 16

Content = dict[str, tuple[str, str]]
"""path → (title, text) of every document."""


def unpack(version: int, folder: Path) -> Path:
    db = folder / f"old_{version}.db"
    db.write_bytes(lzma.decompress(SQLITE[version].read_bytes()))
    return db


def content_by_sql(db: Path) -> Content:
    """What the file says, read without our code: each chunk with the gap before it, then the tail."""
    raw = apsw.Connection(str(db), flags=apsw.SQLITE_OPEN_READONLY)
    chunks = "SELECT * FROM chunks WHERE document_id = d.id ORDER BY position"
    joined = f"SELECT group_concat(gap || text, '') FROM ({chunks})"
    rows = raw.execute(f"SELECT path, title, coalesce(({joined}), '') || tail FROM documents d").fetchall()
    raw.close()
    return {str(path): (str(title), str(text)) for path, title, text in rows}


def content_of(store: Store) -> Content:
    return {info.path: (info.title, store.text(info.id)) for info in store.documents()}


def check_searches(engine: Engine, *, reembed: bool) -> None:
    """Words, phrases, filters and declarations find what they should; vectors too, once they are the model's."""
    for _ in range(2):
        assert engine.search("wombat burrow").hits[0].document.title == "Wombats"
        assert engine.search('"sleeps in its burrow"').hits[0].text.startswith("The wombat")
        assert engine.search("wombat", tags=["sample"]).hits == ()
        assert "src/courier/retry.py" in [hit.document.path for hit in engine.search("retry policy").hits]
        found = engine.search("how often is a failed request tried again")
        assert "retries.md" in [hit.document.path for hit in found.hits]
        if found.reason is None:
            return
        assert reembed, "vectors of the model that ships are searched as they are"
        assert found.reason == "model_mismatch"
        engine.reembed()
    raise AssertionError("after reembed the vectors are those of the model")


def test_every_version_before_the_current_one_has_an_index() -> None:
    assert {*range(1, len(MIGRATIONS))} <= SQLITE.keys()
    assert {*range(1, len(POSTGRES_MIGRATIONS))} <= POSTGRES.keys()
    assert {1, 2, 3} <= SQLITE.keys()
    assert 1 in POSTGRES


@pytest.mark.parametrize("version", SQLITE)
def test_an_old_index_opens_with_its_documents_and_is_searched(tmp_path: Path, version: int) -> None:
    db = unpack(version, tmp_path)
    before = content_by_sql(db)
    assert len(before) == DOCUMENTS
    with outcrop.open(db) as engine:
        check_searches(engine, reembed=version < 3)
        assert [check.name for check in engine.doctor() if not check.ok] == []
    store = open_sqlite(db)
    assert store.stats().schema_version == len(MIGRATIONS)
    assert content_of(store) == before
    assert list(store.check()) == []
    store.close()


@pytest.mark.parametrize("version", [version for version in SQLITE if version < len(MIGRATIONS)])
def test_a_kill_in_the_middle_of_the_migration_is_made_good_by_the_next_open(
    tmp_path: Path, version: int
) -> None:
    db = unpack(version, tmp_path)
    before = content_by_sql(db)
    copies = tmp_path / "copies"
    copies.mkdir()
    command = [sys.executable, "-m", "tests.store.child", "migrate-killed", str(db), str(copies)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=100)
    killed = sorted(copies.glob("*.db"))
    assert len(killed) > 5, "first, last, and in between"
    reached = set()
    for copy in killed:
        raw = apsw.Connection(str(copy))
        reached.add(raw.pragma("user_version"))
        raw.close()
        store = open_sqlite(copy)
        assert store.stats().schema_version == len(MIGRATIONS)
        assert content_of(store) == before
        assert list(store.check()) == []
        store.close()
    assert reached == {version, len(MIGRATIONS)}, "one step in one transaction, then the texts, some at a time"


def half_migrated(version: int, folder: Path) -> tuple[Path, Content]:
    """An old index as a kill after the step to a newer schema leaves it, and what it holds."""
    db = unpack(version, folder)
    before = content_by_sql(db)
    raw = apsw.Connection(str(db))
    raw.set_exec_trace(
        lambda _cursor, statement, _values: "converting" not in statement or "INSERT" in statement
    )
    with pytest.raises(apsw.ExecTraceAbort):
        migrate(raw)
    raw.close()
    return db, before


def check_converted(db: Path, before: Content) -> None:
    store = open_sqlite(db)
    assert content_of(store) == before
    assert list(store.check()) == []
    store.close()


def test_who_stops_the_conversion_leaves_the_rest_to_the_next_open(tmp_path: Path) -> None:
    db, before = half_migrated(3, tmp_path)
    raw = apsw.Connection(str(db))

    def press_control_c(_cursor: apsw.Cursor, statement: str, _values: object) -> bool:
        if "INTO blocks" in statement:
            raise KeyboardInterrupt
        return True

    raw.set_exec_trace(press_control_c)
    with pytest.raises(KeyboardInterrupt):
        finish_conversion(raw)
    assert not raw.in_transaction
    raw.set_exec_trace(None)
    assert is_converting(raw)
    raw.close()
    check_converted(db, before)


def test_who_waited_while_another_converted_the_rest_does_nothing(tmp_path: Path) -> None:
    db, before = half_migrated(3, tmp_path)
    late, quick = apsw.Connection(str(db)), apsw.Connection(str(db))

    def be_quicker(_cursor: apsw.Cursor, statement: str, _values: object) -> bool:
        if statement == "BEGIN IMMEDIATE":
            finish_conversion(quick)
        return True

    late.set_exec_trace(be_quicker)
    finish_conversion(late)
    late.close()
    quick.close()
    check_converted(db, before)


def test_an_index_of_a_newer_version_is_refused_with_what_to_do_and_stays_as_it_is(tmp_path: Path) -> None:
    db = unpack(3, tmp_path)
    raw = apsw.Connection(str(db))
    raw.pragma("user_version", 99)
    raw.close()
    before = db.read_bytes()
    with (
        pytest.raises(NewerDatabase, match=r"has schema version 99.*: upgrade Outcrop, or choose another file"),
        outcrop.open(db) as engine,
    ):
        engine.documents()
    assert db.read_bytes() == before


# ------------------------------------------------------------------ Postgres


def load(server: PostgresServer, url: str, version: int, folder: Path) -> None:
    """Put the dump into the schema of a URL."""
    open_at_url(url).close()  # makes the extension where there is none
    schema = DatabaseUrl.parse(url).schema
    server.drop(schema)
    dump = lzma.decompress(POSTGRES[version].read_bytes()).decode()
    with psycopg.connect(DatabaseUrl.parse(url).uri(), autocommit=True) as connection:
        statements = "\n".join(line for line in dump.split("\n") if not line.startswith("\\"))
        connection.execute(statements.replace(SCHEMA, schema).encode())


@pytest.mark.parametrize("version", POSTGRES)
def test_an_old_schema_on_postgres_opens_and_is_searched(
    postgres_server: PostgresServer, postgres_url: str, tmp_path: Path, version: int
) -> None:
    load(postgres_server, postgres_url, version, tmp_path)
    with outcrop.open(postgres_url) as engine:
        check_searches(engine, reembed=False)
    store = open_at_url(postgres_url)
    assert store.stats().schema_version == len(POSTGRES_MIGRATIONS)
    assert content_of(store) == content_by_sql(unpack(3, tmp_path)), "both were made of the same samples"
    assert list(store.check()) == []
    store.close()


@pytest.mark.parametrize("version", POSTGRES)
def test_a_migration_on_postgres_that_is_killed_leaves_what_was_there(
    postgres_server: PostgresServer, postgres_url: str, tmp_path: Path, version: int
) -> None:
    load(postgres_server, postgres_url, version, tmp_path)
    for point in ("begun", "changed", "stepped"):
        command = [
            sys.executable,
            "-m",
            "tests.store.child",
            "migrate-postgres",
            postgres_url,
            str(version),
            point,
        ]
        assert subprocess.run(command, cwd=ROOT, check=False, timeout=60).returncode == -signal.SIGKILL
    store = open_at_url(postgres_url)
    assert store.stats().schema_version == len(POSTGRES_MIGRATIONS)
    assert store.stats().documents == DOCUMENTS
    assert list(store.check()) == []
    store.close()
