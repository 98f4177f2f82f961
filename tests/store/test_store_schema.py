"""A database of an earlier version becomes a current one, or stays what it was."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from tests.store.builders import MODEL, make_code, make_write, notes_of, put, vector

from outcrop.errors import NewerDatabase, StoreError
from outcrop.store.sqlite.schema import APPLICATION_ID, MIGRATIONS, migrate, schema_version
from outcrop.store.sqlite.store import open_sqlite

ROOT = Path(__file__).parents[2]
VERSIONS = {version: Path(__file__).with_name(f"schema_{version}.sql") for version in (1, 2, 3, 4)}
"""A database of each version that was released, as SQL."""

CODE_OF_VERSION_1 = """
INSERT INTO documents SELECT id + 2, collection, '/home/me/' || name, name, origin, root, kind, title, meta, sha256,
    mtime_ns, size, dated_at, created_at, updated_at, 0, 9, x'', tail
FROM (SELECT 1 id, 'file' origin, 'code' kind, 'a.py' name UNION SELECT 2, 'url', 'code', 'b.py'
    UNION SELECT 3, 'file', 'json', 'c.json') CROSS JOIN (SELECT collection, root, title, meta, sha256, mtime_ns,
    size, dated_at, created_at, updated_at, 'no chunks' tail FROM documents WHERE id = 1)
