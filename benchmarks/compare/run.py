"""A program in a process of its own, with a limit, measured from outside: wall, CPU and memory, children included."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report import ROOT

SAMPLE_S, LOOK_AROUND_S = 0.1, 1.0
"""How often memory is looked at, and how often for new children: a peak of less is missed. To look through all
processes at each sample cost as much CPU as a small peer."""
WALL_SHARE = 4.0
"""A limit is in CPU seconds, so that a busy machine does not decide who takes too long; in wall time it is so many
times as long, for what hangs (not measured)."""
SAID_CHARS = 300
"""How much of what a failed program said stands in the table."""
_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended. `problem` is empty when it ended well; `answer` is the JSON object of its last line, if any."""

    problem: str
    answer: dict[str, Any]
    wall_s: float
    cpu_s: float
    peak_rss_bytes: int


def run_measured(
    command: Sequence[str], *, limit_s: float, settings: Mapping[str, str] | None = None, cwd: Path = ROOT
) -> Outcome:
    """Run a command to its end or its limit in CPU seconds; never raises for what the command does.

    CPU is that of the process, of all children it waited for, and of those it left behind; memory the largest sum over
    its session, looked at ten times a second. Whatever of the session is left is ended.
    """
    surroundings = {**os.environ, **(settings or {})}
    with tempfile.TemporaryFile("w+b") as out, tempfile.TemporaryFile("w+b") as said:
        started = time.perf_counter()
        try:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=surroundings,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=said,
                start_new_session=True,
            )
        except OSError as error:
            return Outcome(f"cannot be started: {error}", {}, 0.0, 0.0, 0)
        peak, spent, status, used = 0, 0.0, None, None
        late, looked, members = False, 0.0, [process.pid]
        while status is None:
            pid, code, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                status, used = os.waitstatus_to_exitcode(code), usage
            elif late := spent > limit_s or time.perf_counter() - started > WALL_SHARE * limit_s:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                _, _, used = os.wait4(process.pid, 0)
                status = -signal.SIGKILL
            else:
                if time.perf_counter() - looked > LOOK_AROUND_S:
                    looked, members = time.perf_counter(), _members(process.pid)
                spent, held = _weigh(members)
                peak = max(peak, held)
                time.sleep(SAMPLE_S)
        wall = time.perf_counter() - started
        process.returncode = status
        left_cpu, _ = _weigh(_members(process.pid))
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        assert used is not None
        factor = 1 if sys.platform == "darwin" else 1024
        printed, told = _read(out), _read(said)
    problem, answer = _judge(status, late, limit_s, printed, told)
    return Outcome(
        problem, answer, wall, _cpu(used) + left_cpu, max(peak, used.ru_maxrss * factor if not peak else 0)
    )


def _judge(status: int, late: bool, limit_s: float, printed: str, told: str) -> tuple[str, dict[str, Any]]:
    """(what went wrong, the answer)."""
    if late:
        return f"over its limit of {limit_s:.0f} s of CPU, or {WALL_SHARE * limit_s:.0f} s of waiting", {}
    if status:
        lines = [line.strip() for line in (told or printed).splitlines() if line.strip()]
        return f"ended with {status}: {' '.join(lines[-1:])[:SAID_CHARS]}", {}
    try:
        answer = json.loads((printed.strip().splitlines() or [""])[-1])
    except ValueError:
        return "", {}
    return "", answer if isinstance(answer, dict) else {}


def _members(leader: int) -> list[int]:
    """The processes of a session; none where there is no /proc."""
    numbers = [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]
    return [number for number in numbers if (fields := _stat(number)) and int(fields[3]) == leader]


def _weigh(processes: Sequence[int]) -> tuple[float, int]:
    """(CPU seconds, bytes in memory) of processes, with the children they waited for."""
    found = [fields for number in processes if (fields := _stat(number))]
    cpu = sum(sum(map(int, fields[11:15])) for fields in found) / _TICK
    return cpu, sum(int(fields[21]) for fields in found) * _PAGE


def _stat(process: int) -> list[str]:
    """What the kernel tells of a process, from its state on; nothing when it has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return []


def _cpu(used: resource.struct_rusage) -> float:
    return used.ru_utime + used.ru_stime


def _read(file: Any) -> str:
    file.seek(0)
    text: str = file.read().decode("utf-8", "replace")
    return text
