"""READ PATH for source code: what a name or a place means, what it has to do with.

All of it follows the reference graph that the search arrays imply, and looks up in the store what that names; nothing
here scans files or tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeVar

import numpy as np

from outcrop.contracts import Store
from outcrop.errors import Ambiguous, NotFound
from outcrop.index.evidence import Nodes
from outcrop.index.graph import Graph
from outcrop.index.seam import Index
from outcrop.read.lookup import MAX_DIGITS, find_document
from outcrop.records import Related, Relation, Relative, StoredChunk
from outcrop.sources.revisions import Revisions
from outcrop.system.arrays import NDArray, numbered
from outcrop.system.limits import check_wanted

MAX_NAMESAKES: Final = 8
"""Declarations of one name that are looked at; of a commoner name the likeliest will do."""

MAX_RETRIES: Final = 10
"""How often the graph is asked again because a write came in between: that takes about ten milliseconds, and a busy
writer commits tens of times a second (not measured)."""

_PLACE: Final = re.compile(r"(.+?):(\d+)(?:-(\d+))?(?::\d+)?")
T = TypeVar("T")


class Place(NamedTuple):
    """Lines of a file."""

    path: str
    first: int
    last: int


def read_place(text: str) -> Place | None:
    """What `FILE:LINE` or `FILE:FIRST-LAST` means, perhaps with a column behind; None where it is neither."""
    found = _PLACE.fullmatch(text)
    if found is None:
        return None
    path, first, last = found[1], found[2][:MAX_DIGITS], (found[3] or found[2])[:MAX_DIGITS]
    return Place(path, int(first), int(last))


def retry_on_write(store: Store, ask: Callable[[], T]) -> T:
    """Ask the graph and then the store; ask again if a write came between the two."""
    for _ in range(MAX_RETRIES):
        version = store.version()
        try:
            answer = ask()
        except NotFound:
            if store.version() == version:
                raise
            continue
        if store.version() == version:
            return answer
    return ask()


class Codebase:
    """Answers about source code in one index."""

    def __init__(self, store: Store, index: Index) -> None:
        self._store = store
        self._index = index
        self._revisions = Revisions(store)

    def graph(self) -> Graph:
        """The reference graph of the whole index as it is now."""
        return self._index.whole()

    # ------------------------------------------------------------------ what a name or a place means

    def find(
        self, target: str, collections: Sequence[str], within: str | None = None, *, numbers: bool = False
    ) -> list[StoredChunk]:
        """The chunks that `FILE:LINE`, a file, or a declaration's name (qualified or not) means; NotFound if none.

        `#12` means chunk 12, and with `numbers` so does `12`, which otherwise is a document.
        """
        if target.startswith("#") or numbers:
            number = target.removeprefix("#")
            if number.isascii() and number.isdecimal():
                return self._numbered(number, within)
        place = read_place(target)
        if place is not None:
            document = find_document(self._store, place.path, collections, within=within)
            return at_lines(self._store.chunks_of(document.id), place)
        named = self.declarations(target, within)
        if named:
            return named
        try:
            return self._store.chunks_of(find_document(self._store, target, collections, within=within).id)
        except Ambiguous:
            raise
        except NotFound as error:
            raise NotFound(
                f"there is no declaration and no file {target!r}; write FILE:LINE, or find the name with a search"
            ) from error

    def _numbered(self, number: str, within: str | None) -> list[StoredChunk]:
        chunks = self._store.chunks([int(number)]) if len(number) <= MAX_DIGITS else []
        found = [chunk for chunk in chunks if within in (None, chunk.document.collection)]
        if not found:
            raise NotFound(f"there is no chunk {number}; a changed file has new ones: search again")
        return found

    def declarations(self, name: str, within: str | None = None) -> list[StoredChunk]:
        """All chunks of the declarations with this name, the likeliest declaration first."""
        *scope, last = _name_parts(name)
        chunks = self._store.chunks(self._index.declaring(last))
        found = [
            chunk
            for chunk in chunks
            if (within is None or chunk.document.collection == within) and _declares(chunk, scope, last)
        ]
        exact = [chunk for chunk in found if chunk.code and any(d.name == last for d in chunk.code.defines)]
        found = sorted(exact or found, key=lambda chunk: _doubt(chunk, last))
        whole: dict[int, StoredChunk] = {}
        for chunk in found[:MAX_NAMESAKES]:
            for part in self._parts_of(chunk, last):
                whole.setdefault(part.id, part)
        return list(whole.values())

    def _parts_of(self, chunk: StoredChunk, name: str) -> list[StoredChunk]:
        """A declaration that was cut is several chunks; they follow each other under one name."""
        if chunk.code is None or chunk.code.symbol.split(".")[-1].lower() != name.lower():
            return [chunk]
        symbol = chunk.code.symbol
        return [
            part
            for part in self._store.chunks_of(chunk.document.id)
            if part.code is not None
            and (part.code.symbol == symbol or part.code.symbol.startswith(f"{symbol}."))
        ]

    # ------------------------------------------------------------------ related

    def related(self, target: Sequence[StoredChunk], limit: int, name: str = "") -> Related:
        """Callers, callees, tests and documents of some chunks, each at most `limit`, strongest first.

        With the `name` of a declaration only those count that use it, or what stands in it: small declarations share
        a chunk with their neighbours.
        """
        graph = self.graph()
        self._revisions.refresh()
        nodes = graph.find_chunks(chunk.id for chunk in target)
        inward, outward = graph.edges_to(nodes), graph.edges_from(nodes)
        last = _name_parts(name)[-1]
        if any(_declares(chunk, (), last) for chunk in target):
            inward = inward.take(graph.leads_to(inward, last))
        own = {chunk.id for chunk in target}
        found: list[Relative] = []
        for relation, ends, weights in (
            ("caller", inward.source, inward.weight),
            ("callee", outward.target, outward.weight),
        ):
            for chunk, weight in self._weighed(graph, ends, weights):
                check_wanted()
                if chunk.id not in own and self._may_relate(chunk, target):
                    found.append(Relative(_relation(relation, chunk), chunk, round(weight, 4)))
        kinds = ("caller", "callee", "test", "doc")
        limited = [item for kind in kinds for item in [r for r in found if r.relation == kind][:limit]]
        return Related(tuple(target), tuple(limited))

    def _may_relate(self, chunk: StoredChunk, target: Sequence[StoredChunk]) -> bool:
        """Whether a chunk can be related to some others. Code and pages are if they are of one project: one collection,
        or one commit. Code says by an import whose name it means; a page may mean that of another project.
        """
        commit = self._revisions.stamp(chunk.document).revision
        for other in target:
            if chunk.document.language and other.document.language:
                return True
            if chunk.document.collection == other.document.collection:
                return True
            if commit is not None and commit == self._revisions.stamp(other.document).revision:
                return True
        return False

    def _weighed(
        self, graph: Graph, ends: Nodes, weights: NDArray[np.float32]
    ) -> list[tuple[StoredChunk, float]]:
        nodes, place = numbered(ends)
        total = np.bincount(place, weights, len(nodes))
        order = np.argsort(-total, kind="stable")[:200]
        by_id = dict(zip(graph.chunk_ids(nodes[order]), total[order].tolist(), strict=True))
        return [(chunk, by_id[chunk.id]) for chunk in self._store.chunks(list(by_id))]


def at_lines(chunks: Sequence[StoredChunk], place: Place) -> list[StoredChunk]:
    """The chunks of a document that hold some of these lines; for an empty line between two chunks, the nearest."""
    _, first, last = place
    found = [chunk for chunk in chunks if chunk.line_start <= last and first <= chunk.line_end]
    if found or not chunks:
        return found
    return [min(chunks, key=lambda chunk: max(chunk.line_start - last, first - chunk.line_end))]


def _name_parts(name: str) -> list[str]:
    """`Pool::acquire()` as what it stands in and what it is called."""
    return [part for part in re.split(r"\.|::|->|#|\\", name.removesuffix("()")) if part] or [name]


def _declares(chunk: StoredChunk, scope: Sequence[str], name: str) -> bool:
    if chunk.code is None:
        return False
    for item in chunk.code.defines:
        if item.name.lower() != name.lower():
            continue
        place = chunk.code.symbol.lower().split(".")
        stem = chunk.document.path.rpartition("/")[2].partition(".")[0].lower()
        if not scope or scope[-1].lower() in (item.scope.lower(), stem, *place):
            return True
    return False


_DOUBTFUL_KINDS: Final = frozenset(
    {"field", "variable", "constant", "property", "prototype", "member", "local"}
)


def _doubt(chunk: StoredChunk, name: str) -> tuple[bool, bool, bool, bool]:
    """How doubtful it is that this chunk's declaration is the one that is meant; the least doubtful sorts first."""
    items = [item for item in (chunk.code.defines if chunk.code else ()) if item.name.lower() == name.lower()]
    exact = [item for item in items if item.name == name]
    item = (exact or items)[0]
    return not exact, bool(chunk.document.role), item.kind in _DOUBTFUL_KINDS, bool(item.scope)


def _relation(relation: str, chunk: StoredChunk) -> Relation:
    if relation == "callee":
        return "callee"
    if chunk.document.role == "test":
        return "test"
    return "caller" if chunk.document.language else "doc"
