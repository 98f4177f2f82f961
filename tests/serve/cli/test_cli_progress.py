"""The line of progress: there for people, absent for programs."""

from __future__ import annotations

import io
import signal
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

import outcrop
from outcrop.records import Progress
from outcrop.serve.cli.progress import Estimate, say_left, shorten, show_progress, stop_on_signal
from outcrop.serve.cli.session import Screen, Session


def watched(monkeypatch: pytest.MonkeyPatch, width: int, told: Iterable[Progress]) -> str:
    """What a terminal of this width is sent while a second goes by for each step."""
    clock = iter(float(second) for second in range(100_000))
    monkeypatch.setattr("outcrop.serve.cli.progress.time.monotonic", lambda: next(clock))
    shown = io.StringIO()
    session = Session()
    session.__dict__["err"] = Screen(lambda: Console(force_terminal=True, width=width, file=shown))
    with show_progress(session) as progress:
        assert progress is not None
        for step in told:
            progress(step)
    return shown.getvalue()


def test_a_terminal_shows_counts_and_the_current_file(monkeypatch: pytest.MonkeyPatch) -> None:
    text = watched(
        monkeypatch,
        140,
        [
            Progress(512, None, 0, "a", "scan"),
            Progress(1, 4, 10, "a.md", "read", 100, 1000),
            Progress(2, 4, 20, "b\x1b[2J.md", "read", 200, 1000),
            Progress(4, 4, 20, "c.md", "read", 1000, 1000),
            Progress(0, 212, 20, "", "ocr"),
            Progress(9, 212, 20, "scan.pdf", "ocr"),
            Progress(64, 900, 64, "", "embed"),
            Progress(3, 7, 40, "c.md", "move"),
            Progress(5, 14, 50, "d.md", "check"),
        ],
    )
    lines = [line.rstrip() for line in text.split("\r")]
    assert "looking    512 files  a" in lines
    assert f"indexing   {'━' * 4}{'╌' * 16}   20 %  2/4 files  b␛[2J.md" in lines, (
        "the share is that of the bytes"
    )
    assert "saving" in lines[4]
    assert "212 pages to read, about 6 min" in lines
    assert "9/212 pages" in text
    assert "64/900 texts" in text
    assert "3/7 documents" in text
    assert "5/14 documents" in text


@pytest.mark.parametrize("width", [20, 60, 80])
def test_it_is_one_line_that_never_wraps_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    path = "a/very/long/path/到/文件/" + "x" * 200
    steps = [Progress(n, 50, n, path, "read", n * 1_000_000, 50_000_000) for n in range(1, 51)]
    text = watched(monkeypatch, width, steps)
    assert "\n" not in text
    assert "\x1b" not in text, "nothing is erased and drawn again"
    drawn = text.split("\r")[1:]
    assert {cell_len(line) for line in drawn[:-1]} == {width - 1}
    assert drawn[-2].strip() == ""
    assert drawn[-1] == ""


def test_the_time_left_goes_by_bytes_and_does_not_jump() -> None:
    """A thousand small files and then ten large ones, at a steady pace of bytes: by files, the end would recede."""
    sizes = [1_000] * 1_000 + [1_000_000] * 10
    total, read, now = sum(sizes), 0, 0.0
    estimate, told = Estimate(), []
    for done, size in enumerate(sizes, 1):
        read += size
        now += size / 100_000
        left = estimate.seconds_left(Progress(done, len(sizes), 0, "", "read", read, total), now)
        if left is not None:
            told.append((left, (total - read) / 100_000))
    assert len(told) > 500
    assert all(abs(left - true) < 1.0 for left, true in told)
    assert all(later[0] <= earlier[0] for earlier, later in pairwise(told))


def test_the_time_left_follows_a_pace_that_changes_and_starts_again_with_the_next_source() -> None:
    estimate = Estimate()
    for second in range(1, 11):
        steady = estimate.seconds_left(Progress(second, 100, 0, "", "move"), float(second))
    assert steady == pytest.approx(90, abs=2)
    slow = [estimate.seconds_left(Progress(10 + n, 100, 0, "", "move"), 10.0 + 10 * n) for n in range(1, 9)]
    assert slow[-1] is not None
    assert slow[-1] > 300
    assert estimate.seconds_left(Progress(1, 50, 0, "", "move"), 200.0) is None


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "under 5 s"), (27, "25 s"), (58, "60 s"), (100, "2 min"), (3590, "1 h"), (4200, "1 h 10 min")],
)
def test_the_time_left_is_said_no_finer_than_it_is_known(seconds: float, said: str) -> None:
    assert say_left(seconds) == said


def test_an_ingest_tells_how_many_bytes_it_has_read(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.md").write_text("word " * 10**number)
    told: list[Progress] = []
    with outcrop.open(tmp_path / "index.db") as index:
        index.add(tmp_path, progress=told.append)
    read = [step for step in told if step.phase == "read"]
    assert [step.bytes_done for step in read] == sorted(step.bytes_done for step in read)
    assert (read[-1].bytes_done, read[-1].bytes_total) == (55_555, 55_555)


def test_without_a_terminal_there_is_no_progress() -> None:
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
