"""Searches in separate processes: one interpreter runs one search at a time.

A search holds the interpreter for most of its six milliseconds, so one process answers some 150 a second however many
cores there are. With `outcrop serve --workers N` the server only speaks HTTP and N processes search, each with the
index open; they see every committed write, as any process does. They end with their parent's pipe, however that ends.
Where nobody says how many, they are started when searches begin to queue, and leave when none came for a while.

    python -m outcrop.serve.http.searchers    is such a process; its first frame is the configuration
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import outcrop.errors
from outcrop.config import Config, load_config
from outcrop.engine import Engine
from outcrop.errors import OutcropError, StoreError
from outcrop.serve.as_json import plain
from outcrop.serve.patience import OVERDUE, REQUEST_S, Overdue, seconds_left
from outcrop.workers.frames import read_frame, take_pipes, write_frame
from outcrop.workers.process import STOP_S, Child, ChildLost

log = logging.getLogger(__name__)

IDLE_S: Final = 300.0
"""After so long without a search processes on demand leave (not measured): each holds about 100 MB, and starting one
takes half a second of CPU."""

START_S: Final = 120.0
"""How long a process may take to load the index: a machine on which searches queue is busy (not measured)."""


class _Searcher(Child):
    """One searching process."""

    def __init__(self, config: Config) -> None:
        super().__init__("outcrop.serve.http.searchers", stderr=None)
        settings = plain({name: getattr(config, name) for name in Config.__slots__} | {"db": config.db_text()})
        self.send({"settings": settings})

    def search(self, query: str, options: Mapping[str, Any]) -> tuple[dict[str, float], bytes]:
        """How long each step took, and the answer as JSON. The process has as long as any search, however long this one
        waited for it: it is not stuck because its client ran out of patience."""
        if _time_left() <= 0:
            raise Overdue(OVERDUE)
        header, body = self.ask({"query": query, "options": dict(options)}, within_s=REQUEST_S)
        if "error" in header:
            kind = getattr(outcrop.errors, header["error"], StoreError)
            raise kind(header["message"])
        return header["timings_ms"], body


class Searchers:
    """A pool of processes that search. Thread-safe. They are there from `start` on, or, if it depends `on_demand`, from
    some moment after the first `demand`, when that says yes, until `IDLE_S` after the last search."""

    def __init__(self, config: Config, count: int, *, on_demand: Callable[[], bool] | None = None) -> None:
        self._config = config
        self._count = count
        self._on_demand = on_demand
        self._idle: queue.SimpleQueue[_Searcher] = queue.SimpleQueue()
        self._busy: set[_Searcher] = set()
        self._lock = threading.Lock()
        self._keeper: threading.Thread | None = None
        self._ended = threading.Event()
        self._asked_at = 0.0

    def start(self) -> None:
        """Start them, unless they wait for a demand; each loads the index while the server already answers."""
        for _ in range(self._count if self._on_demand is None else 0):
            self._idle.put(_Searcher(self._config))

    def demand(self) -> None:
        """Searches queue: start the processes, if they are not there yet. Returns at once."""
        with self._lock:
            if self._on_demand is None or self._ended.is_set() or self._keeper is not None:
                return
            self._asked_at = time.monotonic()
            self._keeper = threading.Thread(target=self._keep, name="searchers", daemon=True)
            self._keeper.start()

    def _keep(self) -> None:
        """Start the processes, and stop them when none of them was asked for long."""
        started = 0
        try:
            for _ in range(self._count if self._on_demand is not None and self._on_demand() else 0):
                process = _Searcher(self._config)
                process.search(
                    "", {}
                )  # answered once the index is loaded; till then the server searches itself
                self._idle.put(process)
                started += 1
        except (OSError, ChildLost, OutcropError) as error:
            log.warning("no process could be started for searches, the server does them itself: %s", error)
        while not self._ended.wait(max(0.0, self._asked_at + IDLE_S - time.monotonic())):
            if time.monotonic() - self._asked_at >= IDLE_S:
                break
        self._stop_idle(started)
        with self._lock:
            self._keeper = None

    def search(self, query: str, options: Mapping[str, Any]) -> tuple[dict[str, float], bytes] | None:
        """As `Engine.search`: the timings, and the answer as JSON. None where there is no process on demand that could
        take it: then the server searches itself."""
        if self._on_demand is None:
            with self._one(_time_left()) as process:
                return process.search(query, options)
        if self._idle.empty():
            return None
        self._asked_at = time.monotonic()
        with contextlib.suppress(_NoneIdle), self._one(0.0) as process:
            return process.search(query, options)
        return None

    @contextlib.contextmanager
    def _one(self, within_s: float) -> Iterator[_Searcher]:
        try:
            process = self._idle.get(timeout=within_s)
        except queue.Empty as error:
            if self._on_demand is not None:
                raise _NoneIdle from error
            raise Overdue(OVERDUE) from error
        self._busy.add(process)
        try:
            yield process
        except ChildLost as error:
            log.warning("a searching process ended or was ended; starting another")
            self._busy.discard(process)
            process = _Searcher(self._config)
            if error.expired:
                raise Overdue(OVERDUE) from error
            raise StoreError("the search was interrupted; ask again") from error
        finally:
            self._busy.discard(process)
            self._idle.put(process)

    def stop(self) -> None:
        """Stop them all; running searches have a moment to finish."""
        self._ended.set()
        with self._lock:
            keeper = self._keeper
        if keeper is None:
            self._stop_idle(self._count if self._on_demand is None else 0)
        else:
            keeper.join(2 * STOP_S)  # one that is starting ends with this process
        for process in list(self._busy):
            process.kill()

    def _stop_idle(self, count: int) -> None:
        """Stop so many, each when it is idle, if that is soon."""
        until = time.monotonic() + STOP_S
        for _ in range(count):
            try:
                process = self._idle.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                break
            process.stop()


class _NoneIdle(Exception):
    """All processes on demand are at work."""


def _time_left() -> float:
    """Seconds that a search may still take."""
    return max(0.0, min(seconds_left(), REQUEST_S))


def main() -> None:
    """One searching process: frames with queries in, frames with answers out, until the input ends."""
    from outcrop.serve.http.answers import as_bytes

    stdin, stdout = take_pipes()
    first, _ = read_frame(stdin)
    with Engine(load_config(first["settings"], environ={})) as engine:
        engine.warm()
        while True:
            try:
                asked, _ = read_frame(stdin)
            except EOFError:
                return
            try:
                found = engine.search(asked["query"], **asked["options"])
            except OutcropError as error:
                write_frame(stdout, {"error": type(error).__name__, "message": str(error)})
            else:
                write_frame(stdout, {"timings_ms": dict(found.timings_ms)}, as_bytes(found))


if __name__ == "__main__":
    main()
