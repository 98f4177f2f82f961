"""README leads a newcomer all the way: each step has its commands, and they do what they should."""

from __future__ import annotations

import json
import shutil
import socket
import sys
from pathlib import Path

import pytest
from benchmarks.first_ten_minutes import STEPS, Failed, Ran, read_steps, report_on, surroundings, walk
from benchmarks.report import ROOT

from benchmarks import report

README = (ROOT / "README.md").read_text("utf-8")
BEFORE = ("clone", "install")
"""Steps that take a network, or an index of packages."""


def block(*commands: str) -> str:
    typed = "\n".join(f"$ {command}\nwhat it prints" for command in commands)
    return f"# A project\n\n```console\n{typed}\n```\n"


def settings(home: Path) -> dict[str, str]:
    """A newcomer who has installed what is in this environment."""
    found = surroundings(home)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    path = f"{Path(sys.executable).parent}:{found['PATH']}"
    return found | {"OUTCROP_PORT": str(port), "PATH": path}


def test_readme_has_commands_for_every_step_in_order() -> None:
    steps = [step for step, _ in read_steps(README)]
    assert list(dict.fromkeys(steps)) == list(STEPS)
    assert ("clone", 'git clone "$REPOSITORY" outcrop') in read_steps(README)


@pytest.mark.parametrize(
    ("readme", "problem"),
    [
        (block("git clone x", "uv tool install x", "outcrop search x", "outcrop serve"), "agent connected"),
        (block("git clone x", "sudo make install"), "begins like: sudo make install"),
        ("# A project without a command\n", "README has no command for"),
    ],
)
def test_a_readme_that_leads_nowhere_is_refused(readme: str, problem: str) -> None:
    with pytest.raises(Failed, match=problem):
        read_steps(readme)


def test_what_is_said_of_a_command_is_not_typed() -> None:
    first = block(
        "git clone x outcrop   # the address of this page", "uv tool install x", "outcrop search 'a # b'"
    )
    steps = read_steps(first + block("outcrop install claude --yes", "outcrop serve"))
    assert [command for _, command in steps][:3] == [
        "git clone x outcrop",
        "uv tool install x",
        "outcrop search 'a # b'",
    ]


def test_the_commands_after_the_installation_do_what_they_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    shutil.copytree(ROOT / "docs/samples", home / "outcrop/docs/samples")
    steps = [(step, command) for step, command in read_steps(README) if step not in BEFORE]
    ran = walk(steps, home, settings(home))
    assert [one.step for one in ran if one.command.startswith("(")] == ["agent connected"]
    assert all(one.cpu_s > 0 and one.printed for one in ran)
    monkeypatch.setattr(report, "ROOT", tmp_path)
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    kept = json.loads(report_on(ran).keep().read_text("utf-8"))
    assert [row["command"] for row in kept["tables"]["commands"]] == [one.command for one in ran]
    assert {f"{step}, output" for step in STEPS} <= {one["name"] for one in kept["figures"]}


def test_a_command_that_fails_or_finds_something_else_ends_the_walk(tmp_path: Path) -> None:
    home = tmp_path / "home"
    found = settings(home)
    with pytest.raises(Failed, match="ended with 3"):
        walk([("first answer", "sh -c 'exit 3'")], home, found)
    (home / "other.md").write_text("# Keys\n\nWe rotate them in spring.\n")
    with pytest.raises(Failed, match="something else"):
        walk([("first answer", "outcrop add other.md"), ("first answer", "outcrop search keys")], home, found)


def test_progress_that_overwrites_itself_is_one_line() -> None:
    assert Ran("clone", "git clone x", 1.0, 1.0, "Cloning\n 1%\r 50%\r100%, done.\n").lines == 2


def test_ten_minutes_are_ten_minutes() -> None:
    slow = [Ran(step, f"outcrop search {step}", 1.0, 150.0, "one\ntwo\n") for step in STEPS]
    assert [figure.name for figure in report_on(slow).failed] == ["all steps, by the clock"]
    assert not report_on(slow[:3]).failed
