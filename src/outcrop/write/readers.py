"""Prepares files in other processes of this machine while this one writes: `prepare.Prepare` on more than one core."""

from __future__ import annotations

import pickle
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Final

from outcrop.errors import Cancelled, SourceError
from outcrop.system.dataclass import dataclass
from outcrop.system.machine import usable_cores
from outcrop.workers.frames import Frame
from outcrop.workers.process import Child, ChildLost
from outcrop.write.prepare import Job, Outcome, Recipe, Unreadable, cut_batches, prepare_here, rare_collections

WORTH_BYTES: Final = 4_000_000
"""Less than this is read here: it is a second of parsing, and a reader takes a quarter of that to start."""
AHEAD: Final = 3
"""Batches per reader that may be running or waiting to be taken. They are taken in order, so that the same files make
the same index; a slow one holds up the others only once this many wait. A few megabytes each at most (not measured)."""
POLL_S: Final = 0.2
"""How often a run that waits for a reader checks whether it was cancelled."""


@dataclass(frozen=True, slots=True)
class ReadersPrepare:
    """Prepares files in up to `readers` processes beside this one (as `prepare.Prepare`), one for each core that it
    leaves, or in this one when there is little to do or only one core."""

    readers: int

    def __call__(
        self, jobs: Sequence[Job], recipe: Recipe, check_stopped: Callable[[], None]
    ) -> Generator[Outcome, None, None]:
        """One outcome per job, in order. A file that kills its reader twice is unreadable."""
        cores = usable_cores()
        readers = min(self.readers, cores - 1)
        if readers < 1 or sum(job.file.size or 0 for job in jobs) < WORTH_BYTES:
            yield from prepare_here(jobs, recipe, check_stopped)
            return
        batches = deque([job for _, job in batch] for batch in cut_batches(jobs, readers))
        under_way: deque[Future[list[bytes]]] = deque()
        with _Readers(readers, recipe) as pool, rare_collections():
            while batches or under_way:
                while batches and len(under_way) < AHEAD * readers:
                    under_way.append(pool.prepare(batches.popleft()))
                for packed in _wait(under_way.popleft(), check_stopped):
                    yield from pickle.loads(packed)  # noqa: S301  see reader.py


def _wait(answer: Future[list[bytes]], check_stopped: Callable[[], None]) -> list[bytes]:
    while not wait((answer,), POLL_S).done:
        check_stopped()
    return answer.result()


_KILLED: Final = (
    "the process that read it died, twice: it is damaged or needs too much memory; split it, or exclude it in "
    ".outcropignore"
)


class _Readers:
    """The processes: started as needed, ended with the block."""

    def __init__(self, count: int, recipe: Recipe) -> None:
        self._recipe = recipe
        self._mine = threading.local()  # each thread has a reader of its own
        self._running: set[_Reader] = set()
        self._lock = threading.Lock()
        self._over = False
        self._threads = ThreadPoolExecutor(count, "outcrop-reader")

    def __enter__(self) -> _Readers:
        return self

    def __exit__(self, *_: object) -> None:
        """Kill them: they hold nothing that could be lost."""
        with self._lock:
            self._over = True
            for reader in self._running:
                reader.kill()
        self._threads.shutdown(cancel_futures=True)
        for reader in self._running:
            reader.stop()

    def prepare(self, jobs: list[Job]) -> Future[list[bytes]]:
        """Have a reader prepare these; pickled lists of outcomes."""
        return self._threads.submit(self._prepare, jobs)

    def _prepare(self, jobs: list[Job]) -> list[bytes]:
        packed = self._try(jobs)
        if packed is not None:
            return [packed]
        return [self._try([job]) or pickle.dumps([Unreadable(job.file, _KILLED)], protocol=5) for job in jobs]

    def _try(self, jobs: list[Job]) -> bytes | None:
        """The outcomes of these from one reader; None when it died. Raises what it raised."""
        reader = getattr(self._mine, "reader", None) or self._start()
        try:
            header, packed = reader.prepare(jobs)
        except ChildLost:
            self._mine.reader = None
            with self._lock:
                self._running.discard(reader)
            return None
        if "raised" in header:
            raise pickle.loads(packed)  # noqa: S301  see reader.py
        return packed

    def _start(self) -> _Reader:
        with self._lock:
            if self._over:
                raise Cancelled("stopped while files were read")
            try:
                reader = _Reader(self._recipe)
            except OSError as error:
                raise SourceError(
                    f"no process could be started to read files ({error}); run it again, or with OUTCROP_READERS=0"
                ) from error
            self._running.add(reader)
        self._mine.reader = reader
        return reader


class _Reader(Child):
    """One process that reads files."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__("outcrop.write.reader")
        self._recipe: Recipe | None = recipe

    def prepare(self, jobs: list[Job]) -> Frame:
        """Its answer, still pickled; ChildLost when it is gone."""
        if self._recipe is not None:
            self.send({}, pickle.dumps(self._recipe, protocol=5))
            self._recipe = None
        return self.ask({}, pickle.dumps(jobs, protocol=5))
