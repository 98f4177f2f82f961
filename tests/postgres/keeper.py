"""Ends the servers below a folder, and the folder, when the process that wanted them is gone, however that ended.

Started as `python keeper.py FOLDER PARENT`, with a pipe from its parent as standard input. It is a process of its own
because a test run that is killed with SIGKILL cleans nothing up. It uses the standard library alone, to start at once.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import sys
import time
from pathlib import Path

_GLANCE_SECONDS = 0.5
"""How often it looks whether its parent still lives: a forked child of the parent may hold the pipe open for it.
Judgement."""

_PATIENCE_SECONDS = 10.0
"""How long a server may take to end by itself. SIGQUIT ends one at once, without writing its buffers. Judgement."""


def wait_for_parent(parent: int) -> None:
    """Return when the pipe is closed or this process has been handed to another parent."""
    while os.getppid() == parent:
        readable, _, _ = select.select([sys.stdin], [], [], _GLANCE_SECONDS)
        if readable and not os.read(sys.stdin.fileno(), 1):
            return


def lives(process: int) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def end_servers(folder: Path) -> None:
    """End every server whose data lies directly below `folder`."""
    for note in folder.glob("*/postmaster.pid"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            process = int(note.read_text().splitlines()[0])
            os.kill(process, signal.SIGQUIT)
            limit = time.monotonic() + _PATIENCE_SECONDS
            while lives(process):
                if time.monotonic() > limit:
                    os.kill(process, signal.SIGKILL)
                    break
                time.sleep(0.02)


def main() -> None:
    """Wait, then tidy up."""
    # What ends a run may be sent to all its processes: this one stays until the parent is gone, tidies up and ends.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    folder, parent = Path(sys.argv[1]), int(sys.argv[2])
    wait_for_parent(parent)
    end_servers(folder)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
