"""A home folder of its own for each page, in which its commands are run: in this process where that can be."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from docs.site.contents import ROOT
from tests.docs.matching import ANY
from tests.docs.reading import Command

from outcrop.serve.cli import cli

SAMPLES = ROOT / "docs/samples"
HOME_SHOWN = "/home/ann"
"""The home folder as pages write it."""
DATABASE_SHOWN = "postgresql://ann@db.example/papers"
PORT_SHOWN = "7411"
LASTING = ("serve", "watch")
"""Commands that go on until they are stopped."""
WAIT_SECONDS = 30.0
_OPERATORS = frozenset("|&;<>()")


@dataclass
class Sandbox:
    """Where the commands of a page run."""

    home: Path
    patch: pytest.MonkeyPatch
    port: int
    database: str = ""
    names: dict[str, Any] = field(default_factory=dict)
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def run(self, command: Command) -> tuple[int, str]:
        """How a command ended, and what it printed, as a page would show it."""
        typed = self._real(command.typed)
        words = _simple(typed)
        if words is None:
            return self._shown(*self._shell(typed, command))
        if words[0] == "export":
            for word in words[1:]:
                name, _, value = word.partition("=")
                self.patch.setenv(name, value)
            return 0, ""
        if words[0] == "cd":
            self.patch.chdir(self._expand(words[1]))
            return 0, ""
        if words[0] == "outcrop" and len(words) > 1 and words[1] not in (*LASTING, "mcp"):
            return self._shown(*self._in_process([self._expand(word) for word in words[1:]]))
        return self._shown(*self._shell(typed, command))

    def run_python(self, code: str) -> str:
        """What some Python prints; pages are one program each."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(self._real(code), "page", "exec"), self.names)
        return self._shown(0, out.getvalue())[1]

    def close(self) -> None:
        """End what was started."""
        for process in self.started:
            stop(process)

    def _in_process(self, words: list[str]) -> tuple[int, str]:
        result = CliRunner().invoke(cli, words, prog_name="outcrop")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.output

    def _shell(self, typed: str, command: Command) -> tuple[int, str]:
        background = typed.rstrip().endswith("&")
        process = subprocess.Popen(
            ["bash", "-c", "exec " + typed.rstrip().rstrip("&") if background else typed],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        if background:
            self.started.append(process)
            return 0, read_until(process, 1)
        if any(typed.startswith(f"outcrop {name}") for name in LASTING):
            expected = len([line for line in command.shown or ("",) if line.strip() != ANY])
            printed = read_until(process, expected)
            code = stop(process)
            return (0 if code in (0, 130) else code), printed
        printed, _ = process.communicate(timeout=WAIT_SECONDS)
        return process.returncode, printed

    def _expand(self, word: str) -> str:
        return str(self.home / word[2:]) if word.startswith("~/") else word

    def _real(self, text: str) -> str:
        text = text.replace(DATABASE_SHOWN, self.database) if self.database else text
        return text.replace(PORT_SHOWN, str(self.port))

    def _shown(self, code: int, printed: str) -> tuple[int, str]:
        printed = printed.replace(str(self.home), HOME_SHOWN).replace(str(self.port), PORT_SHOWN)
        return code, printed.replace(str(Path(sys.executable).parent), f"{HOME_SHOWN}/.local/bin")


def _simple(typed: str) -> list[str] | None:
    """The words of a command that needs no shell; None for one that does."""
    lexer = shlex.shlex(typed, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    quoted = shlex.split(typed, comments=True)
    if words != quoted or any(set(word) <= _OPERATORS for word in words) or any("$" in word for word in words):
        return None
    return words


def read_until(process: subprocess.Popen[str], lines: int) -> str:
    """The first lines that a process prints; what there is when it ends or takes too long."""
    printed: list[str] = []
    assert process.stdout is not None
    reader = threading.Thread(target=lambda: printed.extend(iter(process.stdout.readline, "")), daemon=True)  # type: ignore[union-attr]
    reader.start()
    until = time.monotonic() + WAIT_SECONDS
    while len(printed) < lines and reader.is_alive() and time.monotonic() < until:
        time.sleep(0.02)
    return "".join(printed)


def stop(process: subprocess.Popen[str]) -> int:
    """End a process as Ctrl-C does; how it ended."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
    try:
        return process.wait(WAIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def make_home(home: Path, holds: frozenset[str]) -> None:
    """A home folder with what a page needs: `notes`, `project`, `questions`, or a `checkout` of the repository."""
    home.mkdir()
    if "notes" in holds:
        shutil.copytree(SAMPLES / "notes", home / "notes")
    if "project" in holds:
        shutil.copytree(SAMPLES / "project", home / "src/project")
    if "questions" in holds:
        shutil.copy(SAMPLES / "questions.jsonl", home)
    if "checkout" in holds:
        shutil.copytree(SAMPLES, home / "outcrop/docs/samples")


@contextlib.contextmanager
def open_sandbox(
    folder: Path, holds: frozenset[str], patch: pytest.MonkeyPatch, port: int, chat_url: str
) -> Iterator[Sandbox]:
    """A sandbox whose programs know nothing of the user who runs the tests."""
    home = folder / "home"
    make_home(home, holds)
    for name in list(os.environ):
        if name.startswith(("OUTCROP_", "XDG_", "OPENAI_", "PG")):
            patch.delenv(name)
    patch.setenv("HOME", str(home))
    patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    patch.setenv("NO_COLOR", "1")
    patch.setenv("COLUMNS", "100")
    patch.setenv("OUTCROP_PORT", str(port))
    patch.setenv("OUTCROP_CHAT_URL", chat_url)
    patch.chdir(home)
    sandbox = Sandbox(home, patch, port)
    try:
        yield sandbox
    finally:
        sandbox.close()
