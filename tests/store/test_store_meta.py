"""What every store promises of metadata: it is looked up as plain Python would compare it, whatever is written over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.store.builders import make_write, put
from tests.store.conditions import conditions, holds, metas

from outcrop.contracts import Store
from outcrop.errors import QueryError
from outcrop.records import Filter, Meta
from outcrop.records.meta import COMPARED_CHARS
from outcrop.records.where import Condition
from outcrop.store.postgres import schema as postgres_schema
from outcrop.store.sqlite import schema as sqlite_schema
from outcrop.store.sqlite.store import SqliteStore


def chosen(store: Store, where: str) -> list[str]:
    """The paths of the documents that pass, by both ways that a filter takes."""
    ids = set(store.select(Filter(where=where)).tolist())
    listed = store.documents(Filter(where=where))
    assert {info.id for info in listed} == ids
    return sorted(info.path for info in listed)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(metas, min_size=6, max_size=6), st.lists(conditions(), min_size=8, max_size=8))
def test_a_condition_chooses_what_plain_python_would(
    store: Store, found: list[Meta], asked: list[Condition]
) -> None:
    put(store, *(make_write(f"{i}.md", f"words {i}", meta=meta) for i, meta in enumerate(found)))
    for condition in asked:
        expected = [f"{i}.md" for i, meta in enumerate(found) if holds(condition, meta)]
        assert chosen(store, str(condition)) == expected, str(condition)


def test_metadata_goes_with_its_document_and_is_replaced_with_it(store: Store) -> None:
    (first, _) = put(store, make_write("a.md", meta={"year": 2020}), make_write("b.md", meta={"year": 2021}))
    put(store, make_write("a.md", meta={"year": 2022, "author": "Ann"}))
    assert (chosen(store, "year == 2020"), chosen(store, "year > 2021")) == ([], ["a.md"])
    store.delete([first])
    assert chosen(store, "year exists") == ["b.md"]
    assert list(store.check()) == []


def test_a_condition_goes_together_with_other_filters(store: Store) -> None:
    put(
        store,
        make_write("a.md", meta={"year": 2020}, tags=("x",)),
        make_write("b.md", meta={"year": 2020}),
        make_write("c.md", tags=("x",)),
    )
    assert [info.path for info in store.documents(Filter(tags=("x",), where="year == 2020"))] == ["a.md"]
    assert [info.path for info in store.documents(Filter(paths=("?.md",), where="not year == 2020"))] == [
        "c.md"
    ]


def test_of_a_long_text_the_beginning_is_compared(store: Store) -> None:
    text = "é" * COMPARED_CHARS + "tail"
    put(store, make_write("a.md", meta={"said": text}))
    assert chosen(store, f'said == "{text}"') == ["a.md"]
    assert chosen(store, 'said contains "tail"') == []
    (info,) = store.documents()
    assert info.meta == {"said": text}


def test_a_condition_that_is_none_is_told(store: Store) -> None:
    with pytest.raises(QueryError, match="write `==`"):
        store.select(Filter(where="year = 2020"))


def test_control_characters_are_spaces_in_a_comparison(store: Store) -> None:
    put(store, make_write("a.md", meta={"said": "one\0two\nthree\x1a"}))
    assert chosen(store, 'said contains "ONE TWO"') == ["a.md"]
    assert chosen(store, 'said == "one\0two\nthree\x1a"') == ["a.md"]


def test_a_copy_holds_the_same(store: Store) -> None:
    write = make_write("a.md", meta={"when": date(2024, 5, 6), "list": ("a", 1)})
    put(store, write)
    ((_, exported),) = store.export(0, 9)
    assert exported.document.meta == write.document.meta
    assert replace(exported.document, meta={}) != exported.document


def test_what_an_older_index_holds_can_be_looked_up_too(
    open_store: Callable[[], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store()
    put(store, make_write("a.md", meta={"date": "2024-05-06", "odd": "\0"}), make_write("b.md"))
    module = sqlite_schema if isinstance(store, SqliteStore) else postgres_schema
    step = module.MIGRATIONS[2]

    def from_nothing(connection: Any) -> None:
        connection.execute("DROP TABLE meta_values")
        step(connection)

    monkeypatch.setattr(module, "MIGRATIONS", (*module.MIGRATIONS, from_nothing))
    again = open_store()
    assert chosen(again, "date >= 2024-05-06") == ["a.md"]
    assert list(again.check()) == []
