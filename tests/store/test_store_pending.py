"""What every store promises of documents that are written before their vectors."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.store.builders import MODEL, OTHER, key, make_code, make_write, put, vector, vectors_for

from outcrop.contracts import Store
from outcrop.errors import MissingVectors, StoreError
from outcrop.records import DocumentWrite


def put_later(store: Store, *writes: DocumentWrite) -> list[int]:
    return store.write(writes, {}, MODEL, defer_embedding=True)


def chunk_ids(store: Store, document_id: int) -> list[int]:
    return [chunk.id for chunk in store.chunks_of(document_id)]


def test_a_document_without_vectors_is_refused_now_and_taken_later(store: Store) -> None:
    write = make_write()
    with pytest.raises(MissingVectors):
        store.write([write], {}, MODEL)
    (id_,) = put_later(store, write)
    assert store.pending() == [id_]
    assert store.text(id_) == write.document.text
    assert store.match_phrase("second words").tolist() == [chunk_ids(store, id_)[1]]
    assert [row.vector for row in store.feed(0, 9)] == [None, None]
    assert list(store.check()) == []


def test_filling_gives_all_chunks_new_ids_in_order_and_lists_the_old_ones_as_removed(store: Store) -> None:
    write = make_code(text="class Pool:\n\nclass Lease:\n\nclass Broker:")
    (id_,) = put_later(store, write)
    before, position = chunk_ids(store, id_), store.removals(0)[1]
    notes = [chunk.code for chunk in store.chunks_of(id_)]
    assert store.fill(MODEL, vectors_for(write)) == 1
    after = chunk_ids(store, id_)
    assert after == sorted(after)
    assert min(after) > max(before)
    assert store.removals(position)[0].tolist() == before
    assert [chunk.code for chunk in store.chunks_of(id_)] == notes
    assert store.match_phrase("lease").tolist() == [after[1]]
    assert store.text(id_) == write.document.text
    fed = store.feed(max(before), 9)
    assert [row.chunk_id for row in fed] == after
    assert all(found is not None for row in fed for found in (row.vector, row.path_vector, row.summary_vector))
    assert store.pending() == []
    assert list(store.check()) == []
    (other,) = put(store, make_write("b.md", "third words"))
    assert min(chunk_ids(store, other)) > max(after), "an id that was given out is never used again"


def test_a_document_is_numbered_anew_once_when_the_last_of_its_vectors_has_come(store: Store) -> None:
    write = make_write()
    (id_,) = put_later(store, write)
    before = chunk_ids(store, id_)
    vectors = vectors_for(write)
    for last, of in enumerate(vectors, start=1):
        done = store.fill(MODEL, {of: vectors[of]})
        assert done == (last == len(vectors))
        assert (chunk_ids(store, id_) == before) == (last < len(vectors))
        assert store.pending() == ([] if last == len(vectors) else [id_])
    renumbered = chunk_ids(store, id_)
    assert store.fill(MODEL, vectors) == 0
    assert chunk_ids(store, id_) == renumbered, "filling again changes nothing"


def test_a_vector_that_another_document_brings_completes_those_that_wait_for_it(store: Store) -> None:
    (waits,) = put_later(store, make_write(text="shared words"))
    before = chunk_ids(store, waits)
    put(store, make_write("other.md", "shared words"))
    assert store.pending() == [waits], "its path is still to come"
    path = key("path:notes/a.md")
    assert store.fill(MODEL, {path: vector(path)}) == 1
    (again,) = put_later(store, make_write("third.md", "words of a third"))
    put(store, make_write("third.md", "words of a third", collection="elsewhere"))
    assert store.pending() == []
    assert chunk_ids(store, waits) != before
    assert [row.vector is not None for row in store.feed(0, 9)] == [True] * 4
    assert again in {row.document_id for row in store.feed(0, 9)}
    assert list(store.check()) == []


def test_only_the_document_that_changed_waits_and_only_for_what_is_new(store: Store) -> None:
    put(store, make_write(), make_write("b.md", "other words"))
    (id_,) = put_later(store, make_write(text="First words.\n\nChanged words."))
    assert store.pending() == [id_]
    assert store.unembedded("text", MODEL, 9) == store.unembedded("text", MODEL, 9, id_)
    assert [k for k, _ in store.unembedded("text", MODEL, 9, id_)] == [key("Changed words.")]
    assert store.unembedded("path", MODEL, 9, id_) == []
    put_later(store, make_write())  # as it was: its vector went with it, as nothing used it
    assert [k for k, _ in store.unembedded("text", MODEL, 9, id_)] == [key("Second words.")]


def test_a_complete_write_a_deletion_and_another_model_end_the_waiting(store: Store) -> None:
    write, gone = make_write(), make_write("gone.md", "gone words")
    kept, deleted = put_later(store, write, gone)
    assert store.pending() == [kept, deleted]
    assert store.pending(1) == [kept]
    assert store.delete([deleted]) == 1
    assert store.pending() == [kept]
    assert store.fill(MODEL, vectors_for(gone)) == 0, "vectors of what is gone are passed over"
    put(store, write)
    assert store.pending() == []
    (late,) = put_later(store, make_write("late.md", "late words"))
    with pytest.raises(StoreError, match="have no vector"):
        store.activate(OTHER)
    store.add_vectors(OTHER, vectors_for(write, make_write("late.md", "late words"), model=OTHER))
    assert store.pending() == [late]
    store.activate(OTHER)
    assert store.pending() == []
    assert list(store.check()) == []


def test_vectors_of_a_model_that_is_not_active_are_not_filled_in(store: Store) -> None:
    write = make_write()
    with pytest.raises(StoreError, match="reembed"):
        store.fill(MODEL, vectors_for(write))
    put_later(store, write)
    with pytest.raises(StoreError, match="reembed"):
        store.fill(OTHER, vectors_for(write, model=OTHER))
    assert len(store.pending()) == 1


def test_a_move_without_vectors_waits_and_keeps_its_id(store: Store) -> None:
    (id_,) = put(store, make_write())
    store.move(id_, make_write("moved.md"), {}, MODEL, defer_embedding=True)
    assert store.pending() == [id_]
    assert [k for k, _ in store.unembedded("path", MODEL, 9, id_)] == [key("path:moved.md")]
    assert store.fill(MODEL, vectors_for(make_write("moved.md"))) == 1
    assert list(store.check()) == []


def test_what_waits_is_seen_by_other_connections_and_survives_a_restart(
    open_store: Callable[[], Store],
) -> None:
    first = open_store()
    (id_,) = put_later(first, make_write())
    first.close()
    second = open_store()
    assert second.pending() == [id_]
    assert second.fill(MODEL, vectors_for(make_write())) == 1


def test_a_vector_that_is_lost_is_damage_unless_its_document_waits(store: Store) -> None:
    (id_,) = put_later(store, make_write())
    assert list(store.check()) == []
    assert store.stats().chunks_with_vector == 0
    assert store.fill(MODEL, vectors_for(make_write())) == 1
    assert store.stats().chunks_with_vector == store.stats().chunks
    assert chunk_ids(store, id_)
