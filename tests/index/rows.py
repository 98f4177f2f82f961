"""Feed rows, segments and what they find, for the tests of search."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tests.store.builders import vector

from outcrop.index.arrays import SearchArrays
from outcrop.index.bm25 import weigh_terms
from outcrop.index.candidates import find_candidates
from outcrop.index.columns import build_segment
from outcrop.index.names import MODULE, NAME_ARRAYS, PRIVATE
from outcrop.index.segment import Segment, View
from outcrop.records import CodeNotes, FeedRow, Filter, Matrix, Role
from outcrop.store.sqlite.store import SqliteStore
from outcrop.text.terms import Terms

TERMS = Terms()
EVERYTHING = Filter()
WORDS = "amber basalt chert dolomite epidote feldspar gneiss hornfels".split()


def feed_row(
    chunk_id: int,
    text: str = "",
    *,
    document_id: int | None = None,
    vector: NDArray[np.float16] | None = None,
    path_vector: NDArray[np.float16] | None = None,
    kind: str = "text",
    title: str = "",
    path: str = "",
    heading_path: tuple[str, ...] = (),
    summary_vector: NDArray[np.float16] | None = None,
    language: str = "",
    role: Role = "",
    code: CodeNotes | None = None,
) -> FeedRow:
    """One chunk as the store feeds it; alone in its document unless told otherwise."""
    document = chunk_id if document_id is None else document_id
    return FeedRow(
        *(chunk_id, document, kind, title, heading_path, path, text, vector, path_vector),
        summary_vector=summary_vector,
        language=language,
        role=role,
        code=code,
    )


def segment_of_texts(texts: Sequence[str], terms: Terms, first_id: int = 1) -> Segment:
    """A segment that knows words only."""
    return build_segment([feed_row(first_id + i, text) for i, text in enumerate(texts)], terms, 0, 0.0)


def segment_of_vectors(vectors: Matrix, first_id: int = 1) -> Segment:
    """A segment that knows vectors only."""
    rows = [feed_row(first_id + i, vector=vector.astype(np.float16)) for i, vector in enumerate(vectors)]
    return build_segment(rows, Terms(), vectors.shape[1], 0.0)


def view_of(*segments: Segment, deleted: Sequence[NDArray[np.bool_]] | None = None) -> View:
    """A view over segments as `SearchArrays` would make it."""
    gone = (
        tuple(np.zeros(len(segment), np.bool_) for segment in segments) if deleted is None else tuple(deleted)
    )
    lengths = np.concatenate([segment.lengths for segment in segments])
    mean = max(float(lengths.mean()), 1.0) if len(lengths) else 1.0
    return View(segments, gone, 1, None, 0, 0, mean)


_BESIDE = ("file", "names", "packages", "positions", "watched", "checked_terms", "counted")


def arrays_of(segment: Segment) -> dict[str, NDArray[np.generic]]:
    """Every array of a segment by name, for comparing."""
    own = [name for name in segment.__slots__ if name not in _BESIDE]
    arrays = {name: getattr(segment, name) for name in own}
    assert set(NAME_ARRAYS) == set(segment.names.__slots__)
    assert not arrays.keys() & NAME_ARRAYS.keys()
    return arrays | {name: getattr(segment.names, name) for name in NAME_ARRAYS}


def assert_same(one: Segment, other: Segment) -> None:
    """Two segments hold the same, to the last bit and type."""
    for name, array in arrays_of(one).items():
        twin = arrays_of(other)[name]
        assert array.dtype == twin.dtype, name
        np.testing.assert_array_equal(array, twin, err_msg=name)


def open_arrays(store: SqliteStore, folder: Path | None = None) -> SearchArrays:
    return SearchArrays(store, folder, TERMS, 0.5)


def found(
    arrays: SearchArrays, view: View, query: str, where: Filter = EVERYTHING
) -> dict[int, tuple[float, float]]:
    """chunk id → (lexical score, cosine) of what a query finds."""
    of_query = vector(query.encode())
    of_query /= np.linalg.norm(of_query)
    words = weigh_terms(query, TERMS, view.segments)
    rows = find_candidates(view, arrays.masks(view, where), words, of_query, pool=10_000)
    listed = (rows.lexical_rank > 0) | (rows.dense_rank > 0)
    scores = zip(rows.lexical[listed].tolist(), rows.cosine[listed].tolist(), strict=True)
    return dict(zip(rows.chunk_id[listed].tolist(), scores, strict=True))


def alive(view: View) -> list[int]:
    """Ids of the chunks a view holds."""
    return [
        int(chunk)
        for segment, gone in zip(view.segments, view.deleted, strict=True)
        for chunk in segment.chunk_ids[~gone]
    ]


def in_store(store: SqliteStore) -> list[int]:
    return sorted(chunk.id for document in store.documents() for chunk in store.chunks_of(document.id))


def names_of(view: View) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """(name, chunk) of every declaration and every use in the rows a view holds; modules by their document."""
    declared: set[tuple[int, int]] = set()
    used: set[tuple[int, int]] = set()
    for segment, gone in zip(view.segments, view.deleted, strict=True):
        names = segment.names
        for kept, number, rows in (
            (declared, names.defined, names.defined_rows),
            (used, names.used, names.used_rows),
        ):
            here = ~gone[rows]
            is_module = (
                (names.defined_kinds >= MODULE) & (names.defined_kinds < PRIVATE) if kept is declared else False
            )
            owners = np.where(is_module, -segment.document_ids[rows], segment.chunk_ids[rows])
            kept |= set(zip(number[here].tolist(), owners[here].tolist(), strict=True))
    return declared, used
