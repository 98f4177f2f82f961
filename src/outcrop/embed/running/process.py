"""A worker process and the pipes to it: asked one thing at a time, watched, killed when it does not answer in time."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import signal
import threading
import time
from collections import deque
from typing import Any, BinaryIO

from outcrop.workers.children import PIPE, TimeoutExpired, start_child
from outcrop.workers.frames import read_frame, write_frame

_log = logging.getLogger(__name__)

_STOP_TIMEOUT_S = 1.0
"""A worker leaves at once when its stdin closes; one that does not is stuck and gets killed."""
_LINE_BYTES = 4096
"""What a library writes without an end of line is logged in pieces of this size."""


class WorkerLost(Exception):
    """The worker is gone; the message says how, to be read after "the process that runs the model"."""


class WorkerProcess:
    """A running `python -m outcrop.embed.running.worker`. One thread asks; any thread may kill it."""

    def __init__(self) -> None:
        try:
            self._process = start_child("outcrop.embed.running.worker", stderr=PIPE)
        except OSError as error:
            raise WorkerLost(f"could not start ({error})") from error
        self._requests: BinaryIO = self._process.stdin  # type: ignore[assignment]
        self._answers: BinaryIO = self._process.stdout  # type: ignore[assignment]
        self._said: deque[str] = deque(maxlen=1)
        self._due: float | None = None
        self._due_changed = threading.Condition()
        self._watch_wakes_at = 0.0
        self._expired = False
        self._over = False
        self._threads = [
            threading.Thread(target=target, name=f"outcrop-worker-{name}", daemon=True)
            for name, target in (("log", self._log_stderr), ("watch", self._watch))
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def ask(self, header: dict[str, Any], *, within_s: float) -> tuple[dict[str, Any], bytes]:
        """Send a frame and wait for its answer; WorkerLost, with the process gone, when none comes in time."""
        self._expect_by(time.monotonic() + within_s)
        try:
            write_frame(self._requests, header)
            answer = read_frame(self._answers)
        except (OSError, EOFError, ValueError) as error:
            self._expect_by(None)
            with contextlib.suppress(TimeoutExpired):
                self._process.wait(_STOP_TIMEOUT_S)  # its last words come after the end of its answers
            self.kill()
            raise WorkerLost(self.stop() or f"did not answer within {within_s:g} s and was ended") from error
        self._expect_by(None)
        return answer

    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return not self._over and self._process.poll() is None

    def kill(self) -> None:
        """End the process at once; whoever waits for its answer has WorkerLost."""
        self._process.kill()

    def stop(self) -> str:
        """Close the pipes and wait for the process to leave, killing it when it lingers; how it ended by itself."""
        with contextlib.suppress(OSError):  # unsent bytes for a worker that is gone
            self._requests.close()
        try:
            self._process.wait(_STOP_TIMEOUT_S)
        except TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with self._due_changed:
            self._over = True
            self._due_changed.notify()
        for thread in self._threads:
            thread.join(_STOP_TIMEOUT_S)
        self._answers.close()
        return "" if self._expired else self._describe_end()

    def forget(self) -> None:
        """Let go of a parent's worker in a forked child, without touching the process."""
        self._over = True
        self._process.returncode = 0
        # Not closed: the numbers would be reused while these objects still think they own them.
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (self._requests, self._answers, self._process.stderr):
            if stream is not None and not stream.closed:
                os.dup2(nowhere, stream.fileno())
        os.close(nowhere)

    def _describe_end(self) -> str:
        code = self._process.returncode
        how = f"exit status {code}"
        if code is not None and code < 0:
            with contextlib.suppress(ValueError):
                how = signal.Signals(-code).name
        said = f": {self._said[-1]}" if self._said and code > 0 else ""
        return f"ended unexpectedly ({how}{said})"

    # ------------------------------------------------------------------ threads

    def _expect_by(self, due: float | None) -> None:
        with self._due_changed:
            self._due = due
            # The watch often still sleeps on account of an earlier frame and looks again in time by itself: waking it
            # for every frame would cost a switch of threads.
            if due is not None and due < self._watch_wakes_at:
                self._due_changed.notify()

    def _watch(self) -> None:
        """Kill the process when an answer is overdue."""
        with self._due_changed:
            while not self._over:
                left = None if self._due is None else self._due - time.monotonic()
                if left is not None and left <= 0:
                    self._expired = True
                    self._due = None
                    self._process.kill()
                else:
                    self._watch_wakes_at = math.inf if self._due is None else self._due
                    self._due_changed.wait(left)

    def _log_stderr(self) -> None:
        stream = self._process.stderr
        assert stream is not None  # noqa: S101  Popen was asked for a pipe
        with stream:
            while line := stream.readline(_LINE_BYTES):
                if said := line.decode("utf-8", "replace").strip():
                    self._said.append(said)
                    _log.info("worker: %s", said, extra={"worker": self.pid})
