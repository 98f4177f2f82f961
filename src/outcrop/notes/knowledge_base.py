"""The knowledge base: notes as plain files, found by their words as soon as a write returns, by meaning soon after.

The files are the truth. A change is made on disk first and is safe there; then the index follows, without vectors
(`defer_embedding`), which a server makes in the background. What an editor changes is noticed by `refresh`. Changes,
and the indexing of them, are made under one lock, so what is deleted is gone, whoever was just reading it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from outcrop.contracts import Stop
from outcrop.engine import Engine
from outcrop.errors import (
    Conflict,
    DatabaseBusy,
    NotAllowed,
    NotFound,
    OutcropError,
    QueryError,
    SourceError,
    StoreError,
)
from outcrop.notes.files import LOCK_WAIT_S, MAX_BYTES, NoteFiles
from outcrop.notes.names import note_path
from outcrop.notes.relevance import relevance
from outcrop.records import Answer, CollectionInfo, DocumentInfo, Filter, Hit, IngestReport, SourceFile

log = logging.getLogger(__name__)

COLLECTION: Final = "kb"
"""The collection that notes are in."""
MAX_HITS: Final = 10
FLOOR: Final = 0.3
"""Hits below this relevance are not returned."""
FRESH_S: Final = 1.0
"""A search looks for edits made in an editor if the last look is older than this (not measured)."""
SLICE_FILES: Final = 32
"""Notes indexed while the lock is held: a write waits for at most this many (not measured)."""

SHOWN_PLACES: Final = 5
"""How many lines are named when a passage occurs more than once (not measured)."""


@dataclass(frozen=True, slots=True)
class KbFile:
    """A note: `path` is relative to the root, `modified_at` in seconds since the epoch."""

    path: str
    title: str
    bytes: int
    lines: int
    modified_at: float


@dataclass(frozen=True, slots=True)
class KbText:
    """The text of a note, or of some of its lines (counted from 1, both ends included), of `lines` in all."""

    path: str
    text: str
    line_start: int
    line_end: int
    lines: int
    modified_at: float


class KnowledgeBase:
    """The notes below a folder, in an index. For many threads; many processes may write at once."""

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

    # ------------------------------------------------------------------ reading

    def search(
        self, query: str, limit: int = 5, *, floor: float = FLOOR, stopped: Stop | None = None
    ) -> Answer:
        """The notes that answer a query, best first, none below `floor`. The score of a hit is its relevance: see
        `relevance.py`."""
        if not 1 <= limit <= MAX_HITS:
            raise QueryError(f"limit must lie between 1 and {MAX_HITS}, not {limit}")
        self._refresh_for_search()
        if not self._count():
            return Answer(query, "mixed", (), "empty_index", "the knowledge base is empty: write a note first")
        # More than asked for: another folder that happens to be called kb may share the collection.
        answer = self._engine.search(query, limit=3 * MAX_HITS, collections=(COLLECTION,), stopped=stopped)
        own = (replace(hit, score=relevance(hit.why)) for hit in answer.hits if self._is_own(hit))
        # Sorting is stable: among equals the order of the search stands.
        hits = tuple(sorted((hit for hit in own if hit.score >= floor), key=lambda hit: -hit.score))[:limit]
        if hits or answer.reason is not None:
            return replace(answer, hits=hits)
        detail = f"no note scores {floor:g} or more; try other words, or list the notes"
        return replace(answer, hits=(), reason="no_hits", detail=detail)

    def read(self, path: str, line_start: int | None = None, line_end: int | None = None) -> KbText:
        """A note, or some of its lines."""
        path = note_path(path)
        content, status = self._files.read(path)
        lines = _lines(content.decode("utf-8", "replace"))
        first = 1 if line_start is None else line_start
        last = max(len(lines), first) if line_end is None else line_end
        if first < 1 or last < first:
            raise QueryError(
                f"lines {first} to {last} are not a range: lines count from 1, the first comes before the last"
            )
        if first > max(len(lines), 1):
            raise QueryError(f"{path} ends with line {len(lines)}; line {first} is not there")
        last = min(last, len(lines))
        return KbText(path, "".join(lines[first - 1 : last]), first, last, len(lines), status.st_mtime)

    def list(self, prefix: str = "", limit: int = 1000, offset: int = 0) -> tuple[KbFile, ...]:
        """The notes whose path begins with `prefix`, by path, as they are on disk."""
        if limit < 1 or offset < 0:
            raise QueryError("limit must be 1 or more, offset 0 or more")
        found, _ = self._files.walk()
        prefix = prefix.removeprefix("/")
        paths = sorted(path for path in found if path.startswith(prefix))[offset : offset + limit]
        titles = {document.path: document.title for document in self._documents()}
        files = []
        for path in paths:
            try:
                lines = len(_lines(self._files.read(path)[0].decode("utf-8", "replace")))
            except OutcropError:  # gone since, or too large to be read: still listed
                lines = 0
            status = found[path]
            title = titles.get(path) or _stem(path)
            files.append(KbFile(path, title, status.st_size, lines, status.st_mtime))
        return tuple(files)

    # ------------------------------------------------------------------ writing

    def write(self, path: str, text: str) -> KbFile:
        """Make this the text of a note, new or not."""
        path = note_path(path)
        content = _encode(path, text)
        with self._files.locked():
            return self._put(path, content)

    def append(self, path: str, text: str) -> KbFile:
        """Put a text at the end of a note, on a line of its own; makes the note where there is none."""

        def joined(before: str) -> str:
            gap = "\n" if before and not before.endswith("\n") else ""
            end = "" if text.endswith("\n") else "\n"
            return f"{before}{gap}{text}{end}"

        return self._change(path, joined, may_be_new=True)

    def edit(self, path: str, old: str, new: str) -> KbFile:
        """Replace a passage that stands in a note exactly once."""
        if not old:
            raise QueryError("say which text is to be replaced: old is empty")
        if old == new:
            raise QueryError("old and new are the same; nothing would change")
        return self._change(path, lambda text: _replace_once(path, text, old, new))

    def move(self, path: str, to: str) -> KbFile:
        """Give a note another path, which must be free."""
        path, to = note_path(path), note_path(to)
        with self._files.locked():
            self._files.rename(path, to)
            report = self._index((path, to), f"{path} is now {to}")
            return self._describe(to, report)

    def delete(self, path: str) -> None:
        """Remove a note from the disk and from the index."""
        path = note_path(path)
        with self._files.locked():
            self._files.remove(path)
            try:
                self._engine.delete(self._uri(path), collection=COLLECTION)
            except NotFound:
                return  # it never was indexed
            except OutcropError as error:
                self._indexed = "unknown"  # the next refresh compares all there is
                said = f"{path} is deleted from the disk, but not from the index yet: {error}"
                raise StoreError(f"{said}. The next refresh tries again") from error

    def _change(self, path: str, change: Callable[[str], str], *, may_be_new: bool = False) -> KbFile:
        """Read, change and replace a note, alone."""
        path = note_path(path)
        with self._files.locked():
            try:
                content, _ = self._files.read(path)
            except NotFound:
                if not may_be_new:
                    raise
                content = b""
            return self._put(path, _encode(path, change(_decode(path, content))))

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
            title = next((info.title for info in self._documents() if info.path == path), _stem(path))
        lines = len(_lines(content.decode("utf-8", "replace")))
        return KbFile(path, title, len(content), lines, status.st_mtime)

    # ------------------------------------------------------------------ the index

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


def _stem(path: str) -> str:
    return PurePosixPath(path).stem


def _lines(text: str) -> list[str]:
    """The lines of a text with their ends: as chunks and editors count them, by line feeds alone."""
    *ended, last = text.split("\n")
    return [*(f"{line}\n" for line in ended), *([last] if last else [])]


def _encode(path: str, text: str) -> bytes:
    if "\0" in text:
        raise NotAllowed(f"the text for {path} holds a NUL, which no text has")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise NotAllowed(f"the text for {path} is not Unicode: {error.reason}") from error


def _decode(path: str, content: bytes) -> str:
    """The text of a note that is to be changed: what cannot be written back as it was is left alone."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Conflict(f"{path} is not UTF-8, so it is not changed; write it again, or convert it") from error


def _replace_once(path: str, text: str, old: str, new: str) -> str:
    if old not in text and "\r\n" in text:  # a file of Windows: agents write plain line feeds
        old, new = (part.replace("\r\n", "\n").replace("\n", "\r\n") for part in (old, new))
    places = []
    at = text.find(old)
    while at >= 0:
        places.append(at)
        at = text.find(old, at + 1)
    if not places:
        raise Conflict(f"the passage stands 0 times in {path}; read it, and copy the passage as it is there")
    if len(places) > 1:
        lines = [str(1 + text.count("\n", 0, place)) for place in places[:SHOWN_PLACES]]
        more = " …" if len(places) > SHOWN_PLACES else ""
        raise Conflict(
            f"the passage stands {len(places)} times in {path}, on lines {', '.join(lines)}{more}; take in more of what"
            " is around it"
        )
    return text[: places[0]] + new + text[places[0] + len(old) :]
