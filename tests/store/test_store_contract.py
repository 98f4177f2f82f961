"""What every store promises when documents are written, read and removed."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta, timezone

import numpy as np
import pytest
from tests.store.builders import MODEL, OTHER, key, make_write, put, vector, vectors_for

from outcrop.contracts import Store
from outcrop.errors import MissingVectors, NotFound, StoreError
from outcrop.records import Filter, MetaValue, Model

META: dict[str, MetaValue] = {
    "author": "Zoë",
    "date": date(2024, 5, 6),
    "sent": datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=timezone(timedelta(hours=2))),
    "local": datetime(2024, 5, 6),
    "year": 2024,
    "price": 0.1,
    "draft": True,
    "people": ("Ann", 3, date(1999, 12, 31), False),
    "none": (),
}

# ------------------------------------------------------------------ writing


def test_a_written_document_comes_back_as_it_was(store: Store) -> None:
    write = make_write(tags=("b", "a"), meta=META)
    write = replace(write, document=replace(write.document, tags=("c", "a")))
    (id_,) = put(store, write)
    info = store.document(id_)
    assert info is not None
    assert info == store.find("main", "/home/me/notes/a.md")
    assert (info.collection, info.path, info.root, info.origin) == ("main", "notes/a.md", "/home/me", "file")
    assert (info.kind, info.title, info.tags) == ("markdown", "A title", ("a", "b", "c"))
    assert info.meta == META
    assert [type(value) for value in info.meta.values()] == [type(value) for value in META.values()]
    assert (info.sha256, info.mtime_ns, info.size) == (write.sha256, write.file.mtime_ns, write.file.size)
    assert (info.chunks, info.characters) == (2, len(write.document.text))
    assert info.created_at == info.updated_at
    assert store.text(id_) == write.document.text


def test_chunks_come_back_as_they_were_and_in_the_order_asked_for(store: Store) -> None:
    write = make_write(text="one\n\ntwo\n\nthree\n\nfour")
    (id_,) = put(store, write)
    stored = store.chunks_of(id_)
    for chunk, was in zip(stored, write.chunks, strict=True):
        same = ("index", "start", "end", "text", "tokens", "heading_path", "line_start", "line_end", "page")
        assert [getattr(chunk, name) for name in same] == [getattr(was, name) for name in same]
    ids = [chunk.id for chunk in stored]
    asked = [ids[2], 10**9, ids[0], ids[3]]
    again = store.chunks(asked)
    assert [chunk.id for chunk in again] == [ids[2], ids[0], ids[3]]
    assert len({id(chunk.document) for chunk in again}) == 1
    assert store.chunks(np.array(asked)) == again  # type: ignore[arg-type]  # search hands over arrays
    assert store.chunks([]) == []


def test_odd_characters_come_back_in_every_field(store: Store) -> None:
    odd = "a\0b\x1ac\x1a0d"
    write = make_write(f"{odd}.md", f"{odd} words", tags=(odd,), meta={odd: odd}, title=odd, collection=odd)
    (id_,) = put(store, write)
    info = store.document(id_)
    assert info is not None
    assert (info.path, info.title, info.tags, dict(info.meta), info.collection) == (
        f"{odd}.md",
        odd,
        (odd,),
        {odd: odd},
        odd,
    )
    assert store.text(id_) == f"{odd} words"
    assert store.select(Filter(tags=(odd,), collections=(odd,))).tolist() == [id_]


def test_writing_the_same_name_again_replaces_the_document_and_keeps_its_id(store: Store) -> None:
    (id_,) = put(store, make_write(text="old words", tags=("old",)))
    before, old_chunks = store.document(id_), store.chunks_of(id_)
    assert put(store, make_write(text="new words\n\nmore", tags=("new",))) == [id_]
    after, new_chunks = store.document(id_), store.chunks_of(id_)
    assert before is not None
    assert after is not None
    assert after.created_at == before.created_at
    assert after.updated_at > before.updated_at
    assert after.tags == ("new",)
    assert store.text(id_) == "new words\n\nmore"
    assert min(chunk.id for chunk in new_chunks) > max(chunk.id for chunk in old_chunks)
    assert store.match_phrase("old words").size == 0
    assert list(store.check()) == []


def test_updated_at_grows_even_when_two_writes_share_a_moment(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: 1_000_000.0)
    seen = []
    for text in ("a", "b", "c"):
        (id_,) = put(store, make_write(text=text))
        info = store.document(id_)
        assert info is not None
        seen.append(info.updated_at)
    assert seen == sorted(set(seen))


def test_ids_come_in_the_order_of_the_writes_and_the_last_of_two_equal_names_counts(store: Store) -> None:
    a1, b, a2 = make_write("a.md", "one"), make_write("b.md", "two"), make_write("a.md", "three")
    ids = put(store, a1, b, a2)
    assert ids[0] == ids[2] != ids[1]
    assert [store.text(id_) for id_ in ids] == ["three", "two", "three"]
    assert list(store.check()) == []


def test_one_name_in_two_collections_is_two_documents(store: Store) -> None:
    put(store, make_write(collection="one"), make_write(collection="two", text="x\n\ny\n\nz"))
    assert [(c.name, c.documents, c.chunks) for c in store.collections()] == [("one", 1, 2), ("two", 1, 3)]


def test_a_write_whose_vectors_are_missing_changes_nothing_and_names_them(store: Store) -> None:
    (kept,) = put(store, make_write("kept.md", "kept"))
    version, chunks = store.version(), store.chunks_of(kept)
    write, changed = make_write("new.md", "fresh\n\nkept"), make_write("kept.md", "changed")
    vectors = vectors_for(write, changed)
    del vectors[key("fresh")], vectors[key("kept")]
    with pytest.raises(MissingVectors) as caught:
        store.write([changed, write], vectors, MODEL, remove=[kept])
    assert caught.value.keys == {key("fresh")}, "the vector of `kept` is stored, that of `fresh` is not"
    assert store.version() == version
    assert store.chunks_of(kept) == chunks
    assert store.find("main", write.file.uri) is None
    assert list(store.check()) == []


def test_vectors_that_are_stored_need_not_come_again(store: Store) -> None:
    write = make_write()
    put(store, write)
    assert store.missing_vectors(MODEL, [*write.text_keys, key("never")]) == {key("never")}
    assert store.missing_vectors(OTHER, write.text_keys) == set(write.text_keys)
    assert store.missing_vectors(MODEL, []) == set()
    same = make_write("notes/b.md")
    store.write([same], {same.path_key: vector(same.path_key)}, MODEL)
    assert list(store.check()) == []


def test_vectors_nothing_uses_any_more_go_and_shared_ones_stay(store: Store) -> None:
    a, b = make_write("a.md", "shared\n\nonly a"), make_write("b.md", "shared\n\nonly b")
    id_a, id_b = put(store, a, b)
    assert store.stats().vectors == 5
    store.delete([id_a])
    assert store.missing_vectors(MODEL, [key("shared"), key("only a"), a.path_key]) == {
        key("only a"),
        a.path_key,
    }
    put(store, make_write("b.md", "else"))
    assert store.missing_vectors(MODEL, [key("shared"), key("only b")]) == {key("shared"), key("only b")}
    assert store.document(id_b) is not None
    assert store.stats().vectors == 2


def test_vectors_that_no_document_of_the_write_uses_are_not_kept(store: Store) -> None:
    write = make_write()
    store.write([write], {**vectors_for(write), key("stray"): vector(key("stray"))}, MODEL)
    assert list(store.check()) == []
    assert store.missing_vectors(MODEL, [key("stray")]) == {key("stray")}


@pytest.mark.parametrize("bad", [np.zeros(3, np.float32), np.full(8, 1e9, np.float32), np.full(8, np.nan)])
def test_a_vector_of_the_wrong_size_or_not_finite_is_refused(store: Store, bad: np.ndarray) -> None:
    write = make_write()
    for vectors in (
        {**vectors_for(write), write.path_key: bad},
        dict.fromkeys(vectors_for(write), bad),
    ):
        with pytest.raises(StoreError, match="nothing was written"):
            store.write([write], vectors, MODEL)
    assert store.stats().documents == 0


def test_chunks_that_are_not_cut_from_the_text_are_refused(store: Store) -> None:
    write = make_write()
    wrong = replace(write, chunks=(replace(write.chunks[0], text="else"), write.chunks[1]))
    with pytest.raises(StoreError, match="chunk 0"):
        put(store, wrong)
    with pytest.raises(StoreError, match="keys"):
        put(store, replace(write, text_keys=write.text_keys[:1]))


def test_a_text_that_cannot_be_encoded_is_refused_and_nothing_is_written(store: Store) -> None:
    with pytest.raises(StoreError, match="cannot be stored"):
        put(store, make_write("good.md"), make_write(title="lone \ud800 surrogate"))
    assert store.stats().documents == 0


def test_removing_in_a_write_is_part_of_it_but_never_removes_what_is_written(store: Store) -> None:
    a, b = put(store, make_write("a.md", "aa"), make_write("b.md", "bb"))
    new = make_write("a.md", "cc")
    assert store.write([new], vectors_for(new), MODEL, remove=[a, b, 999]) == [a]
    assert [info.id for info in store.documents()] == [a]
    assert store.write([], {}, OTHER, remove=[a]) == []
    assert store.stats().documents == 0


def test_a_document_without_chunks_keeps_its_text(store: Store) -> None:
    blank, empty = put(store, make_write("blank.md", " \n\n \n", spans=[]), make_write("empty.md", ""))
    assert store.text(blank) == " \n\n \n"
    assert store.text(empty) == ""
    assert list(store.check()) == []


# ------------------------------------------------------------------ moving, touching, deleting


def test_a_moved_document_keeps_its_id_creation_time_and_vectors(store: Store) -> None:
    (id_,) = put(store, make_write("old/name.md"))
    before, old_chunks = store.document(id_), store.chunks_of(id_)
    moved = make_write("new/name.md", mtime_ns=5)
    store.move(id_, moved, {moved.path_key: vector(moved.path_key)}, MODEL)
    after = store.document(id_)
    assert before is not None
    assert after is not None
    assert (after.path, after.uri, after.mtime_ns) == ("new/name.md", "/home/me/new/name.md", 5)
    assert after.created_at == before.created_at
    assert store.find("main", before.uri) is None
    removed, _ = store.removals(0)
    assert removed.tolist() == [chunk.id for chunk in old_chunks]
    path_vectors = [row.path_vector for row in store.feed(0, 10)]
    assert all(np.array_equal(v, vector(moved.path_key)) for v in path_vectors if v is not None)
    assert len(path_vectors) == 2
    assert list(store.check()) == []


def test_a_move_replaces_what_stood_under_the_new_name_and_needs_a_document(store: Store) -> None:
    a, _ = put(store, make_write("a.md", "mine"), make_write("b.md", "in the way"))
    moved = make_write("b.md", "mine")
    store.move(a, moved, vectors_for(moved), MODEL)
    assert [(info.id, info.path) for info in store.documents()] == [(a, "b.md")]
    assert list(store.check()) == []
    with pytest.raises(NotFound):
        store.move(77, moved, vectors_for(moved), MODEL)


def test_touch_remembers_the_new_state_and_is_not_an_update(store: Store) -> None:
    (id_,) = put(store, make_write())
    before, version = store.document(id_), store.version()
    store.touch({id_: (42, 7), 999: (1, 1)})
    after = store.document(id_)
    assert before is not None
    assert after == replace(before, mtime_ns=42, size=7)
    state = store.states("main")["/home/me/notes/a.md"]
    assert (state.document_id, state.mtime_ns, state.size, state.sha256) == (id_, 42, 7, before.sha256)
    assert store.version() != version, "a date filter may choose differently now"
    store.touch({})


def test_delete_counts_what_there_was_and_ids_are_never_used_again(store: Store) -> None:
    first = put(store, make_write("a.md"), make_write("b.md"))
    old_chunks = [row.chunk_id for row in store.feed(0, 100)]
    assert store.delete([*first, 999]) == 2
    assert store.delete(first) == 0
    assert store.delete([]) == 0
    second = put(store, make_write("a.md"))
    assert second[0] > max(first)
    assert min(row.chunk_id for row in store.feed(0, 100)) > max(old_chunks)
    removed, position = store.removals(0)
    assert removed.tolist() == old_chunks
    assert store.removals(position)[0].size == 0
    assert store.removals(position)[1] == position
    with pytest.raises(NotFound):
        store.text(first[0])
    assert store.document(first[0]) is None
    assert store.chunks_of(first[0]) == []
    assert store.chunks(old_chunks) == []


# ------------------------------------------------------------------ models


def test_the_first_write_sets_the_model_and_another_model_is_refused(store: Store) -> None:
    assert store.active_model() is None
    put(store, make_write())
    assert store.active_model() == MODEL
    other = make_write("b.md")
    with pytest.raises(StoreError, match="reembed"):
        store.write([other], vectors_for(other, model=OTHER), OTHER)
    assert store.stats().documents == 1


def test_a_model_switch_goes_in_steps_and_the_old_vectors_serve_until_the_end(store: Store) -> None:
    put(store, make_write("a.md", "one\n\ntwo\n\nthree"), make_write("b.md", "four"))
    version = store.version()
    with pytest.raises(StoreError, match="4 chunks, 0 summaries and 2 paths"):
        store.activate(OTHER)
    assert store.version() == version
    steps = 0
    while batch := store.unembedded("text", OTHER, 2):
        assert [id_ for _, id_ in batch] == sorted(id_ for _, id_ in batch)
        if steps == 1:
            put(store, make_write("c.md", "came later"))  # a write meanwhile goes on with the old model
        store.add_vectors(OTHER, {k: vector(k, OTHER) for k, _ in batch})
        assert store.active_model() == MODEL
        assert all(row.vector is not None and row.vector.size == 8 for row in store.feed(0, 100))
        steps += 1
    assert steps == 3
    paths = store.unembedded("path", OTHER, 100)
    assert len(paths) == 3
    store.add_vectors(
        OTHER, {k: vector(k, OTHER) for k, _ in paths} | {key("gone"): vector(key("gone"), OTHER)}
    )
    before = store.version()
    store.activate(OTHER)
    assert store.version() != before
    assert store.active_model() == OTHER
    for row in store.feed(0, 100):
        assert np.array_equal(row.vector, vector(key(row.text), OTHER))  # type: ignore[arg-type]
    assert list(store.check()) == []
    assert store.missing_vectors(MODEL, [key("one")]) == {key("one")}
    again = [*store.unembedded("text", MODEL, 100), *store.unembedded("path", MODEL, 100)]
    assert len(again) == 8, "going back means embedding again"
    store.add_vectors(MODEL, {k: vector(k) for k, _ in again})
    store.activate(MODEL)
    assert all(np.array_equal(row.vector, vector(key(row.text))) for row in store.feed(0, 100))  # type: ignore[arg-type]
    assert list(store.check()) == []


def test_versions_and_sizes_tell_models_apart(store: Store) -> None:
    put(store, make_write())
    for model in (Model("small", "2", 8), Model("small", "1", 4)):
        with pytest.raises(StoreError):
            store.write([make_write("b.md")], vectors_for(make_write("b.md"), model=model), model)
