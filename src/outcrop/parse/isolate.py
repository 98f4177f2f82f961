"""The parent's side of the worker process: started when needed, killed at the deadline, replaced when dead.

One worker serves the whole process; callers on other threads wait their turn.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import threading
from typing import Any, BinaryIO

from outcrop.errors import ParseError
from outcrop.parse.frames import unpack_document
from outcrop.parse.limits import ParseLimits
from outcrop.records import Document
from outcrop.system.deadline import over_time, restart_limit
from outcrop.workers.children import DEVNULL, TimeoutExpired, start_child
from outcrop.workers.frames import read_frame, write_frame

# Interpreter and imports take 0.2 s; a loaded machine with a cold disk has been seen to take 5.
_START_TIMEOUT_S = 60.0
# An idle worker leaves at once when its stdin closes; one that does not is stuck and gets killed.
_STOP_TIMEOUT_S = 1.0


class _Worker:
    """A running worker process and the two pipes to it."""

    def __init__(self, memory_bytes: int) -> None:
        self.memory_bytes = memory_bytes
        self._process = start_child("outcrop.parse.worker", str(memory_bytes), stderr=DEVNULL)
        assert self._process.stdin is not None  # noqa: S101  Popen was asked for pipes
        assert self._process.stdout is not None  # noqa: S101
        self._requests: BinaryIO = self._process.stdin  # type: ignore[assignment]
        self._answers: BinaryIO = self._process.stdout  # type: ignore[assignment]
        self.stopped = False
        self.exchange(None, b"", _START_TIMEOUT_S)

    def exchange(
        self, header: dict[str, Any] | None, payload: bytes, timeout_s: float
    ) -> tuple[dict[str, Any], bytes]:
        """Send a frame (none to only listen) and wait for the answer; whatever goes wrong ends the worker."""
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            self._process.kill()

        timer = threading.Timer(timeout_s, expire)
        timer.daemon = True
        timer.start()
        answer = None
        try:
            if header is not None:
                write_frame(self._requests, header, payload)
            answer = read_frame(self._answers)
        except (OSError, EOFError):
            pass  # the worker is gone; `answer` stays None and the message below says why
        finally:
            timer.cancel()
            timer.join()
            if answer is None or expired.is_set():  # also on KeyboardInterrupt: the next answer would be stale
                self._process.kill()
                self.stop()
        if answer is None:
            raise ParseError(over_time(timeout_s) if expired.is_set() else self._crash_message())
        return answer

    def stop(self) -> None:
        """Close the pipes and wait for the process to leave; kill it when it lingers."""
        self.stopped = True
        with contextlib.suppress(OSError):  # unsent bytes for a worker that is gone
            self._requests.close()
        try:
            self._process.wait(_STOP_TIMEOUT_S)
        except TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._answers.close()

    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return not self.stopped and self._process.poll() is None

    def forget(self) -> None:
        """Let go of a parent's worker in a forked child, without touching the process."""
        self.stopped = True
        self._process.returncode = 0
        # Not closed: the numbers would be reused while these objects still think they own them.
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, self._requests.fileno())
        os.dup2(nowhere, self._answers.fileno())
        os.close(nowhere)

    def _crash_message(self) -> str:
        code = self._process.returncode
        how = f"exit status {code}"
        if code is not None and code < 0:
            with contextlib.suppress(ValueError):
                how = signal.Signals(-code).name
        limit = self.memory_bytes // 1024**2
        return (
            f"the parser crashed ({how}): the file is damaged, or needs more than {limit} MiB of memory "
            "(parse_memory_bytes)"
        )


_lock = threading.Lock()
_worker: _Worker | None = None


def parse_isolated(kind: str, data: bytes, *, path: str, charset: str | None, limits: ParseLimits) -> Document:
    """Have the worker read some bytes as `kind`; ParseError when it fails, crashes or takes too long."""
    header = {
        "kind": kind,
        "path": path,
        "charset": charset,
        "max_text_chars": limits.max_text_chars,
        "timeout_s": limits.timeout_s,
    }
    with _lock:
        worker = _running_worker(limits.memory_bytes)
        restart_limit()  # the turns of other threads are not the time of this file
        answer, payload = worker.exchange(header, data, limits.timeout_s)
        if answer.pop("worn"):
            worker.stop()
    if "error" in answer:
        raise ParseError(answer["error"])
    return unpack_document(answer, payload)


def close_worker() -> None:
    """End the worker process if there is one; the next file that needs it starts another."""
    global _worker  # noqa: PLW0603  one worker a process is the point
    with _lock:
        if _worker is not None and not _worker.stopped:
            _worker.stop()
        _worker = None


def _running_worker(memory_bytes: int) -> _Worker:
    global _worker  # noqa: PLW0603
    if _worker is not None and (_worker.memory_bytes != memory_bytes or not _worker.is_alive()):
        if not _worker.stopped:
            _worker.stop()
        _worker = None
    if _worker is None:
        try:
            _worker = _Worker(memory_bytes)
        except OSError as error:
            raise ParseError(f"the parser's worker process could not start: {error}") from error
    return _worker


def _after_fork() -> None:
    """A forked child must not talk over its parent's pipes."""
    global _lock, _worker  # noqa: PLW0603
    _lock = threading.Lock()
    if _worker is not None and not _worker.stopped:
        _worker.forget()
    _worker = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(close_worker)
