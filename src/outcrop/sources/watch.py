"""Report files soon after they change."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from outcrop.errors import SourceError
from outcrop.sources.exclusions import SKIPPED_NAMES
from outcrop.sources.files import explain

if TYPE_CHECKING:
    from watchfiles import Change

# A save arrives as several events (write, rename, chmod) within a few milliseconds: the watcher waits for a step
# without one, but no longer than the debounce: a save is reported after 50 to 100 ms.
_DEBOUNCE_MS = 100
_STEP_MS = 50
# Without changes the watcher returns this often; its first return shows that the watch is on.
_TIMEOUT_MS = 100
# Git appends a line to this file whenever HEAD moves; its index changes with every `git status`.
_HEAD_MOVED = "/.git/logs/HEAD"
# How often a loop checks whether it should stop.
_POLL_S = 0.1


def watch(
    roots: Sequence[Path], stop: threading.Event, *, debounce_ms: int = _DEBOUNCE_MS
) -> Iterator[set[Path]]:
    """Yield sets of absolute paths added, changed or removed below the roots, until `stop` is set.

    A root can be a file: its folder is watched, since editors save by replacing the file. Ignore rules are not applied;
    only folders that no walk enters are left out. A path may be a folder. Of git's own files one is reported, which
    changes with every checkout and commit: it can alter what counts as dirty.

    The first set is empty and comes as soon as the watch is on: no later change goes unreported.
    """
    folders: list[Path] = []
    files: list[Path] = []
    for root in roots:
        try:
            real = root.resolve(strict=True)
        except (OSError, RuntimeError) as error:
            raise SourceError(f"{root} cannot be watched: {explain(error)}") from error
        (folders if real.is_dir() else files).append(real)
    batches: list[Callable[[], Iterator[set[Path]]]] = []
    if folders:
        batches.append(lambda: _watch(folders, _below(folders), True, stop, debounce_ms))
    if files:
        parents = sorted({file.parent for file in files})
        wanted = {str(file) for file in files}
        batches.append(lambda: _watch(parents, lambda _, path: path in wanted, False, stop, debounce_ms))
    if not batches:
        return iter(())
    return batches[0]() if len(batches) == 1 else _together(batches, stop)


def _below(folders: Sequence[Path]) -> Callable[[Change, str], bool]:
    roots = sorted((str(folder).rstrip("/") for folder in folders), key=len, reverse=True)

    def wanted(_: Change, path: str) -> bool:
        root = next((root for root in roots if path.startswith(root)), "")
        inner = path[len(root) :].removesuffix(_HEAD_MOVED)
        return SKIPPED_NAMES.isdisjoint(Path(inner).parts)

    return wanted


def _watch(
    paths: Sequence[Path],
    wanted: Callable[[Change, str], bool],
    recursive: bool,
    stop: threading.Event,
    debounce_ms: int,
) -> Iterator[set[Path]]:
    from watchfiles import watch as watch_files  # loads a Rust library; only watching needs it

    changes = watch_files(
        *paths,
        watch_filter=wanted,
        debounce=debounce_ms,
        step=min(_STEP_MS, debounce_ms),
        stop_event=stop,
        recursive=recursive,
        ignore_permission_denied=True,
        yield_on_timeout=True,
        rust_timeout=_TIMEOUT_MS,
    )
    started = False
    try:
        for batch in changes:
            if batch or not started:
                started = True
                yield {Path(path) for _, path in batch}
    except OSError as error:
        raise SourceError(
            f"the folders cannot be watched: {explain(error)}; on Linux a large tree can need a higher "
            "fs.inotify.max_user_watches"
        ) from error


def _together(
    batches: Sequence[Callable[[], Iterator[set[Path]]]], stop: threading.Event
) -> Iterator[set[Path]]:
    """Merge several iterators, each in its own thread."""
    told: queue.SimpleQueue[set[Path] | SourceError] = queue.SimpleQueue()

    def run(make: Callable[[], Iterator[set[Path]]]) -> None:
        try:
            for batch in make():
                told.put(batch)
        except SourceError as error:
            told.put(error)

    threads = [threading.Thread(target=run, args=(make,), daemon=True) for make in batches]
    for thread in threads:
        thread.start()
    while not stop.is_set():
        try:
            batch = told.get(timeout=_POLL_S)
        except queue.Empty:
            continue
        if isinstance(batch, SourceError):
            stop.set()
            raise batch
        yield batch
    for thread in threads:
        thread.join()
