"""Several processes write at once, and one is killed: nothing that was acknowledged is lost."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from outcrop.config import load_config
from outcrop.engine import Engine
from outcrop.notes import KnowledgeBase

ROOT = Path(__file__).parents[2]
PROCESSES, APPENDS = 4, 25


def start(what: str, folder: Path, *rest: str) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "tests.notes.kb_child",
        what,
        str(folder / "index.db"),
        str(folder / "kb"),
        *rest,
    ]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_appends_of_several_processes_all_survive(tmp_path: Path) -> None:
    children = [start("append", tmp_path, str(name), str(APPENDS)) for name in range(PROCESSES)]
    for child in children:
        with child:
            assert child.wait(timeout=60) == 0
    lines = (tmp_path / "kb" / "shared.md").read_text().splitlines()
    assert sorted(lines) == sorted(f"- line {n} {i}" for n in range(PROCESSES) for i in range(APPENDS))
    with Engine(load_config({"db": tmp_path / "index.db"}, environ={})) as engine:
        kb = KnowledgeBase(engine, tmp_path / "kb")
        assert engine.text("shared.md") == kb.read("shared").text
        assert engine.embed_pending() == 1
        assert all(check.ok for check in engine.doctor())


@pytest.mark.parametrize("after", [1, 7, 60])
def test_a_killed_writer_loses_nothing_it_acknowledged(tmp_path: Path, after: int) -> None:
    child = start("write", tmp_path)
    assert child.stdout is not None
    last = -1
    with child:
        while last < after:
            last = int(child.stdout.readline())
        child.send_signal(signal.SIGKILL)
        rest = child.stdout.read().split("\n")[:-1]
    last = int(rest[-1]) if rest else last
    with Engine(load_config({"db": tmp_path / "index.db"}, environ={})) as engine:
        kb = KnowledgeBase(engine, tmp_path / "kb")
        kb.refresh()
        for number in range(max(0, last - 38), last + 1):  # one more may have been written without a word
            text = kb.read(f"n{number % 40}").text
            assert text in (_text(number), _text(number + 40))
            assert engine.text(f"n{number % 40}.md") == text
        assert kb.search(f"mark{last}x").hits[0].document.path == f"n{last % 40}.md"
        assert engine.pending() > 0
        engine.embed_pending()
        assert engine.pending() == 0
        stats = engine.status().stats
        assert stats.chunks == stats.chunks_with_vector
        assert all(check.ok for check in engine.doctor())
        kb.write("after.md", "and the next writer has the lock")


def _text(number: int) -> str:
    return f"# Note {number}\n\nThe mark{number}x stands in version {number}.\n"
