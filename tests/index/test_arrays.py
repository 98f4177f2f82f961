"""The search arrays follow the store: every write, every removal, of every process and thread."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.index.rows import WORDS, alive, found, in_store, names_of, open_arrays
from tests.store.builders import MODEL, OTHER, make_code, make_write, put, vectors_for

import outcrop.index.arrays as arrays_module
from outcrop.records import Filter
from outcrop.store.sqlite.store import SqliteStore, open_sqlite

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "index.db"


@pytest.fixture
def store(db: Path) -> Iterator[SqliteStore]:
    opened = open_sqlite(db)
    yield opened
    opened.close()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits so small that a few documents are fed, merged and rewritten as thousands would be."""
    for name, value in {"FEED_ROWS": 3, "SEGMENT_ROWS": 12, "SAVE_AFTER_ROWS": 1}.items():
        monkeypatch.setattr(arrays_module, name, value)


def test_an_empty_store_has_an_empty_view(store: SqliteStore) -> None:
    view = open_arrays(store).refresh()
    assert (view.rows, view.segments, view.model) == (0, (), None)


def test_every_committed_write_is_seen(store: SqliteStore) -> None:
    arrays = open_arrays(store)
    for i in range(12):
        put(store, make_write(f"{i}.md", f"Number{i} text.\n\nMore of it."))
        view = arrays.refresh()
        assert alive(view) == in_store(store)
        assert any(score > 0 for score, _ in found(arrays, view, f"number{i}").values())
    assert arrays.refresh() is view, "nothing moved, so nothing is made"


def test_writes_of_another_process_are_seen(store: SqliteStore, db: Path) -> None:
    arrays = open_arrays(store)
    put(store, make_write("mine.md"))
    arrays.refresh()
    command = [sys.executable, "-m", "tests.store.child", "write", str(db), "theirs", "2"]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)
    view = arrays.refresh()
    assert alive(view) == in_store(store)
    assert found(arrays, view, "theirs")


def test_where_many_rows_are_gone_they_are_left_out_at_once(store: SqliteStore) -> None:
    arrays = open_arrays(store)
    put(store, make_write("a.md", "granite"), make_write("b.md", "marble"))
    for number in range(5):
        put(store, make_write("a.md", f"granite {number}"))
        view = arrays.refresh()
        assert alive(view) == in_store(store)
        assert view.rows <= 3, "former versions would make its words look common"
    store.delete([info.id for info in store.documents()])
    assert arrays.refresh().rows == 0


def test_removed_and_replaced_chunks_vanish(store: SqliteStore) -> None:
    arrays = open_arrays(store)
    ids = put(store, *(make_write(f"{i}.md", f"{WORDS[i]} stone") for i in range(5)))
    # Few removed rows are masked.
    put(store, *(make_write(f"more-{i}.md", "ordinary stone") for i in range(20)))
    arrays.refresh()
    store.delete(ids[:2])
    put(store, make_write("2.md", "granite now"))
    view = arrays.refresh()
    assert alive(view) == in_store(store)
    lexical = {
        word: [c for c, (score, _) in found(arrays, view, word).items() if score > 0] for word in WORDS[:5]
    }
    assert [len(lexical[word]) for word in WORDS[:5]] == [0, 0, 0, 1, 1]
    old = {
        chunk
        for segment, gone in zip(view.segments, view.deleted, strict=True)
        for chunk in segment.chunk_ids[gone]
    }
    assert old
    assert not old & set(found(arrays, view, "stone granite"))


def test_another_model_starts_the_arrays_anew(store: SqliteStore, tmp_path: Path) -> None:
    arrays = open_arrays(store, tmp_path / "arrays")
    write = make_write("a.md", "One text.\n\nAnother text.")
    put(store, write)
    arrays.save(force=True)
    assert arrays.refresh().segments[0].vectors.shape == (2, MODEL.dimensions)
    store.add_vectors(OTHER, vectors_for(write, model=OTHER))
    store.activate(OTHER)
    for each in (arrays, open_arrays(store, tmp_path / "arrays")):
        view = each.refresh()
        assert view.model == OTHER
        assert [segment.vectors.shape for segment in view.segments] == [(2, OTHER.dimensions)]


@pytest.mark.usefixtures("small")
def test_segments_are_merged_as_they_come(store: SqliteStore) -> None:
    arrays = open_arrays(store)
    for i in range(60):
        put(store, make_write(f"{i}.md", f"Text {i}."))
        view = arrays.refresh()
        small = [len(segment) for segment in view.segments if len(segment) < 6]
        assert len(small) <= 3
    assert view.rows == 60
    assert len(view.segments) <= 14
    assert alive(view) == in_store(store)


@pytest.mark.usefixtures("small")
def test_a_document_is_not_torn_between_segments_unless_it_is_too_long(store: SqliteStore) -> None:
    """A passage is judged by its neighbours too, and looks for them in its own segment."""
    texts = ["\n\n".join(["Some words."] * count) for count in (2, 3, 2, 4, 1, 3, 2)]
    put(store, *(make_write(f"{i}.md", text) for i, text in enumerate(texts * 3)))
    view = open_arrays(store).refresh()
    assert alive(view) == in_store(store)
    assert len(view.segments) > 2
    homes: dict[int, list[int]] = {}
    for number, segment in enumerate(view.segments):
        for document in segment.document_ids.tolist():
            homes.setdefault(document, []).append(number)
    assert {len(rows) for rows in homes.values()} == {1, 2, 3, 4}
    assert all(len(set(rows)) == 1 for rows in homes.values() if len(rows) <= arrays_module.FEED_ROWS)


