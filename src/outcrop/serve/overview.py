"""What is in an index at a glance: counts to click, what changed lately, and questions one could begin with."""

from __future__ import annotations

import heapq
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from outcrop.engine import Engine
from outcrop.records import DocumentInfo, Filter
from outcrop.system.dataclass import dataclass
from outcrop.system.limits import BoundedCache

MAX_DOCUMENTS: Final = 50_000
"""Documents that are counted: more would make a person wait (not measured)."""
MAX_VALUES: Final = 30
"""Values of one facet: what a person still reads (not measured)."""
RECENT: Final = 6
EXAMPLES: Final = 3
LOOKED_AT: Final = 24
"""Documents whose chunks are looked at for examples (not measured)."""
_RECORDS: Final = re.compile(r"change|licen[cs]e|history|release|readme|lock", re.IGNORECASE)
"""Files that are large and about everything."""
_ASKS: Final = re.compile(r"(?:how|when|what|why|where|which|who)\b")
"""A heading that is a question already, as `when to retry`; others come second."""
_AIMLESS: Final = re.compile(
    r"(?:about|above|after|an?|at|before|below|beside|by|for|from|in|of|on|the|to|with)\b", re.IGNORECASE
)
"""A heading that begins so reads as a piece of a sentence."""
_WRITTEN: Final = frozenset(
    {"markdown", "rst", "pdf", "doc", "docx", "ppt", "pptx", "epub", "html", "notebook"}
)
SPANS_DAYS: Final = {"1d": 1, "1w": 7, "30d": 30, "1y": 365}
"""As the box of the page writes them: `since:1w`."""
KEPT: Final = 32
"""Filters whose overview is kept until the index changes (not measured)."""
KEPT_CHARS: Final = 1_000_000
"""What they may have of characters, since a filter can be as long as a request."""
DATES_S: Final = 60.0
"""For so long dates are not counted again: an overview that stays open is as old (not measured)."""


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value of a facet and how many documents have it."""

    value: str
    count: int


@dataclass(frozen=True, slots=True)
class Facets:
    """Counts of documents, the commonest value first. Folders end in a slash; dates are spans up to now, as `1w`. Of
    each branch and checkout, by name, it is counted what passes there, whichever of them the filter names."""

    collections: tuple[FacetValue, ...]
    kinds: tuple[FacetValue, ...]
    languages: tuple[FacetValue, ...]
    folders: tuple[FacetValue, ...]
    tags: tuple[FacetValue, ...]
    dates: tuple[FacetValue, ...]
    refs: tuple[FacetValue, ...]
    worktrees: tuple[FacetValue, ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """How many documents pass a filter, and what they are. `counted` is how many of them the facets count."""

    documents: int
    counted: int
    facets: Facets
    recent: tuple[DocumentInfo, ...]
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Kept:
    """An overview, the version of the index that it shows, and when its dates were counted."""

    version: int
    dated_at: float
    overview: Overview


class Overviews:
    """Overviews of one index. Each is made once and kept until the index changes: people come back to the first view of
    the page all the time, and its examples are looked for in the chunks of the largest documents. Only dates change
    with the clock. Safe for threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: BoundedCache[Filter, _Kept] = BoundedCache(KEPT, KEPT_CHARS)

    def make(self, where: Filter) -> Overview:
        """The overview of what passes a filter; examples only where nothing is filtered."""
        version = self._engine.version()  # first, so that what is written meanwhile makes another overview
        now = time.time()
        kept = self._kept.get(where)
        if kept is not None and kept.version == version and 0 <= now - kept.dated_at < DATES_S:
            return kept.overview
        made = kept.overview if kept is not None and kept.version == version else _look(self._engine, where)
        dates = tuple(_count_dates(self._engine, where, now))
        overview = replace(made, facets=replace(made.facets, dates=dates))
        self._kept.put(where, _Kept(version, now, overview), len(repr(where)))
        return overview


