"""READ PATH: which documents are true when. Made of what their front matter says, so that an editor can change it.

A document without dates, which nothing supersedes, is always true. One that is superseded ends when the newer one
begins: at its `valid_from`, else at the older one's own `valid_until`, else at the newer one's date; and then the newer
one begins there too.
"""

from __future__ import annotations

import posixpath
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from outcrop.contracts import Store
from outcrop.records import CollectionInfo, DocumentInfo, Hit
from outcrop.records.validity import (
    SOURCE,
    TIMED,
    VALID_FROM,
    VALID_UNTIL,
    Standing,
    Validity,
    moment_in,
    superseded_in,
    text_in,
)
from outcrop.system.dataclass import dataclass

SUFFIXES: Final = ("", ".md", ".markdown")
"""What may be missing from the name of a note that another one supersedes."""


@dataclass(frozen=True, slots=True)
class Span:
    """When one document is true; `ended_by` is the id of what superseded it, at `ended_at`."""

    document: DocumentInfo
    since: float | None
    until: float | None
    ended_by: int | None = None
    ended_at: float | None = None
    replaces: tuple[int, ...] = ()
    missing: tuple[str, ...] = ()
    """What it says it supersedes and is not there."""
    circular: tuple[int, ...] = ()
    """What it supersedes and is, over any number of steps, superseded by: that does not count."""

    def standing(self, moment: float) -> Standing:
        """How it stands at a moment."""
        if self.ended_at is not None and self.ended_at <= moment:
            return "replaced"
        if self.until is not None and self.until <= moment:
            return "expired"
        return "future" if self.since is not None and moment < self.since else "valid"


@dataclass(frozen=True, slots=True)
class Timeline:
    """The documents that take part in time, by id."""

    spans: Mapping[int, Span] = field(default_factory=dict)

    def outdated(self, moment: float | None = None) -> tuple[int, ...]:
        """Ids of those that are not true at a moment, or now, ascending."""
        moment = now() if moment is None else moment
        return tuple(sorted(id_ for id_, span in self.spans.items() if span.standing(moment) != "valid"))

    def validity(self, document_id: int, moment: float) -> Validity | None:
        """How a document stands at a moment; None for one that takes no part in time."""
        span = self.spans.get(document_id)
        if span is None:
            return None
        standing = span.standing(moment)
        ends = [end for end in (span.until, span.ended_at) if end is not None]
        newer = self.spans[span.ended_by].document.path if span.ended_by is not None else ""
        return Validity(
            standing,
            since=span.since,
            until=span.ended_at if standing == "replaced" else min(ends, default=None),
            replaced_by=newer if standing in ("replaced", "valid") else "",
            replaces=tuple(self.spans[id_].document.path for id_ in span.replaces),
            source=text_in(span.document.meta, SOURCE),
        )

    def mark(self, hits: Iterable[Hit], moment: float) -> tuple[Hit, ...]:
        """Hits with how their documents stand at a moment."""
        return tuple(
            hit if (found := self.validity(hit.document.id, moment)) is None else replace(hit, validity=found)
            for hit in hits
        )


class Timelines:
    """The timeline of each collection of a store, made again when the collection has changed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, tuple[CollectionInfo, Timeline]] = {}

    def of(self, infos: Iterable[CollectionInfo]) -> Timeline:
        """All that takes part in time in these collections."""
        found: dict[int, Span] = {}
        for info in infos:
            known = self._known.get(info.name)
            if known is None or known[0] != info:
                known = self._known[info.name] = (info, read_timeline(self._store, info.name))
            found |= known[1].spans
        return Timeline(found)


def read_timeline(store: Store, collection: str) -> Timeline:
    """The timeline of a collection."""
    dated = store.with_entries(collection, TIMED)
    spans = {each.id: _begin(each) for each in dated}
    edges: dict[int, list[int]] = {}
    for each in dated:
        missing = []
        for name in superseded_in(each.meta):
            older = _find(store, each, name)
            if older is None:
                missing.append(name)
            else:
                spans.setdefault(older.id, _begin(older))
                edges.setdefault(each.id, []).append(older.id)
        if missing:
            spans[each.id] = replace(spans[each.id], missing=tuple(missing))
    loops = _find_loops(edges)
    for newer, olders in edges.items():
        for old in olders:
            if newer in loops and loops[newer] == loops.get(old):
                spans[newer] = replace(spans[newer], circular=(*spans[newer].circular, old))
            else:
                moment = _turn(spans[old], spans[newer])
                spans[old] = _end(spans[old], newer, moment)
                spans[newer] = _replace(spans[newer], old, moment)
    return Timeline(spans)


def _begin(document: DocumentInfo) -> Span:
    return Span(document, moment_in(document.meta, VALID_FROM), moment_in(document.meta, VALID_UNTIL))


def _turn(older: Span, newer: Span) -> float:
    """When one takes the place of another."""
    info = newer.document
    added = info.created_at if info.mtime_ns is None else info.mtime_ns / 1e9
    moments = (moment_in(info.meta, VALID_FROM), older.until, moment_in(info.meta, "date"))
    return next((moment for moment in moments if moment is not None), added)


def _end(older: Span, newer: int, moment: float) -> Span:
    """The older one, ended by the newer one unless something ended it before."""
    is_ended = older.ended_at is not None and older.ended_at <= moment
    return older if is_ended else replace(older, ended_by=newer, ended_at=moment)


def _replace(newer: Span, older: int, moment: float) -> Span:
    """The newer one, which begins by then unless it says when."""
    since = newer.since
    if moment_in(newer.document.meta, VALID_FROM) is None:
        since = moment if since is None else min(since, moment)
    return replace(newer, since=since, replaces=(*newer.replaces, older))


def _find(store: Store, newer: DocumentInfo, name: str) -> DocumentInfo | None:
    """The document that a note means by a name: a path below the root, one beside it, or the name of a text."""
    places = [name]
    if newer.root is not None:
        below = name.lstrip("/")
        beside = posixpath.join(posixpath.dirname(newer.path), name)
        places = [f"{newer.root}/{posixpath.normpath(path)}" for path in (below, beside)] + places
    for place in dict.fromkeys(places):
        for suffix in SUFFIXES:
            found = store.find(newer.collection, place + suffix)
            if found is not None:
                return found
    return None


def _find_loops(edges: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """Which loop a document is in, for those that are in one: strongly connected components, without recursion."""
    order: list[int] = []
    seen: set[int] = set()
    for start in edges:
        stack = [(start, iter(edges.get(start, ())))] if start not in seen else []
        seen.add(start)
        while stack:
            node, others = stack[-1]
            for other in others:
                if other not in seen:
                    seen.add(other)
                    stack.append((other, iter(edges.get(other, ()))))
                    break
            else:
                order.append(node)
                stack.pop()
    back: dict[int, list[int]] = {}
    for node, olders in edges.items():
        for other in olders:
            back.setdefault(other, []).append(node)
    loops: dict[int, int] = {}
    done: set[int] = set()
    for node in reversed(order):
        if node in done:
            continue
        group, waiting = [], [node]
        done.add(node)
        while waiting:
            group.append(waiting.pop())
            new = [other for other in back.get(group[-1], ()) if other not in done]
            done.update(new)
            waiting += new
        if len(group) > 1 or node in edges.get(node, ()):
            loops |= dict.fromkeys(group, node)
    return loops


def now() -> float:
    """The moment at which a search is asked, unless it asks of another."""
    return time.time()
