"""PLAN: one ingest in progress, which files of a folder it has to read, and which documents have lost their file."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field
from typing import Final

from outcrop.contracts import Stop
from outcrop.embed.comments import Comments
from outcrop.errors import Cancelled
from outcrop.records import (
    DocumentInfo,
    Failure,
    FileState,
    IngestReport,
    OnProgress,
    Progress,
    Skipped,
    SourceFile,
    owner_of,
)
from outcrop.sources.folder import shields
from outcrop.store.scans import SCANS
from outcrop.system.dataclass import dataclass
from outcrop.write.prepare import Job, Prepared, Unread

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What a caller may say of any write. `force` reads and chunks again what did not change; with `defer_embedding`
    nothing is embedded, and documents are pending until their vectors come. `archives` opens those in a folder."""

    force: bool = False
    defer_embedding: bool = False
    progress: OnProgress | None = None
    stopped: Stop | None = None
    archives: bool = False


PLAIN = WriteOptions()


@dataclass(slots=True)
class Run:
    """One ingest in progress: its counts, and what the next transaction will write. `unembedded` are documents that
    an earlier run left without vectors; they are written again although their files did not change. `held` is what must
    stay on disk until it ends: scans that were unpacked."""

    collection: str
    tags: tuple[str, ...]
    options: WriteOptions
    unembedded: frozenset[int] = frozenset()
    started: float = field(default_factory=time.monotonic)
    total: int | None = None
    done: int = 0
    bytes_total: int = 0
    bytes_done: int = 0
    added: int = 0
    changed: int = 0
    moved: int = 0
    unchanged: int = 0
    removed: int = 0
    chunks: int = 0
    embedded: int = 0
    masked: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    remarks: list[Failure] = field(default_factory=list)
    document_ids: list[int] = field(default_factory=list)
    touched: dict[int, tuple[int | None, int | None]] = field(default_factory=dict)
    pending: list[tuple[Prepared, FileState | None]] = field(default_factory=list)
    pending_chunks: int = 0
    pending_characters: int = 0
    last_flush: float = field(default_factory=time.monotonic)
    comments: Comments | None = None
    unread: list[tuple[Unread, FileState | None]] = field(default_factory=list)
    held: ExitStack = field(default_factory=ExitStack)

    def report(self) -> IngestReport:
        """What it did so far."""
        return IngestReport(
            added=self.added,
            changed=self.changed,
            moved=self.moved,
            unchanged=self.unchanged,
            removed=self.removed,
            chunks=self.chunks,
            embedded=self.embedded,
            masked=self.masked,
            skipped=tuple(self.skipped),
            failed=(*self.failed, *(self.comments.failures() if self.comments else ())),
            remarks=tuple(self.remarks),
            document_ids=tuple(self.document_ids),
            seconds=time.monotonic() - self.started,
        )

    def note(self, written: Sequence[Prepared]) -> None:
        """Keep what is to be said of documents that were written."""
        self.masked += sum(item.masked for item in written)
        self.remarks.extend(
            Failure(item.file.path, item.write.document.remark)
            for item in written
            if item.write.document.remark
        )

    def note_failure(self, file: SourceFile, state: FileState | None, reason: str) -> None:
        """A file that cannot be read any more keeps its old document: what was indexed is not lost to a bad save."""
        kept = "; the version indexed before is kept" if state is not None else ""
        self.failed.append(Failure(file.path, f"{reason}{kept}"))
        log.warning("file not indexed", extra={"path": file.path, "reason": reason})

    def note_unchanged(self, document_id: int) -> None:
        """A document is what is stored of it already."""
        self.unchanged += 1
        self.document_ids.append(document_id)

    def step(self, path: str, size: int | None = None) -> None:
        """Report one finished file of this many bytes; raise if cancelled."""
        self.done += 1
        self.bytes_done += size or 0
        if self.options.progress is not None:
            chunks, read = self.chunks + self.pending_chunks, (self.bytes_done, self.bytes_total)
            self.options.progress(Progress(self.done, self.total, chunks, path, "read", *read))
        self.check_stopped()

    def check_stopped(self) -> None:
        """Raise Cancelled if the caller asked the work to stop."""
        if self.options.stopped is not None and self.options.stopped():
            raise Cancelled("stopped; what was committed so far is kept, run it again to go on")


@dataclass(frozen=True, slots=True)
class Plan:
    """What a sync has to do. `gone` are documents without a file, by uri; `movable` finds them by their bytes' hash."""

    jobs: Sequence[Job]
    unchanged: int
    gone: dict[str, FileState]
    movable: dict[str, str]

    def take_moved(self, digest: str) -> FileState | None:
        """The document whose file is gone and held these very bytes: it moved, and is gone no more."""
        uri = self.movable.pop(digest, None)
        return None if uri is None else self.gone.pop(uri)


def plan_files(
    run: Run,
    files: Sequence[SourceFile],
    states: Mapping[str, FileState],
    root: str,
    *,
    prune: bool,
    trust_stat: bool,
) -> Plan:
    """Compare the files of a folder with what is stored of them. A file whose stat is the same need not be read,
    unless `trust_stat` is off; documents below a folder that could not be read are not taken for gone."""
    uris = {file.uri for file in files}
    gone = {
        uri: state
        for uri, state in states.items()
        if owner_of(uri) not in uris and not any(shields(failure, _below(uri, root)) for failure in run.failed)
    }
    changed = [file for file in files if not trust_stat or not _is_done(run, file, states.get(file.uri))]
    jobs = [plan_job(run, file, states.get(file.uri)) for file in changed]
    movable = {state.sha256: uri for uri, state in gone.items()} if prune else {}
    return Plan(jobs, len(files) - len(changed), gone, movable)


def state_of(document: DocumentInfo) -> FileState:
    """The part of a document that shows whether its file changed."""
    return FileState(document.id, document.mtime_ns, document.size, document.sha256)


def plan_job(run: Run, file: SourceFile, state: FileState | None) -> Job:
    """The job of reading a file, of which this is stored."""
    return Job(file, known=None if state is None or _must_read(run, state) else state.sha256)


def _is_done(run: Run, file: SourceFile, state: FileState | None) -> bool:
    if state is None or _must_read(run, state):
        return False
    return (state.mtime_ns, state.size) == (file.mtime_ns, file.size)


def _must_read(run: Run, state: FileState) -> bool:
    """Whether a document is made again even if its file did not change."""
    return run.options.force or state.document_id in run.unembedded


def _below(uri: str, root: str) -> str:
    return uri.removeprefix(root).lstrip("/")


def log_run(report: IngestReport) -> None:
    """One line of the log for a run."""
    log.info(
        "ingest",
        extra={
            "added": report.added,
            "changed": report.changed,
            "removed": report.removed,
            "failed": len(report.failed),
            "masked": report.masked,
            "seconds": round(report.seconds, 3),
        },
    )


_OWN_ENDINGS: Final = ("", "-wal", "-shm", "-journal", ".arrays", ".trigrams", SCANS, f"{SCANS}-journal")


def belongs_to_index(path: str, own: str) -> bool:
    """Whether this is a file of the index at `own`."""
    return path.startswith(own) and (
        path[len(own) :] in _OWN_ENDINGS or path.startswith((f"{own}.arrays/", f"{own}.trigrams/"))
    )
