"""Long work at a terminal: a progress bar for people, and Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from outcrop.serve.terminal import clean_line

if TYPE_CHECKING:
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
    if session.quiet or not session.err.console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    room = session.err.console.width - _WIDTH_OF_THE_REST
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[count]}", markup=False),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[path]}", markup=False, style="dim"),
    )
    with Bar(*columns, console=session.err.console, transient=True) as bar:
        task = bar.add_task("starting", total=None, count="", path="")
        started = time.monotonic()
        # The bar of one run starts again with the next source; rates count from there.
        last_total: int | None = None

        def show(progress: Progress) -> None:
            nonlocal started, last_total
            if progress.total != last_total:
                last_total, started = progress.total, time.monotonic()
                bar.reset(task, total=progress.total)
            bar.update(
                task,
                completed=progress.done,
                total=progress.total,
                description="saving" if progress.done == progress.total else _PHASES[progress.phase],
                count=_count(progress, time.monotonic() - started),
                path=shorten(clean_line(progress.path), room) if room >= 12 else "",
            )

        yield show


_WIDTH_OF_THE_REST = 90
"""Columns that everything but the path takes at most; a longer path would squeeze the bar."""
_PHASES = {"scan": "looking", "read": "indexing", "embed": "embedding", "move": "moving", "check": "checking"}
_NOUNS = {"read": "files", "embed": "texts", "move": "documents", "check": "documents"}


def _count(progress: Progress, seconds: float) -> str:
    if progress.phase == "scan":
        return f"{progress.done:,} files"
    noun = _NOUNS[progress.phase]
    count = f"{progress.done:,}" + (f"/{progress.total:,}" if progress.total is not None else "") + f" {noun}"
    if seconds < 0.2:
        return count  # a rate of a moment is a random number
    files, chunks = progress.done / seconds, progress.chunks / seconds
    if progress.phase == "embed":
        return f"{count}, {chunks:,.0f} texts/s"
    if progress.phase == "check":
        return f"{count}, {files:,.0f} documents/s"
    return f"{count}, {files:,.0f} {noun}/s, {chunks:,.0f} chunks/s"


def shorten(text: str, size: int) -> str:
    """The end of a text that is too long: of a path, the part that tells files apart."""
    return text if len(text) <= size else "…" + text[-(size - 1) :]
