"""What a store hands to another one: documents as the writes that make them again, and their vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.store.builders import (
    MODEL,
    OTHER,
    key,
    make_code,
    make_write,
    notes_of,
    put,
    vector,
    vectors_for,
)

from outcrop.contracts import Store
from outcrop.records import Chunk, DocumentWrite, Model
from outcrop.store.quantized import pack_vectors, unpack_vectors

ODD = "Zero \0 byte, tab\t, é e\u0301, \U0001f600, \u202e, \ufeff, \u2028.\n\n\r\nlast\x1f \\ ' \" $1 %s"


def everything(store: Store, limit: int = 100) -> list[DocumentWrite]:
    """Every document, batch after batch."""
    found: list[tuple[int, DocumentWrite]] = []
    while batch := store.export(found[-1][0] if found else 0, limit):
        assert len(batch) <= limit
        found += batch
    ids = [id_ for id_, _ in found]
    assert ids == sorted(set(ids))
    return [write for _, write in found]


def as_exported(store: Store, write: DocumentWrite) -> DocumentWrite:
    """What `write` comes back as: with its times, and all tags in one place."""
    info = store.find(write.collection, write.file.uri)
    assert info is not None
    return replace(
        write,
        document=replace(write.document, tags=()),
        tags=tuple(sorted({*write.tags, *write.document.tags})),
        created_at=info.created_at,
        updated_at=info.updated_at,
    )


def with_tags_of_its_own() -> DocumentWrite:
    write = make_write(tags=("b", "a"), meta={"date": "2026-01-31", "z": "1", "a": ""})
    return replace(write, document=replace(write.document, tags=("c", "a")))


def with_headings(*headings: str) -> DocumentWrite:
    write = make_write("headed.md")
    return replace(write, chunks=tuple(replace(chunk, heading_path=headings) for chunk in write.chunks))


WRITES: dict[str, Callable[[], DocumentWrite]] = {
    "prose": with_tags_of_its_own,
    "code": lambda: make_code(role="test"),
    "code in part": lambda: make_code("src/part.py", notes=[None, notes_of("Lease", "a lease")]),
    "overlapping chunks": lambda: make_write(
        "overlap.md", "one two three four five six", spans=[(0, 13), (8, 18), (8, 8), (20, 23)]
    ),
    "no chunks": lambda: make_write("blank.md", "  \n ", spans=[]),
    "no text": lambda: make_write("nothing.md", "", spans=[]),
    "odd characters": lambda: make_write("odd.md", ODD, title=ODD, tags=(ODD,), meta={ODD: ODD}, uri=ODD),
    "a text": lambda: make_write("note", origin="text", root=None, mtime_ns=None),
    "no vector of its path": lambda: replace(make_write("flat.md"), path_key=b""),
    "blank space": lambda: make_write("space.md", "\n\n first \n\n\n\nlast\n \n", spans=[(3, 8), (13, 17)]),
    "an empty heading": lambda: with_headings("", "x"),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_document_is_exported_as_it_was_written(store: Store, name: str) -> None:
    write = WRITES[name]()
    put(store, write)
    assert everything(store) == [as_exported(store, write)]


def test_an_export_makes_the_same_documents_again(store: Store) -> None:
    writes = [make() for make in WRITES.values()]
    ids = put(store, *writes)
    before = everything(store)
    vectors = store.kept_vectors(MODEL, vectors_for(*writes))
    store.delete(ids)
    assert everything(store) == []
    store.write(before, vectors, MODEL)
    assert everything(store) == before
    assert list(store.check()) == []


def test_documents_come_by_id_from_any_place_on(store: Store) -> None:
    writes = [make_write(f"{n}.md", f"Text number {n}.") for n in range(7)]
    ids = put(store, *writes)
    assert [write.file.path for write in everything(store, limit=3)] == [f"{n}.md" for n in range(7)]
    store.delete([ids[2]])
    assert [id_ for id_, _ in store.export(ids[1], 2)] == ids[3:5]
    assert store.export(ids[-1], 10) == []


def test_an_answer_stays_small_and_yet_has_a_document(store: Store) -> None:
    long = "a long line of words\n" * 150_000  # 3 150 000 characters
    half = len(long) // 2
    ids = put(
        store, *(make_write(f"{n}.md", f"{long}{n}", spans=[(0, half), (half, len(long))]) for n in range(3))
    )
    put(store, make_write("small.md"))
    assert [id_ for id_, _ in store.export(0, 100)] == ids[:1]
    assert [write.file.path for write in everything(store)] == ["0.md", "1.md", "2.md", "small.md"]


def test_an_answer_holds_a_bounded_number_of_chunks(store: Store) -> None:
    spans = [(i, i + 1) for i in range(3000)]
    put(store, *(make_write(f"{n}.md", "x" * 3000, spans=spans) for n in range(3)))
    assert len(store.export(0, 100)) == 1
    assert sum(len(write.chunks) for write in everything(store)) == 9000


def test_vectors_come_as_they_are_kept(store: Store) -> None:
    write = make_code()
    given = vectors_for(write)
    rounded = write.text_keys[0]
    given[rounded] = np.linspace(-1 / 3, 1, MODEL.dimensions, dtype=np.float32)
    store.write([write], given, MODEL)
    kept = store.kept_vectors(MODEL, [*given, key("of nothing")])
    assert set(kept) == set(given)
    assert all(found.dtype == np.float32 and found.shape == (MODEL.dimensions,) for found in kept.values())
    assert np.array_equal(kept[rounded], kept[rounded].astype(np.float16))
    assert np.array_equal(kept[rounded], unpack_vectors(pack_vectors(given[rounded][None]))[0]), (
        "as in any store"
    )
    assert np.allclose(kept[rounded], given[rounded], atol=1 / 128)
    store.write([write], kept, MODEL)
    assert np.array_equal(store.kept_vectors(MODEL, [rounded])[rounded], kept[rounded])
    assert all(np.array_equal(kept[k], given[k]) for k in given if k != rounded)
    assert store.kept_vectors(MODEL, []) == {}


def test_vectors_are_those_of_the_model_asked_for(store: Store) -> None:
    write = make_write()
    put(store, write)
    store.add_vectors(OTHER, {write.path_key: vector(write.path_key, OTHER)})
    kept = store.kept_vectors(OTHER, [write.path_key, *write.text_keys])
    assert set(kept) == {write.path_key}
    assert np.array_equal(kept[write.path_key], vector(write.path_key, OTHER))
    assert store.kept_vectors(Model("unknown", "1", 8), [write.path_key]) == {}


def test_a_document_that_waits_comes_with_the_keys_of_what_it_lacks(store: Store) -> None:
    write = make_write()
    store.write([write], {}, MODEL, defer_embedding=True)
    assert everything(store) == [as_exported(store, write)]
    assert store.kept_vectors(MODEL, [write.path_key, *write.text_keys]) == {}


def test_a_new_document_keeps_the_times_it_came_with_and_a_known_one_its_own(store: Store) -> None:
    write = replace(make_write(), created_at=1_000.125, updated_at=1_234_567.000123)
    put(store, write)
    info = store.find("main", write.file.uri)
    assert info is not None
    assert (info.created_at, info.updated_at) == (1_000.125, 1_234_567.000123)
    put(store, replace(write, sha256="1", created_at=5.0, updated_at=6.0))
    again = store.find("main", write.file.uri)
    assert again is not None
    assert again.created_at == 1_000.125
    assert again.updated_at > 1_700_000_000


def test_settings_can_be_listed(store: Store) -> None:
    assert store.settings() == {}
    store.put_setting("model", "mini")
    store.put_setting("odd", "é \U0001f600 ' \"")
    store.put_setting("model", "static")
    assert store.settings() == {"model": "static", "odd": "é \U0001f600 ' \""}


def test_a_chunk_keeps_all_that_is_known_of_it(store: Store) -> None:
    chunk = Chunk(0, 1, 4, "bcd", 9, ("A", "B"), 7, 8, 3, notes_of("Pool", "what it does"))
    write = replace(
        make_write("c.py", "abcdef", spans=[], kind="code"),
        chunks=(chunk,),
        text_keys=(key("bcd"),),
        summary_keys=(key("what it does"),),
    )
    put(store, write)
    ((_, found),) = store.export(0, 1)
    assert found.chunks == (chunk,)
    assert found.summary_keys == (key("what it does"),)
    assert found.document.text == "abcdef"
