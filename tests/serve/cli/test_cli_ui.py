"""`outcrop ui` in a real terminal: type, see hits and the passage, open the editor at the line, copy."""

from __future__ import annotations

import base64
import codecs
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.serve.cli.runner import Outcrop

from outcrop.config import find_editor
from outcrop.serve.cli.finder import edit_command

PATIENCE_S = 120.0
DOWN, PAGE_DOWN = b"\x1b[B", b"\x1b[6~"


class Screen:
    """What a terminal shows: the few sequences that place, erase and write; colours and modes are passed over."""

    PARTS = re.compile(
        r"\x1b\[([0-9;?]*)[ -/]*([@-~])|\x1b\][^\x07]*\x07|\x1b[=>78NOMc]|([\r\n\b])|([^\x00-\x1f])"
    )

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], str] = {}
        self.row = self.column = 0

    def feed(self, text: str) -> None:
        for numbers, final, control, letter in self.PARTS.findall(text):
            if letter:
                self.cells[self.row, self.column] = letter
                self.column += 1
            elif control:
                self.row += control == "\n"
                self.column = {"\r": 0, "\b": max(self.column - 1, 0), "\n": self.column}[control]
            elif final:
                self.obey(final, [int(number or 0) for number in re.findall(r"\d*", numbers) if number])

    def obey(self, final: str, numbers: list[int]) -> None:
        by = numbers[0] if numbers else 1
        if final in "AB":
            self.row = max(self.row + (by if final == "B" else -by), 0)
        elif final in "CD":
            self.column = max(self.column + (by if final == "C" else -by), 0)
        elif final == "H":
            self.row, self.column = (number - 1 for number in (*numbers, 1, 1)[:2])
        elif final in "JK":
            whole = numbers == [2]
            gone = [
                (row, column)
                for row, column in self.cells
                if whole or (row == self.row and column >= self.column) or (final == "J" and row > self.row)
            ]
            for cell in gone:
                del self.cells[cell]

    def __str__(self) -> str:
        rows = range(max((row for row, _ in self.cells), default=0) + 1)
        return "\n".join("".join(self.cells.get((row, at), " ") for at in range(80)).rstrip() for row in rows)


class Terminal:
    """A terminal of 80 columns with a program in it."""

    def __init__(self, kb: Outcrop, *args: str, editor: str = "true", rows: int = 24) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))
        env = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "VISUAL")}
        env |= {"OUTCROP_DB": str(kb.db), "EDITOR": editor, "TERM": "xterm-256color"}
        self.program = subprocess.Popen(
            [sys.executable, "-m", "outcrop", "ui", *args],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=kb.notes,
            env=env,
            start_new_session=True,
        )
        os.close(slave)
        self.raw = b""
        self.screen = Screen()
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def type(self, keys: str | bytes) -> None:
        os.write(self._master, keys.encode() if isinstance(keys, str) else keys)

    def wait_for(self, *shown: str) -> None:
        """Until all of these are on the screen."""
        self._wait(lambda: all(text in str(self.screen) for text in shown))

    def wait_for_raw(self, wanted: bytes) -> None:
        """Until the program has sent this."""
        self._wait(lambda: wanted in self.raw)

    def _wait(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, str(self.screen)
            if select.select([self._master], [], [], 0.5)[0]:
                came = os.read(self._master, 65536)
                self.raw += came
                self.screen.feed(self._decode(came))

    def close(self) -> None:
        self.program.kill()
        self.program.wait()
        os.close(self._master)


@pytest.fixture
def editor(tmp_path: Path) -> Path:
    """An editor that notes how it was started."""
    script = tmp_path / "editor"
    script.write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/opened.part && mv {tmp_path}/opened.part {tmp_path}/opened\n'
    )
    script.chmod(0o755)
    return script


@pytest.fixture
def terminal(kb: Outcrop, editor: Path) -> Iterator[Terminal]:
    shown = Terminal(kb, editor=str(editor))
    yield shown
    shown.close()


def test_hits_and_a_passage_appear_as_one_types_and_the_editor_opens_at_the_line(
    kb: Outcrop, terminal: Terminal, tmp_path: Path
) -> None:
    terminal.wait_for("Enter open")
    terminal.type("doubles each time")
    terminal.wait_for("retries.md:", "Backoff", "starting at one second", "hit")
    terminal.type("\r")
    opened = tmp_path / "opened"
    deadline = time.monotonic() + PATIENCE_S
    while not opened.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert opened.read_text() == f"+7 {kb.notes}/retries.md\n"
    terminal.wait_for("Enter open")  # it is back
    terminal.type("\x14")
    terminal.wait_for_raw(b"\x1b]52;c;" + base64.b64encode(b"retries.md:7") + b"\x07")
    terminal.type("\x19")
    terminal.wait_for_raw(base64.b64encode(b"# Retries")[:8])
    terminal.type("\x03")
    assert terminal.program.wait(PATIENCE_S) == 0


def test_another_hit_is_selected_with_the_keys_and_a_query_can_be_given(kb: Outcrop, tmp_path: Path) -> None:
    shown = Terminal(kb, "release", "budget")
    try:
        shown.wait_for("rollback.md", "forty thousand euros", "2 hits")
        shown.type(DOWN)
        shown.wait_for("run the deploy script")
        shown.type(PAGE_DOWN)
        shown.type("\x14")
        shown.wait_for("copied the place")
        shown.type(b"\x15")  # empties the line, as in a shell
        shown.type("zz")
        shown.wait_for("› zz", "nothing came close enough")
        shown.type("\x04")
        assert shown.program.wait(PATIENCE_S) == 0
    finally:
        shown.close()


@pytest.mark.parametrize(
    ("editor", "typed"),
    [
        ("vim", ["vim", "+7", "a b.md"]),
        ("/usr/bin/emacs -nw", ["/usr/bin/emacs", "-nw", "+7", "a b.md"]),
        ("code --wait", ["code", "--wait", "--goto", "a b.md:7"]),
        ("hx", ["hx", "a b.md:7"]),
        ("notepad", ["notepad", "a b.md"]),
    ],
)
def test_each_editor_is_told_the_line_in_its_own_way(editor: str, typed: list[str]) -> None:
    assert edit_command(editor, "a b.md", 7) == typed


def test_the_editor_is_that_of_the_user() -> None:
    assert find_editor({"EDITOR": "nano", "VISUAL": "vim"}) == "vim"
    assert find_editor({"EDITOR": "nano"}) == "nano"
    assert find_editor({}) in ("vi", "notepad")


def test_without_a_terminal_and_without_its_extra_it_says_so_in_a_sentence(
    kb: Outcrop, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped = kb("ui")
    assert piped.exit_code == 2
    assert "needs a terminal" in piped.stderr
    monkeypatch.delitem(sys.modules, "outcrop.serve.cli.finder", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == "prompt_toolkit"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "prompt_toolkit", None)
    missing = kb("ui")
    assert missing.exit_code == 5
    assert missing.stderr.startswith("Error: outcrop ui needs the extra ui, which is not installed: ")