def _look(engine: Engine, where: Filter) -> Overview:
    """The overview without its dates."""
    found = engine.documents(where, limit=MAX_DOCUMENTS)
    facets = Facets(
        collections=_count(info.collection for info in found),
        kinds=_count(info.kind for info in found),
        languages=_count(info.language for info in found),
        folders=_count(_folder_of(info) for info in found),
        tags=_count(tag for info in found for tag in info.tags),
        dates=(),
        refs=tuple(_count_trees(engine, where, "ref")),
        worktrees=tuple(_count_trees(engine, where, "worktree")),
    )
    return Overview(
        documents=len(found) if len(found) < MAX_DOCUMENTS else engine.count(where),
        counted=len(found),
        facets=facets,
        recent=tuple(heapq.nlargest(RECENT, found, key=_changed_at)),
        examples=tuple(_make_examples(engine, found)) if where.is_empty() else (),
    )


def _count(values: Iterable[str]) -> tuple[FacetValue, ...]:
    counts = Counter(value for value in values if value)
    return tuple(FacetValue(value, count) for value, count in counts.most_common(MAX_VALUES))


def _changed_at(info: DocumentInfo) -> float:
    """When its file changed, or when what is no file was added."""
    return info.updated_at if info.mtime_ns is None else info.mtime_ns / 1e9


def _folder_of(info: DocumentInfo) -> str:
    """The first folder of its path; nothing for a file at the top, and for what is no file."""
    first, slash, _ = info.path.partition("/")
    return f"{first}/" if slash and info.origin in ("file", "part", "tree") else ""


def _count_dates(engine: Engine, where: Filter, now: float) -> Iterator[FacetValue]:
    for span, days in SPANS_DAYS.items():
        begin = max(now - days * 86_400, where.since or 0.0)
        if count := engine.count(replace(where, since=begin)):
            yield FacetValue(span, count)


def _count_trees(engine: Engine, where: Filter, kind: Literal["ref", "worktree"]) -> Iterator[FacetValue]:
    seen = [
        each for each in engine.manifests() if not where.collections or each.collection in where.collections
    ]
    refs = {each.name.split("/", 2)[-1] for each in seen if each.folder is None}
    names = refs if kind == "ref" else {each.folder for each in seen if each.folder is not None}
    for name in sorted(names)[:MAX_VALUES]:
        chosen: dict[str, Any] = {"ref": None, "worktree": None, kind: name}
        yield FacetValue(name, engine.count(replace(where, **chosen)))


def _make_examples(engine: Engine, found: Sequence[DocumentInfo]) -> Iterator[str]:
    """A heading as it stands, a declaration asked for by name, and a title with a filter: one of each, if there are."""
    main = [info for info in found if not info.role and not _RECORDS.search(info.path)]
    heading, symbol = "", ""
    largest = heapq.nlargest(LOOKED_AT, main, key=lambda info: info.chunks)  # these are seldom beside the point
    for info in largest:
        if symbol if info.language else _ASKS.match(heading):
            continue
        for chunk in engine.chunks(info.id):
            declared = chunk.code.symbol if chunk.code is not None else ""
            if not symbol and re.fullmatch(r"[A-Z][a-z]\w*(\.[a-z]\w+)?", declared) and len(declared) > 5:
                symbol = declared
            if declared or len(chunk.heading_path) < 2 or not _is_telling(chunk.heading_path[-1]):
                continue
            title = chunk.heading_path[-1].lower()
            if not heading or (_ASKS.match(title) and not _ASKS.match(heading)):
                heading = title
    kinds = Counter(info.kind for info in found)
    titled = (info for info in main if _is_telling(info.title) and info.kind in _WRITTEN)
    rarest = min(titled, key=lambda info: kinds[info.kind], default=None)
    if heading:
        yield heading
    if symbol:
        yield f"what does {symbol} do"
    if rarest is not None:
        yield f"{rarest.title.lower()} kind:{rarest.kind}"


def _is_telling(text: str) -> bool:
    """Whether a heading says enough to be asked for: two to five plain words."""
    return not _AIMLESS.match(text) and re.fullmatch(r"[^\W\d_]{2,}(?: [^\W\d_]{2,}){1,4}", text) is not None
