"""ripgrep as a program: where it is, what it is asked, and its processes.

Processes of one thread each take the files in order, as many at a time as there are cores: what they print waits in
their pipes, so memory stays small and the order of the answer is that of the paths.
"""

from __future__ import annotations

import os
import shutil
import sysconfig
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from pathlib import Path
from typing import IO, Final

from outcrop.errors import Cancelled, ConfigError, QueryError
from outcrop.records import GrepOptions
from outcrop.system.limits import check_wanted
from outcrop.system.machine import need_extra, usable_cores
from outcrop.workers.process import PIPE, Popen, start_program

_LEAST_CHARS: Final = 30_000
"""Of the names that one process is given: Windows takes 32 767."""
_MOST_CHARS: Final = 512 * 1024
"""The same elsewhere, where a system allows for four times that. Starting a process takes 4 ms."""
_WATCH_S: Final = 0.2
"""Between two questions whether anybody still waits (not measured)."""


@cache
def find_ripgrep() -> str:
    """The program: the one installed beside this Python, or the system's."""
    beside = shutil.which("rg", path=sysconfig.get_path("scripts"))
    found = beside or shutil.which("rg")
    if found is None or not Path(found).is_absolute():  # a PATH with "." finds what lies in the current folder
        raise need_extra(ConfigError, "grep", "grep")
    return found


def command_of(pattern: str, options: GrepOptions) -> list[str]:
    """What ripgrep is asked, without the form of its answer."""
    flags = ["--no-config", "--no-mmap", "--threads=1", "-uuu", "--case-sensitive"]
    flags += ["--fixed-strings"] if options.literal else ["--engine=default"]
    flags += ["--ignore-case"] if options.ignore_case else []
    flags += ["--word-regexp"] if options.whole_words else []
    flags += [f"--before-context={options.before}", f"--after-context={options.after}"]
    flags += [f"--max-count={options.max_per_file}"] if options.max_per_file else []
    return [find_ripgrep(), *flags, f"--regexp={pattern}"]


def try_pattern(command: Sequence[str]) -> None:
    """QueryError, in ripgrep's words, where it cannot read the pattern."""
    try:
        tried = start_program([*command, "--", "-"], stderr=PIPE)
    except (OSError, ValueError) as error:
        raise QueryError("the pattern cannot be handed to ripgrep; it is no text") from error
    _, complaint = tried.communicate()
    if tried.returncode == 2:
        said = complaint.decode("utf-8", "replace").removeprefix("rg: ").strip()
        said = said.partition("\n\nConsider enabling")[0]  # by an option that only ripgrep has
        raise QueryError(f"{said}\nthe syntax is that of Rust: https://docs.rs/regex/latest/regex/#syntax")


def run_on(command: Sequence[str], files: Sequence[str], complaints: IO[bytes]) -> Iterator[IO[bytes]]:
    """What the processes print, one after the other: each has the next of the files. It is to be read to its end."""
    batches = _split(files)
    running: deque[Popen[bytes]] = deque()
    with _ended(running):
        while True:
            check_wanted()
            while len(running) < usable_cores() and (batch := next(batches, None)):
                running.append(start_program([*command, "--", *batch], stderr=complaints))
            if not running:
                return
            assert running[0].stdout is not None  # noqa: S101 - it was asked for
            yield running[0].stdout
            check_wanted()  # it may have been ended for that
            running.popleft().__exit__(None, None, None)


@contextmanager
def _ended(running: deque[Popen[bytes]]) -> Iterator[None]:
    """Whatever happens, no process is left behind; all are ended as soon as nobody waits for them, also while they have
    nothing to say."""
    done, context = threading.Event(), copy_context()

    def watch() -> None:
        try:
            while not done.wait(_WATCH_S):
                context.run(check_wanted)
        except Cancelled:
            for process in tuple(running):
                process.kill()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        for process in running:
            process.kill()
            process.__exit__(None, None, None)


def _split(files: Sequence[str]) -> Iterator[list[str]]:
    """The files in batches, about four for each core as long as they are neither many nor few."""
    sizes = [len(os.fsencode(file)) + 1 for file in files]
    most = min(max(sum(sizes) // (4 * usable_cores()), _LEAST_CHARS), _most_chars())
    start, room = 0, most
    for at, size in enumerate(sizes):
        room -= size
        if room < 0 and at > start:
            yield list(files[start:at])
            start, room = at, most - size
    if start < len(files):
        yield list(files[start:])


@cache
def _most_chars() -> int:
    if os.name == "nt":
        return _LEAST_CHARS
    try:
        allowed = os.sysconf("SC_ARG_MAX")
    except (OSError, ValueError):
        allowed = 0
    return min(max(allowed // 4, _LEAST_CHARS), _MOST_CHARS)


def read_complaints(complaints: IO[bytes]) -> list[str]:
    """What could not be read. A file that went away since it was listed is none of them."""
    complaints.seek(0)
    said = complaints.read().decode("utf-8", "replace").splitlines()
    return [line.removeprefix("rg: ") for line in said if "(os error 2)" not in line]
