"""Which commit each document came from: recorded after every sync, shown with every hit."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from outcrop.contracts import Store
from outcrop.records import DocumentInfo, Hit
from outcrop.sources.freshness import looks_stale
from outcrop.sources.survey import Stamp, Survey, survey_documents

if TYPE_CHECKING:
    from outcrop.sources.checkout import Checkouts


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
            found.append(replace(hit, stale=stale, revision=stamp.revision, dirty=stamp.dirty))
        return tuple(found)
