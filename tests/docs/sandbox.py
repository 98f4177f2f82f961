"""A home folder of its own for each page, in which its commands are run: in this process where that can be."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from docs.site.contents import ROOT
from tests.docs.reading import Command

from outcrop.serve.cli.app import cli

SAMPLES = ROOT / "docs/samples"
HOME_SHOWN = "/home/ann"
"""The home folder as pages write it."""
DATABASE_SHOWN = "postgresql://ann@db.example/papers"
"""The database as pages write it; the tests' own stands in its place, and is written so where it is shown."""
_DATABASE = re.compile(r"postgresql://outcrop(?::[^@\s]*)?@127\.0\.0\.1:\d+/outcrop")
PORT_SHOWN = "7411"
_HOOK, _PATIENT_HOOK = "shlex.split(command)", "[*shlex.split(command), '--within', '100']"
"""A hook gives up after two seconds, which a busy machine may need before it has begun."""
LASTING = ("serve", "watch")
"""Commands that go on until they are stopped."""
WAIT_SECONDS = 120.0
_OPERATORS = frozenset("|&;<>()")
_INTO = {">": "w", ">>": "a"}
"""Where the output of a command goes, and how that file is opened."""


@dataclass
class Sandbox:
    """Where the commands of a page run."""

    home: Path
    patch: pytest.MonkeyPatch
    port: int
    database: str = ""
    names: dict[str, Any] = field(default_factory=dict)
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

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
        """End what was started, the page's own Python included: one that failed half way has not tidied up."""
        self._stop_started()
        for value in self.names.values():
            if isinstance(value, tempfile.TemporaryDirectory):
                value.cleanup()

    def _stop_started(self) -> None:
        while self.started:
            stop(self.started.pop())

    def _in_process(self, words: list[str]) -> tuple[int, str]:
        *plain, arrow, name = words if len(words) > 2 and words[-2] in _INTO else [*words, "", ""]
        result = CliRunner().invoke(cli, plain, prog_name="outcrop")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        if not arrow:
            return result.exit_code, result.output
        with Path(name).open(_INTO[arrow]) as file:
            file.write(result.stdout)
        return result.exit_code, result.stderr

    def _shell(self, typed: str, command: Command) -> tuple[int, str]:
        background = typed.rstrip().endswith("&")
        if background:
            self._stop_started()  # it may want the port of the one before
        log = self.home.parent / f"printed-{len(list(self.home.parent.iterdir()))}"
        with log.open("wb") as out:
            process = subprocess.Popen(
                ["bash", "-c", "exec " + typed.rstrip().rstrip("&") if background else typed],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_hear_interrupts,  # noqa: PLW1509 - no thread of ours holds a lock here
            )
        self.started.append(process)
        if background:
            return 0, read_until(process, log, len(command.shown or ("",)))
        if any(typed.startswith(f"outcrop {name}") for name in LASTING):
            printed = read_until(process, log, len(command.shown or ("",)))
            code = stop(process)
            return (0 if code in (0, 130) else code), printed
        process.wait(WAIT_SECONDS)
        return process.returncode, log.read_text("utf-8")

    def _expand(self, word: str) -> str:
        return str(self.home / word[2:]) if word.startswith("~/") else word

    def _real(self, text: str) -> str:
        text = text.replace(DATABASE_SHOWN, self.database) if self.database else text
        return text.replace(PORT_SHOWN, str(self.port)).replace(_HOOK, _PATIENT_HOOK)

    def _shown(self, code: int, printed: str) -> tuple[int, str]:
        printed = _DATABASE.sub(DATABASE_SHOWN, printed)
        printed = printed.replace(str(self.home), HOME_SHOWN).replace(str(self.port), PORT_SHOWN)
        return code, printed.replace(str(Path(sys.executable).parent), f"{HOME_SHOWN}/.local/bin")


def _simple(typed: str) -> list[str] | None:
    """The words of a command that needs no shell, at most with its output into a file; None for one that does."""
    lexer = shlex.shlex(typed, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    into = len(words) > 2 and words[-2] in _INTO and words[0] == "outcrop"
    operators = [word for word in words if set(word) <= _OPERATORS]
    if (
        words != shlex.split(typed, comments=True)
        or len(operators) > into
        or any("$" in word for word in words)
    ):
        return None
    return words


def _hear_interrupts() -> None:
    """A run in the background has Ctrl-C ignored, and its children would inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def read_until(process: subprocess.Popen[bytes], log: Path, lines: int) -> str:
    """What a process printed, as soon as that is so many lines; what there is when it ends or takes too long."""
    until = time.monotonic() + WAIT_SECONDS
    while process.poll() is None and time.monotonic() < until:
        if log.read_bytes().count(b"\n") >= lines:
            break
        time.sleep(0.02)
    return log.read_text("utf-8")


def stop(process: subprocess.Popen[bytes]) -> int:
    """End a process and all it started, as Ctrl-C does; how it ended."""
    if process.poll() is not None:
        return process.returncode
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    try:
        return process.wait(WAIT_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.wait()


def make_home(home: Path, holds: frozenset[str]) -> None:
    """A home folder with what a page needs: `notes`, `project`, `questions`, `sessions` of a coding agent, `mail`, or
    a `checkout` of the repository."""
    home.mkdir()
    if "notes" in holds:
        shutil.copytree(SAMPLES / "notes", home / "notes")
    if "project" in holds:
        shutil.copytree(SAMPLES / "project", home / "src/project")
    if "questions" in holds:
        shutil.copy(SAMPLES / "questions.jsonl", home)
    if "mail" in holds:
        shutil.copytree(SAMPLES / "mail", home / "mail")
    if "sessions" in holds:
        shutil.copytree(SAMPLES / "sessions/claude", home / ".claude/projects")
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
