"""The commit each document came from, and whether its file was dirty then.

Stored as one small text per indexed folder: the commit of each repository in it, and a line for each document that a
stat could not prove clean. So a commit that leaves ten thousand files alone changes one line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from outcrop.errors import SourceError
from outcrop.records import FileState
from outcrop.sources.files import read_plain

if TYPE_CHECKING:  # a search only reads surveys; a sync makes them
    from outcrop.sources.checkout import Checkout, Checkouts
    from outcrop.sources.gitindex import Tracked

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Stamp:
    """Where a document came from: all None outside repositories; `dirty` is None where unknown."""

    revision: str | None = None
    branch: str | None = None
    dirty: bool | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a document was dirty. `about` identifies its content and the index entry it was compared with. It is as
    short as is safe, since a copied repository has one for every file."""

    about: str
    dirty: bool | None


@dataclass(frozen=True, slots=True)
class Survey:
    """A snapshot of a folder's repositories. `tops` says what is clean there; `verdicts`, by document uri, are the
    exceptions."""

    taken_at: float = 0.0
    tops: Mapping[str, Stamp] = field(default_factory=dict)
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)

    def stamp(self, uri: str, updated_at: float) -> Stamp:
        """The stamp of a document; one that was written after the survey has none yet."""
        if not self.tops or updated_at > self.taken_at:
            return Stamp()
        folder = uri
        while folder:
            folder = folder.rpartition("/")[0]
            top = self.tops.get(folder or "/")
            if top is not None:
                verdict = self.verdicts.get(uri)
                return top if verdict is None else Stamp(top.revision, top.branch, verdict.dirty)
        return Stamp()

    def agrees(self, other: Survey) -> bool:
        """Whether both say the same, whenever they were taken."""
        return self.tops == other.tops and self.verdicts == other.verdicts

    def to_json(self) -> str:
        """As text, to be stored."""
        tops = {top: [stamp.revision, stamp.branch, stamp.dirty] for top, stamp in self.tops.items()}
        verdicts = {uri: [each.about, each.dirty] for uri, each in self.verdicts.items()}
        return json.dumps([_FORMAT, self.taken_at, tops, verdicts], separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | None) -> Survey:
        """What `to_json` wrote; an empty survey for an empty text or one from another release."""
        stored = json.loads(text) if text else None
        if stored is None or stored[0] != _FORMAT:
            return cls()
        _, taken_at, tops, verdicts = stored
        return cls(
            taken_at,
            {top: Stamp(*values) for top, values in tops.items()},
            {uri: Verdict(*values) for uri, values in verdicts.items()},
        )


def survey_documents(
    states: Mapping[str, FileState],
    checkouts: Checkouts,
    before: Survey,
    *,
    taken_at: float,
    max_file_bytes: int,
) -> Survey:
    """The repositories that documents (by uri) belong to, and which documents are dirty.

    `taken_at` is a time before `states` was read. A document whose stat matches git's index is clean at no further
    cost; any other is read, unless `before` has a verdict on the same content against the same entry.
    """
    tops: dict[str, Stamp] = {}
    verdicts: dict[str, Verdict] = {}
    by_folder: dict[str, tuple[Checkout, int] | None] = {}
    for uri, state in states.items():
        folder = uri.rpartition("/")[0]
        if folder not in by_folder:
            by_folder[folder] = place = _place(folder, checkouts)
            if place is not None:
                tops[place[0].top] = _clean(place[0])
        place = by_folder[folder]
        if place is None or place[0].tracked is None:
            continue
        checkout, cut = place
        path = uri[cut:]
        if not _proven_clean(place[0].tracked, path, state):
            verdicts[uri] = _judge(checkout, path, uri, state, before.verdicts.get(uri), max_file_bytes)
    return Survey(taken_at, tops, verdicts)


def _place(folder: str, checkouts: Checkouts) -> tuple[Checkout, int] | None:
    """The checkout that a folder belongs to, and where in a uri the path below its top begins."""
    checkout = checkouts.holding(folder or "/")
    return None if checkout is None else (checkout, len(checkout.top.rstrip("/")) + 1)


def _clean(checkout: Checkout) -> Stamp:
    return Stamp(checkout.revision, checkout.branch, None if checkout.tracked is None else False)


def _proven_clean(tracked: Tracked, path: str, state: FileState) -> bool:
    if state.mtime_ns is None or state.size is None:
        return False
    return tracked.proves_unchanged(path, state.mtime_ns, state.size)


def _judge(
    checkout: Checkout, path: str, uri: str, state: FileState, before: Verdict | None, max_file_bytes: int
) -> Verdict:
    entry = None if checkout.tracked is None else checkout.tracked.get(path)
    if entry is None or entry.conflicted:
        return Verdict("", True)
    verdict = Verdict(f"{state.sha256[:16]}{entry.blob[:16]}", None)
    if before is not None and before.dirty is not None and before.about == verdict.about:
        return before
    try:
        data = read_plain(Path(uri), max_file_bytes)
    except SourceError:
        return verdict
    # Judge the document as stored, not what its file has become since.
    if sha256(data).hexdigest() != state.sha256:
        return verdict
    from outcrop.sources.checkout import is_dirty

    return replace(verdict, dirty=is_dirty(checkout, path, data))
