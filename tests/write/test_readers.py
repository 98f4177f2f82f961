"""Processes beside this one read files: the same outcomes in the same order, whatever becomes of a process."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import outcrop
from outcrop.chunk.strategies import ChunkOptions
from outcrop.errors import Cancelled, ConfigError, SourceError
from outcrop.parse.limits import ParseLimits
from outcrop.records import Outline, SourceFile
from outcrop.write import readers
from outcrop.write.prepare import (
    Batch,
    Job,
    Prepared,
    Recipe,
    Unreadable,
    cut_batches,
    prepare_file,
    prepare_here,
)
from outcrop.write.readers import ReadersPrepare

RECIPE = Recipe(ChunkOptions(), ParseLimits(60.0, 2**30), 1_000_000, "notes")


def go_on() -> None:
    """Nobody stops."""


def job(path: Path) -> Job:
    found = path.stat() if path.exists() else None
    file = SourceFile(str(path), path.name, "file", str(path.parent), 1, found.st_size if found else 0)
    return Job(file, known=None)


@pytest.fixture(autouse=True)
def three_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "usable_cores", lambda: 3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of several kinds and sizes; a bad one, a missing one's neighbours, one that is no text."""
    made = tmp_path / "files"
    made.mkdir()
    for number in range(60):
        (made / f"{number:02}.md").write_text(
            f"# Part {number}\n\n" + f"Words about {number}.\n" * number, "utf-8"
        )
        (made / f"{number:02}.py").write_text(f"def part_{number}(x):\n    return x + {number}\n", "utf-8")
    (made / "broken.pdf").write_bytes(b"%PDF-1.7 no more than that")
    (made / "picture.md").write_bytes(b"\x00\x01\x02" * 100)
    return made


def jobs_in(folder: Path) -> list[Job]:
    return [*map(job, sorted(folder.iterdir())), job(folder / "gone.md")]


def children() -> list[int]:
    listed = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    found = [int(child) for path in listed for child in path.read_text("ascii").split()]
    return [pid for pid in found if b"outcrop.write.reader" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def wait_until(held: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not held() and time.monotonic() < limit:
        time.sleep(0.01)
    assert held()


def test_readers_give_the_same_outcomes_in_the_same_order_as_one_process(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "WORTH_BYTES", 1)
    jobs = jobs_in(folder)
    here = list(prepare_here(jobs, RECIPE, go_on))
    assert {type(outcome).__name__ for outcome in here} == {"Prepared", "NoText", "Unreadable"}
    for count in (1, 2):
        assert list(ReadersPrepare(count)(jobs, RECIPE, go_on)) == here
    assert children() == []


def test_of_a_file_of_code_the_writer_gets_its_language_and_its_chunks(folder: Path) -> None:
    outcome = prepare_file(job(folder / "07.py"), RECIPE)
    assert isinstance(outcome, Prepared)
    assert outcome.write.document.outline == Outline("python")
    assert [chunk.code.symbol for chunk in outcome.write.chunks if chunk.code] == ["part_7"]


@pytest.mark.parametrize(("cores", "started"), [(2, 1), (3, 2), (16, 2)])
def test_a_reader_starts_for_each_core_that_the_writer_leaves(
    folder: Path, monkeypatch: pytest.MonkeyPatch, cores: int, started: int
) -> None:
    monkeypatch.setattr(readers, "WORTH_BYTES", 1)
    monkeypatch.setattr(readers, "usable_cores", lambda: cores)
    counts: list[int] = []
    cut = cut_batches

    def counted(jobs: list[Job], count: int) -> list[Batch]:
        counts.append(count)
        return cut(jobs, count)

    monkeypatch.setattr(readers, "cut_batches", counted)
    assert len(list(ReadersPrepare(2)(jobs_in(folder), RECIPE, go_on))) == len(jobs_in(folder))
    assert counts == [started]


@pytest.mark.parametrize(("count", "cores", "worth"), [(2, 2, 10**9), (0, 2, 1), (2, 1, 1)])
def test_little_work_and_a_single_core_start_no_process(
    folder: Path, monkeypatch: pytest.MonkeyPatch, count: int, cores: int, worth: int
) -> None:
    monkeypatch.setattr(readers, "WORTH_BYTES", worth)
    monkeypatch.setattr(readers, "usable_cores", lambda: cores)
    monkeypatch.setattr(readers, "_Reader", None)  # there is none to start
    assert len(list(ReadersPrepare(count)(jobs_in(folder), RECIPE, go_on))) == len(jobs_in(folder))


def test_a_reader_that_is_killed_costs_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "WORTH_BYTES", 1)
    jobs = jobs_in(folder)
    seen = []
    with closing(ReadersPrepare(2)(jobs, RECIPE, go_on)) as outcomes:
        for outcome in outcomes:
            seen.append(outcome)
            if len(seen) == 1:
                for pid in children():
                    os.kill(pid, signal.SIGKILL)
    assert seen == list(prepare_here(jobs, RECIPE, go_on))


def test_a_file_that_kills_its_reader_is_a_line_in_the_report(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "WORTH_BYTES", 1)
    jobs = [job for job in jobs_in(folder) if job.file.path.endswith(".md")]
    at = 20
    deadly = Path(jobs[at].file.uri)
    killed: list[int] = []
    prepare = readers._Reader.prepare

    def prepare_or_die(self: readers._Reader, some: list[Job]) -> tuple[dict[str, Any], bytes]:
        if any(each.file.uri == str(deadly) for each in some):
            self.kill()
            killed.append(len(some))
        return prepare(self, some)

    monkeypatch.setattr(readers._Reader, "prepare", prepare_or_die)
    outcomes = list(ReadersPrepare(2)(jobs, RECIPE, go_on))
    assert killed[-1] == 1
    assert len(killed) == 2
    failed = [outcome for outcome in outcomes if isinstance(outcome, Unreadable)]
    assert [outcome.file.path for outcome in failed] == [deadly.name, "gone.md"]
    assert "died, twice" in failed[0].reason
    assert [outcome.file for outcome in outcomes] == [job.file for job in jobs]
    assert children() == []


def test_a_stop_is_heard_while_a_reader_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "WORTH_BYTES", 1)
    monkeypatch.setattr(readers, "POLL_S", 0.01)
    slow = tmp_path / "slow.md"
    slow.write_text("Words.\n" * 10, "utf-8")
    stopping = threading.Event()
    prepare = readers._Reader.prepare

    def hang(self: readers._Reader, some: list[Job]) -> tuple[dict[str, Any], bytes]:
        os.kill(self.pid, signal.SIGSTOP)  # it will never answer
        stopping.set()
        return prepare(self, some)

    monkeypatch.setattr(readers._Reader, "prepare", hang)

    def check_stopped() -> None:
        if stopping.is_set():
            raise Cancelled("enough")

    with pytest.raises(Cancelled, match="enough"):
        list(ReadersPrepare(2)([job(slow)], RECIPE, check_stopped))
    assert children() == []


