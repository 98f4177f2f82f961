"""A newcomer's first ten minutes: `python -m benchmarks.first_ten_minutes`.

Every command is taken out of README.md and run as it stands there, in an empty home folder without caches: clone,
install, ask, connect an agent, open the page. `$REPOSITORY` is this checkout, at its latest commit. Once an agent is
connected, the server in the client's configuration is started and asked, as the client would; the page is fetched from
the address that `outcrop serve` prints. CPU seconds are those of a command and all it starts;
packages come from the index that this machine has. Exits with 1 when a step does not do what README says, or all of it
takes more than ten minutes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from benchmarks.report import ROOT, WORK, Report, say

STEPS = {
    "clone": ("git clone ",),
    "install": ("uv tool install ",),
    "first answer": ("cd ", "outcrop add ", "outcrop search ", "outcrop context "),
    "agent connected": ("outcrop install ",),
    "page open": ("outcrop serve",),
}
"""What the commands of README are for, by how each begins."""
EXPECTED = "signing-keys.md"
"""The file that answers README's question."""
BAR_SECONDS = 600.0
WAIT_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that was run."""

    step: str
    command: str
    cpu_s: float
    wall_s: float
    printed: str

    @property
    def lines(self) -> int:
        """Lines of output; what overwrites itself, as progress does, is one."""
        return self.printed.count("\n")


class Failed(Exception):
    """A command of README does not do what it should; the message has what it printed."""


def read_steps(readme: str) -> list[tuple[str, str]]:
    """The commands of README in order, each with its step. One that belongs to none is an error, and a step without."""
    blocks = re.findall(r"^```console\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    typed = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    steps = []
    for line in typed:
        command = re.sub(r"\s{2,}#.*", "", line).strip()
        named = [step for step, beginnings in STEPS.items() if command.startswith(beginnings)]
        if not named:
            raise Failed(f"no step of the first ten minutes begins like: {command}")
        steps.append((named[0], command))
    if missing := STEPS.keys() - {step for step, _ in steps}:
        raise Failed(f"README has no command for: {', '.join(sorted(missing))}")
    return steps


def surroundings(home: Path) -> dict[str, str]:
    """The environment of somebody who has git, Python and uv, and nothing of this checkout."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OUTCROP_", "PYTHON", "XDG_", "VIRTUAL_ENV", "UV_CACHE", "UV_TOOL"))
    }
    tools = home / "tools"
    tools.mkdir(parents=True)
    (tools / "uv").symlink_to(shutil.which("uv") or Path(sys.executable).with_name("uv"))
    here = str(Path(sys.executable).parent)
    others = [folder for folder in kept["PATH"].split(os.pathsep) if folder != here]
    path = os.pathsep.join([str(home / ".local/bin"), str(tools), *others])
    return kept | {"HOME": str(home), "PATH": path, "REPOSITORY": str(ROOT), "NO_COLOR": "1"}


