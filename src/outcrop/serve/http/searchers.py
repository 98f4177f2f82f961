"""Searches in separate processes: one interpreter runs one search at a time.

A search holds the interpreter for most of its six milliseconds, so one process answers some 150 a second however many
cores there are. With `outcrop serve --workers N` the server only speaks HTTP and N processes search, each with the
index open; they see every committed write, as any process does. They end with their parent's pipe, however that ends.

    python -m outcrop.serve.http.searchers    is such a process; its first frame is the configuration
"""

from __future__ import annotations

import contextlib
import logging
import queue
import time
from collections.abc import Iterator, Mapping
from typing import Any

import outcrop.errors
from outcrop.config import Config, load_config
from outcrop.engine import Engine
from outcrop.errors import OutcropError, StoreError
from outcrop.serve.as_json import plain
from outcrop.serve.patience import OVERDUE, REQUEST_S, Overdue, seconds_left
from outcrop.workers.frames import read_frame, take_pipes, write_frame
from outcrop.workers.process import STOP_S, Child, ChildLost

log = logging.getLogger(__name__)


class _Searcher(Child):
    """One searching process."""

    def __init__(self, config: Config) -> None:
        super().__init__("outcrop.serve.http.searchers", stderr=None)
        settings = plain({name: getattr(config, name) for name in Config.__slots__} | {"db": config.db_text()})
        self.send({"settings": settings})

    def search(self, query: str, options: Mapping[str, Any]) -> tuple[dict[str, float], bytes]:
        """How long each step took, and the answer as JSON."""
        header, body = self.ask({"query": query, "options": dict(options)}, within_s=_time_left())
        if "error" in header:
            kind = getattr(outcrop.errors, header["error"], StoreError)
            raise kind(header["message"])
        return header["timings_ms"], body


class Searchers:
    """A pool of processes that search. Thread-safe."""

    def __init__(self, config: Config, count: int) -> None:
        self._config = config
        self._count = count
        self._idle: queue.SimpleQueue[_Searcher] = queue.SimpleQueue()
        self._busy: set[_Searcher] = set()

    def start(self) -> None:
        """Start them; each loads the index while the server already answers."""
        for _ in range(self._count):
            self._idle.put(_Searcher(self._config))

    def search(self, query: str, options: Mapping[str, Any]) -> tuple[dict[str, float], bytes]:
        """As `Engine.search`: the timings, and the answer as JSON."""
        with self._one() as process:
            return process.search(query, options)

    @contextlib.contextmanager
    def _one(self) -> Iterator[_Searcher]:
        try:
            process = self._idle.get(timeout=_time_left())
        except queue.Empty as error:
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
        until = time.monotonic() + STOP_S
        for _ in range(self._count):
            try:
                process = self._idle.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                break
            process.stop()
        for process in list(self._busy):
            process.kill()


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
