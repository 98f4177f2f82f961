"""The evidence that a use of a name means a declaration: its levels, and the rules that need no graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from outcrop.index import names
from outcrop.index.segment import Segment, View
from outcrop.system.arrays import Columns, NDArray, is_among
from outcrop.system.dataclass import dataclass

Nodes = NDArray[np.int64]

# How strong the evidence is that a use means a declaration; only the strongest kind that a use has any of counts. The
# weights and limits of this module were not measured, except for the one that is taken from elsewhere.
ELSEWHERE, SAME_FOLDER, PACKAGED, IMPORTED, TITLED, SAME_FILE = 1, 2, 3, 4, 5, 6
NAMED: Final = 8
"""Comes on top of those: what stands before the name is the class, the module or the package that declares it."""
EVIDENCE: Final = np.array([0, 0.4, 0.6, 0.9, 0.9, 1.0, 1.0, 0, 0, *[1.0] * 6], np.float32)
"""By level. PACKAGED is in a package that is imported; IMPORTED is the module itself, which wins over it."""
AMBIGUOUS: Final = 3
"""A use that may mean more declarations than this, all with the same evidence, means none of them."""
GUESS_SHARE: Final = 0.4
"""`value.release()` with one `release` in the whole index: likely, but the type of `value` is not known. What any
object may have (`value.get()`) is joined only where what stands before it names the class or its file."""
UBIQUITOUS: Final = 5
"""A name that more files than this declare says little (aider's repo map draws the same line)."""
UBIQUITOUS_SHARE: Final = 0.1
PRIVATE_SHARE: Final = 0.1
"""A private name used from another file is most likely another thing of the same name."""
MAX_DECLARED: Final = 256
"""A name declared more often than this is not joined at all: `new`, `get`, `__init__` in a large index."""
_USE_SHARE: Final = {"call": 1.0, "type": 0.7, "inherit": 1.5, "import": 0.5, "use": 0.5, "link": 1.0}
"""Weight of a use by its kind. A parent's code is part of the child's."""


@dataclass(frozen=True, slots=True)
class Uses(Columns):
    """Names used, one entry a use: by which node, and what is known of it (see `names`)."""

    node: Nodes
    name: NDArray[np.uint64]
    hint: NDArray[np.uint64]
    kind: NDArray[np.uint8]
    count: NDArray[np.uint8]
    mark: NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Pairs(Columns):
    """Pairs of a use and a declaration it may mean."""

    use: Nodes
    target: Nodes
    segment: NDArray[np.int32]
    place: Nodes
    kind: NDArray[np.uint8]
    level: NDArray[np.int8]
    member: NDArray[np.bool_]
    same: NDArray[np.bool_]
    private: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Edges(Columns):
    """Edges in three columns, for each the declaration it leads to (its place in the names of segment `segment`), and
    how the name is used (a place in `USES`)."""

    source: Nodes
    target: Nodes
    weight: NDArray[np.float32]
    segment: NDArray[np.int32]
    declared: Nodes
    kind: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.source)


NO_EDGES: Final = Edges(
    *(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32)),
    *(np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.uint8)),
)


class Declared(NamedTuple):
    """Segment by segment, for each use the place of the first declaration of its name, and how many there are."""

    lows: list[Nodes]
    counts: list[Nodes]

    @property
    def total(self) -> Nodes:
        """How many there are in all segments."""
        found: Nodes = np.sum(self.counts, axis=0)
        return found


class Paired(NamedTuple):
    """Uses and declarations of the same name: which use, the declaring node, its segment and place among its names."""

    use: Nodes
    target: Nodes
    segment: NDArray[np.int32]
    place: Nodes


COMMON_NAMES: Final = np.array(sorted(names.ANYWHERE), np.uint64)
_IMPLICIT_SELF: Final = np.array(sorted(names.IMPLICIT_SELF), np.uint8)
_LAYOUT: Final = np.array(sorted(names.LAYOUT), np.uint64)
IMPORT, LINK = names.USES.index("import"), names.USES.index("link")
USE_SHARES: Final = np.array([_USE_SHARE[name] for name in names.USES], np.float32)


def packages_of(segment: Segment) -> NDArray[np.uint64]:
    """For each file of a segment the name of its folder."""
    return (
        names.find_packages(segment.names, segment.files, len(segment.homes))
        if segment.packages is None
        else segment.packages
    )