steps = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "put", "delete", "refresh", "save", "purge", "reopen"]),
        st.integers(0, 7),
        st.integers(0, 2**16),
    ),
    max_size=25,
)


@pytest.mark.usefixtures("small")
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=steps)
def test_following_step_by_step_ends_where_a_rebuild_ends(
    steps: list[tuple[str, int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("follow")
    store = open_sqlite(folder / "index.db")
    arrays = open_arrays(store, folder / "arrays")
    for what, which, seed in steps:
        rng = random.Random(seed)
        if what == "put":
            text = "\n\n".join(
                " ".join(rng.choices(WORDS, k=rng.randrange(1, 9))) for _ in range(rng.randrange(5))
            )
            make = rng.choice((make_code, make_write))
            put(store, make(f"{which}.md", text))
        elif what == "delete":
            store.delete([document.id for document in store.documents() if document.path == f"{which}.md"])
        elif what == "reopen":
            arrays = open_arrays(store, folder / "arrays")
        else:
            getattr(arrays, what)()
    anew = open_arrays(store)
    expected = anew.refresh()
    view = arrays.refresh()
    assert alive(view) == alive(expected) == in_store(store)
    assert names_of(view) == names_of(expected)
    queries = [*WORDS[:4], "chert gneiss amber", "part guide title"]
    for query in queries:  # removed rows still count for how rare a word is, until they are purged
        assert found(arrays, view, query).keys() == found(anew, expected, query).keys()
    arrays.purge()
    view = arrays.refresh()
    assert not any(gone.any() for gone in view.deleted)
    assert names_of(view) == names_of(expected)
    for query in queries:
        mine, theirs = found(arrays, view, query), found(anew, expected, query)
        assert mine.keys() == theirs.keys()
        for chunk, scores in mine.items():
            assert scores == pytest.approx(theirs[chunk], abs=1e-5)
    store.close()


def test_filters_mask_what_they_rule_out_and_are_kept_for_a_view(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = open_arrays(store)
    writes = [make_write(f"d{i % 2}/{i}.md", f"{WORDS[i]}\n\nrock", tags=("odd",) * (i % 2)) for i in range(8)]
    ids = put(store, *writes)
    store.delete(ids[:1])
    view = arrays.refresh()
    assert arrays.masks(open_arrays(store).refresh(), Filter()) == (None,), "all rows pass: no mask is needed"
    asked: list[Filter] = []
    real = store.select

    def select(where: Filter) -> NDArray[np.int64]:
        asked.append(where)
        return real(where)

    monkeypatch.setattr(store, "select", select)
    for where in (
        Filter(tags=("odd",)),
        Filter(paths=("d0/**",)),
        Filter(documents=(ids[3], ids[0])),
        Filter(kinds=("pdf",)),
    ):
        wanted = set(real(where).tolist())
        for _ in range(2):
            masks = arrays.masks(view, where)
            passed = {
                int(document)
                for segment, mask in zip(view.segments, masks, strict=True)
                for document in segment.document_ids[mask]
            }
            assert passed == wanted
        chunks = {chunk.id: chunk.text for document in wanted for chunk in store.chunks_of(document)}
        listed = set(found(arrays, view, "rock", where))
        assert {chunk for chunk, text in chunks.items() if text == "rock"} <= listed <= chunks.keys()
    assert len(asked) == 4, "asked once for each filter"
    store.touch({ids[2]: (1, 1)})
    arrays.masks(arrays.refresh(), Filter(tags=("odd",)))
    assert len(asked) == 5, "asked again once the store has moved"


def test_many_filters_do_not_pile_up(store: SqliteStore) -> None:
    arrays = open_arrays(store)
    put(store, make_write())
    view = arrays.refresh()
    for i in range(200):
        arrays.masks(view, Filter(paths=(f"{i}/*",)))
    assert len(arrays._masks) <= 32


@pytest.mark.usefixtures("small")
def test_threads_search_while_one_writes(store: SqliteStore, tmp_path: Path) -> None:
    arrays = open_arrays(store, tmp_path / "arrays")
    put(store, make_write("first.md", "amber first"))
    failures: list[BaseException] = []
    done = threading.Event()

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 — whatever it is, the test must hear of it
            failures.append(error)
            done.set()

    def search() -> None:
        while not done.is_set():
            view = arrays.refresh()
            assert found(arrays, view, "amber")
            arrays.masks(view, Filter(kinds=("markdown",)))

    def write() -> None:
        for i in range(20):
            put(store, make_write(f"{i % 7}.md", f"amber {WORDS[i % 8]}\n\n{i} stones"))
            if i == 10:
                store.delete([document.id for document in store.documents() if document.path == "3.md"])
                arrays.purge()
            arrays.save()
        done.set()

    threads = [threading.Thread(target=run, args=(work,)) for work in (search, search, search, search, write)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    assert alive(arrays.refresh()) == in_store(store)
