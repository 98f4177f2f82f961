"""What every store promises of source code: its notes, the vectors of its summaries, its language."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.store.builders import MODEL, OTHER, key, make_code, make_write, notes_of, put, vector, vectors_for

from outcrop.contracts import Store
from outcrop.errors import MissingVectors, StoreError
from outcrop.records import CodeNotes, Definition, Filter, Mention

STRANGE = CodeNotes(
    symbol="Größe.\x1f 'quoted\"",
    kind="",
    signature="def f(a: str = '\\n') -> \U0001f600",
    summary="",
    defines=(Definition("größe", "field", "", 0),),
    mentions=(Mention("a/b", "import", "c"), Mention("op'\"[]", "use", "\\", 2**40)),
)


def test_notes_come_back_as_they_were_written(store: Store) -> None:
    notes = (notes_of("Pool", "keeps connections"), None, STRANGE, CodeNotes())
    (id_,) = put(store, make_code(text="one\n\ntwo\n\nthree\n\nfour", notes=notes))
    stored = store.chunks_of(id_)
    assert tuple(chunk.code for chunk in stored) == notes
    assert store.chunks([chunk.id for chunk in stored]) == stored
    assert [row.code for row in store.feed(0, 10)] == list(notes)
    assert list(store.check()) == []


def test_the_feed_has_the_vector_of_each_summary_and_none_where_there_is_none(store: Store) -> None:
    with_summary, without = notes_of("Pool", "keeps connections"), notes_of("Lease")
    put(store, make_code(text="one\n\ntwo\n\nthree", notes=(with_summary, without, None)), make_write())
    vectors = [row.summary_vector for row in store.feed(0, 10)]
    assert [found is not None for found in vectors] == [True, False, False, False, False]
    assert np.array_equal(vectors[0], vector(key("summary:keeps connections")))  # type: ignore[arg-type]


def test_language_and_role_come_back_and_are_empty_for_prose(store: Store) -> None:
    code, prose = put(store, make_code("tests/pool.py", role="test"), make_write())
    told = [(info.kind, info.language, info.role) for info in map(store.document, (code, prose)) if info]
    assert told == [("code", "python", "test"), ("markdown", "", "")]
    assert [(row.language, row.role) for row in store.feed(0, 10)] == [("python", "test")] * 2 + [("", "")] * 2
    put(store, make_code("tests/pool.py", language="go"))
    info = store.document(code)
    assert info is not None
    assert (info.language, info.role) == ("go", "")


@pytest.mark.parametrize("how", ["delete", "write", "replace", "move"])
def test_notes_and_the_vectors_of_summaries_go_with_their_chunks(store: Store, how: str) -> None:
    own, shared = notes_of("Pool", "only mine"), notes_of("Lease", "shared by two")
    write = make_code(text="mine\n\nours", notes=(own, shared))
    (id_, _) = put(store, write, make_code("src/other.py", "theirs", notes=(shared,)))
    old = [chunk.id for chunk in store.chunks_of(id_)]
    if how == "delete":
        store.delete([id_])
    elif how == "write":
        store.write([], {}, MODEL, remove=[id_])
    elif how == "replace":
        put(store, make_code(text="changed", notes=(None,)))
    else:
        moved = make_code("src/moved.py", "mine\n\nours", notes=(None, None))
        store.move(id_, moved, vectors_for(moved), MODEL)
    assert store.chunks(old) == []
    assert sum(row.code is not None for row in store.feed(0, 10)) == 1
    keys = [key("summary:only mine"), key("summary:shared by two")]
    assert store.missing_vectors(MODEL, keys) == {keys[0]}
    assert list(store.check()) == []


def test_a_moved_source_file_keeps_its_notes_and_needs_no_vector_again(store: Store) -> None:
    (id_,) = put(store, make_code())
    moved = make_code("src/moved.py")
    store.move(id_, moved, {moved.path_key: vector(moved.path_key)}, MODEL)
    assert [chunk.code for chunk in store.chunks_of(id_)] == [chunk.code for chunk in moved.chunks]
    assert all(row.summary_vector is not None for row in store.feed(0, 10))
    assert list(store.check()) == []


def test_a_write_whose_summary_has_no_vector_changes_nothing_and_names_it(store: Store) -> None:
    write = make_code(notes=(notes_of("Pool", "keeps connections"), None))
    vectors = vectors_for(write)
    del vectors[key("summary:keeps connections")]
    with pytest.raises(MissingVectors) as caught:
        store.write([write], vectors, MODEL)
    assert caught.value.keys == {key("summary:keeps connections")}
    assert store.stats().documents == 0


def test_summaries_for_another_number_of_chunks_are_refused(store: Store) -> None:
    write = make_code()
    with pytest.raises(StoreError, match="summaries"):
        put(store, replace(write, summary_keys=write.summary_keys[:1]))
    assert store.stats().documents == 0


def test_a_model_is_not_switched_to_while_a_summary_has_no_vector(store: Store) -> None:
    notes = [notes_of("A", "first"), None, notes_of("B"), notes_of("C", "second"), notes_of("D", "first")]
    put(store, make_code(text="a\n\nb\n\nc\n\nd\n\ne", notes=notes), make_write())
    assert store.unembedded("summary", MODEL, 10) == []
    ids = [row.chunk_id for row in store.feed(0, 10)]
    assert store.unembedded("summary", OTHER, 10) == [
        (key("summary:first"), ids[0]),
        (key("summary:second"), ids[3]),
        (key("summary:first"), ids[4]),
    ]
    assert store.unembedded("summary", OTHER, 1) == [(key("summary:first"), ids[0])]
    others = [*store.unembedded("text", OTHER, 100), *store.unembedded("path", OTHER, 100)]
    store.add_vectors(OTHER, {k: vector(k, OTHER) for k, _ in others})
    with pytest.raises(StoreError, match="0 chunks, 3 summaries and 0 paths"):
        store.activate(OTHER)
    assert store.active_model() == MODEL
    store.add_vectors(OTHER, {k: vector(k, OTHER) for k, _ in store.unembedded("summary", OTHER, 100)})
    store.activate(OTHER)
    assert [row.summary_vector is not None for row in store.feed(0, 5)] == [True, False, False, True, True]
    assert all(row.summary_vector is None or row.summary_vector.size == 4 for row in store.feed(0, 10))
    assert store.missing_vectors(MODEL, [key("summary:first")]) == {key("summary:first")}
    assert list(store.check()) == []


def test_vectors_of_summaries_nothing_uses_any_more_are_passed_over(store: Store) -> None:
    put(store, make_code(notes=(notes_of("A", "kept"), None)))
    keys = [key("summary:kept"), key("summary:gone")]
    store.add_vectors(OTHER, {k: vector(k, OTHER) for k in keys})
    assert store.missing_vectors(OTHER, keys) == {keys[1]}


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (("python",), ["src/pool.py"]),
        (("python", "go"), ["src/main.go", "src/pool.py"]),
        (("code",), ["src/main.go", "src/pool.py", "src/x.unknown"]),
        (("markdown", "go"), ["notes/a.md", "src/main.go"]),
        (("Python",), []),
        (("",), []),
    ],
)
def test_a_filter_by_kind_knows_languages_too(
    store: Store, kinds: tuple[str, ...], expected: list[str]
) -> None:
    put(
        store,
        make_code(),
        make_code("src/main.go", "package main", language="go"),
        make_code("src/x.unknown", "unknown", language=""),
        make_write(),
    )
    where = Filter(kinds=kinds)
    assert [info.path for info in store.documents(where)] == expected
    assert len(store.select(where)) == len(expected)
