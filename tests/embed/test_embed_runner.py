"""The process that runs transformers: shared, watched, replaced, and gone when it should be."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cost import PATIENCE_S
from tests.embed.onnx_models import write_embedder

from outcrop.embed.inference.runner import Limits, Runner
from outcrop.embed.onnx import OnnxEmbedder
from outcrop.embed.transformer import ModelSpec, OnnxFolder
from outcrop.errors import EmbedError
from outcrop.workers.process import Child

TEXTS = ["red", "blue blue", "red green blue", "green", "red red red blue", "unknown words", "blue"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_embedder(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def shared(folder: Path) -> Iterator[OnnxEmbedder]:
    embedder = OnnxEmbedder(folder, threads=2, runner=Runner())
    yield embedder
    embedder.close()


Opening = Callable[..., tuple[OnnxEmbedder, Runner]]


@pytest.fixture
def opened(folder: Path) -> Iterator[Opening]:
    """An embedder with a runner of its own."""
    made: list[Runner] = []

    def build(**limits: float) -> tuple[OnnxEmbedder, Runner]:
        made.append(Runner(Limits(**limits)))
        return OnnxEmbedder(folder, threads=2, runner=made[-1]), made[-1]

    yield build
    for runner in made:
        runner.close()


@pytest.fixture
def frames(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The texts of each slice that goes to a worker."""
    sent: list[list[str]] = []
    ask = Child.ask

    def noting(self: Child, header: dict[str, Any], *, within_s: float) -> tuple[dict[str, Any], bytes]:
        if header["op"] == "run":
            sent.append([item[0] for item in header["items"]])
        return ask(self, header, within_s=within_s)

    monkeypatch.setattr(Child, "ask", noting)
    return sent


def spec_of(folder: Path) -> ModelSpec:
    return OnnxFolder.read(folder).spec("texts", 2)


def wait_for(what: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < until, "it did not come to pass"
        time.sleep(0.005)


def worker_of(runner: Runner) -> int:
    wait_for(lambda: runner.state().pid is not None)
    pid = runner.state().pid
    assert pid is not None
    return pid


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    # A child that nobody waited for yet is a zombie.
    return "Z" in Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0]


def in_thread(work: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    """Do something on another thread; what it returned or raised comes into the list."""
    outcome: list[object] = []

    def run() -> None:
        try:
            outcome.append(work())
        except EmbedError as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, outcome


# ------------------------------------------------------------------ serving


def test_a_held_model_is_loaded_and_has_run_before_anyone_asks(folder: Path) -> None:
    runner = Runner()
    assert runner.state().pid is None
    runner.hold(spec_of(folder))
    wait_for(lambda: runner.state().models == 1)
    state = runner.state()
    assert state.memory_bytes > 10_000_000
    assert state.restarts == 0
    runner.release(spec_of(folder))
    assert runner.state().pid is None


def test_a_text_has_the_same_bits_alone_in_any_batch_and_among_other_callers(shared: OnnxEmbedder) -> None:
    alone = np.stack([shared.embed_documents([text])[0] for text in TEXTS])
    assert np.array_equal(shared.embed_documents(TEXTS), alone)
    assert np.array_equal(shared.embed_documents(TEXTS[::-1] * 20)[:7], alone[::-1])
    with ThreadPoolExecutor(8) as pool:
        for rows in pool.map(shared.embed_documents, [TEXTS] * 40):
            assert np.array_equal(rows, alone)
        assert np.array_equal(list(pool.map(shared.embed_query, TEXTS)), alone)


def test_texts_of_callers_that_wait_go_to_the_worker_together(
    shared: OnnxEmbedder, frames: list[list[str]]
) -> None:
    busy, _ = in_thread(lambda: shared.embed_documents(["slow"]))
    wait_for(lambda: frames)
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda number: shared.embed_documents(["red"] * number), range(1, 9)))
    busy.join()
    assert [len(part) for part in rows] == list(range(1, 9))
    assert max(map(len, frames)) >= 4, "eight callers with a text or more each"
    assert len(frames) < 20, "36 texts"


