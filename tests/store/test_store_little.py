"""What every store makes of little or nothing: no vectors, no chunks, no summaries."""

from __future__ import annotations

from tests.store.builders import MODEL, make_code, make_write, put, vector

from outcrop.contracts import Store


def test_no_vectors_change_nothing(store: Store) -> None:
    put(store, make_write())
    version = store.version()
    store.add_vectors(MODEL, {})
    assert store.version() == version


def test_a_document_without_chunks_may_wait_for_the_vector_of_its_path(store: Store) -> None:
    write = make_write("empty.md", "")
    (id_,) = store.write([write], {}, MODEL, defer_embedding=True)
    assert store.pending() == [id_]
    assert store.fill(MODEL, {write.path_key: vector(write.path_key)}) == 1
    assert store.pending() == []
    assert store.text(id_) == ""
    assert list(store.check()) == []


def test_summaries_are_found_by_their_texts(store: Store) -> None:
    write = make_code()
    put(store, write, make_write("prose.md", "no summary"))
    told = store.summaries([*write.text_keys, b"unknown"])
    notes = [chunk.code.summary for chunk in write.chunks if chunk.code]
    assert sorted(told) == sorted(zip(write.text_keys, write.summary_keys, notes, strict=True))
    assert store.summaries([]) == []
