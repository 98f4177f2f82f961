"""Targets in processes that can be killed: a hang, a death, too much memory or an exception is a finding.

A process works through the inputs of one target by number and tells which it is at. The watcher looks at its CPU time
and memory: time that other processes take on a busy machine does not count.
"""

from __future__ import annotations

import hashlib
import importlib
import multiprocessing
import os
import re
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from proofs.fuzz.seeds import Seeds
from proofs.fuzz.target import Target

TABLE = "proofs.fuzz.targets"
WARM_INPUTS = 200
"""After so many a process has loaded what it needs."""
BLOCKED_FACTOR = 12
"""A process that waits and takes no CPU time is given up after so many deadlines by the clock."""
SLICE = 20_000
"""Inputs of one process; then another one, so that both cores are busy to the end."""
_POLL_S = 0.2
_SPAWN = multiprocessing.get_context("spawn")
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Finding:
    """An input after which something should not have happened; `kind` is equal for those that are alike."""

    target: str
    kind: str
    detail: str
    data: bytes

    def keep(self, folder: Path) -> Path:
        """Write the input to a file whose name says the target, for `--replay`."""
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{self.target}-{hashlib.sha256(self.data).hexdigest()[:12]}"
        file.write_bytes(self.data)
        return file


@dataclass(slots=True)
class Tally:
    """What a target came to."""

    inputs: int = 0
    cpu_s: float = 0.0
    slowest_ms: float = 0.0
    growth_bytes: int = 0
    findings: list[Finding] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take in what another part of the same target came to."""
        self.inputs += other.inputs
        self.cpu_s += other.cpu_s
        self.slowest_ms = max(self.slowest_ms, other.slowest_ms)
        self.growth_bytes = max(self.growth_bytes, other.growth_bytes)
        self.findings += other.findings


def attempt(target: Target, data: bytes) -> Finding | None:
    """Check one input here; what it raised as a finding."""
    try:
        target.check(data)
    except Exception as error:  # noqa: BLE001  whatever comes out is what is looked for
        lines = traceback.format_exc()
        places = re.findall(r'outcrop/([\w/]+\.py)", line (\d+)', lines)
        said = re.sub(r"\d+|'[^']*'|\"[^\"]*\"", "…", str(error))[:80]
        kind = f"{type(error).__name__} {':'.join(places[-1]) if places else ''} {said}".strip()
        return Finding(target.name, kind, lines[-3_000:], data)
    return None


def run_here(target: Target, seeds: Seeds, seed: int, numbers: Sequence[int]) -> Iterator[Finding]:
    """The findings of these inputs, in this process."""
    for number in numbers:
        found = attempt(target, target.input(seed, number, seeds))
        if found is not None:
            yield found


# ------------------------------------------------------------------ the process


def _work(
    pipe: Connection, at: Any, table: str, name: str, folder: Path, seed: int, first: int, stop: int
) -> None:
    os.setsid()  # a session of its own: Ctrl-C is for the watcher
    target, seeds = importlib.import_module(table).TARGETS[name], Seeds(folder)
    slowest = 0.0
    started = resident = None
    for number in range(first, stop):
        at.value = number
        began = time.process_time()
        found = attempt(target, target.input(seed, number, seeds))
        taken = time.process_time() - began
        if number > first:  # the first loads what it needs
            slowest = max(slowest, taken)
        if found is not None:
            pipe.send(("finding", number, found))
        if number - first == WARM_INPUTS:
            started = _resident(os.getpid())
            pipe.send(("warm", number, started))
    resident = _resident(os.getpid())
    growth = resident - started if started is not None else 0
    pipe.send(("done", stop, (time.process_time(), slowest * 1000, growth)))


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def _cpu_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


class _Part:
    """A process on its way through some inputs of a target."""

    def __init__(self, table: str, target: Target, folder: Path, seed: int, first: int, stop: int) -> None:
        self.target, self.folder, self.seed, self.first, self.stop = target, folder, seed, first, stop
        self.tally = Tally()
        self.warm_bytes = 0
        self._pipe, theirs = _SPAWN.Pipe(duplex=False)
        self._at = _SPAWN.Value("q", first - 1, lock=False)
        self._process = _SPAWN.Process(
            target=_work, args=(theirs, self._at, table, target.name, folder, seed, first, stop), daemon=False
        )
        self._process.start()
        theirs.close()
        self._seen = (first - 1, 0.0, time.monotonic())

    def poll(self) -> int | None:
        """None while it works; else the number of the input to go on with, past the last when all are done."""
        while self._pipe.poll():
            try:
                kind, number, what = self._pipe.recv()
            except EOFError:
                break
            if kind == "finding":
                self.tally.findings.append(what)
            elif kind == "warm":
                self.warm_bytes = what
            else:
                self._process.join()
                self.tally.inputs = self.stop - self.first
                self.tally.cpu_s, self.tally.slowest_ms, self.tally.growth_bytes = what
                return int(number)
        pid, number = self._process.pid or 0, int(self._at.value)
        if not self._process.is_alive():
            return self._give_up(f"the process died with {self._process.exitcode}")
        cpu, now = _cpu_s(pid), time.monotonic()
        if number != self._seen[0]:
            self._seen = (number, cpu, now)
        elif number >= self.first and cpu - self._seen[1] > self.target.deadline_s:
            return self._give_up(f"took more than {self.target.deadline_s:g} s of CPU time")
        elif number >= self.first and now - self._seen[2] > BLOCKED_FACTOR * self.target.deadline_s:
            return self._give_up("waits for ever")
        if self.warm_bytes and _resident(pid) - self.warm_bytes > self.target.growth_bytes:
            return self._give_up(f"took more than {self.target.growth_bytes >> 20} MB of memory")
        return None

    def _give_up(self, why: str) -> int:
        number = max(int(self._at.value), self.first)
        self.tally.cpu_s = _cpu_s(self._process.pid or 0)
        self._process.kill()
        self._process.join()
        data = self.target.input(self.seed, number, Seeds(self.folder))
        self.tally.findings.append(Finding(self.target.name, why, "", data))
        self.tally.inputs = number + 1 - self.first
        return number + 1


def run(
    targets: Sequence[tuple[Target, int]], seeds: Seeds, seed: int, jobs: int, table: str = TABLE
) -> Iterator[tuple[str, Tally]]:
    """So many inputs of each target, in `jobs` processes at a time; what each part came to, as it ends.

    Processes find the target by its name in the `TARGETS` of the module `table`.
    """
    waiting = [
        (target, first, min(first + SLICE, count))
        for target, count in targets
        for first in range(0, count, SLICE)
    ][::-1]
    parts: list[_Part] = []
    while waiting or parts:
        while waiting and len(parts) < jobs:
            target, first, stop = waiting.pop()
            parts.append(_Part(table, target, seeds.folder, seed, first, stop))
        time.sleep(_POLL_S)
        for part in list(parts):
            following = part.poll()
            if following is None:
                continue
            parts.remove(part)
            yield part.target.name, part.tally
            if following < part.stop:
                waiting.append((part.target, following, part.stop))
