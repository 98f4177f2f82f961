"""The search arrays of one database: segments on disk, segments in memory, and how they keep up with the store.

The store is the truth. These arrays follow it: chunks with an id above the last one seen are appended, removed ones are
masked. `refresh` does so before a search whenever the store's version has moved: every committed write is seen. `save`
writes what was built in memory beside the database for the next process. What is missing or damaged is built again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from outcrop.contracts import Store
from outcrop.index.bm25 import count_chunks, weigh_terms
from outcrop.index.candidates import describe_rows, find_candidates, rows_with_phrases
from outcrop.index.describe import find_declared, find_titled
from outcrop.index.files import TELL, Hole, Saved, SegmentFiles
from outcrop.index.graph import Graph
from outcrop.index.query import Query
from outcrop.index.seam import Matches
from outcrop.index.segment import DamagedArrays, Part, Segment, View, belong_together
from outcrop.records import FeedRow, Filter, SearchMode, Vector
from outcrop.system.arrays import NDArray, is_among
from outcrop.text.terms import Terms

log = logging.getLogger(__name__)

FEED_ROWS: Final = 2048
"""Chunks read from the store at a time: bounds memory while catching up."""
SEGMENT_ROWS: Final = 65_536
"""Rows of a segment at most: 16 bits tell them apart. Segments of about the same size are merged until they are that
large, each row about five times: a query looks its terms up in every segment, so few are better."""
SAVE_AFTER_ROWS: Final = 128
"""Fewer unsaved rows take about 10 ms to catch up with; saving them takes 3 ms, opening what was saved 2."""
MAX_DELETED_SHARE: Final = 0.2
"""Past this share of removed rows a segment is rewritten without them."""
FORCED_WAIT_S: Final = 10.0
"""How long a purge waits for another process that is saving: removed rows must leave the disk."""

_EMPTY: Final = View((), (), -1, None, 0, 0)


class SearchArrays:
    """Derived arrays for one store, in one folder. Safe for threads; processes share only finished files."""

    def __init__(self, store: Store, folder: Path | None, terms: Terms, path_weight: float) -> None:
        self._store = store
        self._files = None if folder is None else SegmentFiles(folder)
        self._terms = terms
        self._path_weight = path_weight
        self._lock = threading.RLock()
        self._view = _EMPTY
        self._saved_rows = 0
        self._saved_removals = 0
        self._masks: dict[Filter, tuple[View, tuple[NDArray[np.bool_], ...]]] = {}
        self._adopted: tuple[int, int] | None = None
        self._has_mended = False
        self._graph_lock = threading.Lock()
        self._graph: Graph | None = None

    # ------------------------------------------------------------------ following the store

    def refresh(self) -> View:
        """Catch up with the store if it has moved, and return the arrays as they are now."""
        if self._view.version == self._store.version():
            return self._view
        with self._lock:
            with self._store.snapshot():
                version = self._store.version()
                if version != self._view.version:
                    self._catch_up(version)
            return self._view

    def _catch_up(self, version: int) -> None:
        self._adopt()
        model = self._store.active_model()
        if version < self._view.version or model != self._view.model:
            self._reset()
        view = self._drop_removed(self._view)
        parts, last = view.parts, view.last_chunk
        while feed := self._feed(last):
            parts = self._tidy([*parts, _fresh(self._build(feed))])
            last = feed[-1].chunk_id
        self._view = View.of(self._tidy(parts), version, model, last, view.removals)
        self._masks.clear()

    def _feed(self, after: int) -> Sequence[FeedRow]:
        """The rows after a chunk, in whole documents unless one is longer than what is read at a time: a row knows only
        the neighbours in its own segment."""
        feed = self._store.feed(after, FEED_ROWS)
        if len(feed) < FEED_ROWS:
            return feed
        last = feed[-1].document_id
        whole = next((i for i in range(len(feed), 0, -1) if feed[i - 1].document_id != last), len(feed))
        return feed[:whole]

    def _drop_removed(self, view: View) -> View:
        removed, position = self._store.removals(view.removals)
        deleted = list(view.deleted)
        for i, segment in enumerate(view.segments):
            rows = np.searchsorted(segment.chunk_ids, removed)
            rows_in = rows[rows < len(segment)]
            hit = rows_in[segment.chunk_ids[rows_in] == removed[rows < len(segment)]]
            if len(hit):
                deleted[i] = deleted[i].copy()
                deleted[i][hit] = True
        return replace(view, deleted=tuple(deleted), removals=position)

    def _tidy(self, parts: list[Part]) -> list[Part]:
        """Merge the last segments while they are about as large as each other, or all small ones where many rows are
        gone. Deleted rows still count when a word is weighed: the former versions of a note that changes often would
        make its words look common."""
        small = len(parts)
        while small and len(parts[small - 1][0]) < SEGMENT_ROWS // 2:
            small -= 1
        rows = sum(len(segment) for segment, _ in parts[small:])
        if sum(int(gone.sum()) for _, gone in parts[small:]) > MAX_DELETED_SHARE * rows:
            parts = [*parts[:small], self._merge(parts[small:])]
        while len(parts) > 1 and belong_together(parts[-2][0], parts[-1][0], SEGMENT_ROWS):
            parts = [*parts[:-2], self._merge(parts[-2:])]
        return parts

    def _merge(self, parts: Sequence[Part]) -> Part:
        """Merge segments; damaged ones are rebuilt first, so that damage does not get a new checksum."""
        whole: list[Part] = []
        for segment, gone in parts:
            if segment.is_whole():
                whole.append((segment, gone))
            else:
                log.warning("search arrays were damaged; rebuilt that part: %s", segment.file, extra=TELL)
                whole += self._make_again(int(segment.chunk_ids[0]), int(segment.chunk_ids[-1]))
        from outcrop.index.merging import merge_parts

        return _fresh(merge_parts(whole) if whole else self._build([]))

    def _build(self, feed: Sequence[FeedRow]) -> Segment:
        from outcrop.index.columns import build_segment  # a search that finds its arrays saved does without

        model = self._store.active_model()
        return build_segment(feed, self._terms, model.dimensions if model else 0, self._path_weight)

    def _make_again(self, first_chunk: int, last_chunk: int) -> list[Part]:
        """The segment of a range of chunks, as the store has them now; none when all are gone."""
        made: list[Part] = []
        after = first_chunk - 1
        while feed := [row for row in self._feed(after) if row.chunk_id <= last_chunk]:
            made.append(_fresh(self._build(feed)))
            after = feed[-1].chunk_id
        return [self._merge(made)] if len(made) > 1 else made

    def _reset(self) -> None:
        self._view = _EMPTY
        self._saved_rows = 0
        self._saved_removals = 0

    def snapshot(self, view: View) -> AbstractContextManager[View]:
        """Nothing to hold: the arrays of a view never change."""
        return nullcontext(view)

    def warm(self) -> None:
        """Load the arrays and the graph."""
        self.whole()

    # ------------------------------------------------------------------ searching

    def find(
        self, view: View, query: Query, where: Filter, mode: SearchMode, vector: Vector | None, pool: int
    ) -> Matches:
        """Both legs over the arrays."""
        masks, unread = rows_with_phrases(self._store, self._terms, view, self.masks(view, where), query, pool)
        words = (
            None
            if mode == "semantic"
            else weigh_terms(query.text, self._terms, view.segments, query.language, query.translations)
        )
        declared = find_declared(view, masks, query.symbols, alone=query.is_name) if words is not None else {}
        found = find_candidates(view, masks, words, vector, pool, declared)
        filtered_out = (
            not len(found) and not where.is_empty() and not any(mask is None or mask.any() for mask in masks)
        )
        return Matches(view, words, found, declared, query.phrases, filtered_out, vector, unread=unread)

    def find_titled(self, view: View, titles: Collection[int], most: int) -> list[tuple[int, int, int]]:
        """The prose that bears one of these titles."""
        return [found for part in view.parts for found in find_titled(*part, titles, most)]

    def add_rows(self, seen: Matches, chunk_ids: NDArray[np.int64], where: Filter) -> Matches:
        """The arrays hold every row."""
        masks = self.masks(seen.view, where)
        return replace(seen, found=describe_rows(seen.view, masks, seen.words, seen.vector, chunk_ids))

    def weigh(self, view: View, text: str) -> dict[int, float]:
        """The terms of a query with their weights."""
        return weigh_terms(text, self._terms, view.segments).weights

    def count_terms(self, terms: Collection[int]) -> Mapping[int, int]:
        """How many rows hold each of some terms."""
        return count_chunks(self.refresh().segments, terms)

    # ------------------------------------------------------------------ references

    def steps(
        self, view: View, chunk_ids: NDArray[np.int64], asked: Collection[str] = ()
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """The edges of the reference graph that leave some chunks."""
        return self._graph_of(view).steps_of_chunks(chunk_ids, asked)

    def declaring(self, name: str) -> list[int]:
        """The chunks that declare a name, whatever its case."""
        graph = self.whole()
        nodes = list(dict.fromkeys(node for node, *_ in graph.declaring(name)))
        return graph.chunk_ids(np.array(nodes, np.int64))

    def whole(self) -> Graph:
        """The reference graph as it is now."""
        return self._graph_of(self.refresh())

    def _graph_of(self, view: View) -> Graph:
        """The reference graph of a view, kept until the index changes."""
        with self._graph_lock:
            if self._graph is None or self._graph.view is not view:
                self._graph = Graph(view)
            return self._graph

    # ------------------------------------------------------------------ filters

    def passing(self, chunk_ids: NDArray[np.int64], where: Filter) -> NDArray[np.bool_]:
        """Which of these chunks exist and pass a filter."""
        view = self.refresh()
        result = np.zeros(len(chunk_ids), np.bool_)
        for segment, gone, mask in zip(view.segments, view.deleted, self.masks(view, where), strict=True):
            here = np.flatnonzero(is_among(chunk_ids, segment.chunk_ids))
            rows = np.searchsorted(segment.chunk_ids, chunk_ids[here])
            result[here] = ~gone[rows] if mask is None else mask[rows]
        return result

    def masks(self, view: View, where: Filter) -> tuple[NDArray[np.bool_] | None, ...]:
        """For each segment which rows are alive and pass the filter; None where all are."""
        if where.is_empty():
            return tuple(~gone if gone.any() else None for gone in view.deleted)
        cached = self._masks.get(where)
        if cached is not None and cached[0] is view:
            return cached[1]
        documents = self._store.select(where)
        masks = tuple(
            is_among(segment.document_ids, documents) & ~gone
            for segment, gone in zip(view.segments, view.deleted, strict=True)
        )
        if len(self._masks) >= 32:
            self._masks.clear()
        self._masks[where] = (view, masks)
        return masks

    # ------------------------------------------------------------------ files

    def save(self, *, force: bool = False) -> None:
        """Write what is only in memory beside the database, if there is enough of it to be worth a file. While another
        process is saving, an ordinary save is left to it; a forced one waits."""
        with self._lock:
            view = self.refresh()
            if self._files is None or not (force or self._is_worth_saving(view)):
                return
            self._view = view = self._compact(view)
            self._masks.clear()
            if self._files.save(self._as_saved(view), wait_s=FORCED_WAIT_S if force else 0.0):
                self._has_mended = False
                self._adopt()  # from now on map the files: what was built in memory can go

    save_along = save  # what is only in memory grows with every write

    def save_after_search(self) -> None:
        """Save what took long to catch up, so that the next process need not; a search never waits for that."""
        if self._is_worth_saving(self._view) and self._lock.acquire(blocking=False):
            try:
                self.save()
            finally:
                self._lock.release()

    def _is_worth_saving(self, view: View) -> bool:
        fresh = abs(view.rows - self._saved_rows) + (view.removals - self._saved_removals) // 8
        return self._has_mended or fresh >= SAVE_AFTER_ROWS

    def purge(self) -> None:
        """Forget removed rows for good: rewrite every segment that still holds one, in memory and on disk."""
        with self._lock:
            view = self.refresh()
            self._view = self._compact(view, max_deleted_share=0.0)
            self.save(force=True)

    def _as_saved(self, view: View) -> Saved:
        return Saved(
            store=self._store.lineage(view.version) or "",
            model=str(view.model),
            path_weight=self._path_weight,
            version=view.version,
            last_chunk=view.last_chunk,
            removals=view.removals,
            segments=view.segments,
            deleted=view.deleted,
        )

    def _compact(self, view: View, max_deleted_share: float = MAX_DELETED_SHARE) -> View:
        """Rewrite segments with many removed rows, and merge small neighbours, before they go to disk. A segment that
        is not on disk (any more) is to be written anyway, so it goes there without its removed rows: what one process
        purged does not come back with another's save."""
        parts: list[Part] = []
        for segment, gone in view.parts:
            on_disk = segment.file is not None and segment.file.is_file()
            if parts and belong_together(parts[-1][0], segment, SEGMENT_ROWS):
                parts.append(self._merge([parts.pop(), (segment, gone)]))
            elif gone.sum() <= (max_deleted_share * len(segment) if on_disk else 0):
                parts.append((segment, gone))
            else:
                parts.append(self._merge([(segment, gone)]))
        return View.of(parts, view.version, view.model, view.last_chunk, view.removals)

    def _adopt(self) -> None:
        """Take over what this process or another saved, if it is of this store, undamaged and newer."""
        stamp = self._files.stamp() if self._files is not None else None
        if self._files is None or stamp == self._adopted:
            return
        self._adopted = stamp
        saved = self._files.load(self._view.segments)
        model = self._store.active_model()
        if saved is None or saved.store != self._store.lineage(saved.version):
            return
        if (saved.model, saved.path_weight) != (str(model), self._path_weight):
            return
        if self._view.version <= saved.version <= self._store.version():
            self._view = View.of(
                self._fill_holes(saved), saved.version, model, saved.last_chunk, saved.removals
            )
            self._saved_rows, self._saved_removals = self._view.rows, self._view.removals
            self._has_mended = any(isinstance(segment, Hole) for segment in saved.segments)

    def _fill_holes(self, saved: Saved) -> list[Part]:
        """What was saved, with its damaged parts rebuilt from the store."""
        parts: list[Part] = []
        for segment, gone in zip(saved.segments, saved.deleted, strict=True):
            if isinstance(segment, Segment):
                parts.append((segment, gone))
            else:
                parts += self._make_again(segment.first_chunk, segment.last_chunk)
        return parts

    def renew(self) -> None:
        """Rebuild everything, since the arrays hold vectors."""
        self.rebuild()

    def rebuild(self) -> View:
        """Discard the arrays and rebuild them from the store."""
        with self._lock:
            self._reset()
            self._adopted = self._files.stamp() if self._files is not None else None
            self.save(force=True)
            return self._view

    def mend(self, error: IndexError) -> View:
        """Something was damaged: rebuild that part, or everything if it is unclear which."""
        log.warning("search arrays were damaged; rebuilt from the index: %s", error, extra=TELL)
        if not isinstance(error, DamagedArrays):
            return self.rebuild()
        with self._lock:
            self.refresh()
            with self._store.snapshot():
                self._replace_segment(error.file)
            self.save(force=True)
            return self._view

    def _replace_segment(self, file: str) -> None:
        view = self._view
        parts: list[Part] = []
        for segment, gone in view.parts:
            if segment.file is not None and segment.file.name == file:
                parts += self._make_again(int(segment.chunk_ids[0]), int(segment.chunk_ids[-1]))
            else:
                parts.append((segment, gone))
        self._view = View.of(parts, view.version, view.model, view.last_chunk, view.removals)
        self._has_mended = True
        self._masks.clear()

    def check(self) -> Iterator[str]:
        """Problems of the saved files, in words."""
        if self._files is not None:
            yield from self._files.check()

    def bytes_on_disk(self) -> int:
        """Size of the saved files."""
        return 0 if self._files is None else self._files.bytes_on_disk()


def _fresh(segment: Segment) -> Part:
    return segment, np.zeros(len(segment), np.bool_)
