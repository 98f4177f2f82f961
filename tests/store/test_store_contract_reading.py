"""What every store promises to search and to those who look after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.store.builders import MODEL, OTHER, key, make_write, put, vector

from outcrop.contracts import Store
from outcrop.errors import StoreError
from outcrop.records import Filter, Folder

# ------------------------------------------------------------------ what search needs


def test_feed_gives_every_chunk_once_in_order_with_its_vectors(store: Store) -> None:
    writes = [make_write(f"{i}.md", f"text {i}\n\nmore {i}", kind="text") for i in range(5)]
    ids = put(store, *writes)
    rows, after = [], 0
    while batch := store.feed(after, 3):
        rows += batch
        after = batch[-1].chunk_id
    assert [row.text for row in rows] == [chunk.text for write in writes for chunk in write.chunks]
    assert [row.document_id for row in rows] == [id_ for id_ in ids for _ in range(2)]
    assert rows[1].heading_path == ("Guide", "Part 1")
    assert rows[0].heading_path == ()
    assert (rows[0].kind, rows[0].title, rows[0].path) == ("text", "A title", "0.md")
    for row in rows:
        assert row.vector is not None
        assert row.vector.dtype == np.float16
        assert np.array_equal(row.vector, vector(key(row.text)))
        assert np.array_equal(row.path_vector, vector(key("path:" + row.path)))  # type: ignore[arg-type]


def test_a_model_without_paths_writes_an_empty_path_key(store: Store) -> None:
    write = replace(make_write(), path_key=b"")
    store.write([write], {k: vector(k) for k in write.text_keys}, MODEL)
    assert [row.path_vector for row in store.feed(0, 9)] == [None, None]
    assert store.unembedded("path", OTHER, 9) == []
    assert list(store.check()) == []


def test_following_feed_and_removals_gives_the_chunks_there_are(store: Store) -> None:
    alive: set[int] = set()
    after = position = 0
    rng = np.random.default_rng(3)
    for step in range(30):
        name = f"{rng.integers(6)}.md"
        found = store.find("main", f"/home/me/{name}")
        if found and rng.random() < 0.3:
            store.delete([found.id])
        else:
            put(store, make_write(name, f"a{step}\n\nb{step}\n\nc"))
        if rng.random() < 0.5:
            continue
        for row in store.feed(after, 1000):
            alive.add(row.chunk_id)
            after = row.chunk_id
        gone, position = store.removals(position)
        alive -= set(gone.tolist())
        assert alive == {c.id for info in store.documents() for c in store.chunks_of(info.id)}
    assert list(store.check()) == []


def test_version_changes_with_every_write_and_only_then(open_store: Callable[[], Store]) -> None:
    store, second = open_store(), open_store()
    seen = [store.version()]

    def changed() -> bool:
        seen.append(second.version())
        assert seen[-1] == store.version()
        return seen[-1] not in seen[:-1]

    (id_,) = put(store, make_write())
    assert changed()
    put(second, make_write(text="new"))
    assert changed()
    store.documents(), store.feed(0, 10), store.select(Filter())
    assert not changed()
    store.delete([id_])
    assert changed()


@pytest.mark.parametrize(
    ("phrase", "texts"),
    [
        ("quick brown", [0]),
        ("QUICK Brown", [0]),
        ("brown quick", []),
        ("quick fox", []),
        ("naive cafe", [1]),
        ("naïve café", [1]),
        ("cafe\u0301", [1]),
        ("検索エンジン", [2]),
        ("索エ", [2]),
        ("エ索", []),
        ("全文検索 outcrop", [2]),
        ("สวัสดี", [3]),
        ("หวัด", []),
        ("भारत की", [4]),
        ("का", []),
        ("o'neil-smith", [5]),
        ('say "stop" now', [5]),
        ("stop NOT now", []),
        ("stop OR now", []),
        ("fox*", []),
        ("foxes", [0]),
        ("body : foxes", []),
        ("quick\0brown", [0]),
        ("", []),
        ("   ", []),
        ('"', []),
        ("-*()^{}:", []),
        ("한국어 문장", [6]),
    ],
)
def test_a_phrase_finds_the_words_in_their_order_in_any_script(
    store: Store, phrase: str, texts: list[int]
) -> None:
    bodies = [
        "The quick brown foxes.",
        "A naïve café owner",
        "全文検索outcrop。日本語の検索エンジンです。",
        "สวัสดีครับ",
        "भारत की राजधानी",
        "O'Neil-Smith did say «stop» now",
        "한국어 문장 하나",
    ]
    ids = put(store, *(make_write(f"{i}.md", body) for i, body in enumerate(bodies)))
    found = store.chunks(store.match_phrase(phrase).tolist())
    assert [ids.index(chunk.document.id) for chunk in found] == texts


def test_a_phrase_is_looked_for_among_some_and_one_without_words_nowhere(store: Store) -> None:
    put(store, *(make_write(f"{i}.md", f"red apples, {i} of them") for i in range(3)))
    whole = store.match_phrase("red apples")
    assert len(whole) == 3
    assert store.match_phrase("red apples", whole[1:]).tolist() == whole[1:].tolist()
    assert store.match_phrase("...").tolist() == []


# ------------------------------------------------------------------ maintenance


def test_a_snapshot_sees_one_moment_and_may_be_nested(open_store: Callable[[], Store]) -> None:
    store, other = open_store(), open_store()
    (id_,) = put(store, make_write(text="before"))
    version = store.version()
    with store.snapshot():
        put(other, make_write(text="after"))
        with store.snapshot():
            assert store.text(id_) == "before"
        put(store, make_write("own.md", "written by this very thread"))
        assert store.text(id_) == "before"
        assert [c.text for c in store.chunks_of(id_)] == ["before"]
        assert store.version() == version
        assert other.text(id_) == "after"
    assert store.text(id_) == "after"
    assert store.stats().documents == 2


def test_a_snapshot_ends_with_an_exception_too(open_store: Callable[[], Store]) -> None:
    store = open_store()
    with pytest.raises(UnicodeEncodeError), store.snapshot():
        "\ud800".encode()
    with pytest.raises(KeyError), store.snapshot():
        raise KeyError
    put(open_store(), make_write())
    assert store.stats().documents == 1


def test_stats_count_what_must_agree(store: Store) -> None:
    assert store.stats().documents == 0
    put(store, make_write("a.md"), make_write("b.md", "First words."))
    stats = store.stats()
    assert (stats.documents, stats.chunks, stats.chunks_with_vector) == (2, 3, 3)
    assert stats.vectors == 4
    assert stats.bytes_on_disk > 0
    assert stats.schema_version >= 1


def test_states_are_of_one_collection_and_what_lies_below_a_root(store: Store) -> None:
    put(
        store,
        make_write("a.md", root="/one"),
        make_write("b.md", root="/two"),
        make_write("c", root=None, uri="id-7", origin="text", mtime_ns=None),
        make_write("d.md", root="/one", collection="else"),
        make_write("e.md", root="/one/inner"),
        make_write("f.md", root="/one-more"),
        make_write("g", root=None, uri="/one/a-name", origin="text"),
        make_write("linked.md", root="/one", uri="/elsewhere/linked.md"),
    )
    assert len(store.states("main")) == 7
    assert set(store.states("main", "/one")) == {"/one/a.md", "/one/inner/e.md", "/elsewhere/linked.md"}
    assert set(store.states("main", "/one/inner")) == {"/one/inner/e.md"}
    assert len(store.states("main", "/")) == 5
    assert store.states("nothing") == {}
    for root in (None, "/one", "/one/inner", "/"):
        states = store.states("main", root).items()
        files = {uri: state.document_id for uri, state in states if state.mtime_ns is not None}
        assert store.files("main", root) == files
    assert "id-7" not in store.files("main")


def test_roots_are_the_folders_documents_came_from(store: Store) -> None:
    put(
        store,
        make_write("a.md", root="/two"),
        make_write("b.md", root="/two"),
        make_write("c.md", root="/one"),
        make_write("d.md", root="/two", collection="else"),
        make_write("e", root=None, uri="id", origin="text"),
    )
    assert store.roots() == [("else", "/two"), ("main", "/one"), ("main", "/two")]


def test_a_folder_keeps_what_is_remembered_of_it(store: Store, open_store: Callable[[], Store]) -> None:
    assert store.folders() == []
    assert store.folder("main", "/srv/a") == Folder("main", "/srv/a")
    before = store.version()
    store.put_folder("main", "/srv/a", tags=["red", 'a "b" \0 é'])
    store.put_folder("main", "/srv/a", survey="[1]")
    store.put_folder("main", "/srv", survey="[2]")
    store.put_folder("a main", "/srv/a", tags=())
    assert store.version() > before
    again = open_store()
    assert again.folder("main", "/srv/a") == Folder("main", "/srv/a", ("red", 'a "b" \0 é'), "[1]")
    assert [(one.collection, one.root) for one in again.folders()] == [
        ("a main", "/srv/a"),
        ("main", "/srv"),
        ("main", "/srv/a"),
    ]
    store.put_folder("main", "/srv/a", tags=["blue"])
    assert again.folder("main", "/srv/a") == Folder("main", "/srv/a", ("blue",), "[1]")
    store.put_folder("main", "/srv/a", tags=(), survey="")
    assert again.folder("main", "/srv/a") == Folder("main", "/srv/a")


def test_a_setting_is_kept_with_the_index(open_store: Callable[[], Store]) -> None:
    store = open_store()
    assert store.setting("model") is None
    store.put_setting("model", "first")
    store.put_setting("model", "second")
    assert open_store().setting("model") == "second"


def test_an_index_keeps_its_identity_at_every_version(open_store: Callable[[], Store]) -> None:
    store = open_store()
    version = store.version()
    name = store.lineage(version)
    assert name is not None
    put(store, make_write())
    assert open_store().lineage(version) == name
    assert store.lineage(store.version()) not in (None, name)
    assert store.lineage(store.version() + 1) is None
    assert len(name) >= 16


def test_a_chunk_knows_the_gap_before_it(store: Store) -> None:
    (id_,) = put(store, make_write(text="ab  cd\nef", spans=[(0, 2), (4, 6), (5, 6), (7, 9)]))
    assert [chunk.gap for chunk in store.chunks_of(id_)] == ["", "  ", "", "\n"]


def test_a_question_that_cannot_be_encoded_is_a_store_error(store: Store) -> None:
    for ask in (lambda: store.match_phrase("\ud800"), lambda: store.find("main", "\ud800")):
        with pytest.raises(StoreError, match="looked for"):
            ask()


def test_a_closed_store_says_so_and_closing_twice_is_fine(store: Store) -> None:
    put(store, make_write())
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.version()
    with pytest.raises(StoreError, match="closed"):
        put(store, make_write())
