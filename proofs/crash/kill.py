"""How a process is killed with SIGKILL: at a random moment from outside, or by itself at a call, which tells where.

From outside any moment can be hit, also within SQLite or numpy; at a call, the place is known and can be hit again.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final

from benchmarks.report import ROOT

FINISHED: Final = "not killed: it was done before"
BY_TIME: Final = "any moment, by time"
_SOURCES: Final = str(ROOT / "src" / "outcrop") + "/"


@dataclass(frozen=True, slots=True)
class Kill:
    """After so many seconds of its own time, or at that call of Python's, counted from the start of the work."""

    delay_s: float = 0.0
    call: int = 0


def draw_kill(chosen: random.Random, longest_s: float, most_calls: int) -> Kill:
    """One way or the other; of calls the early ones, which are few, come up as often as the late ones."""
    if chosen.random() < 0.5:
        return Kill(delay_s=chosen.uniform(0, longest_s))
    return Kill(call=round(most_calls ** chosen.uniform(0.5, 1)))


def fork_and_kill(work: Callable[[], object], home: Path, kill: Kill) -> str:
    """Do work in a forked process and kill it; where it was. What it raises before is left in `error.txt`."""
    place = home / "place.txt"
    place.unlink(missing_ok=True)
    ready, started = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(ready)
            os.write(started, b"x")
            if kill.call:
                die_at(kill.call, place)
            work()
            sys.setprofile(None)
            os._exit(0)
        except BaseException:  # noqa: BLE001 - a fork must end here, whatever happens, and the parent must hear of it
            sys.setprofile(None)
            (home / "error.txt").write_text(traceback.format_exc(), "utf-8")
        os._exit(3)
    os.close(started)
    os.read(ready, 1)
    os.close(ready)
    if not kill.call:
        wait_busy(child, kill.delay_s)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        return FINISHED
    return place.read_text("utf-8") if place.exists() else BY_TIME


def wait_busy(process: int, seconds: float) -> None:
    """Wait until a process was at work for so long: on a loaded machine that takes longer. At most ten times as long,
    as it may wait for a disk or a server."""
    limit, spent = time.monotonic() + 10 * seconds, Path(f"/proc/{process}/schedstat")
    if not spent.exists():
        time.sleep(seconds)
        return
    begin = _spent_s(spent)
    while time.monotonic() < limit and _spent_s(spent) - begin < seconds:
        time.sleep(0.0005)


def _spent_s(spent: Path) -> float:
    try:
        return int(spent.read_text("ascii").split()[0]) / 1e9
    except (OSError, IndexError, ValueError):  # it has ended
        return float("inf")


def die_at(call: int, place: Path) -> None:
    """Kill this process at the n-th call of this thread from now on, leaving in a file where that was."""
    left = call

    def count(frame: FrameType, _event: str, _what: Any) -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            sys.setprofile(None)
            place.write_text(name_place(frame), "utf-8")
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)


def name_place(frame: FrameType | None) -> str:
    """The innermost module of ours on the stack: `store/writing.py`."""
    while frame is not None and not frame.f_code.co_filename.startswith(_SOURCES):
        frame = frame.f_back
    return "elsewhere" if frame is None else frame.f_code.co_filename.removeprefix(_SOURCES)
