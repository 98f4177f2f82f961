"""What is done for the lookups on Postgres after writes: by one process, when it is worth it, whatever came before."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import numpy as np
import pytest
from tests.postgres.server import PostgresServer
from tests.store.builders import make_write, put, vector
from tests.store.places import open_at_url

from outcrop.errors import StoreError
from outcrop.records import Model
from outcrop.records.database_url import DatabaseUrl
from outcrop.store.postgres import PostgresStore, open_postgres, upkeep
from outcrop.store.postgres.in_place.derive import SearchDeriver
from outcrop.store.postgres.vectors import MAX_INLINE
from outcrop.text.terms import Terms


@pytest.fixture
def store(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresStore]:
    """One in which thirty vectors are worth an index."""
    monkeypatch.setattr(upkeep, "FRESH_ROWS", 30)
    opened = open_at_url(postgres_url)
    yield opened
    opened.close()


def fill(store: PostgresStore, documents: int, first: int = 0) -> None:
    put(store, *(make_write(f"{i}.md", f"number {i}\n\nand more") for i in range(first, first + documents)))


def count(store: PostgresStore, query: str) -> int:
    return int(store._read(query)[0][0])


def indexes(store: PostgresStore) -> list[tuple[str, bool]]:
    """The vector indexes, and whether each may be used."""
    rows = store._read(
        "SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
        " WHERE i.indrelid = 'points_1'::regclass AND NOT i.indisprimary"
    )
    return [(name, valid) for name, valid in rows]


def test_an_empty_index_wants_nothing(store: PostgresStore) -> None:
    store.settle()
    store.rederive()
    assert store.version() >= 0
    assert list(store.check()) == []


def test_one_process_does_it_and_the_others_go_on(store: PostgresStore) -> None:
    fill(store, 20)
    schema = store._connections.schema
    with store._connections.connect() as other:
        other.execute("SELECT pg_advisory_lock(%s, hashtext(%s))", (upkeep._LOCK_CLASS, schema))
        store.settle()
        assert count(store, "SELECT count(*) FROM fresh_1") == 40, "left to whoever holds the lock"
    store.settle()
    assert count(store, "SELECT count(*) FROM fresh_1") == 0


def test_an_index_whose_build_was_interrupted_is_made_again(
    store: PostgresStore, postgres_server: PostgresServer
) -> None:
    fill(store, 20)
    store.settle()
    schema = store._connections.schema
    postgres_server.execute(
        f"UPDATE pg_index SET indisvalid = false WHERE indexrelid = '{schema}.points_1_hnsw'::regclass"
    )
    assert indexes(store) == [("points_1_hnsw", False)]
    store.settle()
    assert indexes(store) == [("points_1_hnsw", True)]
    probe = vector(b"a question")
    assert len(store.nearest(probe / np.linalg.norm(probe), 8)[0]) == 8
    with store._connections.connect() as connection:
        connection.execute("DROP INDEX points_1_hnsw")
    store.settle()
    assert indexes(store) == [("points_1_hnsw", True)], "or it was interrupted before it began"


def test_of_few_vectors_none_is_made(store: PostgresStore, postgres_server: PostgresServer) -> None:
    fill(store, 20)
    store.settle()
    schema = store._connections.schema
    store.delete([info.id for info in store.documents()[5:]])
    postgres_server.execute(
        f"UPDATE pg_index SET indisvalid = false WHERE indexrelid = '{schema}.points_1_hnsw'::regclass"
    )
    store.settle()
    assert indexes(store) == []


def test_an_index_that_does_not_say_what_it_was_built_of_is_left_as_it_is(store: PostgresStore) -> None:
    fill(store, 20)
    store.settle()
    with store._connections.connect() as connection:
        connection.execute("COMMENT ON INDEX points_1_hnsw IS NULL")
    store.delete([info.id for info in store.documents()[5:]])
    with store._connections.connect() as connection:
        connection.execute("VACUUM ANALYZE points_1")
    before = count(store, "SELECT relfilenode::bigint FROM pg_class WHERE oid = 'points_1_hnsw'::regclass")
    fill(store, 20, first=20)
    store.settle()
    after = count(store, "SELECT relfilenode::bigint FROM pg_class WHERE oid = 'points_1_hnsw'::regclass")
    assert after == before


NO_ROOM = """
CREATE FUNCTION {schema}.refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('max_parallel_maintenance_workers') != '0' AND current_schema() = '{schema}' THEN
        RAISE EXCEPTION 'could not resize shared memory segment' USING ERRCODE = 'disk_full';
    END IF;
END $$
"""


def test_where_several_builders_have_no_room_one_builds_the_index(
    store: PostgresStore, postgres_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    fill(store, 20)
    schema = store._connections.schema
    postgres_server.execute(
        NO_ROOM.format(schema=schema),
        f"CREATE EVENT TRIGGER small_{schema} ON ddl_command_start WHEN TAG IN ('CREATE INDEX')"
        f" EXECUTE FUNCTION {schema}.refuse()",
    )
    try:
        with caplog.at_level(logging.WARNING):
            store.settle()
    finally:
        postgres_server.execute(f"DROP EVENT TRIGGER small_{schema}")
    assert "built by one process only" in caplog.text
    assert indexes(store) == [("points_1_hnsw", True)]


def test_vectors_too_long_for_a_row_are_kept_outside_it(store: PostgresStore) -> None:
    long = Model("long", "1", MAX_INLINE + 48)
    write = make_write("a.md", "one chunk")
    keys = (*write.text_keys, write.path_key)
    store.write([write], {key: vector(key, long) for key in keys}, long)
    probe = vector(write.text_keys[0], long)
    ids, cosines = store.nearest(probe / np.linalg.norm(probe), 1)
    assert len(ids) == 1
    assert cosines[0] > 0.5


def test_lists_from_which_no_word_vanishes_only_become_shorter(store: PostgresStore) -> None:
    put(store, *(make_write("a.md", "apple pear", uri=f"/{place}/a.md") for place in ("here", "there")))
    before = count(store, "SELECT count(*) FROM postings")
    store.delete([store.documents()[0].id])
    assert count(store, "SELECT count(*) FROM postings") == before
    assert list(store.check()) == []


def test_a_reader_does_no_upkeep(store: PostgresStore, postgres_url: str) -> None:
    fill(store, 20)
    reader = open_postgres(DatabaseUrl.parse(postgres_url), lambda: SearchDeriver(Terms(), 0.5), read_only=True)
    reader.settle()
    reader.close()
    assert count(store, "SELECT count(*) FROM fresh_1") == 40


def test_a_model_that_is_active_already_stays_as_it_is(store: PostgresStore) -> None:
    fill(store, 3)
    model = store.active_model()
    assert model is not None
    store.add_vectors(model, {})
    store.activate(model)
    assert store.active_model() == model
    assert list(store.check()) == []


def test_an_index_without_its_state_says_that_it_is_damaged(store: PostgresStore) -> None:
    fill(store, 1)
    with store._connections.connect() as connection:
        connection.execute("DELETE FROM state")
    with pytest.raises(StoreError, match="restore it from a backup"):
        store.version()
    with pytest.raises(StoreError, match="restore it from a backup"):
        fill(store, 1, first=1)