def test_closing_the_outcomes_early_leaves_no_process_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "WORTH_BYTES", 1)
    outcomes = ReadersPrepare(2)(jobs_in(folder), RECIPE, go_on)
    assert isinstance(next(outcomes), Prepared)
    wait_until(lambda: len(children()) > 0)
    outcomes.close()
    assert children() == []


def test_a_timeout_that_a_reader_raises_is_raised(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no sign that the reader is still at work."""
    monkeypatch.setattr(readers, "WORTH_BYTES", 1)
    raised = pickle.dumps(TimeoutError("too late"))
    monkeypatch.setattr(readers._Reader, "prepare", lambda *_: ({"raised": True}, raised))
    with pytest.raises(TimeoutError, match="too late"):
        list(ReadersPrepare(1)(jobs_in(folder), RECIPE, go_on))


def test_an_unexpected_error_in_a_reader_ends_the_run_and_says_where(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "WORTH_BYTES", 1)
    nonsense = replace(RECIPE, max_file_bytes=None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="NoneType") as raised:
        list(ReadersPrepare(2)(jobs_in(folder), nonsense, go_on))
    assert any("in a process that reads files" in note for note in raised.value.__notes__)
    assert children() == []


def test_a_reader_that_cannot_start_is_an_error_that_says_what_to_do(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "WORTH_BYTES", 1)
    monkeypatch.setattr("sys.executable", str(folder / "no python"))
    with pytest.raises(SourceError, match="OUTCROP_READERS=0"):
        list(ReadersPrepare(2)(jobs_in(folder), RECIPE, go_on))


def test_a_folder_is_the_same_index_with_readers_and_without(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "WORTH_BYTES", 1)
    held = []
    for count in (0, 2):
        with outcrop.open(tmp_path / f"{count}.db", readers=count) as kb:
            report = kb.add(folder)
            assert [failure.path for failure in report.failed] == ["broken.pdf"]
            chunks = [(info.id, info.path, [c.text for c in kb.chunks(info.id)]) for info in kb.documents()]
            hits = [(hit.document.id, hit.score) for hit in kb.search("words about part 7").hits]
            held.append((chunks, hits))
    assert held[0] == held[1]


def test_a_setting_below_zero_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="readers must be zero"):
        outcrop.open(tmp_path / "index.db", readers=-1)
