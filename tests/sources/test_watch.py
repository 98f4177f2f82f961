"""Changes are told soon, once, and only where a walk would look."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from outcrop.errors import SourceError
from outcrop.sources.watch import watch


class Watched:
    """What a watch in another thread has told so far, and when."""

    def __init__(self) -> None:
        self.batches: list[tuple[float, set[Path]]] = []

    @property
    def paths(self) -> set[Path]:
        return {path for _, batch in self.batches for path in batch}

    def wait(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < end, self.batches
            time.sleep(0.01)


@contextmanager
def watched(*roots: Path) -> Iterator[Watched]:
    stop = threading.Event()
    seen = Watched()

    def run() -> None:
        for batch in watch(roots, stop):
            seen.batches.append((time.monotonic(), batch))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        # The watch is ready once it tells of a probe.
        for root in roots:
            probe = root / "probe" if root.is_dir() else root
            seen.batches.clear()
            end = time.monotonic() + 60
            while not seen.batches:
                assert time.monotonic() < end, "the watch never told of a change"
                probe.write_text(str(time.monotonic()))
                time.sleep(0.05)
        time.sleep(0.3)
        seen.batches.clear()
        yield seen
    finally:
        stop.set()
        thread.join(timeout=60)
    assert not thread.is_alive(), "a watch ends when told to stop"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "root"
    (folder / "sub").mkdir(parents=True)
    (folder / "node_modules").mkdir()
    return folder


def test_a_save_is_reported_within_a_fraction_of_a_second(root: Path) -> None:
    with watched(root) as seen:
        saved = time.monotonic()
        (root / "sub/a.md").write_text("x")
        seen.wait(lambda: root / "sub/a.md" in seen.paths)
    # Promised is about 0.2 s, and polling would take longer than this; the rest is room for a busy machine.
    assert seen.batches[0][0] - saved < 10


def test_a_burst_is_reported_in_few_batches_and_skipped_folders_not_at_all(root: Path) -> None:
    with watched(root) as seen:
        for number in range(200):
            (root / f"sub/{number}.md").write_text("x")
            (root / f"node_modules/{number}.md").write_text("x")
        (root / "sub/1.md").unlink()
        seen.wait(lambda: len(seen.paths) >= 200)
    assert {path.parent for path in seen.paths} <= {root / "sub", root}
    assert root / "sub/1.md" in seen.paths
    assert len(seen.batches) < 50


def test_of_gits_own_files_only_a_move_of_head_is_reported(root: Path) -> None:
    (root / ".git/logs").mkdir(parents=True)
    with watched(root) as seen:
        (root / ".git/index").write_text("x")
        (root / ".git/logs/HEAD").write_text("x")
        (root / "a.md").write_text("x")
        seen.wait(lambda: seen.paths == {root / ".git/logs/HEAD", root / "a.md"})


def test_a_replaced_file_is_reported_again_and_its_neighbours_are_not(root: Path) -> None:
    note = root / "note.md"
    note.write_text("x")
    other = root / "sub"
    with watched(note, other) as seen:
        for text in ("first", "second"):
            seen.batches.clear()
            (root / "draft").write_text(text)
            (root / "draft").replace(note)
            seen.wait(lambda: note in seen.paths)
            assert seen.paths == {note}
        (other / "b.md").write_text("x")
        seen.wait(lambda: other / "b.md" in seen.paths)


def test_a_root_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be watched"):
        watch([tmp_path / "missing"], threading.Event())


def test_nothing_to_watch_ends_at_once() -> None:
    assert list(watch([], threading.Event())) == []