"""


def schema_of(db: Path) -> list[tuple[object, ...]]:
    raw = apsw.Connection(str(db))
    rows = raw.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY name").fetchall()
    raw.close()
    return rows


def make_database(db: Path, version: int) -> Path:
    """A database as a version made it, with two documents."""
    raw = apsw.Connection(str(db))
    raw.execute("PRAGMA auto_vacuum = incremental; PRAGMA journal_mode = wal").fetchall()
    raw.execute(VERSIONS[version].read_text("utf-8")).fetchall()
    raw.close()
    return db


@pytest.fixture
def version_1(tmp_path: Path) -> Path:
    return make_database(tmp_path / "version_1.db", 1)


def test_every_version_has_its_fixture() -> None:
    assert list(VERSIONS) == list(range(1, len(MIGRATIONS) + 1))


def test_a_database_of_version_1_opens_with_all_that_is_in_it(version_1: Path) -> None:
    store = open_sqlite(version_1)
    assert store.stats().schema_version == len(MIGRATIONS)
    assert list(store.check()) == []
    first, second = store.documents()
    assert (first.path, first.tags, first.meta) == ("notes/a.md", ("blue", "red"), {"author": "Zoë"})
    assert (first.language, first.role) == ("", "")
    assert store.text(first.id) == "One apple.\n\nTwo pears.\n"
    assert store.text(second.id) == "no chunks"
    assert [chunk.heading_path for chunk in store.chunks_of(first.id)] == [(), ("Fruit", "Pears")]
    assert [
        (chunk.code, row.code) for chunk, row in zip(store.chunks_of(first.id), store.feed(0, 9), strict=True)
    ] == [(None, None)] * 2
    assert [c.text for c in store.chunks(store.match_phrase("two PEARS").tolist())] == ["Two pears."]
    put(store, make_write("b.md"), make_code())
    assert list(store.check()) == []
    store.close()


def test_a_database_of_version_2_opens_with_all_that_is_in_it(tmp_path: Path) -> None:
    store = open_sqlite(make_database(tmp_path / "version_2.db", 2))
    assert store.stats().schema_version == len(MIGRATIONS)
    assert list(store.check()) == []
    prose, code = store.documents()
    assert (prose.path, prose.language, prose.sha256[:4]) == ("notes/a.md", "", "40f8")
    assert (code.path, code.language, code.role) == ("src/pool.py", "python", "test")
    assert [chunk.code for chunk in store.chunks_of(code.id)] == [None, notes_of("Pool", "keeps connections")]
    vectors = [row.summary_vector for row in store.feed(0, 9)]
    assert [found is not None for found in vectors] == [False, False, False, True]
    store.close()


def test_a_database_of_version_3_opens_with_what_waits_in_it(tmp_path: Path) -> None:
    store = open_sqlite(make_database(tmp_path / "version_3.db", 3))
    assert list(store.check()) == []
    assert store.pending() == [1]
    assert [found.vector is not None for found in store.feed(0, 9)] == [True, False, True, True]
    ((late, _),) = store.unembedded(MODEL, 9)
    assert store.fill(MODEL, {late: vector(late)}) == 1
    assert store.pending() == []
    assert list(store.check()) == []
    store.close()


def test_a_database_of_version_4_opens_with_all_that_is_in_it(tmp_path: Path) -> None:
    store = open_sqlite(make_database(tmp_path / "version_4.db", 4))
    assert list(store.check()) == []
    prose, code = store.documents()
    assert store.text(prose.id) == "One apple.\n\nTwo pears.\n"
    assert [chunk.heading_path for chunk in store.chunks_of(prose.id)] == [(), ("Guide", "Part 1")]
    assert [chunk.code for chunk in store.chunks_of(code.id)] == [None, notes_of("Pool", "keeps connections")]
    assert store.pending() == [1]
    assert [found.vector is not None for found in store.feed(0, 9)] == [True, False, True, True]
    store.close()


def what_is_in(db: Path) -> list[object]:
    """All that a store gives back of its documents, but for vectors, which are rounded once."""
    store = open_sqlite(db)
    assert list(store.check()) == []
    found = [*store.export(0, 99), *store.pending(), *[row.chunk_id for row in store.feed(0, 99)]]
    store.close()
    return found


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_conversion_that_was_killed_goes_on_where_it_stopped(tmp_path: Path, version: int) -> None:
    whole, cut = (make_database(tmp_path / name, version) for name in ("whole.db", "cut.db"))
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.child", "convert", str(cut)], cwd=ROOT, check=False
    )
    assert done.returncode == -signal.SIGKILL
    raw = apsw.Connection(str(cut))
    assert raw.pragma("user_version") == len(MIGRATIONS), "an older Outcrop leaves it alone"
    assert raw.execute("SELECT value FROM meta WHERE key = 'converting'").fetchall() == [(1,)]
    raw.close()
    with pytest.raises(StoreError, match="once for writing"):
        open_sqlite(cut, read_only=True)
    assert what_is_in(cut) == what_is_in(whole)
    assert schema_of(cut) == schema_of(whole)


def test_a_conversion_leaves_nothing_of_the_old_form_and_gives_the_space_back(tmp_path: Path) -> None:
    db = make_database(tmp_path / "old.db", 3)
    raw = apsw.Connection(str(db))
    raw.execute("UPDATE notes SET summary = ?", ("xyzzysecret" * 40_000,))
    raw.close()
    before = db.stat().st_size
    open_sqlite(db).close()
    assert b"xyzzysecret" not in db.read_bytes()
    assert db.stat().st_size < before / 2


def test_what_was_deleted_before_stays_deleted_and_ids_go_on_after_it(tmp_path: Path) -> None:
    db = make_database(tmp_path / "old.db", 3)
    raw = apsw.Connection(str(db))
    raw.execute("UPDATE sqlite_sequence SET seq = 70 WHERE name = 'chunks'")
    raw.close()
    store = open_sqlite(db)
    (id_,) = put(store, make_write("new.md"))
    assert [chunk.id for chunk in store.chunks_of(id_)] == [71, 72]
    store.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_the_migrations_still_make_what_each_version_was(tmp_path: Path, version: int) -> None:
    made = tmp_path / "made.db"
    raw = apsw.Connection(str(made))
    migrate(raw, MIGRATIONS[:version])
    raw.close()
    kept = make_database(tmp_path / "kept.db", version)
    assert schema_of(made) == schema_of(kept)
    raw = apsw.Connection(str(kept))
    migrate(raw)
    raw.close()
    new = tmp_path / "new.db"
    open_sqlite(new).close()
    assert schema_of(kept) == schema_of(new), "an old database becomes what a new one is"


def test_files_of_code_that_version_1_wrote_are_unknown_to_the_next_sync_and_others_are_not(
    version_1: Path,
) -> None:
    raw = apsw.Connection(str(version_1))
    raw.execute(CODE_OF_VERSION_1)
    raw.close()
    store = open_sqlite(version_1)
    states = {info.path: (info.mtime_ns, info.size, info.sha256) for info in store.documents()}
    known = (1700000000000000000, 23, "40f8e8935b2f25be224040a66e3bc760e30a28061e8ef67463e1a24574ea5141")
    assert states["a.py"] == (None, None, "")
    assert [states[name] for name in ("notes/a.md", "b.py", "c.json")] == [known] * 3
    assert list(store.check()) == []
    store.close()


def next_step(connection: apsw.Connection) -> None:
    connection.execute("ALTER TABLE documents ADD COLUMN colour TEXT")


def test_a_next_migration_runs_once_and_keeps_the_data(version_1: Path) -> None:
    ran: list[int] = []

    def count(connection: apsw.Connection) -> None:
        ran.append(1)
        next_step(connection)

    raw = apsw.Connection(str(version_1))
    for _ in range(2):
        migrate(raw, [*MIGRATIONS, count])
    assert ran == [1]
    assert raw.pragma("user_version") == len(MIGRATIONS) + 1
    assert raw.pragma("application_id") == APPLICATION_ID
    assert raw.execute("SELECT count(colour), count(*) FROM documents").fetchall() == [(0, 2)]
    with pytest.raises(NewerDatabase):
        migrate(raw)
    raw.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_migration_that_fails_leaves_the_old_database(tmp_path: Path, version: int) -> None:
    def fail(connection: apsw.Connection) -> None:
        next_step(connection)
        connection.execute("DELETE FROM documents")
        raise ZeroDivisionError

    db = make_database(tmp_path / "old.db", version)
    before = schema_of(db)
    raw = apsw.Connection(str(db))
    with pytest.raises(ZeroDivisionError):
        migrate(raw, [*MIGRATIONS, fail])
    assert raw.pragma("user_version") == version
    raw.close()
    assert schema_of(db) == before
    store = open_sqlite(db)
    assert store.stats().documents == 2
    assert list(store.check()) == []
    store.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_migration_killed_in_the_middle_leaves_the_old_database(tmp_path: Path, version: int) -> None:
    db = make_database(tmp_path / "old.db", version)
    before = schema_of(db)
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.child", "migrate", str(db), str(version)], cwd=ROOT, check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert schema_of(db) == before
    raw = apsw.Connection(str(db))
    assert raw.pragma("user_version") == version
    raw.close()
    store = open_sqlite(db)
    assert (store.stats().documents, store.stats().schema_version) == (2, len(MIGRATIONS))
    assert store.documents()[0].chunks == 2
    assert list(store.check()) == []
    store.close()


def test_a_reader_asks_for_an_upgrade_and_leaves_version_1_as_it_is(version_1: Path) -> None:
    before = schema_of(version_1)
    with pytest.raises(StoreError, match="once for writing"):
        open_sqlite(version_1, read_only=True)
    assert schema_of(version_1) == before


def test_an_older_database_is_not_upgraded_by_a_reader(db: Path) -> None:
    raw = apsw.Connection(str(db))
    raw.pragma("application_id", APPLICATION_ID)
    raw.close()
    with pytest.raises(StoreError, match="once for writing"):
        open_sqlite(db, read_only=True)


def test_several_processes_may_create_the_database_at_once(db: Path) -> None:
    command = [sys.executable, "-m", "tests.store.child", "read", str(db)]
    children = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) for _ in range(5)]
    for process in children:
        with process:
            out, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        assert out.split() == [b"0", b"1"]


def test_a_database_that_is_being_created_just_now_is_not_taken_for_another_programs(tmp_path: Path) -> None:
    path = str(tmp_path / "new.db")
    first, second = apsw.Connection(path), apsw.Connection(path)
    first.pragma("journal_mode", "wal")
    created: list[bool] = []

    def create_in_between(_: apsw.Cursor, statement: str, __: object) -> bool:
        if "sqlite_schema" in statement and not created:
            created.append(True)
            migrate(second)
        return True

    first.exec_trace = create_in_between
    assert schema_version(first) == 0
    assert created
    first.exec_trace = None
    assert schema_version(first) == len(MIGRATIONS)
    first.close()
    second.close()
