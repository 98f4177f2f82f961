"""Searches in processes of their own: one interpreter does one thing at a time, several do several.

A search holds the interpreter for most of its six milliseconds, so one process answers some 150 a second however many
cores there are. With `outcrop serve --workers N` the server only speaks HTTP and N processes search, each with the
index open; they see every committed write, as any process does. They end with their parent's pipe, however that ends.

    python -m outcrop.serve.http.searchers    is such a process; its first frame is the configuration
"""

from __future__ import annotations

import contextlib
import logging
import queue
import select
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Final, cast

import outcrop.errors
from outcrop.config import Config, load_config
from outcrop.engine import Engine
from outcrop.errors import OutcropError, StoreError
from outcrop.serve.as_json import plain
from outcrop.serve.patience import OVERDUE, REQUEST_S, Overdue, seconds_left
from outcrop.workers.children import TimeoutExpired, start_child
from outcrop.workers.frames import read_frame, write_frame

log = logging.getLogger(__name__)

_STOP_S: Final = 1.0
"""How long a process may take to end by itself. Judgement: a search is far shorter."""


class _Process:
    """One searching process, and what it is asked."""

    def __init__(self, config: Config) -> None:
        self._running = start_child("outcrop.serve.http.searchers")
        settings = plain({name: getattr(config, name) for name in Config.__slots__} | {"db": config.db_text()})
        write_frame(self._stdin, {"settings": settings})

    @property
    def _stdin(self) -> BinaryIO:
        return cast("BinaryIO", self._running.stdin)

    @property
    def _stdout(self) -> BinaryIO:
        return cast("BinaryIO", self._running.stdout)

    def ask(self, query: str, options: Mapping[str, Any]) -> tuple[dict[str, float], bytes]:
        """How long each step took, and the answer as JSON."""
        write_frame(self._stdin, {"query": query, "options": dict(options)})
        ready = select.poll()
        ready.register(self._stdout, select.POLLIN)
        if not ready.poll(1000 * _time_left()):
            self.kill()
            raise Overdue(OVERDUE)
        header, body = read_frame(self._stdout)
        if "error" in header:
            kind = getattr(outcrop.errors, header["error"], StoreError)
            raise kind(header["message"])
        return header["timings_ms"], body

    def kill(self) -> None:
        """End it at once."""
        self._running.kill()

    def close(self) -> None:
        """End it: by the end of its input, else at once."""
        with contextlib.suppress(OSError):
            self._stdin.close()
        try:
            self._running.wait(_STOP_S)
        except TimeoutExpired:
            self._running.kill()
            self._running.wait()
        self._stdout.close()


class Searchers:
    """So many processes that search; from any thread."""

    def __init__(self, config: Config, count: int) -> None:
        self._config = config
        self._count = count
        self._idle: queue.SimpleQueue[_Process] = queue.SimpleQueue()
        self._busy: set[_Process] = set()

    @property
    def count(self) -> int:
        """How many there are."""
        return self._count

    def start(self) -> None:
        """Begin; each loads the index while the server already answers."""
        for _ in range(self._count):
            self._idle.put(_Process(self._config))

    def search(self, query: str, options: Mapping[str, Any]) -> tuple[dict[str, float], bytes]:
        """As `Engine.search`: the timings, and the answer as JSON."""
        with self._one() as process:
            return process.ask(query, options)

    @contextlib.contextmanager
    def _one(self) -> Iterator[_Process]:
        try:
            process = self._idle.get(timeout=_time_left())
        except queue.Empty as error:
            raise Overdue(OVERDUE) from error
        self._busy.add(process)
        try:
            yield process
        except (OSError, EOFError, Overdue) as error:
            log.warning("a searching process ended or was ended; starting another")
            self._busy.discard(process)
            process.close()
            process = _Process(self._config)
            if isinstance(error, Overdue):
                raise
            raise StoreError("the search was interrupted; ask again") from error
        finally:
            self._busy.discard(process)
            self._idle.put(process)

    def stop(self) -> None:
        """End them all: those that search have a moment to answer."""
        until = time.monotonic() + _STOP_S
        for _ in range(self._count):
            try:
                process = self._idle.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                break
            process.close()
        for process in list(self._busy):
            process.kill()


def _time_left() -> float:
    """Seconds that a search may still take."""
    return max(0.0, min(seconds_left(), REQUEST_S))


def main() -> None:
    """One searching process: frames with queries in, frames with answers out, until the input ends."""
    from outcrop.serve.http.answers import as_bytes

    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
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
