"""The search arrays of one database: segments on disk, segments in memory, and how they keep up with the store.

The store is the truth. These arrays follow it: chunks with an id above the last one seen are appended, removed
ones are masked. `refresh` does that before a search whenever the store's version has moved, so a search always
sees every committed write. `save` writes what was built in memory beside the database, so that the next
process starts at once; whatever is missing, damaged or of another model is made again from the store.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from outcrop.contracts import Store
from outcrop.index.blocks import DamagedArrays
from outcrop.index.candidates import Masks, find_candidates, score_rows
from outcrop.index.describe import find_declared
from outcrop.index.files import TELL, Hole, Saved, SegmentFiles
from outcrop.index.graph import Graph
from outcrop.index.lexical import rows_with_words, weigh_terms
from outcrop.index.phrasing import may_hold, phrase_terms
from outcrop.index.query import Query
from outcrop.index.seam import Matches
from outcrop.index.segment import Segment, build_segment, merge_segments
from outcrop.index.view import View
from outcrop.records import FeedRow, Filter, Model, SearchMode, Vector
from outcrop.system.distinct import is_among
from outcrop.text.phrases import phrase_words
from outcrop.text.terms import Terms

log = logging.getLogger(__name__)

FEED_ROWS: Final = 2048
"""Chunks read from the store at a time: bounds memory while catching up."""
SEGMENT_ROWS: Final = 65_536
"""Rows of a segment at most: 16 bits tell them apart. Segments of about the same size are merged until they are that
large: each row some five times in all, and beside large segments there are few small ones. A query looks each of its
terms up in every segment, so few segments are better."""
SAVE_AFTER_ROWS: Final = 512
"""Fewer unsaved rows than this are caught up in about 50 ms; not worth a set of files."""
MAX_DEAD_SHARE: Final = 0.2
"""Past this share of removed rows a segment is rewritten without them."""


READ_PHRASES: Final = 250
"""Chunks that hold the words of a phrase and are read first, or all of them, to see whether they hold the phrase: about
10 ms. Then as many as were read before, and so on."""
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
        segments, deleted, last = list(view.segments), list(view.deleted), view.last_chunk
        while feed := self._feed(last):
            segment = build_segment(feed, self._terms, model.dimensions if model else 0, self._path_weight)
            segments.append(segment)
            deleted.append(np.zeros(len(segment), np.bool_))
            last = feed[-1].chunk_id
            segments, deleted = self._tidy(segments, deleted)
        segments, deleted = self._tidy(segments, deleted)
        self._view = _view(segments, deleted, version, model, last, view.removals)
        self._masks.clear()

    def _feed(self, after: int) -> Sequence[FeedRow]:
        """The rows that follow a chunk, in whole documents, but for one that is longer than all that is read at a time:
        a row knows the neighbours that are in its own segment."""
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

    def _tidy(
        self, segments: list[Segment], deleted: list[NDArray[np.bool_]]
    ) -> tuple[list[Segment], list[NDArray[np.bool_]]]:
        """Merge the last segments while they are about as large as each other, or all small ones where many rows are
        gone.

        Rows that are gone still count when a word is weighed: of a note that is changed again and again, each former
        version would make its words look common.
        """
        small = len(segments)
        while small and len(segments[small - 1]) < SEGMENT_ROWS // 2:
            small -= 1
        tail_rows = sum(len(segment) for segment in segments[small:])
        gone = sum(int(gone.sum()) for gone in deleted[small:])
        if gone > MAX_DEAD_SHARE * tail_rows:
            merged = self._merge(segments[small:], deleted[small:])
            segments, deleted = [*segments[:small], merged], [*deleted[:small], np.zeros(len(merged), np.bool_)]
        while len(segments) > 1 and _belong_together(segments[-2], segments[-1]):
            merged = self._merge(segments[-2:], deleted[-2:])
            segments, deleted = [*segments[:-2], merged], [*deleted[:-2], np.zeros(len(merged), np.bool_)]
        return segments, deleted

    def _merge(self, segments: Sequence[Segment], deleted: Sequence[NDArray[np.bool_]]) -> Segment:
        """Segments as one; what is damaged of them is made again first, so that it does not get new checksums."""
        whole, alive = [], []
        for segment, gone in zip(segments, deleted, strict=True):
            if segment.is_whole():
                whole.append(segment)
                alive.append(gone)
                continue
            log.warning("search arrays were damaged; rebuilt that part: %s", segment.file, extra=TELL)
            made = self._make_again(int(segment.chunk_ids[0]), int(segment.chunk_ids[-1]))
            whole += made
            alive += [np.zeros(len(each), np.bool_) for each in made]
        return merge_segments(whole, alive) if whole else self._build([])

    def _build(self, feed: Sequence[FeedRow]) -> Segment:
        model = self._store.active_model()
        return build_segment(feed, self._terms, model.dimensions if model else 0, self._path_weight)

    def _make_again(self, first_chunk: int, last_chunk: int) -> list[Segment]:
        """The segment of the chunks from one to another as the store has them now; none when all are gone."""
        parts: list[Segment] = []
        after = first_chunk - 1
        while feed := [row for row in self._feed(after) if row.chunk_id <= last_chunk]:
            parts.append(self._build(feed))
            after = feed[-1].chunk_id
        if len(parts) > 1:
            parts = [merge_segments(parts, [np.zeros(len(part), np.bool_) for part in parts])]
        return parts

    def _reset(self) -> None:
        self._view = _EMPTY
        self._saved_rows = 0
        self._saved_removals = 0

    def snapshot(self, view: View) -> AbstractContextManager[View]:
        """What is asked of a view is of one state by itself: arrays do not change once they are made."""
        return nullcontext(view)

    def warm(self) -> None:
        """Load the arrays and the graph."""
        self.whole()

    # ------------------------------------------------------------------ searching

    def find(
        self, view: View, query: Query, where: Filter, mode: SearchMode, vector: Vector | None, pool: int
    ) -> Matches:
        """Both legs over the arrays."""
        masks = self._holding(view, self.masks(view, where), query, pool)
        words = None if mode == "semantic" else weigh_terms(query.text, self._terms, view.segments)
        declared = find_declared(view, masks, query.symbols) if words is not None else {}
        found = find_candidates(view, masks, words, vector, pool, declared)
        filtered_out = (
            not len(found) and not where.is_empty() and not any(mask is None or mask.any() for mask in masks)
        )
        return Matches(view, words, found, declared, query.phrases, filtered_out)

    def _holding(self, view: View, masks: Masks, query: Query, pool: int) -> Masks:
        """Of the rows that may be returned those that hold every quoted phrase.

        Where very many hold its words, texts are read in the order in which the words speak for them, until as many as
        a search looks at are found: the rest could only come after them.
        """
        if not query.phrases:
            return masks
        phrases = [phrase_words(phrase) for phrase in query.phrases]
        wanted = [terms for words in phrases for terms in phrase_terms(words, self._terms)]
        if not all(phrases):
            wanted = [frozenset()]  # no words, no phrase
        likely = [rows_with_words(segment, wanted) for segment in view.segments]
        for segment, held, mask, gone in zip(view.segments, likely, masks, view.deleted, strict=True):
            held[gone if mask is None else ~mask] = False
            for words in phrases:
                segment.require("pairs")
                np.logical_and(held, may_hold(segment.pairs, words), out=held)
        ids = [segment.chunk_ids[held] for segment, held in zip(view.segments, likely, strict=True)]
        ordered = np.concatenate(ids) if ids else np.zeros(0, np.int64)
        if len(ordered) > READ_PHRASES:
            weights = weigh_terms(query.text, self._terms, view.segments)
            scores = [
                score[held] for score, held in zip(score_rows(view, likely, weights), likely, strict=True)
            ]
            ordered = ordered[np.argsort(-np.concatenate(scores), kind="stable")]
        holding = [np.zeros(0, np.int64)]
        start = 0
        while start < len(ordered) and sum(map(len, holding)) < pool:
            end = start + max(READ_PHRASES, start)
            found = np.sort(ordered[start:end])
            for phrase in query.phrases:
                found = self._store.match_phrase(phrase, found)
            holding.append(found)
            start = end
        every = np.sort(np.concatenate(holding))
        return [is_among(segment.chunk_ids, every) for segment in view.segments]

    def weigh(self, view: View, text: str) -> dict[int, float]:
        """The terms of a query with their weights."""
        return weigh_terms(text, self._terms, view.segments).weights

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
        """Which of some chunks are there and pass a filter."""
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
        """Write what is only in memory beside the database, if there is enough of it to be worth a file.

        While another process is saving, an ordinary save is left to it; a forced one waits.
        """
        with self._lock:
            view = self.refresh()
            if self._files is None or not (force or self._is_worth_saving(view)):
                return
            self._view = view = self._compact(view)
            self._masks.clear()
            if self._files.save(self._as_saved(view), wait_s=FORCED_WAIT_S if force else 0.0):
                self._has_mended = False
                self._adopt()  # from now on map the files: what was built in memory can go

    def save_along(self) -> None:
        """As `save`: what is only in memory grows with every write."""
        self.save()

    def save_after_search(self) -> None:
        """Save what took long to catch up, so that the next process need not; a search never waits for that."""
        if self._is_worth_saving(self._view) and self._lock.acquire(blocking=False):
            try:
                self.save()
            finally:
                self._lock.release()

    def _is_worth_saving(self, view: View) -> bool:
        if self._has_mended:
            return True
        fresh = abs(view.rows - self._saved_rows) + (view.removals - self._saved_removals) // 8
        return fresh >= SAVE_AFTER_ROWS

    def purge(self) -> None:
        """Forget removed rows for good: rewrite every segment that still holds one, in memory and on disk."""
        with self._lock:
            view = self.refresh()
            self._view = self._compact(view, max_dead_share=0.0)
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

    def _compact(self, view: View, max_dead_share: float = MAX_DEAD_SHARE) -> View:
        """Rewrite segments with many removed rows, and merge small neighbours, before they go to disk.

        A segment that is not on disk (any more) is to be written anyway, so it goes there without its removed rows:
        what one process purged does not come back with another's save.
        """
        segments: list[Segment] = []
        deleted: list[NDArray[np.bool_]] = []
        for segment, gone in zip(view.segments, view.deleted, strict=True):
            group, gone_group = [segment], [gone]
            if segments and _belong_together(segments[-1], segment):
                group, gone_group = [segments.pop(), segment], [deleted.pop(), gone]
            elif gone.sum() <= (max_dead_share * len(segment) if _on_disk(segment) else 0):
                segments.append(segment)
                deleted.append(gone)
                continue
            merged = self._merge(group, gone_group)
            segments.append(merged)
            deleted.append(np.zeros(len(merged), np.bool_))
        return _view(segments, deleted, view.version, view.model, view.last_chunk, view.removals)

    def _adopt(self) -> None:
        """Take over what was saved, by this process or another, if it is ours, whole, and further than we are."""
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
            segments, deleted = self._fill_holes(saved)
            self._view = _view(segments, deleted, saved.version, model, saved.last_chunk, saved.removals)
            self._saved_rows, self._saved_removals = self._view.rows, self._view.removals
            self._has_mended = any(isinstance(segment, Hole) for segment in saved.segments)

    def _fill_holes(self, saved: Saved) -> tuple[list[Segment], list[NDArray[np.bool_]]]:
        """What was saved, with what is damaged of it made again from the store."""
        segments: list[Segment] = []
        deleted: list[NDArray[np.bool_]] = []
        for segment, gone in zip(saved.segments, saved.deleted, strict=True):
            if isinstance(segment, Segment):
                segments.append(segment)
                deleted.append(gone)
            else:
                made = self._make_again(segment.first_chunk, segment.last_chunk)
                segments += made
                deleted += [np.zeros(len(each), np.bool_) for each in made]
        return segments, deleted

    def renew(self) -> None:
        """Arrays hold vectors: all of them are made again."""
        self.rebuild()

    def rebuild(self) -> View:
        """Throw the arrays away and make them again from the store."""
        with self._lock:
            self._reset()
            self._adopted = self._files.stamp() if self._files is not None else None
            self.save(force=True)
            return self._view

    def mend(self, error: IndexError) -> View:
        """Something was damaged: make again what it is, or everything where that cannot be told."""
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
        segments: list[Segment] = []
        deleted: list[NDArray[np.bool_]] = []
        for segment, gone in zip(view.segments, view.deleted, strict=True):
            made = [segment]
            if segment.file is not None and segment.file.name == file:
                made = self._make_again(int(segment.chunk_ids[0]), int(segment.chunk_ids[-1]))
            segments += made
            deleted += (
                [gone] if made and made[0] is segment else [np.zeros(len(each), np.bool_) for each in made]
            )
        self._view = _view(segments, deleted, view.version, view.model, view.last_chunk, view.removals)
        self._has_mended = True
        self._masks.clear()

    def check(self) -> Iterator[str]:
        """Problems of the saved files, in words."""
        if self._files is not None:
            yield from self._files.check()

    def bytes_on_disk(self) -> int:
        """Size of the saved files."""
        return 0 if self._files is None else self._files.bytes_on_disk()


def _view(
    segments: Sequence[Segment],
    deleted: Sequence[NDArray[np.bool_]],
    version: int,
    model: Model | None,
    last_chunk: int,
    removals: int,
) -> View:
    rows = sum(len(segment) for segment in segments)
    terms = sum(int(segment.lengths.sum(dtype=np.int64)) for segment in segments)
    mean = max(terms / max(rows, 1), 1.0)
    return View(tuple(segments), tuple(deleted), version, model, last_chunk, removals, mean, rows)


def _belong_together(segment: Segment, after: Segment) -> bool:
    """Whether a segment is to be merged with the next: it is not much larger, and together they are not too large."""
    return len(segment) < 2 * len(after) and len(segment) + len(after) <= SEGMENT_ROWS


def _on_disk(segment: Segment) -> bool:
    return segment.file is not None and segment.file.is_file()
