"""The primary is killed while processes write and search: nothing acknowledged is lost, and all go on by themselves."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.postgres.child import text_of
from tests.postgres.replicas import Replicas, open_replicas

import outcrop

ROOT = Path(__file__).parents[2]
BACK_SECONDS = 30.0
"""Within this time of the promotion every process must be at work again: a promise to users."""


class Child:
    """A process of its own that writes or searches, and the lines it has printed so far."""

    def __init__(self, url: str, folder: Path, *work: str) -> None:
        self.lines: list[str] = []
        self._errors = (folder.with_suffix(".err")).open("w+")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.postgres.child", url, str(folder), *work],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            self.lines.extend(line.strip() for line in lines)

    @property
    def finished(self) -> list[str]:
        """What was acknowledged or found."""
        return [line for line in self.lines if not line.startswith("error")]

    def check(self) -> None:
        """Fails when the process has ended."""
        if self._process.poll() is not None:
            self._errors.seek(0)
            pytest.fail(f"a process ended with {self._process.returncode}:\n{self._errors.read()[-3000:]}")

    def stop(self) -> int:
        """Let it come to an end; its exit status."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            status = self._process.wait(timeout=60)
        finally:
            self._process.kill()
            self._process.wait()
            self._reader.join()
            self._errors.close()
        return status


def wait_until(done: Callable[[], bool], children: list[Child], seconds: float, what: str) -> None:
    limit = time.monotonic() + seconds
    while not done():
        for child in children:
            child.check()
        assert time.monotonic() < limit, f"after {seconds:.0f} s still not: {what}"
        time.sleep(0.02)


@pytest.mark.timeout(240)
def test_nothing_acknowledged_is_lost_and_all_go_on_after_the_primary_is_killed(tmp_path: Path) -> None:
    with open_replicas() as replicas:
        url = replicas.url("team")
        with outcrop.open(url, data_dir=tmp_path / "first") as engine:
            engine.add(text="Basalt is found at the river.", id="basalt", collection="rocks")
        writers = [Child(url, tmp_path / name, "write", name) for name in ("ann", "bob")]
        searcher = Child(url, tmp_path / "searcher", "search", "where is basalt found")
        children = [*writers, searcher]
        try:
            wait_until(lambda: all(len(c.finished) >= 20 for c in children), children, 90, "everybody at work")
            replicas.kill_primary()
            before = [len(child.finished) for child in children]
            replicas.promote()
            wait_until(
                lambda: all(len(c.finished) >= n + 10 for c, n in zip(children, before, strict=True)),
                children,
                BACK_SECONDS,
                "every process at work again",
            )
        finally:
            statuses = [child.stop() for child in children]
        assert statuses == [0, 0, 0]
        # A search that was under way may have lost its moment of the database, and says so; none finds too little.
        assert set(searcher.finished) == {"basalt"}
        assert searcher.lines[-5:] == ["basalt"] * 5
        check_all_there(replicas, [name for writer in writers for name in writer.finished], tmp_path / "last")


def check_all_there(replicas: Replicas, names: list[str], folder: Path) -> None:
    """Every acknowledged document is on the new primary, once, whole and searchable, and the index is consistent."""
    with outcrop.open(replicas.url("team"), data_dir=folder) as engine:
        stored = [document.uri for document in engine.documents(outcrop.Filter(collections=("reports",)))]
        assert len(stored) == len(set(stored))
        assert set(names) <= set(stored)
        # One more a writer may be there: committed, its acknowledgement cut off by the end.
        assert len(stored) <= len(names) + 2
        for name in (*names[:5], *names[-5:]):
            assert engine.text(name, collection="reports") == text_of(name)
            assert engine.search(f"granite of quarry {name.replace('-', '')}").hits[0].document.uri == name
        assert [check for check in engine.doctor() if not check.ok] == []