def is_in(scope: NDArray[np.uint64], hint: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether a module lies in the folder that an import or a link names."""
    result: NDArray[np.bool_] = np.where(hint == names.ROOT, scope == 0, (hint > names.ROOT) & (scope == hint))
    return result


def may_be_module(scope: NDArray[np.uint64], hint: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether a module in a folder of this name can be the one: an import that names another folder means another."""
    result: NDArray[np.bool_] = (hint <= names.UNKNOWN) | is_in(scope, hint) | is_among(scope, _LAYOUT)
    return result


def is_visible(
    kind: NDArray[np.uint8],
    member: NDArray[np.bool_],
    same: NDArray[np.bool_],
    hint: NDArray[np.uint64],
    level: NDArray[np.int8],
    family: NDArray[np.uint8],
) -> NDArray[np.bool_]:
    """Whether a name, written as it is, can mean a declaration at all.

    A bare name is not a field or method of a class in another file, unless the language lets members be used without
    naming their class. After something that is neither known by name nor imported it can only be a field or method.
    What is declared inside a function is known only in its file.
    """
    bare = ~member | same | ((kind == names.METHOD) & is_among(family, _IMPLICIT_SELF))
    known = (
        (level == TITLED)
        | (level >= NAMED)
        | ((level >= PACKAGED) & (level <= IMPORTED) & (hint != names.UNKNOWN))
    )
    visible: NDArray[np.bool_] = np.where(
        hint == 0, bare, np.where(hint <= names.SUPER, member | same, member | known)
    )
    visible &= (kind != names.LOCAL) | same
    return visible


def certainty(
    uses: Uses, found: Pairs, level: NDArray[np.int8], rivals: NDArray[np.intp]
) -> NDArray[np.float32]:
    """How much of the evidence counts: little of a guess, nothing of a wild one."""
    hint = uses.hint[found.use]
    certain = np.ones(len(found.use), np.float32)
    certain[(rivals > AMBIGUOUS) & (found.kind < names.MODULE)] = 0
    common = is_among(uses.name[found.use], COMMON_NAMES)
    unknown = found.member & (hint > names.SUPER) & (level < NAMED)  # called on something of unknown type
    guess = found.member & (level <= SAME_FOLDER)
    certain[guess] *= np.where((rivals[guess] == 1) & ~common[guess], GUESS_SHARE, 0)
    certain[unknown & (rivals > 1)] = 0
    certain[unknown & common & (level != TITLED)] = 0  # any object may have a `get`
    certain[found.private & ~found.same] *= PRIVATE_SHARE
    return certain


def pair_number(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Two small numbers as one."""
    return (first << 40) | second


def ranges_of(start: NDArray[np.int64], end: NDArray[np.int64]) -> Nodes:
    """The numbers of all ranges, one after the other."""
    sizes = np.maximum(end - start, 0)
    begins = np.repeat(start - np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes) if len(sizes) else sizes
    result: Nodes = (begins + np.arange(int(sizes.sum()))).astype(np.int64)
    return result


def stack(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Arrays one after the other; of none, an empty one."""
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def gather(arrays: Sequence[NDArray[Any]], segment: NDArray[np.int32], place: Nodes) -> NDArray[Any]:
    """`arrays[segment][place]` for every pair."""
    if len(arrays) == 1:
        return arrays[0][place]
    out = np.empty(len(place), arrays[0].dtype)
    for number, array in enumerate(arrays):
        mine = segment == number
        out[mine] = array[place[mine]]
    return out


def look_up_names(view: View, uses: Uses) -> Declared:
    """Look the names of some uses up."""
    lows, counts = [], []
    for segment in view.segments:
        defined = segment.names.defined
        low = defined.searchsorted(uses.name)
        count = np.zeros(len(low), np.int64)
        # Most names that are used are declared elsewhere or nowhere: the end is looked up only for those that are here.
        here = np.flatnonzero(low < len(defined))
        here = here[defined[low[here]] == uses.name[here]]
        count[here] = defined.searchsorted(uses.name[here], side="right") - low[here]
        lows.append(low)
        counts.append(count)
    return Declared(lows, counts)


def pair_up(view: View, base: Nodes, uses: Uses, declared: Declared) -> Paired | None:
    """Pair uses with all declarations of the same name; `base` has the first node of each segment."""
    total = declared.total if declared.counts else np.zeros(len(uses.node), np.int64)
    joined = (total > 0) & (total <= MAX_DECLARED)
    parts = []
    for number, (segment, low, count) in enumerate(zip(view.segments, *declared, strict=True)):
        which = np.flatnonzero(joined & (count > 0))
        place = ranges_of(low[which], low[which] + count[which])
        use = np.repeat(which, count[which])
        target = segment.names.defined_rows[place].astype(np.int64) + base[number]
        parts.append((use, target, np.full(len(use), number, np.int32), place))
    if not parts or not sum(len(part[0]) for part in parts):
        return None
    use, target, numbers, place = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Paired(use, target, numbers, place)


def weigh_pairs(uses: Uses, found: Pairs, declared: Nodes) -> Edges:
    """Of each use the declarations with the strongest evidence, as edges; `declared` says how many there are of each
    name."""
    strongest = np.zeros(len(uses.node), np.int8)
    np.maximum.at(strongest, found.use, found.level)
    # A prototype says that there is a definition, and the definition is what is meant.
    callable_ = found.kind == names.CALLABLE
    promised, kept = np.zeros((2, len(uses.node)), np.bool_)
    promised[found.use[(found.kind == names.PROTOTYPE) & (found.level == strongest[found.use])]] = True
    kept[found.use[promised[found.use] & callable_]] = True
    meant = np.where(kept[found.use], callable_, found.level == strongest[found.use])
    found = found.take(np.flatnonzero(meant))
    level = np.where(kept[found.use], strongest[found.use], found.level)
    rivals = np.bincount(found.use, minlength=len(uses.node))[found.use]
    weight = EVIDENCE[level] / rivals * certainty(uses, found, level, rivals)
    weight = weight * USE_SHARES[uses.kind[found.use]] * np.sqrt(uses.count[found.use])
    # Names that many files declare, where nothing better than nearness says which is meant.
    common = (declared[found.use] > UBIQUITOUS) & (level < PACKAGED)
    weight = np.where(common, UBIQUITOUS_SHARE * weight, weight)
    source = uses.node[found.use]
    keep = np.flatnonzero((weight > 0) & (source != found.target))
    return Edges(
        source[keep],
        found.target[keep],
        weight[keep].astype(np.float32),
        found.segment[keep],
        found.place[keep],
        uses.kind[found.use[keep]],
    )
