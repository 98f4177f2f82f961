"""What is in an index at a glance: counts to click, what changed lately, and questions one could begin with."""

from __future__ import annotations

import heapq
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from outcrop.engine import Engine
from outcrop.records import DocumentInfo, Filter

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
_WRITTEN: Final = frozenset({"markdown", "rst", "pdf", "docx", "pptx", "epub", "html", "notebook"})
SPANS_DAYS: Final = {"1d": 1, "1w": 7, "30d": 30, "1y": 365}
"""As the box of the page writes them: `since:1w`."""


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


def make_overview(engine: Engine, where: Filter) -> Overview:
    """The overview of what passes a filter; examples only where nothing is filtered."""
    found = engine.documents(where, limit=MAX_DOCUMENTS)
    facets = Facets(
        collections=_count(info.collection for info in found),
        kinds=_count(info.kind for info in found),
        languages=_count(info.language for info in found),
        folders=_count(_folder_of(info) for info in found),
        tags=_count(tag for info in found for tag in info.tags),
        dates=tuple(_count_dates(engine, where)),
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
    return f"{first}/" if slash and info.origin in ("file", "tree") else ""


def _count_dates(engine: Engine, where: Filter) -> Iterator[FacetValue]:
    now = time.time()
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
        if symbol if info.language else heading:
            continue
        for chunk in engine.chunks(info.id):
            declared = chunk.code.symbol if chunk.code is not None else ""
            if not symbol and re.fullmatch(r"[A-Z][a-z]\w*(\.[a-z]\w+)?", declared) and len(declared) > 5:
                symbol = declared
            if (
                not heading
                and not declared
                and len(chunk.heading_path) > 1
                and _is_telling(chunk.heading_path[-1])
            ):
                heading = chunk.heading_path[-1].lower().rstrip("?.:")
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
    return re.fullmatch(r"[^\W\d_]{2,}(?: [^\W\d_]{2,}){1,4}", text) is not None
