"""What a few chunks lean on is the same, whether the whole graph is known or only what is near them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.index.searched import Both, SearchedSqlite
from tests.store.builders import make_code, put

from outcrop.index import evidence
from outcrop.index.arrays import SearchArrays
from outcrop.index.seam import Index
from outcrop.records import CodeNotes, Definition, Mention
from outcrop.store.postgres.in_place import gathered
from outcrop.store.postgres.in_place.derive import SearchDeriver
from outcrop.store.postgres.in_place.search import DatabaseSearch
from outcrop.text.terms import Terms

TERMS = Terms()


def steps(index: Index, chunk_ids: NDArray[np.int64], *asked: str) -> list[tuple[int, int, float]]:
    with index.snapshot(index.refresh()) as view:
        source, target, weight = index.steps(view, chunk_ids, asked)
    return sorted(zip(source.tolist(), target.tolist(), weight.tolist(), strict=True))


def code_chunks(both: Both) -> NDArray[np.int64]:
    segments = both.arrays.refresh().segments
    return np.concatenate([segment.chunk_ids[segment.code] for segment in segments])


def test_every_chunk_of_code_has_the_edges_of_the_whole_graph(both: Both) -> None:
    ids = np.random.default_rng(3).permutation(code_chunks(both))
    edges = 0
    for start in range(0, len(ids), 40):
        some = ids[start : start + 40]
        whole = steps(both.arrays, some)
        assert steps(both.database, some) == whole
        edges += len(whole)
    assert edges > 2000


def test_names_that_are_asked_for_weigh_more(both: Both) -> None:
    ids = code_chunks(both)[:60]
    plain, asked = steps(both.database, ids), steps(both.database, ids, "Segment", "term_number")
    assert asked == steps(both.arrays, ids, "Segment", "term_number")
    assert sum(weight for *_, weight in asked) > sum(weight for *_, weight in plain)


def test_prose_and_chunks_that_are_gone_lean_on_what_they_lean_on(both: Both) -> None:
    prose = np.concatenate([segment.chunk_ids[~segment.code] for segment in both.arrays.refresh().segments])
    whole = steps(both.arrays, prose)
    assert steps(both.database, prose) == whole
    assert whole
    assert steps(both.database, np.array([10**9])) == []
    assert steps(both.database, np.zeros(0, np.int64)) == []


@pytest.mark.parametrize("most", [1, 2, 4, 9])
def test_names_declared_too_often_are_not_joined(
    both: Both, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    for module in (evidence, gathered):
        monkeypatch.setattr(module, "MAX_DECLARED", most)
    arrays = SearchArrays(both.store, None, both.terms, both.embedder.path_weight)
    ids = code_chunks(both)
    for start in range(0, 400, 40):
        some = ids[start : start + 40]
        assert steps(both.database, some) == steps(arrays, some)


def test_a_cut_method_is_still_of_its_class(tmp_path: Path) -> None:
    """The second half of a method declares nothing: `self.close()` in it is that of the class it was cut from."""
    closing_method = Definition("close", "method", "Pool")
    notes = [
        CodeNotes(symbol="Pool", kind="class", defines=(Definition("Pool", "class"), closing_method)),
        CodeNotes(symbol="Pool.run", kind="method", defines=(Definition("run", "method", "Pool"),)),
        CodeNotes(symbol="Pool.run", kind="method", mentions=(Mention("close", "call", "self"),)),
        CodeNotes(
            symbol="Other",
            kind="class",
            defines=(Definition("Other", "class"), Definition("close", "method", "Other")),
        ),
    ]
    with closing(SearchedSqlite(tmp_path / "index.db", SearchDeriver(TERMS, 0.5))) as store:
        put(store, make_code("src/pool.py", "class Pool\n\nrun\n\nclose\n\nclass Other", notes=notes))
        put(store, make_code("src/file.py", "class File", notes=[notes[3]]))
        pool = np.sort(
            [c.id for d in store.documents() if d.path == "src/pool.py" for c in store.chunks_of(d.id)]
        )
        found = steps(DatabaseSearch(store, TERMS, 0.5, None), pool[2:3])
        assert found == steps(SearchArrays(store, None, TERMS, 0.5), pool[2:3])
        assert [(source, target) for source, target, _ in found] == [(pool[2], pool[0])]
