"""Search in place: the store finds, this process ranks.

The store looks up which chunks hold which words, which vectors are nearest and who declares a name; of the few hundred
chunks that come up a segment is made that lives as long as the search. From there on all is as with arrays: the same
scores, the same graph. Nothing is kept between searches but the state of the index, under its version.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from outcrop.contracts import SearchableStore
from outcrop.errors import StoreError
from outcrop.index.arrays import SearchArrays
from outcrop.index.bm25 import LexicalQuery, weigh_counts
from outcrop.index.candidates import Listed, add_times, describe_rows, gather_rows, rank_rows, score_rows
from outcrop.index.describe import MAX_DEFINITIONS, find_declared
from outcrop.index.files import SegmentFiles
from outcrop.index.graph import Graph
from outcrop.index.labels import labels_of_query
from outcrop.index.names import name_number
from outcrop.index.nearest import similarities
from outcrop.index.query import Query, Symbol
from outcrop.index.seam import Matches
from outcrop.index.segment import Segment, View
from outcrop.index.wording import Translation, add_translations, find_language, read_words
from outcrop.records import Filter, SearchMode, Vector
from outcrop.records.candidates import Candidates
from outcrop.records.derived import DeclaredRows
from outcrop.store.postgres.in_place.derive import unpack_facts
from outcrop.store.postgres.in_place.gathered import graph_around, segment_of_rows
from outcrop.store.postgres.in_place.phrases import find_phrases
from outcrop.store.postgres.in_place.postings import Ids, Passing, choose_terms, keep_best, score_postings
from outcrop.system.arrays import NDArray, distinct, is_among
from outcrop.system.dataclass import dataclass
from outcrop.text.terms import Terms

FEW_CHUNKS: Final = 20_000
"""Chunks that pass a filter and are all named before a search. Where more pass, a good part of what is found does, and
the store is asked about that afterwards (not measured)."""
BESIDE: Final = 2
"""Chunks before and after one that ranking looks at: its neighbours are candidates and are judged by theirs."""
MAX_DECLARATIONS: Final = 1024
"""Declarations of one name that are read, to find those that are allowed and in the scope asked for (not measured)."""

CHECKED_DOCUMENTS: Final = 100
"""Documents whose rows are read to see whether they are of this version (not measured)."""


@dataclass(frozen=True, slots=True)
class _Allowed:
    """Which chunks may be returned: those named, ascending; or, where `ids` is None, all that pass the filter."""

    ids: Ids | None
    where: Filter


class DatabaseSearch:
    """Searches a store that is searched in place. Safe for threads; see `index.Index`. `folder` is for what needs the
    whole reference graph (see `whole`): its arrays are kept there, or in memory only."""

    def __init__(self, store: SearchableStore, terms: Terms, path_weight: float, folder: Path | None) -> None:
        self._store = store
        self._terms = terms
        self._path_weight = path_weight
        self._folder = folder
        self._lock = threading.Lock()
        self._view = _NEVER
        self._whole: SearchArrays | None = None
        self._languages: tuple[int, Mapping[int, int]] = (-1, {})

    # ------------------------------------------------------------------ the state of the index

    def refresh(self) -> View:
        """The state of the index now, without segments: the same object until something is written."""
        view = self._view
        if view.version == self._store.version():
            return view
        with self._store.snapshot():
            return self._now()

    @contextmanager
    def snapshot(self, view: View) -> Iterator[View]:
        """One snapshot of the store; its state is `view`, unless something was written since."""
        with self._store.snapshot():
            yield view if view.version == self._store.version() else self._now()

    def _now(self) -> View:
        """The state within a snapshot."""
        version, totals = self._store.version(), self._store.totals()
        mean = max(totals.terms / max(totals.chunks, 1), 1.0)
        view = View((), (), version, self._store.active_model(), 0, 0, mean, totals.chunks)
        with self._lock:
            if self._view.version != version:
                self._view = view
            return self._view

    def warm(self) -> None:
        """Nothing to load: the store keeps itself warm."""

    # ------------------------------------------------------------------ searching

    def find(
        self, view: View, query: Query, where: Filter, mode: SearchMode, vector: Vector | None, pool: int
    ) -> Matches:
        """The store runs the legs; what comes up is described by a segment of its own."""
        if vector is not None and not (np.isfinite(vector).all() and vector.any()):
            vector = None
        words, counts = (
            (None, {})
            if mode == "semantic"
            else self._look_up(view, query.text, query.language, query.translations)
        )
        allowed, unread = self._allowed(view, query, where, pool)
        symbols = query.symbols if words is not None else ()
        declared = self._declaring(symbols, allowed)
        by_words = self._by_words(view, words, counts, allowed, pool)
        by_meaning = self._by_meaning(vector, allowed, pool)
        wanted = distinct(np.concatenate((by_words, by_meaning, declared.chunk_ids)))
        if not len(wanted):
            nobody = allowed.ids is not None and not len(allowed.ids)
            filtered_out = nobody and not where.is_empty()
            found = add_times(_NOTHING, words)
            return Matches(view, words, found, {}, query.phrases, filtered_out, vector=vector, unread=unread)
        segment = segment_of_rows(self._store.chunk_rows(wanted, BESIDE), _looked_up(words), declared)
        seen = replace(view, segments=(segment,), deleted=(np.zeros(len(segment), np.bool_),))
        words = None if words is None else _with_postings(words, segment)
        # A filter is for documents: what stands beside a chunk that passes it passes too. Phrases are for chunks.
        masks = (None if allowed.ids is None else is_among(segment.chunk_ids, allowed.ids),)
        scores = score_rows(seen, masks, words)
        sure = find_declared(seen, masks, symbols, alone=query.is_name)
        rows = _rows_of(segment, by_words)
        listed = rank_rows([rows], [scores[0][rows]], pool)
        found = gather_rows(seen, masks, scores, listed, _near(segment, by_meaning, vector), vector, sure)
        found = add_times(found, words)
        return Matches(seen, words, found, sure, query.phrases, vector=vector, unread=unread)

    def find_titled(
        self,
        view: View,  # noqa: ARG002 - the store answers from its snapshot
        titles: Collection[int],
        most: int,
    ) -> list[tuple[int, int, int]]:
        """The prose that has one of these titles."""
        found = self._store.declaring(titles, most)
        columns = (found.names, found.document_ids, found.chunk_ids)
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def add_rows(self, seen: Matches, chunk_ids: NDArray[np.int64], where: Filter) -> Matches:
        """Rows that the search has not to do with yet become one more segment."""
        ids = chunk_ids if where.is_empty() else self._store.passing(chunk_ids, where)
        known = np.zeros(len(ids), np.bool_)
        for segment in seen.view.segments:
            known |= is_among(ids, segment.chunk_ids)
        view, words = seen.view, seen.words
        if not known.all():
            rows = self._store.chunk_rows(ids[~known])
            segment = segment_of_rows(rows, _looked_up(words), _NOT_DECLARED)
            fresh = np.zeros(len(segment), np.bool_)
            view = replace(view, segments=(*view.segments, segment), deleted=(*view.deleted, fresh))
            if words is not None:
                words = replace(words, postings=(*words.postings, *_with_postings(words, segment).postings))
        found = describe_rows(view, (None,) * len(view.segments), words, seen.vector, ids)
        return replace(seen, view=view, words=words, found=found)

    def _allowed(self, view: View, query: Query, where: Filter, pool: int) -> tuple[_Allowed, int]:
        """Which chunks may be returned, and how many might hold the phrases too and were not read."""
        if not query.phrases:
            return _Allowed(None if where.is_empty() else self._store.narrow(where, FEW_CHUNKS), where), 0

        def weigh() -> LexicalQuery:
            return self._look_up(view, query.text, query.language)[0]

        passing = None if where.is_empty() else partial(self._store.passing, where=where)
        ids, unread = find_phrases(
            self._store, self._terms, query.phrases, passing, weigh, view.mean_length, pool
        )
        return _Allowed(ids, where), unread

    def _passing(self, allowed: _Allowed) -> Passing | None:
        """What tells those of some chunks that may be returned; None where all may."""
        ids, where = allowed.ids, allowed.where
        if ids is not None:
            return lambda some: some[is_among(some, ids)]
        return None if where.is_empty() else lambda some: self._store.passing(some, where)

    def _look_up(
        self, view: View, text: str, forced: str = "", translations: Collection[Translation] = ()
    ) -> tuple[LexicalQuery, dict[int, int]]:
        """The terms of a query with their weights, still without postings; and how many chunks hold each."""
        spoken = find_language(text, forced, partial(self._count_languages, view.version))
        asked = add_translations(read_words(text, self._terms, spoken), self._terms, translations)
        counts = self._store.term_counts(asked.words)
        weights, ideal, across = weigh_counts(asked, counts, view.chunks)
        held = {term: count for term, count in counts.items() if term in weights and count}
        return LexicalQuery(
            weights,
            asked.words,
            ideal,
            (),
            asked.shares,
            asked.language,
            frozenset(asked.translated),
            across,
            *labels_of_query(text, self._terms),
        ), held

    def _count_languages(self, version: int, terms: Collection[int]) -> dict[int, int]:
        """How many chunks hold the terms that tell languages, looked up once while nothing is written."""
        seen, known = self._languages
        if seen != version:
            known = {}
        new = [term for term in terms if term not in known]
        if new:
            known = {**known, **dict.fromkeys(new, 0), **self._store.term_counts(new)}
            self._languages = version, known
        return {term: known[term] for term in terms if known[term]}

    def weigh(self, view: View, text: str) -> dict[int, float]:
        """The terms of a query with their weights."""
        return self._look_up(view, text)[0].weights

    def count_terms(self, terms: Collection[int]) -> Mapping[int, int]:
        """The store knows."""
        return self._store.term_counts(terms)

    def _by_words(
        self, view: View, words: LexicalQuery | None, counts: Mapping[int, int], allowed: _Allowed, pool: int
    ) -> Ids:
        """The best chunks by words."""
        if words is None or not counts or (allowed.ids is not None and not len(allowed.ids)):
            return _NONE
        found = self._store.term_rows(choose_terms(counts, pool), allowed.where.collections)
        ids, scores = score_postings(found, words.weights, words.ideal, view.mean_length)
        return keep_best(ids, scores, pool, self._passing(allowed))

    def _by_meaning(self, vector: Vector | None, allowed: _Allowed, pool: int) -> Ids:
        """The best chunks by meaning."""
        if vector is None or (allowed.ids is not None and not len(allowed.ids)):
            return _NONE
        where = allowed.where if allowed.ids is None else Filter()
        return self._store.nearest(vector, pool, where, allowed.ids)[0]

    def _declaring(self, symbols: Sequence[Symbol], allowed: _Allowed) -> DeclaredRows:
        """The declarations of the names of a query that may be returned, of a common name those in its scope."""
        if not symbols:
            return _NOT_DECLARED
        found = self._store.declaring({name_number(symbol.name) for symbol in symbols}, MAX_DECLARATIONS)
        passing = self._passing(allowed)
        if passing is not None:
            ids = distinct(found.chunk_ids)
            found = found.take(is_among(found.chunk_ids, passing(ids)))
        chosen = np.zeros(len(found.names), np.bool_)
        for symbol in symbols:
            places = np.flatnonzero(found.names == np.uint64(name_number(symbol.name)))
            if len(places) > MAX_DEFINITIONS and symbol.scope:
                scoped = places[found.scopes[places] == np.uint64(name_number(symbol.scope))]
                places = scoped if len(scoped) else places
            chosen[places[:MAX_DEFINITIONS]] = True
        return found.take(chosen)

    # ------------------------------------------------------------------ references

    def steps(
        self, view: View, chunk_ids: NDArray[np.int64], asked: Collection[str] = ()
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """The edges of the reference graph that leave some chunks."""
        ids = distinct(chunk_ids)
        seen = [segment for segment in view.segments if is_among(ids, segment.chunk_ids).all()]
        rows = seen[0] if seen else self._store.chunk_facts(ids)
        documents = rows.document_ids[is_among(rows.chunk_ids, ids)]
        return graph_around(self._store, ids, distinct(documents)).steps_of_chunks(chunk_ids, asked)

    def passing(self, chunk_ids: NDArray[np.int64], where: Filter) -> NDArray[np.bool_]:
        """Which of some chunks are there and pass a filter."""
        return is_among(chunk_ids, self._store.passing(np.sort(chunk_ids), where))

    def declaring(self, name: str) -> list[int]:
        """The chunks that declare a name, whatever its case; of a very common one the oldest."""
        ids = self._store.declaring([name_number(name)], MAX_DECLARATIONS).chunk_ids
        return list(dict.fromkeys(ids.tolist()))

    def whole(self) -> Graph:
        """The reference graph of the whole index, from arrays of all its chunks: what needs memory."""
        return self._arrays().whole()

    def _arrays(self) -> SearchArrays:
        with self._lock:
            if self._whole is None:
                self._whole = SearchArrays(self._store, self._folder, self._terms, self._path_weight)
            return self._whole

    # ------------------------------------------------------------------ maintenance

    def save(self) -> None:
        """Let the store settle."""
        self._store.settle()

    def save_along(self) -> None:
        """Nothing: a vector index is built faster from all vectors at the end than along the way."""

    def save_after_search(self) -> None:
        """Keep the arrays of the whole index, if they were made."""
        if self._whole is not None:
            self._whole.save_after_search()

    def purge(self) -> None:
        """What the store removed is gone from it; here from the arrays of the whole index, whoever made them."""
        if self._whole is not None:
            self._whole.purge()
        elif self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def renew(self) -> None:
        """The store took the vectors over when it switched; here only the arrays of the whole index are made again."""
        self._store.settle()
        if self._whole is not None:
            self._whole.rebuild()

    def rebuild(self) -> View:
        """Have the store derive everything again."""
        self._store.rederive()
        if self._whole is not None:
            self._whole.rebuild()
        with self._lock:
            self._view = _NEVER
        return self.refresh()

    def mend(self, error: IndexError) -> View:
        """Nothing here can be damaged: what is kept is the store's."""
        raise error

    def check(self) -> Iterator[str]:
        """Whether all chunks can be searched, and whether this version knows what is kept of some."""
        problems = []
        with self._store.snapshot():
            held, chunks = self._store.totals().chunks, self._store.stats().chunks
            if held != chunks:
                problems.append(f"search rows: {held} of {chunks} chunks can be searched")
            some = sorted(document.id for document in self._store.documents(limit=CHECKED_DOCUMENTS))
            try:
                unpack_facts(self._store.document_facts(np.array(some, np.int64)).facts)
            except StoreError as error:
                problems.append(f"search rows: {error}")
        return iter(problems)

    def bytes_on_disk(self) -> int:
        """Size of the arrays of the whole index."""
        return 0 if self._folder is None else SegmentFiles(self._folder).bytes_on_disk()


