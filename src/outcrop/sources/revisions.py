"""Which commit each document came from, and whether its file is still what was indexed: shown with every hit.

A sync records a survey, one small text per indexed folder: the commit of each repository in it, and a line for each
document that a stat could not prove clean. So a commit that leaves ten thousand files alone changes one line.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from outcrop.contracts import Store
from outcrop.errors import SourceError
from outcrop.records import DocumentInfo, FileState, Hit
from outcrop.system.dataclass import dataclass

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
    """A folder's repositories: `tops` says what is clean there, `verdicts`, by document uri, are the exceptions."""

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
    """The repositories that documents (by uri) belong to, and which documents are dirty. `taken_at` is a time before
    `states` was read. A document whose stat matches git's index is clean at no further cost; any other is read, unless
    `before` has a verdict on the same content against the same entry."""
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
    return Stamp(
        checkout.repository.revision, checkout.repository.branch, None if checkout.tracked is None else False
    )


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
        data = _read(Path(uri), max_file_bytes)
    except SourceError:
        return verdict
    # Judge the document as stored, not what its file has become since.
    if sha256(data).hexdigest() != state.sha256:
        return verdict
    from outcrop.sources.checkout import is_dirty

    return replace(verdict, dirty=is_dirty(checkout, path, data))


Change = Literal["changed", "missing", "unreadable"]


def looks_stale(document: DocumentInfo) -> bool | None:
    """One stat: True if the file differs from what was indexed or is gone, None for anything that is not a file."""
    if document.origin != "file":
        return None
    try:
        status = os.stat(document.uri)  # noqa: PTH116 - ten of these in every search
    except OSError:
        return True
    if document.mtime_ns is None:  # one that several checkouts share, each with a time of its own
        return status.st_size != document.size or _hash_of(document.uri, status.st_size) != document.sha256
    return (status.st_mtime_ns, status.st_size) != (document.mtime_ns, document.size)


def _hash_of(uri: str, size: int) -> str | None:
    try:
        return sha256(_read(Path(uri), size)).hexdigest()
    except SourceError:
        return None


def change_of(document: DocumentInfo, max_bytes: int) -> Change | None:
    """What happened to a document's file since it was indexed; merely touching a file does not count."""
    if not looks_stale(document):
        return None
    path = Path(document.uri)
    try:
        path.stat()
        data = _read(path, max_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    except (OSError, SourceError):
        return "unreadable"
    return None if sha256(data).hexdigest() == document.sha256 else "changed"


def note_revisions(
    store: Store, collection: str, root: str, checkouts: Checkouts, *, wrote: bool, max_file_bytes: int
) -> None:
    """Record the commits that a folder's documents come from, and which of their files were dirty."""
    taken_at = time.time()
    states = store.states(collection, root)
    before = Survey.from_json(store.folder(collection, root).survey)
    after = survey_documents(states, checkouts, before, taken_at=taken_at, max_file_bytes=max_file_bytes)
    if (wrote and after.tops) or not after.agrees(before):
        store.put_folder(collection, root, survey=after.to_json())


class Revisions:
    """Knows the commit of each document. What was read from the store is cached until the store changes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._version = -1
        self._surveys: dict[tuple[str, str], Survey] = {}

    def refresh(self) -> None:
        """Drop the cache if the store has changed; call before asking for stamps."""
        version = self._store.version()
        if version != self._version:
            self._version, self._surveys = version, {}

    def stamp(self, document: DocumentInfo) -> Stamp:
        """The commit a document came from and whether its file was dirty then, as far as known."""
        if document.root is None:
            return Stamp()
        # A file that was added by itself is its own root; its survey is that of its folder.
        root = document.root if document.root != document.uri else document.uri.rpartition("/")[0] or "/"
        key = (document.collection, root)
        surveys = self._surveys  # another thread may reset the cache: old entries must not leak into the new
        survey = surveys.get(key)
        if survey is None:
            survey = surveys[key] = Survey.from_json(self._store.folder(*key).survey)
        return survey.stamp(document.uri, document.updated_at)

    def dated(self, hits: Iterable[Hit]) -> tuple[Hit, ...]:
        """Hits with the commit they came from, and whether their files have changed since."""
        self.refresh()
        found = []
        for hit in hits:
            stamp = self.stamp(hit.document)
            stale = looks_stale(hit.document)
            found.append(hit.stamped(stale, stamp.revision, stamp.dirty))
        return tuple(found)


def _read(path: Path, max_bytes: int) -> bytes:
    from outcrop.sources.files import read_plain  # a file whose stat is as it was is not read

    return read_plain(path, max_bytes)
