"""What search looks up on Postgres: in step with the chunks, indexed when there is much of it, made again at will."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial

import numpy as np
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.postgres.server import PostgresServer
from tests.store.builders import OTHER, make_code, make_write, put, vector
from tests.store.places import open_at_url

from outcrop.errors import QueryError
from outcrop.records import Filter
from outcrop.store.filters import glob_plain, glob_regex
from outcrop.store.postgres import PostgresStore, Tuning, deriving, searching, upkeep, vectors
from outcrop.text.terms import Terms

WORDS = "apple pear plum cherry quince medlar grape melon fig date".split()


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    opened = open_at_url(postgres_url)
    yield opened
    opened.close()


def fill(store: PostgresStore, documents: int, collection: str = "main", first: int = 0) -> None:
    """Documents of two chunks with some words each, a transaction a document."""
    for i in range(first, first + documents):
        words = [WORDS[(i * k) % len(WORDS)] for k in (1, 3, 7)]
        put(
            store, make_write(f"{collection}/{i}.md", f"{' '.join(words)}\n\nnumber {i}", collection=collection)
        )


def term(word: str) -> int:
    return int(Terms().of(word)[0])


def holders(store: PostgresStore, word: str) -> list[int]:
    """Chunks that hold a word, by the lists."""
    rows = store.term_rows([term(word)]).get(term(word))
    return [] if rows is None else rows.chunk_ids.tolist()


def readers(store: PostgresStore, word: str) -> list[int]:
    """The same by the texts."""
    return sorted(
        chunk.id
        for info in store.documents()
        for chunk in store.chunks_of(info.id)
        if word in chunk.text.split()
    )


def test_lists_follow_every_change(store: PostgresStore) -> None:
    fill(store, 12)
    fill(store, 5, "else")
    assert holders(store, "plum") == readers(store, "plum") != []
    assert store.term_counts([term("plum"), term("nowhere")]) == {term("plum"): len(readers(store, "plum"))}
    put(store, make_write("main/3.md", "only plum now"))
    assert holders(store, "plum") == readers(store, "plum")
    store.delete([info.id for info in store.documents()[3:9]])
    for word in WORDS:
        assert holders(store, word) == readers(store, word)
    within = store.term_rows([term("apple")], ["else"])[term("apple")].chunk_ids.tolist()
    assert within == [
        id_ for id_ in readers(store, "apple") if store.chunks([id_])[0].document.collection == "else"
    ]
    assert store.totals().chunks == store.stats().chunks
    assert list(store.check()) == []


def test_short_lists_are_joined_and_say_the_same(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "LISTS_AFTER_WRITES", 10)
    monkeypatch.setattr(deriving, "MANY_LISTS", 3)
    fill(store, 10)
    fill(store, 9, "else")
    fill(store, 10, first=10)  # the lists of one collection go on behind those of the other
    before = {word: holders(store, word) for word in WORDS}
    lists = count(store, "SELECT count(*) FROM postings")
    store.settle()
    assert count(store, "SELECT count(*) FROM postings") < lists
    assert {word: holders(store, word) for word in WORDS} == before
    store.delete([info.id for info in store.documents()[::2]])
    assert {word: holders(store, word) for word in WORDS} == {word: readers(store, word) for word in WORDS}
    assert list(store.check()) == []


def count(store: PostgresStore, query: str) -> int:
    return int(store._read(query)[0][0])


@pytest.fixture
def probe() -> np.ndarray:
    found = vector(b"a question")
    return found / np.linalg.norm(found)


def exact(store: PostgresStore, probe: np.ndarray, many: int) -> list[int]:
    rows = store.chunk_rows(
        np.array([c.id for i in store.documents() for c in store.chunks_of(i.id)], np.int64)
    )
    order = np.argsort(-(rows.vectors.astype(np.float32) @ probe), kind="stable")[:many]
    return [int(id_) for id_ in rows.chunk_ids[order]]


def test_vectors_move_into_an_index_and_are_found_before_and_after(
    store: PostgresStore, probe: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "FRESH_ROWS", 30)
    monkeypatch.setattr(upkeep, "MOVED_AT_ONCE", 7)
    fill(store, 10)
    store.settle()
    assert count(store, "SELECT count(*) FROM fresh_1") == 20, "too few to be worth it"
    fill(store, 10, first=10)
    wanted = exact(store, probe, 8)
    assert store.nearest(probe, 8)[0].tolist() == wanted
    store.settle()
    assert count(store, "SELECT count(*) FROM fresh_1") == 0
    assert count(store, "SELECT count(*) FROM pg_indexes WHERE indexname = 'points_1_hnsw'") >= 1
    assert store.nearest(probe, 8)[0].tolist() == wanted
    fill(store, 4, first=20)
    store.delete([store.documents()[0].id])
    ids, cosines = store.nearest(probe, 8)
    assert ids.tolist() == exact(store, probe, 8)
    assert cosines.tolist() == sorted(cosines.tolist(), reverse=True)
    assert list(store.check()) == []


def test_the_planner_looks_again_after_many_writes(store: PostgresStore) -> None:
    put(store, *(make_write(f"{i}.md", f"number {i}\n\nand more") for i in range(600)))
    with store._connections.connect() as connection:
        connection.execute("SELECT pg_stat_force_next_flush()")
    deadline = time.monotonic() + 60
    analysed = "SELECT count(*) FROM pg_stat_user_tables WHERE relid = 'chunks'::regclass AND analyze_count > 0"
    while not count(store, analysed) and time.monotonic() < deadline:
        time.sleep(0.1)  # what was written is told to the statistics with some delay
        store.settle()
    assert count(store, analysed) == 1


def test_an_index_of_which_most_is_gone_is_built_anew(
    store: PostgresStore, probe: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "FRESH_ROWS", 30)
    fill(store, 30)
    store.settle()
    size = "SELECT obj_description(to_regclass('points_1_hnsw'), 'pg_class')::int"
    assert count(store, size) == 60
    store.delete([info.id for info in store.documents()[:20]])
    with store._connections.connect() as connection:
        connection.execute("VACUUM ANALYZE points_1")
    store.settle()
    assert count(store, size) == 20
    assert store.nearest(probe, 8)[0].tolist() == exact(store, probe, 8)


def kinds_of_index(store: PostgresStore) -> list[str]:
    rows = store._read(
        "SELECT a.amname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam"
        " WHERE i.indrelid = 'points_1'::regclass AND a.amname != 'btree'"
    )
    return [kind for (kind,) in rows]


def test_another_kind_of_index_takes_the_place_of_the_first(
    postgres_url: str, store: PostgresStore, probe: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "FRESH_ROWS", 30)
    fill(store, 30)
    store.settle()
    assert kinds_of_index(store) == ["hnsw"]
    for wanted in ("ivfflat", "hnsw"):
        with closing(open_at_url(postgres_url, Tuning(kind=wanted, effort=10))) as other:
            other.settle()
            assert kinds_of_index(store) == [wanted], "never two: the planner would take either"
            assert other.nearest(probe, 8)[0].tolist() == exact(store, probe, 8)
        store.settle()
        assert kinds_of_index(store) == [wanted], "whoever does not say leaves what is there"
        assert store.nearest(probe, 8)[0].tolist() == exact(store, probe, 8)


def test_lists_of_vectors_are_made_anew_when_they_have_become_long(
    postgres_url: str, probe: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "FRESH_ROWS", 10)
    monkeypatch.setattr(vectors, "ROWS_A_LIST", 5)
    with closing(open_at_url(postgres_url, Tuning(kind="ivfflat", effort=10))) as store:
        lists = "SELECT regexp_replace(array_to_string(reloptions, ''), '[^0-9]', '', 'g')::int FROM pg_class"
        lists += " WHERE oid = 'points_1_ivfflat'::regclass"
        fill(store, 10)
        store.settle()
        assert count(store, lists) == 4
        fill(store, 30, first=10)
        store.settle()
        store.settle()  # the first moved what had come, and counted it
        assert count(store, lists) == 16
        assert store.nearest(probe, 8)[0].tolist() == exact(store, probe, 8)
        assert kinds_of_index(store) == ["ivfflat"]


def test_a_query_searches_the_index_as_far_as_it_is_asked_for() -> None:
    graph = vectors.VectorIndex("points_1_hnsw", "hnsw", True, 200_000)
    lists = vectors.VectorIndex("points_1_ivfflat", "ivfflat", True, 200_000)
    assert vectors.reach(graph, 200, 1) == ("hnsw.ef_search", 400)
    assert vectors.reach(graph, 200, 0.5) == ("hnsw.ef_search", 200)
    assert vectors.reach(graph, 5, 1) == ("hnsw.ef_search", vectors.MIN_EF)
    assert vectors.reach(graph, 200, 50) == ("hnsw.ef_search", vectors.MAX_EF)
    assert vectors.reach(lists, 200, 1) == ("ivfflat.probes", 45)
    assert vectors.reach(lists, 200, 100) == ("ivfflat.probes", 444), "all of them"


def test_the_server_is_told_how_far_a_query_searches(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "FRESH_ROWS", 30)
    with closing(open_at_url(postgres_url, Tuning(effort=3))) as store:
        fill(store, 30)
        store.settle()
        told = "SELECT current_setting('hnsw.ef_search')::int"
        with store.snapshot():
            store.nearest(vector(b"a question"), 100)
            assert count(store, told) == 600
        assert count(store, told) != 600, "with the query it is over"


def test_a_filter_leaves_full_results(store: PostgresStore, probe: np.ndarray) -> None:
    fill(store, 15)
    fill(store, 5, "else")
    where = Filter(collections=("else",))
    ids, _ = store.nearest(probe, 10, where)
    assert sorted(ids.tolist()) == sorted(store.passing(np.arange(1000), where).tolist())
    narrow = Filter(paths=("main/1*",))
    found = store.narrow(narrow, 100)
    assert found is not None
    assert found.tolist() == store.passing(np.arange(1000), narrow).tolist()
    assert store.narrow(narrow, 3) is None
    assert sorted(store.nearest(probe, 50, narrow)[0].tolist()) == found.tolist()
    assert store.nearest(probe, 50, among=found)[0].tolist() == store.nearest(probe, 50, narrow)[0].tolist()


def test_a_filter_that_many_pass_is_asked_of_the_index(
    store: PostgresStore, probe: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store, 10)
    fill(store, 5, "else")
    filters = (Filter(collections=("else",)), Filter(paths=("main/*",)))
    one_by_one = [store.nearest(probe, 20, where)[0].tolist() for where in filters]
    monkeypatch.setattr(searching, "EXACT_CHUNKS", 0)
    assert [store.nearest(probe, 20, where)[0].tolist() for where in filters] == one_by_one
    assert [len(ids) for ids in one_by_one] == [10, 20]


def test_all_chunks_of_code_are_found_though_each_has_two_vectors(
    store: PostgresStore, probe: np.ndarray
) -> None:
    put(store, make_code(text="\n\n".join(f"class Pool{i}:" for i in range(40))))
    ids, cosines = store.nearest(probe, 40)
    assert sorted(ids.tolist()) == [chunk.id for chunk in store.chunks_of(store.documents()[0].id)]
    assert cosines.tolist() == sorted(cosines.tolist(), reverse=True)


def test_where_there_is_nothing_to_compare_nothing_is_near(store: PostgresStore, probe: np.ndarray) -> None:
    assert len(store.nearest(probe, 5)[0]) == 0
    assert store.chunk_rows(np.array([1])).vectors.shape == (0, 0)
    fill(store, 1)
    assert len(store.nearest(np.zeros_like(probe), 5)[0]) == 0
    assert len(store.nearest(probe, 0)[0]) == 0
    assert store.chunk_rows(np.array([99])).vectors.shape == (0, len(probe))


def test_rows_come_with_what_stands_beside_prose(store: PostgresStore) -> None:
    text = "\n\n".join(f"part {i}" for i in range(7))
    put(store, make_write("a.md", text), make_write("b.md", "other"))
    chunks = [chunk.id for chunk in store.chunks_of(store.documents()[0].id)]
    rows = store.chunk_rows(np.array([chunks[3]]), around=2)
    assert rows.chunk_ids.tolist() == chunks[1:6]
    assert rows.positions.tolist() == [1, 2, 3, 4, 5]
    assert store.chunk_rows(np.array([chunks[0], 999])).chunk_ids.tolist() == [chunks[0]]
    assert np.allclose(np.linalg.norm(rows.vectors.astype(np.float32), axis=1), 1, atol=1e-2)


def do(damage: str, connection: psycopg.Connection[tuple[object, ...]], state: object) -> None:
    connection.execute(damage.encode())


def test_what_is_damaged_is_found_and_made_again(store: PostgresStore, probe: np.ndarray) -> None:
    fill(store, 8)
    nearest = store.nearest(probe, 5)[0].tolist()
    for damage, sentence in (
        ("DELETE FROM rows WHERE chunk_id = 3", "not in the keyword index"),
        ("DELETE FROM postings WHERE term IN (SELECT term FROM postings LIMIT 2)", "lists of words have"),
        ("UPDATE postings SET packed = substr(packed, 1, 3) WHERE first_chunk = 5", "damaged"),
        ("DELETE FROM fresh_1 WHERE chunk_id = 4", "no vector for search"),
        ("INSERT INTO points_1 SELECT * FROM fresh_1 WHERE chunk_id = 2", "are there twice"),
        ("UPDATE collections SET terms = terms + 1", "as they say"),
        (
            "INSERT INTO fresh_1 SELECT 9999, part, collection_id, document_id, embedding FROM fresh_1 LIMIT 1",
            "no chunk",
        ),
    ):
        store._connections.write(partial(do, damage))
        assert any(sentence in problem for problem in store.check()), damage
        store.rederive()
        assert list(store.check()) == []
    assert {word: holders(store, word) for word in WORDS} == {word: readers(store, word) for word in WORDS}
    assert store.nearest(probe, 5)[0].tolist() == nearest


def test_another_model_has_its_vectors_before_it_is_searched(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "FRESH_ROWS", 10)
    fill(store, 8)
    store.settle()
    keys = {key for key, _ in (*store.unembedded("text", OTHER, 100), *store.unembedded("path", OTHER, 100))}
    store.add_vectors(OTHER, {key: vector(key, OTHER) for key in keys})
    store.activate(OTHER)
    probe = vector(b"q", OTHER)
    probe /= np.linalg.norm(probe)
    assert store.nearest(probe, 5)[0].tolist() == exact(store, probe, 5)
    assert count(store, "SELECT count(*) FROM pg_indexes WHERE indexname = 'points_2_hnsw'") >= 1
    assert (
        count(
            store,
            "SELECT count(*) FROM pg_tables WHERE tablename = 'points_1' AND schemaname = current_schema()",
        )
        == 0
    )
    assert list(store.check()) == []


@pytest.fixture(scope="module")
def plain(postgres_server: PostgresServer) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(postgres_server.url(), autocommit=True) as connection:
        yield connection


@settings(max_examples=300, deadline=None)
@given(
    pattern=st.text(st.sampled_from("ab/*?[]!^-.é\\{}()|+$ "), max_size=10),
    path=st.text(st.sampled_from("ab/.é-[\\]{} "), min_size=1, max_size=10),
)
def test_a_path_pattern_means_the_same_to_postgres(
    plain: psycopg.Connection[tuple[object, ...]], pattern: str, path: str
) -> None:
    try:
        expected = re.fullmatch(glob_regex([pattern]), path, re.DOTALL) is not None
    except QueryError:
        return
    row = plain.execute('SELECT %s::text COLLATE "C" ~ %s', (path, glob_plain([pattern]))).fetchone()
    assert row == (expected,), (pattern, path)
