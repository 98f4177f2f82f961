"""One ingest in progress: what was asked for, what was done so far, and what is about to be written."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from outcrop.contracts import Stop
from outcrop.embed.comments import Comments
from outcrop.errors import Cancelled
from outcrop.records import Failure, FileState, IngestReport, OnProgress, Progress, Skipped
from outcrop.write.prepare import Prepared


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What a caller may say of any write. `force` reads and chunks again what did not change; with `defer_embedding`
    nothing is embedded, and documents are pending until their vectors come."""

    force: bool = False
    defer_embedding: bool = False
    progress: OnProgress | None = None
    stopped: Stop | None = None


PLAIN = WriteOptions()


@dataclass(slots=True)
class Run:
    """One ingest in progress: its counts, and what the next transaction will write. `unembedded` are documents that
    an earlier run left without vectors; they are written again although their files did not change."""

    collection: str
    tags: tuple[str, ...]
    options: WriteOptions
    unembedded: frozenset[int] = frozenset()
    started: float = field(default_factory=time.monotonic)
    total: int | None = None
    done: int = 0
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

    def step(self, path: str) -> None:
        """Report one finished file; raise if cancelled."""
        self.done += 1
        if self.options.progress is not None:
            self.options.progress(
                Progress(self.done, self.total, self.chunks + self.pending_chunks, path, "read")
            )
        self.check_stopped()

    def check_stopped(self) -> None:
        """Raise Cancelled if the caller asked the work to stop."""
        if self.options.stopped is not None and self.options.stopped():
            raise Cancelled("stopped; what was committed so far is kept, run it again to go on")