def test_a_query_goes_before_documents_that_wait(
    folder: Path, frames: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = Runner()
    embedder = OnnxEmbedder(folder, threads=2, runner=runner)
    embedder.embed_query("green")  # it is loaded
    frames.clear()
    ask, out = Child.ask, threading.Event()

    def held_back(self: Child, header: dict[str, Any], *, within_s: float) -> tuple[dict[str, Any], bytes]:
        if header["op"] == "run" and not out.is_set():  # the first slice is out until the query waits, too
            out.set()
            wait_for(lambda: runner.state().waiting == 2)
        return ask(self, header, within_s=within_s)

    monkeypatch.setattr(Child, "ask", held_back)
    ingest, outcome = in_thread(lambda: embedder.embed_documents(["blue"] * 300))
    assert out.wait(60)
    embedder.embed_query("red")
    ingest.join()
    assert isinstance(outcome[0], np.ndarray)
    assert frames.index(["red"]) == 1, "after the slice that was out, before all others"
    assert len(frames) > 2
    embedder.close()


def test_a_text_that_fails_fails_its_own_caller_only(
    shared: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = Child.ask

    def failing(self: Child, header: dict[str, Any], *, within_s: float) -> tuple[dict[str, Any], bytes]:
        bad = [number for number, item in enumerate(header.get("items", [])) if item == ("green",)]
        if not bad:
            return ask(self, header, within_s=within_s)
        kept = header["items"][: bad[0]]
        answer, payload = ask(self, header | {"items": kept, "seconds": 60}, within_s=within_s)
        return answer | {"done": len(kept), "error": "no such token"}, payload

    expected = shared.embed_documents(["red", "red"])
    busy, _ = in_thread(lambda: shared.embed_documents(["slow"]))
    monkeypatch.setattr(Child, "ask", failing)
    calls = [["red", "red"], ["red", "green"], ["red", "red"]]
    running = [in_thread(lambda texts=texts: shared.embed_documents(texts)) for texts in calls]  # type: ignore[misc]
    for thread, _ in [*running, (busy, None)]:
        thread.join()
    (first,), (second,), (third,) = (outcome for _, outcome in running)
    assert str(second) == "no such token"
    assert np.array_equal(np.asarray(first), expected)
    assert np.array_equal(np.asarray(third), expected)


# ------------------------------------------------------------------ failing


def test_killing_the_worker_again_and_again_under_load_loses_no_request(opened: Opening) -> None:
    embedder, runner = opened()
    expected = embedder.embed_documents(TEXTS)
    over = threading.Event()
    rounds = [0] * 6

    def work(number: int) -> None:
        while not over.is_set():
            assert np.array_equal(embedder.embed_documents(TEXTS), expected)
            assert np.array_equal(embedder.embed_query(TEXTS[2]), expected[2])
            rounds[number] += 1

    def gone_on(before: list[int]) -> bool:
        return any(future.done() for future in running) or all(map(int.__lt__, before, rounds))

    with ThreadPoolExecutor(6) as pool:
        running = [pool.submit(work, number) for number in range(6)]
        for _ in range(3):
            # Loaded again, and what lost a process is answered: one killed twice over the same request is another test.
            wait_for(lambda: runner.state().models == 1)
            wait_for(partial(gone_on, rounds.copy()))
            os.kill(worker_of(runner), signal.SIGKILL)
            wait_for(lambda: runner.state().models == 0)
        wait_for(lambda: runner.state().models == 1)
        over.set()
        for future in running:
            future.result()
    assert runner.state().restarts == 3


def test_a_request_that_lost_two_workers_says_so_and_the_next_one_works(
    opened: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder, _ = opened()
    expected = embedder.embed_documents(["red", "blue"])
    ask = Child.ask

    def dying(self: Child, header: dict[str, Any], *, within_s: float) -> tuple[dict[str, Any], bytes]:
        if any("slow" in item[0] for item in header.get("items", [])):
            self.kill()
        return ask(self, header, within_s=within_s)

    monkeypatch.setattr(Child, "ask", dying)
    barrier = threading.Barrier(3)

    def together(text: str) -> object:
        barrier.wait()
        return embedder.embed_documents([text])[0]

    running = [in_thread(lambda text=text: together(text)) for text in ("red", "slow", "blue")]  # type: ignore[misc]
    for thread, _ in running:
        thread.join()
    (red,), (slow,), (blue,) = (outcome for _, outcome in running)
    assert "ended unexpectedly (SIGKILL), twice in a row" in str(slow)
    assert "Free some or choose another model, then try again" in str(slow)
    assert np.array_equal(np.asarray([red, blue]), expected), "those that went with it are not lost"
    assert np.array_equal(embedder.embed_documents(["red", "blue"]), expected)


def test_a_worker_that_hangs_over_a_slice_is_killed_and_the_request_answered_by_another(
    opened: Opening,
) -> None:
    embedder, runner = opened(slice_s=1.0)
    expected = embedder.embed_query("red")
    stuck = worker_of(runner)
    os.kill(stuck, signal.SIGSTOP)
    assert np.array_equal(embedder.embed_query("red"), expected)
    assert worker_of(runner) != stuck
    assert is_gone(stuck)


def test_a_worker_that_does_not_answer_a_ping_is_replaced_before_anyone_asks(
    opened: Opening, caplog: pytest.LogCaptureFixture
) -> None:
    embedder, runner = opened(ping_every_s=0.1, ping_answer_s=0.5)
    stuck = worker_of(runner)
    os.kill(stuck, signal.SIGSTOP)
    wait_for(lambda: runner.state().restarts >= 1 and runner.state().models == 1)
    assert is_gone(stuck)
    assert embedder.embed_query("red").any()
    assert "did not answer within 0.5 s" in " ".join(str(vars(record)) for record in caplog.records)


def test_a_worker_that_cannot_start_says_why_and_what_it_wrote_is_logged(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no such interpreter >&2\nexit 3\n", "utf-8")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    runner = Runner()
    with pytest.raises(EmbedError, match=r"ended unexpectedly \(exit status 3: no such interpreter\), twice"):
        OnnxEmbedder(folder, runner=runner)
    assert "worker: no such interpreter" in caplog.messages
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(EmbedError, match="could not start"):
        OnnxEmbedder(folder, runner=runner)
    runner.close()


def test_a_model_replaced_on_disk_is_not_mixed_with_the_old_one(tmp_path: Path) -> None:
    runner = Runner()
    embedder = OnnxEmbedder(write_embedder(tmp_path / "tiny"), runner=runner)
    write_embedder(tmp_path / "tiny", work=1)
    os.kill(worker_of(runner), signal.SIGKILL)
    with pytest.raises(EmbedError, match="changed while it was in use: open the index again"):
        embedder.embed_query("red")
    embedder.close()


# ------------------------------------------------------------------ ending


def test_items_of_a_caller_that_gave_up_are_not_started(
    folder: Path, opened: Opening, frames: list[list[str]]
) -> None:
    embedder, runner = opened()
    done = runner.run(spec_of(folder), [("slow",)] * 100, seconds=0.3)
    assert len(done) < 50
    assert embedder.embed_documents(["red"]).any()
    assert frames[-1] == ["red"]
    assert (
        sum(frame.count("slow") for frame in frames) < 100
    )  # the slice that was on its way may still be begun


def test_closing_ends_the_process_and_pending_requests(opened: Opening) -> None:
    embedder, runner = opened()
    pid = worker_of(runner)
    thread, outcome = in_thread(lambda: embedder.embed_documents(["slow"] * 100))
    wait_for(lambda: runner.state().waiting == 1)
    embedder.close()
    embedder.close()
    thread.join()
    assert isinstance(outcome[0], EmbedError)
    assert "was closed" in str(outcome[0])
    assert is_gone(pid)
    assert runner.state().pid is None
    assert embedder.embed_query("red").any(), "use after close loads it again"


def test_two_embedders_of_one_folder_share_the_model_until_the_last_is_gone(folder: Path) -> None:
    runner = Runner()
    first, second = (OnnxEmbedder(folder, threads=2, runner=runner) for _ in range(2))
    other = OnnxEmbedder(folder, threads=1, runner=runner)
    assert runner.state().models == 2
    pid = worker_of(runner)
    first.close()
    assert np.array_equal(second.embed_query("red"), other.embed_query("red"))
    assert runner.state().pid == pid
    other.close()
    wait_for(lambda: runner.state().models == 1)
    del second  # never closed: found out at the next occasion
    third = OnnxEmbedder(folder, threads=1, runner=runner)
    wait_for(lambda: runner.state().models == 1)
    third.close()
    assert is_gone(pid)


def test_the_worker_ends_at_once_with_its_parent_even_in_the_middle_of_a_slice(folder: Path) -> None:
    script = (
        "import sys, threading\nfrom pathlib import Path\n"
        "from outcrop.embed.onnx import OnnxEmbedder\nfrom outcrop.embed.inference.runner import shared_runner\n"
        "embedder = OnnxEmbedder(Path(sys.argv[1]))\n"
        "threading.Thread(target=embedder.embed_documents, args=[['slow'] * 100_000]).start()\n"
        "print(shared_runner().state().pid, flush=True)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-", str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdin.write(script)
        parent.stdin.close()
        worker = int(parent.stdout.readline())
        assert not is_gone(worker)
        parent.kill()
    wait_for(lambda: is_gone(worker))  # its work would take an hour


def test_a_script_that_forks_and_closes_nothing_ends_cleanly(folder: Path) -> None:
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "from outcrop.embed.onnx import OnnxEmbedder\nfrom outcrop.embed.inference.runner import shared_runner\n"
        "embedder = OnnxEmbedder(Path(sys.argv[1]))\n"
        "before = embedder.embed_query('red')\n"
        "if child := os.fork():\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
        "else:\n"
        "    same = (embedder.embed_query('red') == before).all()\n"
        "    os.close(os.dup(1)); embedder.close(); os._exit(0 if same else 1)\n"
        "assert (embedder.embed_query('red') == before).all()\n"
        "print(shared_runner().state().pid, shared_runner().state().restarts)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-", str(folder)],
        input=script,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    pid, restarts = map(int, done.stdout.split())
    assert restarts == 0, "the child has a worker of its own"
    assert is_gone(pid)
