"""grep: what it prints, byte for byte as ripgrep or grep would, and what it exits with."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from tests.serve.cli.runner import Outcrop

from outcrop.read.ripgrep import find_ripgrep


def ripgrep(folder: Path, *arguments: str) -> str:
    """What ripgrep prints from within the folder, by path."""
    command = [find_ripgrep(), "--no-config", "--sort=path", "--no-heading", "-uu", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("-n", "retried"),
        ("-N", "the"),
        ("-n", "-i", "THE"),
        ("-n", "-w", "time"),
        ("-c", "the"),
        ("-l", "the"),
        ("-n", "-C", "1", "the"),
        ("-n", "-A", "2", "#"),
        ("-n", "-B", "1", "tag|second"),
        ("-n", "-F", "tag."),
        ("-n", "-g", "*.md", "the"),
        ("-n", "-g", "!deploy", "the"),
        ("-l", "-C", "1", "the"),
        ("-c", "-C", "1", "the"),
        ("-A", "1", "the"),
    ],
)
def test_the_output_is_that_of_ripgrep(
    kb: Outcrop, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(kb.notes)
    ours = kb("grep", *(argument for argument in arguments if argument != "-N"))
    theirs = ripgrep(kb.notes, *arguments)
    assert theirs
    assert ours.stdout == theirs
    assert ours.exit_code == 0


def test_exit_codes_are_those_of_grep(kb: Outcrop) -> None:
    assert kb("grep", "retried").exit_code == 0
    assert kb("grep", "zebra").exit_code == 1
    refused = kb("grep", "(")
    assert refused.exit_code == 2
    assert "unclosed group" in refused.stderr
    (kb.notes / "budget.txt").chmod(0)
    if os.geteuid() == 0:  # whom no permission stops
        (kb.notes / "budget.txt").write_bytes(b"x" * (33 * 1024 * 1024))
    assert kb("grep", "retried").exit_code == 2
    assert "budget.txt" in kb("grep", "retried").stderr


def test_a_path_narrows_and_elsewhere_names_are_whole(
    kb: Outcrop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    found = kb("grep", "-l", "the", kb.notes / "deploy").stdout.splitlines()
    assert [Path(line).name for line in found] == ["rollback.md"]
    monkeypatch.chdir("/")
    monkeypatch.chdir(kb.notes / "deploy")
    assert kb("grep", "-l", "retried").stdout == f"{kb.notes.resolve() / 'retries.md'}\n"


def test_a_path_that_leads_nowhere_is_told(kb: Outcrop) -> None:
    told = kb("grep", "the", kb.notes / "deploy", kb.notes / "depoly")
    assert told.exit_code == 2
    assert "depoly: there is no such file" in told.stderr
    assert "rollback.md" in told.stdout


def test_json_is_a_line_for_each_file(kb: Outcrop) -> None:
    files = [json.loads(line) for line in kb("grep", "the", "--json").stdout.splitlines()]
    assert [file["document"]["path"] for file in files] == ["budget.txt", "deploy/rollback.md"]
    assert files[0]["lines"][0]["spans"][0] == [25, 28]


def test_ranked_files_come_in_the_order_of_a_search(kb: Outcrop) -> None:
    ranked = kb("grep", "--rank", "-l", "budget|the").stdout.splitlines()
    assert [Path(line).name for line in ranked] == ["budget.txt", "rollback.md"]


def test_a_terminal_gets_colours_and_line_numbers_and_no_control_characters(kb: Outcrop) -> None:
    (kb.notes / "budget.txt").write_text("the \x1b[31mred\x1b]0;title\x07 budget\n")
    here, there = pty.openpty()
    program = str(Path(sys.executable).with_name("outcrop"))
    environment = {"OUTCROP_DB": str(kb.db), "HOME": str(kb.db.parent), "TERM": "xterm-256color"}
    done = subprocess.run(
        [program, "grep", "budget"], stdout=there, stdin=there, env=environment, cwd=kb.notes, check=False
    )
    os.close(there)
    shown = os.read(here, 10_000).decode()
    os.close(here)
    assert done.returncode == 0
    assert "\x1b[35mbudget.txt" in shown
    assert "\x1b[32m1" in shown
    assert "\x1b[1;31mbudget" in shown
    assert "\x07" not in shown
    assert "the ␛[31mred␛]0;title␇ " in shown  # as what it is, and in no colour
