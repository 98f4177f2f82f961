"""Long work that a client starts without waiting for it: one job at a time, in one thread, surviving a kill.

Queued and running jobs are kept in a file beside the index and resumed at the next start: repeating an ingest costs
next to nothing. One server holds the file; a second one on the same index keeps its jobs in memory.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import field, fields, replace
from pathlib import Path
from typing import IO, Any, Final, Literal

from outcrop.engine import Engine
from outcrop.errors import Cancelled, NotAllowed, NotFound, OutcropError, OutsideRoots, StoreError
from outcrop.records import Failure, IngestReport, Progress, Skipped
from outcrop.records.parsed import is_url
from outcrop.serve.as_json import dump
from outcrop.system.dataclass import dataclass
from outcrop.system.disk import FILE, LOCK, WRITE, replace_file, try_lock
from outcrop.system.private import make_folder

log = logging.getLogger(__name__)

JobKind = Literal["ingest", "sync", "reembed", "eval"]
JobState = Literal["queued", "running", "done", "failed", "cancelled"]
Tell = Callable[[Progress], None]
Stop = Callable[[], bool]
Work = Callable[["Task", Tell, Stop], IngestReport | None]

KEPT: Final = 100
"""Jobs remembered (not measured): enough to look back, few enough to write out at every change."""
WAITING: Final = 100
"""Jobs that may queue (not measured): more means a client that ignores its answers."""
LISTED: Final = 200
"""Lines and ids a job keeps of its report: a hundred full reports of a large folder would be hundreds of megabytes."""
SHUTDOWN_S: Final = 10.0
"""How long a stop waits for the running job to reach a safe point (not measured): a batch of an ingest takes less."""


class TooManyJobs(OutcropError):
    """Too many jobs are queued."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a job should do."""

    kind: JobKind
    source: str = ""
    collection: str | None = None
    tags: tuple[str, ...] = ()
    force: bool = False
    branches: tuple[str, ...] = ()
    archives: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of long work and its progress. Times are seconds since the epoch."""

    id: str
    kind: JobKind
    source: str
    state: JobState = "queued"
    progress: Progress | None = None
    report: IngestReport | None = None
    error: str | None = None
    started_at: float | None = None
    finished_at: float | None = None

    @property
    def is_over(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self.state in {"done", "failed", "cancelled"}


@dataclass(slots=True)
class _Entry:
    job: Job
    task: Task
    stop: threading.Event = field(default_factory=threading.Event)


class Jobs:
    """The queue and the thread that works through it. Methods are thread-safe."""

    def __init__(
        self, engine: Engine, file: Path, require_root: Callable[..., Path], *, read_only: bool = False
    ) -> None:
        """`require_root` checks whether a path may be indexed from outside. It is asked when a job starts, since a job
        left by an earlier server was accepted under that server's roots. A read-only server runs no jobs."""
        self._engine = engine
        self._file = file
        self._require_root = require_root
        self._read_only = read_only
        self._lock: IO[bytes] | None = None
        self._entries: dict[str, _Entry] = {}
        self._changed = threading.Condition()
        self._closing = False
        self._thread: threading.Thread | None = None
        self._works: dict[JobKind, Work] = {
            "ingest": self._ingest,
            "sync": self._sync,
            "reembed": self._reembed,
        }

    def register(self, kind: JobKind, work: Work) -> None:
        """Register how jobs of a kind are run, for work that is not the engine's own."""
        self._works[kind] = work

    def submit(self, task: Task) -> Job:
        """Queue a task, unless the same one is already queued."""
        if self._read_only:
            raise NotAllowed("this server only reads; start it without --read-only")
        with self._changed:
            waiting = [entry for entry in self._entries.values() if entry.job.state == "queued"]
            for entry in waiting:
                if entry.task == task:
                    return entry.job
            if len(waiting) >= WAITING:
                raise TooManyJobs(f"{WAITING} jobs wait already; ask again when some are done")
            job = Job(secrets.token_hex(8), task.kind, task.source)
            self._entries[job.id] = _Entry(job, task)
            self._forget_old()
            self._keep()
            self._changed.notify_all()
            return job

    def get(self, job_id: str) -> Job:
        """The current state of a job."""
        with self._changed:
            return self._entry(job_id).job

    def list(self) -> tuple[Job, ...]:
        """All remembered jobs, newest first."""
        with self._changed:
            return tuple(entry.job for entry in reversed(self._entries.values()))

    def cancel(self, job_id: str) -> Job:
        """Cancel a job: a queued one at once, a running one at its next safe point."""
        with self._changed:
            entry = self._entry(job_id)
            entry.stop.set()
            if entry.job.state == "queued":
                self._put(entry, replace(entry.job, state="cancelled", finished_at=time.time()))
            return entry.job

    @property
    def is_closing(self) -> bool:
        """Whether the server is shutting down, so that nobody should keep waiting."""
        return self._closing

    def _entry(self, job_id: str) -> _Entry:
        entry = self._entries.get(job_id)
        if entry is None:
            raise NotFound("there is no such job; the last hundred are remembered")
        return entry

    def start(self) -> None:
        """Resume what an earlier run left and start working; a read-only server does neither."""
        self._closing = False
        if self._read_only:
            return
        self._lock = _hold(self._file)
        if self._lock is None:
            log.warning("another server has this index open: jobs of this one do not survive its end")
        else:
            self._entries |= {entry.job.id: entry for entry in _read(self._file)}
        self._thread = threading.Thread(target=self._work, name="outcrop-jobs", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Start nothing more, and ask the running job to stop at a safe point."""
        with self._changed:
            self._closing = True
            for entry in self._entries.values():
                if entry.job.state == "running":
                    entry.stop.set()
            self._changed.notify_all()

    def stop(self) -> None:
        """Close and wait for the thread; unfinished jobs are queued for the next start."""
        self.close()
        if self._thread is not None:
            self._thread.join(SHUTDOWN_S)
            self._thread = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closing or self._next() is not None)
                entry = self._next()
                if self._closing or entry is None:
                    return
                self._put(entry, replace(entry.job, state="running", started_at=time.time()))
            self._do(entry)

    def _next(self) -> _Entry | None:
        return next((entry for entry in self._entries.values() if entry.job.state == "queued"), None)

    def _do(self, entry: _Entry) -> None:
        def tell(progress: Progress) -> None:
            entry.job = replace(entry.job, progress=progress)  # one assignment, read whole by others

        ended: JobState
        try:
            report = self._works[entry.task.kind](entry.task, tell, entry.stop.is_set)
            ended = "cancelled" if entry.stop.is_set() else "done"
            job = replace(entry.job, state=ended, report=_shorten(report))
        except Cancelled:
            job = replace(entry.job, state="cancelled")
        except OutcropError as error:
            job = replace(entry.job, state="failed", error=str(error))
        except Exception:  # the outermost handler of this thread: it must live on for the next job
            name = secrets.token_hex(4)
            log.exception("a job failed", extra={"error_id": name, "job": entry.job.id})
            job = replace(entry.job, state="failed", error=f"an unexpected error; the log has it as {name}")
        with self._changed:
            if self._closing and job.state == "cancelled":
                entry.stop.clear()
                self._put(entry, replace(entry.job, state="queued", started_at=None))
            else:
                self._put(entry, replace(job, finished_at=time.time()))

    def _ingest(self, task: Task, tell: Tell, stopped: Stop) -> IngestReport:
        if not is_url(task.source):
            if os.path.realpath(task.source) != task.source:
                raise OutsideRoots("this path now leads elsewhere; ask again")
            self._require_root(task.source, repository=bool(task.branches))
        options = {
            name: getattr(task, name) for name in ("collection", "tags", "force", "branches", "archives")
        }
        return self._engine.add(task.source, **options, progress=tell, stopped=stopped)

    def _sync(self, task: Task, tell: Tell, stopped: Stop) -> IngestReport:
        return self._engine.sync(collection=task.collection, force=task.force, progress=tell, stopped=stopped)

    def _reembed(self, _task: Task, tell: Tell, stopped: Stop) -> IngestReport:
        return IngestReport(embedded=self._engine.reembed(progress=tell, stopped=stopped))

    def _put(self, entry: _Entry, job: Job) -> None:
        entry.job = job
        self._keep()
        self._changed.notify_all()

    def _forget_old(self) -> None:
        over = [job_id for job_id, entry in self._entries.items() if entry.job.is_over]
        for job_id in over[: max(0, len(self._entries) - KEPT)]:
            del self._entries[job_id]

    def _keep(self) -> None:
        if self._lock is None:
            return
        rows = [{"job": entry.job, "task": entry.task} for entry in list(self._entries.values())]
        try:
            _write(self._file, dump(rows))
        except OSError as error:
            raise StoreError("the list of jobs cannot be written; is the disk full?") from error


def _hold(file: Path) -> IO[bytes] | None:
    """The lock by which this process owns the file; None while another process holds it."""
    make_folder(file.parent)
    lock = os.fdopen(os.open(file.with_name(file.name + ".lock"), LOCK, FILE), "r+b")
    with contextlib.suppress(OSError):  # a disk that has no locks: as if another held it
        if try_lock(lock.fileno()):
            return lock
    lock.close()
    return None


def _write(file: Path, text: str) -> None:
    staging = file.with_name(file.name + ".tmp")
    with os.fdopen(os.open(staging, WRITE, FILE), "wb") as out:
        out.write(text.encode("utf-8"))
        out.flush()
        os.fsync(out.fileno())
    replace_file(staging, file)


def _read(file: Path) -> list[_Entry]:
    """What an earlier run left; an unreadable file is logged and counts as empty."""
    try:
        rows = json.loads(file.read_text("utf-8"))
        return [_Entry(_job(row["job"]), _task(row["task"])) for row in rows]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError, KeyError) as error:
        log.warning("the list of jobs cannot be read, beginning a new one: %s", error)
        return []


def _task(row: Mapping[str, Any]) -> Task:
    return Task(**{**row, "tags": tuple(row["tags"]), "branches": tuple(row.get("branches", ()))})


def _job(row: Mapping[str, Any]) -> Job:
    job = Job(**{**row, "progress": None, "report": _report(row["report"])})
    return job if job.is_over else Job(job.id, job.kind, job.source)


def _report(row: Mapping[str, Any] | None) -> IngestReport | None:
    if row is None:
        return None
    # A report of an older version lacks what was added since.
    values = {item.name: row[item.name] for item in fields(IngestReport) if item.name in row}
    for name, line in (("skipped", Skipped), ("failed", Failure), ("remarks", Failure)):
        values[name] = tuple(line(**found) for found in row.get(name, ()))
    return IngestReport(**{**values, "document_ids": tuple(row["document_ids"])})


def _shorten(report: IngestReport | None) -> IngestReport | None:
    if report is None:
        return None
    lists = ("skipped", "failed", "remarks", "document_ids")
    return replace(report, **{name: getattr(report, name)[:LISTED] for name in lists})