def start(command: str, folder: Path, settings: Mapping[str, str], out: IO[bytes]) -> subprocess.Popen[bytes]:
    """A command in a shell, as one would type it."""
    return subprocess.Popen(
        ["bash", "-c", f"exec {command}"],
        cwd=folder,
        env=dict(settings),
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def wait(process: subprocess.Popen[bytes]) -> tuple[int, float]:
    """How a process ended, and the CPU seconds of it and all it waited for."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_utime + used.ru_stime


def walk(steps: list[tuple[str, str]], folder: Path, settings: Mapping[str, str]) -> list[Ran]:
    """Run the commands one after the other; Failed at the first that does not do what it should."""
    ran: list[Ran] = []
    log = Path(settings["HOME"]) / "printed"
    for step, command in steps:
        if command.startswith("cd "):
            folder = (folder / command.removeprefix("cd ")).resolve(strict=True)
            continue
        say(f"$ {command}")
        began = time.perf_counter()
        with log.open("wb") as out:
            process = start(command, folder, settings, out)
            if step == "page open":
                try:
                    open_page(process, log)
                finally:
                    os.killpg(process.pid, signal.SIGINT)
            code, cpu = wait(process)
        printed = log.read_bytes().decode("utf-8")  # as it is: progress ends with a return, not a new line
        if code not in ((0, 130, -signal.SIGINT) if step == "page open" else (0,)):
            raise Failed(f"{command} ended with {code}:\n{printed}")
        if command.startswith("outcrop search") and EXPECTED not in printed:
            raise Failed(f"{command} found something else than {EXPECTED}:\n{printed}")
        ran.append(Ran(step, command, cpu, time.perf_counter() - began, printed))
        if step == "agent connected":
            ran.append(connect(Path(settings["HOME"]) / ".claude.json", folder, settings))
    return ran


def open_page(process: subprocess.Popen[bytes], log: Path) -> None:
    """Fetch the page from the address that is printed, and its answer to a question."""
    until = time.monotonic() + WAIT_SECONDS
    while not (found := re.search(r"http://\S+/", log.read_text("utf-8"))):
        if process.poll() is not None or time.monotonic() > until:
            raise Failed(f"the server does not start:\n{log.read_text('utf-8')}")
        time.sleep(0.05)
    with urllib.request.urlopen(found.group(), timeout=WAIT_SECONDS) as page:
        if "<title>Outcrop" not in page.read().decode("utf-8"):
            raise Failed(f"{found.group()} is not the page")
    body = json.dumps({"query": "how do we rotate the signing keys?"}).encode()
    asked = urllib.request.Request(f"{found.group()}api/search", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=WAIT_SECONDS) as answer:
        if EXPECTED not in answer.read().decode("utf-8"):
            raise Failed(f"the server found something else than {EXPECTED}")


def connect(file: Path, folder: Path, settings: Mapping[str, str]) -> Ran:
    """What the client does with its configuration: start the server in it, list its tools, call one."""
    entry = json.loads(file.read_text("utf-8"))["mcpServers"]["outcrop"]
    began = time.perf_counter()
    process = subprocess.Popen(
        [entry["command"], *entry["args"]],
        cwd=folder,
        env=dict(settings) | entry.get("env", {}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdout, process.stdin:  # the server ends when nothing more can come
        client = {"name": "newcomer", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        _ask(process, 1, "initialize", hello)
        _send(process, {"method": "notifications/initialized"})
        tools = [tool["name"] for tool in _ask(process, 2, "tools/list", {})["tools"]]
        call = {"name": "search", "arguments": {"query": "how do we rotate the signing keys?"}}
        printed = str(_ask(process, 3, "tools/call", call)["content"][0]["text"])
    _, cpu = wait(process)
    if EXPECTED not in printed:
        raise Failed(f"the agent found something else than {EXPECTED}:\n{printed}")
    what = f"(the client starts the server: {len(tools)} tools, one search)"
    return Ran("agent connected", what, cpu, time.perf_counter() - began, printed)


def _send(process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()


def _ask(process: subprocess.Popen[bytes], number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    _send(process, {"id": number, "method": method, "params": params})
    assert process.stdout is not None
    for line in process.stdout:
        message = json.loads(line)
        if message.get("id") == number:
            if "result" not in message:
                break
            result: dict[str, Any] = message["result"]
            return result
    raise Failed(f"the server does not answer {method}")


def report_on(ran: list[Ran]) -> Report:
    """A line for each command, and figures for each step."""
    report = Report("first-ten-minutes", {"commands from": "README.md"})
    for step in STEPS:
        mine = [one for one in ran if one.step == step]
        report.add(f"{step}, CPU", sum(one.cpu_s for one in mine), "s")
        report.add(f"{step}, output", sum(one.lines for one in mine), "lines")
    report.add("all steps, CPU", sum(one.cpu_s for one in ran), "s")
    report.add("all steps, by the clock", sum(one.wall_s for one in ran), "s", at_most=BAR_SECONDS)
    asked = [one.cpu_s for one in ran if one.command.startswith(("outcrop search", "outcrop context"))]
    report.add("a question, CPU, the slowest", max(asked), "s")
    rows = [
        {
            "step": one.step,
            "command": one.command,
            "CPU s": one.cpu_s,
            "wall s": one.wall_s,
            "lines": one.lines,
        }
        for one in ran
    ]
    report.add_table("commands", rows)
    return report


def main() -> None:
    work = WORK / "first-ten-minutes"
    shutil.rmtree(work, ignore_errors=True)
    home = work / "home"
    try:
        steps = read_steps((ROOT / "README.md").read_text("utf-8"))
        ran = walk(steps, home, surroundings(home))
    except Failed as error:
        raise SystemExit(str(error)) from error
    shutil.rmtree(work)  # a clone and an installation: some hundred megabytes
    report = report_on(ran)
    report.keep()
    raise SystemExit(1 if report.failed else 0)


if __name__ == "__main__":
    main()
