"""A child process and the pipes to it: asked in frames, watched, and killed when it does not answer in time.

One thread at a time sends and receives; any thread may `kill` or `stop` it, and whoever waits for an answer then has
ChildLost. A child ends with its parent, however that ends: the end of its stdin tells it to leave. A forked process
lets go of its parent's children and must start its own.

The current folder may be the one being indexed, so nothing in it may run: `python -m` would put it first on the module
path, `-P` keeps it off, and variables that would bring it back are dropped from the environment. A test checks that no
other module starts a process.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import math
import os
import shlex
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired, list2cmdline
from typing import IO, Any, BinaryIO, Final, Self
from weakref import WeakSet

from outcrop.workers.frames import Frame, read_frame, write_frame

__all__ = ["DEVNULL", "PIPE", "Child", "ChildLost", "Popen"]

_log = logging.getLogger(__name__)

STOP_S: Final = 1.0
"""A child that is idle leaves at once when its stdin closes; one that does not is stuck and gets killed."""
_LINE_BYTES: Final = 4096
"""Output without an end of line is logged in pieces of this size."""
_KEPT_CHARACTERS: Final = 2000
"""How much of what a child wrote to stderr is kept for messages."""

_SWITCHES: Final = frozenset(
    "PYTHONCOERCECLOCALE PYTHONDONTWRITEBYTECODE PYTHONFAULTHANDLER PYTHONHASHSEED PYTHONIOENCODING PYTHONMALLOC "
    "PYTHONNOUSERSITE PYTHONUNBUFFERED PYTHONUTF8".split()
)
"""Settings of the interpreter that name neither a file nor a module."""
_FOLDERS: Final = frozenset({"PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONUSERBASE"})
"""Settings that name a folder with code in it; a relative one would be below the current folder."""
_started: Final[WeakSet[Popen[bytes]]] = WeakSet()


def start_child(
    module: str,
    *arguments: str,
    stderr: int | IO[bytes] | None = None,
    cwd: str | None = None,
    new_session: bool = False,
    more: Mapping[str, str] | None = None,
) -> Popen[bytes]:
    """Run a module of this package in a process of its own, with pipes to its stdin and stdout; OSError if it cannot.
    `more` are further environment variables; with `new_session` Ctrl-C at the terminal does not reach it."""
    child = Popen(
        [*python_command(), "-m", module, *arguments],
        stdin=PIPE,
        stdout=PIPE,
        stderr=stderr,
        cwd=cwd,
        env=child_environment() | dict(more or {}),
        start_new_session=new_session,
    )
    _started.add(child)
    return child


def start_program(
    command: Sequence[str],
    *,
    stdin: int | None = DEVNULL,
    stdout: int | None = PIPE,
    stderr: int | IO[bytes] | None = None,
) -> Popen[bytes]:
    """Run another program; OSError if it cannot. It is looked up on the PATH, of which only folders that do not depend
    on the current one count."""
    found = shutil.which(command[0])
    if found is None or not Path(found).is_absolute():
        raise FileNotFoundError(errno.ENOENT, "no such program", command[0])
    child = Popen([found, *command[1:]], stdin=stdin, stdout=stdout, stderr=stderr, env=child_environment())
    _started.add(child)
    return child


def run_program(command: Sequence[str], data: bytes = b"", *, within_s: float) -> bytes:
    """What another program makes of some bytes; OSError if it cannot be started, ChildLost if it fails or takes
    longer."""
    with start_program(command, stdin=PIPE, stderr=DEVNULL) as program:
        try:
            output, _ = program.communicate(data, timeout=within_s)
        except TimeoutExpired as error:
            program.kill()
            raise ChildLost(f"did not answer within {within_s:g} s and was ended", expired=True) from error
        except BaseException:
            program.kill()
            raise
    if program.returncode:
        raise ChildLost("failed", f"exit status {program.returncode}")
    return output


def kill_children() -> None:
    """Kill every process started here: this one is about to exit without waiting for anything."""
    for child in list(_started):
        if child.poll() is None:
            child.kill()


def python_command() -> list[str]:
    """The command that starts this interpreter without the current folder on its module path."""
    if not sys.executable:
        raise OSError("this Python does not know where its interpreter is")
    return [sys.executable, "-P"]


def command_line(words: Sequence[str]) -> str:
    """A command as one line that this system's shell takes apart into the same words."""
    if sys.platform == "win32":
        return list2cmdline(words)
    return shlex.join(words)


