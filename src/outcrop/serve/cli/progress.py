"""Long work at a terminal: a line of progress for people, and Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from outcrop.serve.terminal import clean_line, say_count

if TYPE_CHECKING:
    from rich.console import Console

    from outcrop.records import Progress
    from outcrop.serve.cli.session import Session


@contextmanager
def long_work(session: Session) -> Iterator[dict[str, Any]]:
    """The arguments by which the engine reports its progress and is told to stop."""
    with stop_on_signal() as stop, show_progress(session) as progress:
        yield {"progress": progress, "stopped": stop.is_set}


@contextmanager
def stop_on_signal(*numbers: signal.Signals) -> Iterator[threading.Event]:
    """An event that SIGINT and SIGTERM, or the signals given, set while the block runs; a second one interrupts."""
    stop = threading.Event()

    def ask(_number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    if threading.current_thread() is not threading.main_thread():
        yield stop  # only the main thread may set handlers
        return
    before = {number: signal.signal(number, ask) for number in numbers or (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def show_progress(session: Session) -> Iterator[Callable[[Progress], None] | None]:
    """What to hand to the engine as `progress`; None where nobody watches."""
    if session.quiet or not session.err.is_terminal:
        yield None
        return
    line = _Line(session.err.console)
    try:
        yield line.show
    finally:
        line.clear()


class _Line:
    """One line that is written over, in one piece and as long as the one before: nothing flickers or wraps."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._estimate = Estimate()
        self._width = 0
        self._shown_at = 0.0
        self._shown_phase = ""

    def show(self, progress: Progress) -> None:
        """Write the line again, if the last time was some while ago or something else is done now."""
        now = time.monotonic()
        phase = "saving" if progress.done == progress.total else _PHASES[progress.phase]
        left = self._estimate.seconds_left(progress, now)
        if phase == self._shown_phase and now - self._shown_at < REDRAW_S:
            return
        self._shown_at, self._shown_phase = now, phase
        self._write(self._compose(progress, phase, left))

    def clear(self) -> None:
        """Leave the line empty, for what is printed next."""
        self._write("")
        self._console.file.write("\r")
        self._console.file.flush()

    def _compose(self, progress: Progress, phase: str, left: float | None) -> str:
        parts = [f"{phase:<9}"]
        noun = _NOUNS[progress.phase]
        if progress.phase == "ocr" and not progress.done and progress.total:
            return f"{say_count(progress.total, noun)} to read, about {say_left(progress.total * PAGE_S)}"
        if progress.total:
            share = _share(progress)
            full = round(share * BAR)
            parts += ["━" * full + "╌" * (BAR - full), f"{100 * share:3.0f} %"]
            parts.append(f"{progress.done:,}/{progress.total:,} {noun}s")
        else:
            parts.append(say_count(progress.done, noun))
        if left is not None and progress.done != progress.total:
            parts.append(f"{say_left(left)} left")
        line = "  ".join(parts)
        room = self._console.width - 1 - len(line) - 2
        path = shorten(clean_line(progress.path), room) if room >= MIN_PATH else ""
        return f"{line}  {path}" if path else line

    def _write(self, line: str) -> None:
        from rich.cells import set_cell_size

        width = max(self._console.width - 1, 1)  # the last column makes some terminals wrap
        self._console.file.write("\r" + set_cell_size(line, width) if line else "\r" + " " * self._width)
        self._console.file.flush()
        self._width = width


class Estimate:
    """How long the rest takes, at the pace so far: by bytes where they are known, for files differ a thousandfold."""

    def __init__(self) -> None:
        self._job: tuple[str, int | None] | None = None
        self._started = 0.0
        self._first = 0
        self._told: float | None = None
        self._told_at = 0.0

    def seconds_left(self, progress: Progress, now: float) -> float | None:
        """None until it can be told. It falls as time goes by, and rises only when the pace really changed."""
        job = (progress.phase, progress.total)
        done, total = _amount(progress)
        if job != self._job:  # the next source, or the next phase
            self._job, self._started, self._first, self._told = job, now, done, None
        gone, made = now - self._started, done - self._first
        if not total or gone < SURE_S or made < total * SURE_SHARE:
            return None
        left = gone * (total - done) / made
        if self._told is not None:
            expected = max(self._told - (now - self._told_at), 0.0)
            if abs(left - expected) <= STEADY * expected:
                left = expected
        self._told, self._told_at = left, now
        return left


def say_left(seconds: float) -> str:
    """`under 5 s`, `25 s`, `3 min`, `1 h 10 min`: no finer than it is known."""
    if seconds < 5:
        return "under 5 s"
    if seconds < 60:
        return f"{round(seconds / 5) * 5} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h" + (f" {minutes % 60} min" if minutes % 60 else "")


def _amount(progress: Progress) -> tuple[int, int]:
    if progress.bytes_total:
        return progress.bytes_done, progress.bytes_total
    return progress.done, progress.total or 0


def _share(progress: Progress) -> float:
    done, total = _amount(progress)
    return min(done / total, 1.0)


BAR: Final = 20
REDRAW_S: Final = 0.1
"""Often enough to see it move, seldom enough to cost nothing."""
SURE_S: Final = 2.0
PAGE_S: Final = 1.7
"""What a scanned page takes: CPU time on one core (`benchmarks.ocr`), about as long as on two busy ones."""
SURE_SHARE: Final = 0.02
"""A pace is told after so many seconds and this share of the work: earlier it is a random number (not measured)."""
STEADY: Final = 0.2
"""An estimate that moved by less than this share just counts down."""
MIN_PATH: Final = 12
_PHASES: Final = {
    "scan": "looking", "read": "indexing", "ocr": "reading",
    "embed": "embedding", "move": "moving", "check": "checking",
}  # fmt: skip
_NOUNS: Final = {
    "scan": "file",
    "read": "file",
    "ocr": "page",
    "embed": "text",
    "move": "document",
    "check": "document",
}


def shorten(text: str, size: int) -> str:
    """The end of a text that is too long: of a path, the part that tells files apart."""
    return text if len(text) <= size else "…" + text[-(size - 1) :]
