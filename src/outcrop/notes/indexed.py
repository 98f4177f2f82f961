"""Notes and the index of them: what was written is found at once, what an editor changed before the next search.

What was indexed of each note is remembered with its time and size. Notes are indexed a few at a time under the lock of
the writers, so that what is deleted is gone, whoever was just reading it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from outcrop.engine import Engine
from outcrop.errors import Conflict, DatabaseBusy, NotAllowed, NotFound, OutcropError, SourceError, StoreError
from outcrop.notes.checks import SameSubject
from outcrop.notes.files import LOCK_WAIT_S, MAX_BYTES, NoteFiles
from outcrop.records import CollectionInfo, DocumentInfo, Filter, Hit, IngestReport, SourceFile
from outcrop.system.dataclass import dataclass

log = logging.getLogger(__name__)

COLLECTION: Final = "kb"
"""The collection that notes are in."""
FRESH_S: Final = 1.0
"""A search looks for edits made in an editor if the last look is older than this (not measured)."""
SLICE_FILES: Final = 32
"""Notes indexed while the lock is held: a write waits for at most this many (not measured)."""


@dataclass(frozen=True, slots=True)
class KbFile:
    """A note: `path` is relative to the root, `modified_at` in seconds since the epoch. Of one that was just written
    `same_subject` has valid notes on its subject, which it may be meant to replace (`supersede`)."""

    path: str
    title: str
    bytes: int
    lines: int
    modified_at: float
    same_subject: tuple[SameSubject, ...] = ()


class IndexedNotes:
    """The notes below a folder, kept in step with an index."""

    def __init__(self, engine: Engine, root: Path) -> None:
        self._engine = engine
        self._files = NoteFiles(root)
        self._refreshing = threading.Lock()
        self._seen: dict[str, tuple[int, int]] = {}  # (mtime_ns, size) of each note when it was last indexed
        # The collection as it was when `_seen` was right.
        self._indexed: CollectionInfo | Literal["unknown"] | None = "unknown"
        self._refreshed_at = float("-inf")

    @property
    def root(self) -> Path:
        """The folder, as a real path; made by the first write."""
        return self._files.root

    def _put(self, path: str, content: bytes) -> KbFile:
        """Make this the content of a note; the lock is held."""
        status = self._files.replace(path, content)
        report = self._index((path,), f"{path} is written and safe on the disk")
        # Another dictionary: a refresh may just be going through this one.
        self._seen = {**self._seen, path: (status.st_mtime_ns, status.st_size)}
        return self._describe(path, report)

    def _describe(self, path: str, report: IngestReport) -> KbFile:
        content, status = self._files.read(path)
        if report.document_ids:
            title = self._engine.documents(Filter(documents=report.document_ids))[0].title
        else:  # an empty note is not indexed, one that was written as it was is not indexed again
            title = next((info.title for info in self._documents() if info.path == path), stem(path))
        lines = len(lines_of(content.decode("utf-8", "replace")))
        return KbFile(path, title, len(content), lines, status.st_mtime)

    def refresh(self, *, wait_s: float = LOCK_WAIT_S) -> IngestReport:
        """Bring the index in step with the files: what an editor changed, added or removed. Cheap when nothing was."""
        with self._refreshing:
            found, is_whole = self._files.walk()
            now = {path: (status.st_mtime_ns, status.st_size) for path, status in found.items()}
            known = self._known()
            if known != self._indexed:  # the first time, and when another process wrote what is not seen here
                self._seen = {info.path: (info.mtime_ns or 0, info.size or 0) for info in self._documents()}
            changed = [path for path, stat in now.items() if self._seen.get(path) != stat]
            if is_whole:  # else nothing is known of what lies in a folder that cannot be read
                changed += [path for path in self._seen if path not in now]
            report = IngestReport()
            for start in range(0, len(changed), SLICE_FILES):
                part = changed[start : start + SLICE_FILES]
                with self._files.locked(wait_s):
                    report += self._sync(part)
                for path in part:
                    self._seen[path] = now.get(path, _GONE)
            self._seen = {path: stat for path, stat in self._seen.items() if stat != _GONE}
            self._indexed = self._known() if changed else known
            self._refreshed_at = time.monotonic()
            return report

    def _refresh_for_search(self) -> None:
        """Let a search see what an editor just saved; it never fails, nor waits for a refresh that is under way."""
        if time.monotonic() - self._refreshed_at < FRESH_S or self._refreshing.locked():
            return
        try:
            self.refresh(wait_s=0.0)
        except DatabaseBusy:
            return
        except OutcropError as error:
            log.warning("the knowledge base could not be refreshed: %s", error)

    def _index(self, paths: Iterable[str], done: str) -> IngestReport:
        """Bring these notes into the index; the lock is held. The files are safe: an error says so."""
        try:
            report = self._sync(paths)
        except OutcropError as error:
            raise StoreError(
                f"{done}, but not in the index yet: {error}. The next refresh tries again"
            ) from error
        if report.failed:
            raise StoreError(f"{done}, but could not be indexed: {report.failed[0].reason}")
        return report

    def _sync(self, paths: Iterable[str]) -> IngestReport:
        """Make the index say of these notes what their files say now."""
        files, gone = [], []
        for path in paths:
            uri = self._uri(path)
            try:
                status = self._files.status(path)
            except (NotAllowed, Conflict):  # a link now, or a file where a folder was
                status = None
            if status is None or not 0 < status.st_size <= MAX_BYTES:
                gone.append(uri)
            else:
                files.append(SourceFile(uri, path, "file", str(self.root), status.st_mtime_ns, status.st_size))
        return self._engine.sync_files(
            files, gone, collection=COLLECTION, read=self._read_source, defer_embedding=True
        )

    def _read_source(self, file: SourceFile) -> bytes:
        try:
            return self._files.read(file.path)[0]
        except (NotFound, NotAllowed) as error:  # it changed since it was listed
            raise SourceError(str(error)) from error

    def _count(self) -> int:
        """How many documents the collection holds."""
        known = self._known()
        return 0 if known is None else known.documents

    def _known(self) -> CollectionInfo | None:
        """What the index says of the collection; changes with every document that is written or removed."""
        return next((info for info in self._engine.collections() if info.name == COLLECTION), None)

    def _documents(self) -> Sequence[DocumentInfo]:
        """The notes that are indexed."""
        if not self._count():
            return []
        documents = self._engine.documents(Filter(collections=(COLLECTION,)))
        return [document for document in documents if document.root == str(self.root)]

    def _is_own(self, hit: Hit) -> bool:
        return hit.document.root == str(self.root)

    def _uri(self, path: str) -> str:
        return f"{self.root}/{path}"


_GONE: Final = (-1, -1)


def stem(path: str) -> str:
    """The file's name without its suffix, for a note without a title."""
    return PurePosixPath(path).stem


def lines_of(text: str) -> list[str]:
    """The lines of a text with their ends: as chunks and editors count them, by line feeds alone."""
    *ended, last = text.split("\n")
    return [*(f"{line}\n" for line in ended), *([last] if last else [])]
