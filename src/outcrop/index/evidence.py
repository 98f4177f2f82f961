"""What speaks for a use of a name meaning a declaration: the levels of evidence, and the rules that need no graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from outcrop.index.names import (
    ANYWHERE,
    IMPLICIT_SELF,
    LAYOUT,
    LOCAL,
    METHOD,
    MODULE,
    ROOT,
    SUPER,
    UNKNOWN,
    USES,
    find_packages,
)
from outcrop.index.segment import Segment
from outcrop.system.distinct import is_among

Nodes = NDArray[np.int64]

# How strong the evidence is that a use means a declaration; only the strongest kind that a use has any of counts. The
# weights and limits of this module are judgement, but for the one that is taken from elsewhere.
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
class Uses:
    """Names used, one entry a use: by which node, and what is known of it (see `names`)."""

    node: Nodes
    name: NDArray[np.uint64]
    hint: NDArray[np.uint64]
    kind: NDArray[np.uint8]
    count: NDArray[np.uint8]
    mark: NDArray[np.uint8]

    def take(self, which: NDArray[np.bool_]) -> Uses:
        """Some of them."""
        columns: tuple[NDArray[Any], ...] = (self.node, self.name, self.hint, self.kind, self.count, self.mark)
        return Uses(*(column[which] for column in columns))


@dataclass(frozen=True, slots=True)
class Pairs:
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

    def take(self, which: NDArray[np.intp]) -> Pairs:
        """Some of them."""
        columns: tuple[NDArray[Any], ...] = (
            self.use,
            self.target,
            self.segment,
            self.place,
            self.kind,
            self.level,
        )
        return Pairs(*(column[which] for column in (*columns, self.member, self.same, self.private)))


COMMON_NAMES: Final = np.array(sorted(ANYWHERE), np.uint64)
_IMPLICIT_SELF: Final = np.array(sorted(IMPLICIT_SELF), np.uint8)
_LAYOUT: Final = np.array(sorted(LAYOUT), np.uint64)
IMPORT, LINK = USES.index("import"), USES.index("link")
USE_SHARES: Final = np.array([_USE_SHARE[name] for name in USES], np.float32)


def packages_of(segment: Segment) -> NDArray[np.uint64]:
    """For each file of a segment the name of its folder."""
    return (
        find_packages(segment.names, segment.files, len(segment.homes))
        if segment.packages is None
        else segment.packages
    )


def is_in(scope: NDArray[np.uint64], hint: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether a module lies in the folder that an import or a link names."""
    result: NDArray[np.bool_] = np.where(hint == ROOT, scope == 0, (hint > ROOT) & (scope == hint))
    return result


def may_be_module(scope: NDArray[np.uint64], hint: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether a module in a folder of this name can be the one: an import that names another folder means another."""
    result: NDArray[np.bool_] = (hint <= UNKNOWN) | is_in(scope, hint) | is_among(scope, _LAYOUT)
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

    Written bare it is no field or method of another file's class, unless the language lets a class leave itself out.
    Written after something that is neither known by name nor imported it can only be a field or method. What stands
    inside a function is known in its file only.
    """
    bare = ~member | same | ((kind == METHOD) & is_among(family, _IMPLICIT_SELF))
    known = (
        (level == TITLED) | (level >= NAMED) | ((level >= PACKAGED) & (level <= IMPORTED) & (hint != UNKNOWN))
    )
    visible: NDArray[np.bool_] = np.where(
        hint == 0, bare, np.where(hint <= SUPER, member | same, member | known)
    )
    visible &= (kind != LOCAL) | same
    return visible


def certainty(
    uses: Uses, found: Pairs, level: NDArray[np.int8], rivals: NDArray[np.intp]
) -> NDArray[np.float32]:
    """How much of the evidence counts: little of a guess, nothing of a wild one."""
    hint = uses.hint[found.use]
    certain = np.ones(len(found.use), np.float32)
    certain[(rivals > AMBIGUOUS) & (found.kind < MODULE)] = 0
    common = is_among(uses.name[found.use], COMMON_NAMES)
    unknown = found.member & (hint > SUPER) & (level < NAMED)  # called on something of unknown type
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
