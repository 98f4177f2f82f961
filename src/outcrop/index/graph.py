"""The reference graph: which chunks depend on which, resolved from names on demand.

Nothing is resolved ahead of time. The arrays say which rows declare and which use each name (see `names`) and follow
the store; an edge joins the two by evidence: the same file, a qualifier that names the class or the module,
an import, the same folder, a name that only one place declares. Where the evidence does not decide, the edge is weak,
and where it would be a guess there is none. What one search resolves is kept for the next, until the index changes.

A node is a row of a view, numbered over all segments.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from typing import Any, Final, get_args

import numpy as np

from outcrop.index.evidence import (
    AMBIGUOUS,
    ELSEWHERE,
    IMPORT,
    IMPORTED,
    LINK,
    NAMED,
    NO_EDGES,
    PACKAGED,
    SAME_FILE,
    SAME_FOLDER,
    TITLED,
    Edges,
    Nodes,
    Paired,
    Pairs,
    Uses,
    gather,
    is_in,
    is_visible,
    look_up_names,
    may_be_module,
    packages_of,
    pair_number,
    pair_up,
    ranges_of,
    stack,
    weigh_pairs,
)
from outcrop.index.names import C_FAMILY, METHOD, MODULE, OWN, PACKAGE, PRIVATE, ROOT, SMALL, SUPER, name_number
from outcrop.index.segment import View
from outcrop.records import ReferenceKind
from outcrop.system.arrays import NDArray, distinct, is_among, numbered
from outcrop.system.limits import check_wanted

MAX_USERS: Final = 400
"""Chunks that use a name and are looked at: for commoner names the list is incomplete (not measured)."""
RESOLVED_AT_ONCE: Final = 2048
"""Nodes of the whole graph that are resolved in one go: bounds the memory of the joins."""
ASKED_FACTOR: Final = 10.0
"""A walk prefers ten to one the names that the query itself says, as aider's repo map does. On the code set it changes
nothing (.898 with and without): there the declaration is a candidate by itself."""


class Graph:
    """The graph of one view. Any number of threads may ask it."""

    def __init__(self, view: View) -> None:
        self.view = view
        sizes = [len(segment) for segment in view.segments]
        self._base = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        self._chunk = stack([segment.chunk_ids for segment in view.segments])
        self._document = stack([segment.document_ids for segment in view.segments])
        self._family = stack([segment.families for segment in view.segments])
        self._deleted = stack(list(view.deleted))
        self._title = stack([segment.titles[segment.files] for segment in view.segments])
        self._folder = stack([segment.homes[segment.files] for segment in view.segments])
        self._package = stack([packages_of(segment)[segment.files] for segment in view.segments])
        # Documents come in order but for those that were written again.
        self._by_document: Nodes | None = None
        self._ordered = self._document
        if np.any(self._document[1:] < self._document[:-1]):
            self._by_document = np.argsort(self._document, kind="stable")
            self._ordered = self._document[self._by_document]
        self._lock = threading.Lock()
        self._resolved: dict[int, Edges] = {}
        self._imports: dict[int, Nodes] = {}
        self._declared_by: dict[int, tuple[Nodes, NDArray[np.uint32]]] = {}

    def __len__(self) -> int:
        return int(self._base[-1])

    # ------------------------------------------------------------------ nodes

    def node(self, segment: int, row: int) -> int:
        """The number of a row."""
        return int(self._base[segment]) + row

    def row(self, node: int) -> tuple[int, int]:
        """Segment and row of a node."""
        segment = int(np.searchsorted(self._base, node, side="right")) - 1
        return segment, node - int(self._base[segment])

    def chunk_ids(self, nodes: Nodes) -> list[int]:
        """The chunks of some nodes."""
        found: list[int] = self._chunk[nodes].tolist()
        return found

    def find_chunks(self, chunk_ids: Iterable[int]) -> Nodes:
        """The nodes of those of some chunks that are there, in order."""
        wanted = np.fromiter(chunk_ids, np.int64)
        if not len(self):
            return np.zeros(0, np.int64)
        nodes = np.minimum(np.searchsorted(self._chunk, wanted), len(self) - 1)
        found: Nodes = nodes[(self._chunk[nodes] == wanted) & ~self._deleted[nodes]]
        return found

    def documents(self, nodes: Nodes) -> NDArray[np.int64]:
        """The documents of some nodes."""
        found: NDArray[np.int64] = self._document[nodes]
        return found

    def declaring(self, name: str) -> list[tuple[int, int, int]]:
        """(node, segment, place among its names) of every declaration of a name, whatever its case."""
        found = []
        for number, segment in enumerate(self.view.segments):
            where = segment.names.definitions(name_number(name))
            for place in range(where.start, where.stop):
                node = self.node(number, int(segment.names.defined_rows[place]))
                if not self._deleted[node]:
                    found.append((node, number, place))
        return found

    # ------------------------------------------------------------------ edges

    def leads_to(self, edges: Edges, name: str) -> NDArray[np.bool_]:
        """Which edges lead to a declaration of this name, whatever its case, or to something that stands in it."""
        names = [segment.names for segment in self.view.segments]
        number = np.uint64(name_number(name))
        declared = gather([part.defined for part in names], edges.segment, edges.declared)
        scope = gather([part.defined_scopes for part in names], edges.segment, edges.declared)
        kind = gather([part.defined_kinds for part in names], edges.segment, edges.declared) & ~np.uint8(
            PRIVATE
        )
        result: NDArray[np.bool_] = (declared == number) | ((scope == number) & (kind < MODULE))
        return result

    def edges_from(self, nodes: Nodes) -> Edges:
        """What these nodes lean on."""
        wanted = nodes.tolist()
        with self._lock:
            missing = np.array([node for node in dict.fromkeys(wanted) if node not in self._resolved], np.int64)
            if len(missing):
                self._keep(missing, self._resolve(self._uses_of(missing)))
            return NO_EDGES.join(*(self._resolved[node] for node in dict.fromkeys(wanted)))

    def steps(self, nodes: Nodes, asked: Collection[str] = ()) -> tuple[Nodes, Nodes, NDArray[np.float32]]:
        """The edges from some nodes as plain columns, for a walk; those by a name that is asked for weigh more."""
        edges = self.edges_from(nodes)
        if not asked or not len(edges):
            return edges.source, edges.target, edges.weight
        by = gather([segment.names.defined for segment in self.view.segments], edges.segment, edges.declared)
        numbers = np.sort(np.array([name_number(name) for name in asked], np.uint64))
        weight = np.where(is_among(by, numbers), ASKED_FACTOR * edges.weight, edges.weight)
        return edges.source, edges.target, weight.astype(np.float32)

    def steps_of_chunks(
        self, chunk_ids: NDArray[np.int64], asked: Collection[str] = ()
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """As `steps`, from chunks to chunks."""
        source, target, weight = self.steps(self.find_chunks(chunk_ids.tolist()), asked)
        return self._chunk[source], self._chunk[target], weight

    @staticmethod
    def kinds_of(edges: Edges) -> list[ReferenceKind]:
        """How each edge uses the name it goes by."""
        kinds: tuple[ReferenceKind, ...] = get_args(ReferenceKind)
        return [kinds[kind] for kind in edges.kind.tolist()]

    def edges_to(self, nodes: Nodes) -> Edges:
        """What leans on these nodes: whoever uses a name they declare, and means it."""
        users: list[Nodes] = []
        for node in nodes.tolist():
            segment_number, row = self.row(node)
            places = self._places(segment_number, np.array([row]))[1]
            for name in distinct(self.view.segments[segment_number].names.defined[places]).tolist():
                users.append(self._users(name))
        candidates = distinct(np.concatenate(users)) if users else np.zeros(0, np.int64)
        found = self.edges_from(candidates[:MAX_USERS])
        return found.take(is_among(found.target, np.sort(nodes)))

    def all_edges(self) -> Edges:
        """Every edge of the view."""
        alive = np.flatnonzero(~self._deleted)
        starts = range(0, len(alive), RESOLVED_AT_ONCE)
        with self._lock:
            parts = (self._resolve(self._uses_of(alive[at : at + RESOLVED_AT_ONCE])) for at in starts)
            return NO_EDGES.join(*parts)

    def users(self, name: str) -> Nodes:
        """The nodes that use a name, whatever they mean by it."""
        return distinct(self._users(name_number(name)))[:MAX_USERS]

    def _users(self, name: int) -> Nodes:
        found = []
        number = np.uint64(name)
        for segment_number, segment in enumerate(self.view.segments):
            names = segment.names
            low = np.searchsorted(names.used, number, side="left", sorter=names.used_order)
            high = np.searchsorted(names.used, number, side="right", sorter=names.used_order)
            rows = names.used_rows[names.used_order[int(low) : int(min(high, low + MAX_USERS))]]
            found.append(rows.astype(np.int64) + self._base[segment_number])
        nodes: Nodes = np.concatenate(found)
        alive: Nodes = nodes[~self._deleted[nodes]]
        return alive

    def _keep(self, nodes: Nodes, edges: Edges) -> None:
        order = np.argsort(edges.source, kind="stable")
        edges = edges.take(order)
        low = np.searchsorted(edges.source, nodes, side="left")
        high = np.searchsorted(edges.source, nodes, side="right")
        for node, start, end in zip(nodes.tolist(), low.tolist(), high.tolist(), strict=True):
            self._resolved[node] = edges.take(slice(start, end))

    def _uses_of(self, nodes: Nodes) -> Uses:
        parts: list[tuple[NDArray[Any], ...]] = []
        segments = np.searchsorted(self._base, nodes, side="right") - 1
        for number in distinct(segments).tolist():
            names = self.view.segments[number].names
            rows = np.sort(nodes[segments == number] - self._base[number]).astype(np.uint32)
            places = ranges_of(
                np.searchsorted(names.used_rows, rows, side="left"),
                np.searchsorted(names.used_rows, rows, side="right"),
            )
            parts.append(
                (
                    names.used_rows[places].astype(np.int64) + self._base[number],
                    names.used[places],
                    names.used_hints[places],
                    names.used_kinds[places],
                    names.used_counts[places],
                    names.used_marks[places],
                )
            )
        return Uses(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _resolve(self, uses: Uses) -> Edges:
        """Join uses with declarations, weigh the evidence, keep the strongest of each use."""
        check_wanted()
        declared = look_up_names(self.view, uses)
        pairs = pair_up(self.view, self._base, uses, declared)
        return NO_EDGES if pairs is None else weigh_pairs(uses, self._evidence(uses, pairs), declared.total)

    def _evidence(self, uses: Uses, pairs: Paired) -> Pairs:
        """The declarations that a use can mean at all, and what speaks for each."""
        use, target, segment, place = pairs
        names = [part.names for part in self.view.segments]
        scope = gather([part.defined_scopes for part in names], segment, place)
        marked = gather([part.defined_kinds for part in names], segment, place)
        mark = gather([part.defined_marks for part in names], segment, place)
        kind = marked & ~np.uint8(PRIVATE)
        source, hint, link = uses.node[use], uses.hint[use], uses.kind[use] == LINK
        module = (kind == MODULE) | (kind == PACKAGE)
        member = (kind == METHOD) | ((kind == SMALL) & (scope > 0))
        kin, other = self._family[source], self._family[target]
        same = self._document[source] == self._document[target]
        fits = ~self._deleted[target] & (module | (mark == uses.mark[use])) & ~(same & module)
        fits &= (kin == 0) | (other == 0) | (other == kin)
        fits &= ~module | may_be_module(scope, hint)
        level = np.full(len(use), ELSEWHERE, np.int8)
        level[self._folder[source] == self._folder[target]] = SAME_FOLDER
        packaged, imported = self._are_imported(source, target)
        level[packaged], level[imported] = PACKAGED, IMPORTED
        titled = (hint > ROOT) & ((self._title[target] == hint) | (self._package[target] == hint))
        level[same & ~module] = SAME_FILE
        named = np.where(module, is_in(scope, hint), ((hint > ROOT) & (scope == hint)) | (titled & ~member))
        own = np.flatnonzero(((hint == OWN) | (hint == SUPER)) & same & member)
        named[own] = self._is_own(source[own], scope[own])
        fits &= ~(named & (hint == SUPER))
        level[titled & ~named] = np.maximum(level[titled & ~named], TITLED)
        level[named] += NAMED
        # Code imports code; a page of the same name is meant only where it stands at the place that is named.
        fits &= ~module | named | ~link
        fits &= ~module | named | link | (kin == 0) | (other == kin)
        fits &= module | is_visible(kind, member, same, hint, level, kin)
        found = Pairs(use, target, segment, place, kind, level, member, same, (marked & PRIVATE) > 0)
        return found.take(np.flatnonzero(fits))

    def _by_row(self, segment: int) -> tuple[Nodes, NDArray[np.uint32]]:
        """The places of a segment's declarations in the order of their rows, and those rows."""
        known = self._declared_by.get(segment)
        if known is None:
            rows = self.view.segments[segment].names.defined_rows
            order = np.argsort(rows, kind="stable")
            known = self._declared_by[segment] = (order, rows[order])
        return known

    def _places(self, segment: int, rows: Nodes) -> tuple[Nodes, Nodes]:
        """(which of the rows, place among the names) of what some rows of a segment declare."""
        order, by_row = self._by_row(segment)
        low, high = by_row.searchsorted(rows), by_row.searchsorted(rows, side="right")
        return np.repeat(np.arange(len(rows)), high - low), order[ranges_of(low, high)]

    def _is_own(self, source: Nodes, scope: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Whether a node stands in the class of that name: it declares the class, or something in it."""
        result = np.zeros(len(source), np.bool_)
        segments = np.searchsorted(self._base, source, side="right") - 1
        for number in distinct(segments).tolist():
            mine = np.flatnonzero(segments == number)
            names = self.view.segments[number].names
            rows = source[mine] - self._base[number]
            by_row = self._by_row(number)[1]
            # The rest of a declaration that was cut declares nothing: it belongs to what stands before it.
            before = by_row[np.maximum(by_row.searchsorted(rows, side="right") - 1, 0)].astype(np.int64)
            documents = self.view.segments[number].document_ids
            before = np.where(documents[before] == documents[rows], before, rows)
            which, places = self._places(number, before)
            which = mine[which]
            inside = (names.defined_scopes[places] == scope[which]) | (names.defined[places] == scope[which])
            result[which[inside]] = True
        return result

    # ------------------------------------------------------------------ imports

    def _are_imported(self, source: Nodes, target: Nodes) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether the source's file imports the package of the target's file, and whether it imports that very file."""
        documents, place = numbered(self._document[source])
        self._read_imports(documents)
        imports = [self._imports[document] for document in documents.tolist()]
        importer = np.repeat(np.arange(len(imports)), [len(found) for found in imports])
        wanted = pair_number(place, self._document[target])
        known = np.concatenate(imports) if imports else np.zeros(0, np.int64)
        keys, whole = pair_number(importer, np.abs(known)), known > 0
        return is_among(wanted, np.sort(keys[~whole])), is_among(wanted, np.sort(keys[whole]))

    def _read_imports(self, documents: NDArray[np.int64]) -> None:
        """Find what each of these documents imports, as far as its imports can be told: documents, with a minus where
        they are only part of the package that is."""
        missing = np.array([d for d in documents.tolist() if d not in self._imports], np.int64)
        if not len(missing):
            return
        ordered = self._ordered
        low, high = ordered.searchsorted(missing), ordered.searchsorted(missing, side="right")
        nodes = ranges_of(low, high)
        uses = self._uses_of(nodes if self._by_document is None else self._by_document[nodes])
        importer, imported = self._modules(uses.take(uses.kind == IMPORT))
        start, end = importer.searchsorted(missing), importer.searchsorted(missing, side="right")
        for document, first, last in zip(missing.tolist(), start.tolist(), end.tolist(), strict=True):
            self._imports[document] = imported[first:last]

    def _modules(self, uses: Uses) -> tuple[Nodes, Nodes]:
        """(importing document, imported document, see `_read_imports`), each pair once, ascending."""
        pairs = None
        if len(uses.node):
            pairs = pair_up(self.view, self._base, uses, look_up_names(self.view, uses))
        if pairs is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        use, target, segment, place = pairs
        names = [part.names for part in self.view.segments]
        scope = gather([part.defined_scopes for part in names], segment, place)
        kind = gather([part.defined_kinds for part in names], segment, place)
        source, hint = uses.node[use], uses.hint[use]
        kin = self._family[source]
        fits = (
            ~self._deleted[target] & ((kin == 0) | (self._family[target] == kin)) & may_be_module(scope, hint)
        )
        named = fits & is_in(scope, hint)
        near = fits & (self._folder[target] == self._folder[source])
        # The files of one package are one thing that may be meant.
        thing = np.where(kind == PACKAGE, self._folder[target], self._document[target].astype(np.uint64))
        order = np.flatnonzero(fits)
        order = order[np.lexsort((thing[order], use[order]))]
        again = (use[order][1:] == use[order][:-1]) & (thing[order][1:] == thing[order][:-1])
        things = np.bincount(
            use[order][np.concatenate(([True], ~again))[: len(order)]], minlength=len(uses.node)
        )
        few = fits & (things[use] <= AMBIGUOUS)
        # A header is looked for in other folders too, and its source file has the same name.
        near |= few & (kin == C_FAMILY)
        tier = np.where(named, 3, np.where(near, 2, np.where(few, 1, 0)))
        best = np.zeros(len(uses.node), np.int64)
        np.maximum.at(best, use, tier)
        chosen = (tier > 0) & (tier == best[use])
        documents = np.where(kind == PACKAGE, -1, 1) * self._document[target]
        importers, imported = self._document[source[chosen]], documents[chosen]
        order = np.lexsort((imported, importers))
        importers, imported = importers[order], imported[order]
        fresh = np.ones(len(order), np.bool_)
        fresh[1:] = (importers[1:] != importers[:-1]) | (imported[1:] != imported[:-1])
        return importers[fresh], imported[fresh]
