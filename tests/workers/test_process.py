"""One class for every child process: asked in frames, held to a deadline, and gone when it should be."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.cost import PATIENCE_S

from outcrop.workers.process import PIPE, Child, ChildLost

ECHOING = "tests.workers.echoing"
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def module_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)  # a child never takes modules from the current folder


def test_a_child_answers_frames_with_their_payload() -> None:
    payload = os.urandom(300_000)  # more than a pipe holds
    with Child(ECHOING) as child:
        header, returned = child.ask({"number": 7}, payload)
        assert (header["echo"], header["pid"]) == ({"number": 7}, child.pid)
        assert returned == payload
        child.send({"number": 8})
        assert child.receive(within_s=60)[0]["echo"] == {"number": 8}
        assert child.is_alive()
    assert not child.is_alive()


def test_what_a_child_prints_does_not_get_between_its_frames() -> None:
    with Child(ECHOING) as child:
        assert child.ask({"say": "chatter\n" * 1000})[0]["echo"]


def test_a_child_that_takes_too_long_is_killed_and_the_next_frame_is_not_its_answer() -> None:
    child = Child(ECHOING)
    child.ask({})
    with pytest.raises(ChildLost, match=r"did not answer within 0\.2 s and was ended") as lost:
        child.ask({"sleep": 3600}, within_s=0.2)
    assert lost.value.expired
    assert not child.is_alive()
    with pytest.raises(ChildLost):
        child.ask({})


def test_a_deadline_holds_for_the_first_frame_and_for_later_shorter_ones() -> None:
    with Child(ECHOING) as child:
        for _ in range(3):
            child.ask({}, within_s=600)
        begun = time.monotonic()
        with pytest.raises(ChildLost, match=r"within 0\.1 s"):
            child.ask({"sleep": 3600}, within_s=0.1)
        assert time.monotonic() - begun < 60, "the watch slept on the earlier deadline"


def test_a_child_that_dies_leaves_its_exit_status_and_last_words() -> None:
    with pytest.raises(ChildLost) as lost, Child(ECHOING, stderr=PIPE) as child:
        child.ask({"say": "first\nout of luck", "exit": 3}, within_s=60)
    assert str(lost.value) == "ended unexpectedly (exit status 3: out of luck)"
    assert (lost.value.how, lost.value.said) == ("exit status 3", "first\nout of luck")
    assert not lost.value.expired


def test_a_child_killed_from_another_thread_frees_whoever_waits_for_it() -> None:
    child = Child(ECHOING)
    child.ask({})
    threading.Timer(0.1, child.kill).start()
    with pytest.raises(ChildLost, match=r"ended unexpectedly \(SIGKILL\)"):
        child.ask({"sleep": 3600})


def test_an_interrupt_while_waiting_ends_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else its late answer would be taken for that to the next question."""
    child = Child(ECHOING)

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("outcrop.workers.process.read_frame", interrupt)
    with pytest.raises(KeyboardInterrupt):
        child.ask({})
    assert not child.is_alive()


def test_a_child_that_does_not_leave_is_killed() -> None:
    child = Child(ECHOING, "--lingers", stop_s=0.2)
    child.ask({})
    child.stop()
    child.stop()
    assert child.lost().how == "SIGKILL"


def test_a_child_ends_with_a_parent_that_is_killed() -> None:
    script = (
        "import os, signal\nfrom outcrop.workers.process import Child\n"
        f"child = Child({ECHOING!r})\nprint(child.ask({{}})[0]['pid'], flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    parent = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert parent.returncode == -signal.SIGKILL
    pid = int(parent.stdout)
    until = time.monotonic() + PATIENCE_S
    while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert not Path(f"/proc/{pid}").exists()


def test_a_forked_process_leaves_its_parents_child_alone() -> None:
    script = (
        "import os\nfrom outcrop.workers.process import Child, ChildLost\n"
        f"child = Child({ECHOING!r})\nchild.ask({{}})\n"
        "if forked := os.fork():\n"
        "    assert os.waitpid(forked, 0)[1] == 0\n"
        "    assert child.ask({'still': 'there'})[0]['echo'] == {'still': 'there'}\n"
        "    child.stop()\n"
        "else:\n"
        "    assert not child.is_alive()\n"
        "    child.stop()\n"
        "    try:\n        child.ask({})\n    except ChildLost:\n        os._exit(0)\n"
        "    os._exit(1)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stderr) == (0, "")