def child_environment(inherited: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without variables that would make Python run code from the current folder."""
    given = os.environ if inherited is None else inherited
    kept = {
        name: value
        for name, value in given.items()
        if not name.startswith("PYTHON")
        or name in _SWITCHES
        or (name in _FOLDERS and Path(value).is_absolute())
    }
    if path := _module_path(given.get("PYTHONPATH", "")):
        kept["PYTHONPATH"] = path
    return kept


def _module_path(value: str) -> str:
    """The entries of PYTHONPATH that do not depend on the current folder, and the folder of this package itself. It is
    not dropped altogether, since some machines install modules by it. An empty entry, as in
    `PYTHONPATH=$PYTHONPATH:/opt/lib`, means the current folder."""
    here, own = Path.cwd(), Path(__file__).parents[2]
    kept = []
    for entry in value.split(os.pathsep):
        folder = here / entry
        elsewhere = Path(entry).is_absolute() and folder.resolve() != here.resolve()
        if value and (elsewhere or folder.resolve() == own.resolve()):
            kept.append(str(folder))
    return os.pathsep.join(kept)


class ChildLost(Exception):
    """The child is gone. `how` is its exit status or signal, `said` the end of what it wrote to stderr, `expired`
    whether it was killed for taking too long."""

    def __init__(self, what: str, how: str = "", said: str = "", *, expired: bool = False) -> None:
        super().__init__(what)
        self.how = how
        self.said = said
        self.expired = expired


class Child:
    """A running `python -m module`. Raises OSError when it cannot be started. `stderr` is DEVNULL, None for the
    parent's own, or PIPE: then each line is logged and the last are kept. The rest is as for `start_child`."""

    def __init__(
        self,
        module: str,
        *arguments: str,
        stderr: int | None = DEVNULL,
        stop_s: float = STOP_S,
        cwd: str | None = None,
        new_session: bool = False,
        more: Mapping[str, str] | None = None,
    ) -> None:
        self._process = start_child(
            module, *arguments, stderr=stderr, cwd=cwd, new_session=new_session, more=more
        )
        self._requests: BinaryIO = self._process.stdin  # type: ignore[assignment]
        self._answers: BinaryIO = self._process.stdout  # type: ignore[assignment]
        self._stop_s = stop_s
        self._said = ""
        self._due = math.inf
        self._due_changed = threading.Condition()
        self._watch_wakes_at = math.inf
        self._within_s = math.inf
        self._expired = False
        self._over = False
        self._threads: list[threading.Thread] = []
        self._watched = False
        if self._process.stderr is not None:
            self._start_thread("log", self._log_stderr)
        _children.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return not self._over and self._process.poll() is None

    def send(self, header: dict[str, Any], payload: bytes = b"") -> None:
        """Send a frame; ChildLost when nobody is there to take it."""
        with self._answering(math.inf):
            write_frame(self._requests, header, payload)

    def receive(self, *, within_s: float = math.inf) -> Frame:
        """Wait for a frame; ChildLost, with the process gone, when none comes in time."""
        with self._answering(within_s):
            return read_frame(self._answers)

    def ask(self, header: dict[str, Any], payload: bytes = b"", *, within_s: float = math.inf) -> Frame:
        """Send a frame and wait for its answer; ChildLost, with the process gone, when none comes in time."""
        with self._answering(within_s):
            write_frame(self._requests, header, payload)
            return read_frame(self._answers)

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()

    def stop(self) -> None:
        """Close its stdin and wait for it to leave, killing it when it lingers. Does nothing the second time."""
        if self._over:
            return
        with contextlib.suppress(OSError):  # unsent bytes for a child that is gone
            self._requests.close()
        try:
            self._process.wait(self._stop_s)
        except TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with self._due_changed:
            self._over = True
            self._due_changed.notify()
        for thread in self._threads:
            thread.join(STOP_S)
        self._answers.close()

    def lost(self) -> ChildLost:
        """What to say of a child that should be there and is not; stops what is left of it."""
        self.stop()
        code = self._process.returncode
        how = f"exit status {code}"
        if code < 0:
            with contextlib.suppress(ValueError):
                how = signal.Signals(-code).name
        said = self._said.strip()
        if self._expired:
            return ChildLost(
                f"did not answer within {self._within_s:g} s and was ended", how, said, expired=True
            )
        last = f": {said.splitlines()[-1]}" if said and code > 0 else ""
        return ChildLost(f"ended unexpectedly ({how}{last})", how, said)

    @contextlib.contextmanager
    def _answering(self, within_s: float) -> Iterator[None]:
        """Whatever goes wrong in the block ends the child: an answer that came later would be taken for the next."""
        self._expect_within(within_s)
        try:
            yield
        except (OSError, EOFError, ValueError) as error:
            self._expect_within(math.inf)
            raise self.lost() from error
        except BaseException:
            self.kill()
            self.stop()
            raise
        self._expect_within(math.inf)
        if self._expired:  # the answer came as it was being killed
            self.stop()

    # ------------------------------------------------------------------ threads

    def _start_thread(self, name: str, target: Any) -> None:
        thread = threading.Thread(target=target, name=f"outcrop-worker-{name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _expect_within(self, seconds: float) -> None:
        if seconds < math.inf:
            self._within_s = seconds
            if not self._watched:
                self._watched = True
                self._start_thread("watch", self._watch)
        with self._due_changed:
            self._due = time.monotonic() + seconds
            # The watch often still sleeps on account of an earlier frame and looks again in time by itself: waking it
            # for every frame would cost a switch of threads.
            if self._due < self._watch_wakes_at:
                self._due_changed.notify()

    def _watch(self) -> None:
        """Kill the process when an answer is overdue."""
        with self._due_changed:
            while not self._over:
                left = self._due - time.monotonic()
                if left <= 0:
                    self._expired = True
                    self._due = math.inf
                    self._process.kill()
                else:
                    self._watch_wakes_at = self._due
                    self._due_changed.wait(left if left < threading.TIMEOUT_MAX else None)

    def _log_stderr(self) -> None:
        stream = self._process.stderr
        assert stream is not None  # noqa: S101  Popen was asked for a pipe
        with stream:
            while line := stream.readline(_LINE_BYTES):
                text = line.decode("utf-8", "replace")
                self._said = (self._said + text)[-_KEPT_CHARACTERS:]
                if text.strip():
                    _log.info("worker: %s", text.strip(), extra={"worker": self.pid})

    # ------------------------------------------------------------------ forks

    def _forget(self) -> None:
        """Let go of a parent's child in a forked process, without touching the child."""
        self._over = True
        self._process.returncode = 0
        # Not closed: the numbers would be reused while these objects still think they own them.
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (self._requests, self._answers, self._process.stderr):
            if stream is not None and not stream.closed:
                os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


_children: Final[WeakSet[Child]] = WeakSet()


def _after_fork() -> None:
    for child in list(_children):
        if not child._over:
            child._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
