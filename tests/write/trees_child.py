"""What tests let another process do with branches: `python -m tests.write.trees_child WHAT PLACE FOLDER NUMBER`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from outcrop import open as open_index
from outcrop.engine import Engine
from outcrop.errors import NotFound

ADDED: Final = ("main", "feature/x", "release/1")
_STEPS: Final = ("put_setting", "put_folder", "write", "put_manifest")


def be_killed(index: Engine, folder: str, point: int) -> None:
    """Add branches; be killed before or after the step with that number of those that change the store."""
    seen = 0

    def count() -> None:
        nonlocal seen
        if seen == point:
            os.kill(os.getpid(), signal.SIGKILL)
        seen += 1

    def watched(work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            count()
            result = work(*arguments, **named)
            count()
            return result

        return run

    for name in _STEPS:
        setattr(index._store, name, watched(getattr(index._store, name)))
    index.add(folder, branches=ADDED)


def add_and_forget(index: Engine, folder: str, rounds: int) -> None:
    """Add branches and a checkout, and forget them again, while others do the same; in the end they are there."""
    for _ in range(rounds):
        index.add(folder, branches=ADDED)
        for ref in ("feature/x", "release/1"):
            with suppress(NotFound):  # another was faster
                index.forget(ref=ref)
        index.forget(worktree=folder)
    report = index.add(folder, branches=ADDED)
    assert not report.failed, report.failed


if __name__ == "__main__":
    what, place, path, number = sys.argv[1:]
    with open_index(place) as opened:
        {"kill": be_killed, "add": add_and_forget}[what](opened, path, int(number))
