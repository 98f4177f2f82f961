"""A clock that jumps, back or far ahead, changes nothing that is promised."""

from __future__ import annotations

import ast
import os
import time
from pathlib import Path

import pytest

import outcrop
from outcrop.notes import KnowledgeBase

SOURCES = Path(outcrop.__file__).parent
MAY_ASK = (
    "store/",
    "sources/revisions.py",
    "serve/jobs.py",
    "system/remote.py",
    "evals/runs.py",
    "read/ask.py",
    "read/timeline.py",
    "notes/superseding.py",
    "serve/cli/render.py",
    "serve/overview.py",
)
"""Who may ask what time it is: for times that are shown, and for dates that others name. Whatever waits, expires or is
kept for a while goes by `time.monotonic`, which does not jump."""

JUMPS = (-20 * 365 * 86_400.0, 3600.0, -1.0, 50 * 365 * 86_400.0, -0.001, 0.0)


def test_only_what_shows_a_time_asks_for_it() -> None:
    asking = set()
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in (
                "time.time",
                "datetime.now",
                "date.today",
            ):
                asking.add(path.relative_to(SOURCES).as_posix())
    assert [name for name in sorted(asking) if not name.startswith(MAY_ASK)] == []


def test_documents_notes_and_freshness_are_the_same_whatever_the_clock_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = time.time
    folder = tmp_path / "files"
    folder.mkdir()
    with outcrop.open(tmp_path / "one.db") as one, outcrop.open(tmp_path / "one.db") as other:
        notes, theirs = KnowledgeBase(one, tmp_path / "kb"), KnowledgeBase(other, tmp_path / "kb")
        for number, jump in enumerate(JUMPS):
            monkeypatch.setattr(time, "time", lambda jump=jump: real() + jump)
            file = folder / "a.md"
            file.write_text(f"# Harbour\n\nVersion {number} of the harbour, word zqb{'bcdfgh'[number]}.")
            stamp = int((real() + jump) * 1e9) if jump > -1e8 else 10**18
            os.utime(file, ns=(stamp, stamp))  # the disk's clock jumps as well
            if number:
                assert [item.change for item in one.stale(collection="files")] == ["changed"]
            report = one.add(folder, collection="files")
            assert (report.added, report.changed) == ((1, 0) if number == 0 else (0, 1))
            assert one.stale(collection="files") == []
            theirs.write(f"note-{number}", f"A note of round {number}, word zqn{'bcdfgh'[number]}.")
            (tmp_path / "kb" / f"note-{number}.md").unlink()
            notes.refresh()
            notes.write("kept", f"It is round {number}.")
            assert {info.path for info in other.documents()} == {"a.md", "kept.md"}
            for engine in (one, other):
                hit = engine.search(f"zqb{'bcdfgh'[number]}", mode="keyword").hits[0]
                assert (hit.document.path, hit.stale) == ("a.md", False)
                if number:
                    assert engine.search(f"zqb{'bcdfgh'[number - 1]}", mode="keyword").hits == ()
                assert engine.search(f"zqn{'bcdfgh'[number]}", mode="keyword").hits == ()
        assert other.embed_pending() == 1
        assert all(check.ok for check in one.doctor())
        with outcrop.open(tmp_path / "two.db") as copy:
            assert one.move_to(copy).ok
