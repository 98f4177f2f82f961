"""How much CPU a server takes until it answers: `outcrop serve` its health check, `outcrop mcp` the list of its tools.

Part of `python -m benchmarks.speed`. Read from /proc while the server still runs, so that its end does not count.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.report import ROOT, WORK, percentile

RUNS = 5
"""Starts of a server; the median counts."""


def measure_serve(db: Path) -> float:
    """Median CPU milliseconds until `outcrop serve` has answered its first request."""

    def ask(process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        with urllib.request.urlopen(f"{url}healthz") as answer:
            answer.read()

    return _median_ms(["--db", str(db), "serve", "--port", "0", "--json"], ask)


def measure_mcp(db: Path) -> float:
    """Median CPU milliseconds until `outcrop mcp` has listed its tools."""
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}
    said: list[dict[str, Any]] = [
        {"method": "initialize", "id": 1, "params": client},
        {"method": "notifications/initialized"},
        {"method": "tools/list", "id": 2},
    ]

    def ask(process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in said:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()
            if "id" in message:
                assert "result" in json.loads(process.stdout.readline())

    return _median_ms(["--db", str(db), "mcp"], ask)


def _median_ms(words: list[str], ask: Callable[[subprocess.Popen[str]], None]) -> float:
    # An installed program has its bytecode; a checkout may have been told not to write any.
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(WORK / "bytecode")}
    command = [sys.executable, "-m", "outcrop", *words]
    times = []
    for _ in range(RUNS + 1):  # the first one also fills the file cache and is not counted
        with subprocess.Popen(
            command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            ask(process)
            times.append(1000 * _cpu_s(process.pid))
            process.terminate()
    return percentile(times[1:], 0.5)


def _cpu_s(pid: int) -> float:
    """CPU seconds that a process has used so far."""
    stat = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
