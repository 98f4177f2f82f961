"""The progress bar: there for people, absent for programs."""

from __future__ import annotations

import io
import signal

import pytest
from rich.console import Console

from outcrop.records import Progress
from outcrop.serve.cli.progress import shorten, show_progress, stop_on_signal
from outcrop.serve.cli.session import Screen, Session


def test_a_terminal_shows_counts_and_the_current_file(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(float(second) for second in range(1000))
    monkeypatch.setattr("outcrop.serve.cli.progress.time.monotonic", lambda: next(times))
    shown = io.StringIO()
    session = Session()
    session.__dict__["err"] = Screen(lambda: Console(force_terminal=True, width=140, file=shown))
    with show_progress(session) as progress:
        assert progress is not None
        progress(Progress(512, None, 0, "a", "scan"))
        progress(Progress(1, 4, 10, "a.md", "read"))
        progress(Progress(2, 4, 20, "b\x1b[2J.md", "read"))
        progress(Progress(64, 900, 64, "", "embed"))
        progress(Progress(128, 900, 128, "", "embed"))
        progress(Progress(3, 7, 40, "c.md", "move"))
        progress(Progress(4, 7, 50, "d.md", "move"))
        progress(Progress(5, 14, 50, "d.md", "check"))
        progress(Progress(6, 14, 50, "e.md", "check"))
    text = shown.getvalue()
    assert "2/4 files" in text
    assert "files/s" in text
    assert "chunks/s" in text
    assert "b␛[2J.md" in text
    assert "128/900 texts" in text
    assert "4/7 documents" in text
    assert "6/14 documents" in text


def test_without_a_terminal_there_is_no_progress_bar() -> None:
    session = Session()
    session.__dict__["err"] = Screen(lambda: Console(file=io.StringIO()))
    with show_progress(session) as progress:
        assert progress is None


def test_a_long_path_keeps_its_end() -> None:
    assert shorten("a/very/long/path.md", 8) == "…path.md"
    assert shorten("short.md", 8) == "short.md"


def test_the_first_signal_asks_and_the_second_insists() -> None:
    before = signal.getsignal(signal.SIGINT)
    with stop_on_signal() as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