def _with_postings(words: LexicalQuery, segment: Segment) -> LexicalQuery:
    found = segment.postings_of(_looked_up(words))
    return replace(words, postings=({term: rows for term, rows in found.items() if len(rows[0])},))


def _looked_up(words: LexicalQuery | None) -> tuple[int, ...]:
    """The terms of which a search wants to know which rows hold them."""
    return () if words is None else (*words.weights, *words.labels)


def _near(segment: Segment, ids: Ids, vector: Vector | None) -> list[Listed]:
    """What the leg of meaning lists; ranked by the same cosines as the rest."""
    rows = _rows_of(segment, ids)
    if vector is None or not len(rows):
        return rank_rows([rows], [np.zeros(len(rows), np.float32)], len(rows))
    cosine = similarities(segment, rows, vector)
    return rank_rows([rows[cosine > 0]], [cosine[cosine > 0]], len(rows))


def _rows_of(segment: Segment, ids: Ids) -> NDArray[np.intp]:
    """The rows of those of some chunks that are there, ascending."""
    return np.flatnonzero(is_among(segment.chunk_ids, np.sort(ids)))


_NEVER: Final = View((), (), -1, None, 0, 0)
_NONE: Final[Ids] = np.zeros(0, np.int64)
_NOTHING: Final = Candidates()
_NOT_DECLARED: Final = DeclaredRows(
    *(np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.int64)),
    *(np.zeros(0, np.uint64), np.zeros(0, np.uint8), np.zeros(0, np.uint8)),
)
