"""Fuzzed lines and tool arguments against the real `outcrop mcp`: it must neither crash, hang, nor show a traceback.

    python -m proofs.fuzz_mcp --inputs 5000

Half of the inputs are calls of real tools with arguments that are wrong in one way or another, the other half lines
that are broken JSON, broken JSON-RPC, or requests the protocol does not know. A call must be answered, and a ping after
every input, within five seconds; every answer must be one JSON object on one line. Exits with 1 when one is not, when
the server ends, or when a traceback is in an answer or in its log.
"""

from __future__ import annotations

import argparse
import itertools
import json
import queue
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from outcrop.serve.mcp.params import input_schema
from outcrop.serve.mcp.tools import TOOLS

LONGEST_S = 5.0
WARM_S = 60.0
"""For the first answers: the engine is opened."""
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fuzz", "version": "1"}}
METHODS = (
    "tools/list tools/call resources/list resources/read resources/templates/list prompts/list prompts/get ping "
    "completion/complete logging/setLevel resources/subscribe server/discover notifications/cancelled "
    "notifications/progress notifications/initialized sampling/createMessage roots/list initialize nothing/here"
).split()
STRINGS = (
    "",
    " ",
    "x",
    "soup",
    "the canteen on Mondays",
    '"quoted phrase"',
    "../../etc/passwd",
    "/etc/passwd",
    "a/../b.md",
    "notes/a.md",
    "\x00",
    "\u202e\u0000\x1b[2J",
    "𐍈" * 50,
    "%s%n{}${jndi}",
    "' OR 1=1 --",
    "NEAR(a b, 5) AND *",
    "]]>&<!--",
    "outcrop://kb/../x",
    "outcrop://document/1",
    "-1",
    "1e400",
    "null",
    "retries.md:3",
    "a.b.c.d.e" * 30,
    "x" * 4001,
    "long " * 700,
    "con.md",
    "**/*[",
    "2026-13-45",
    "\\",
    "\n\n\n",
)
NUMBERS = (0, 1, -1, 5, 10, 50, 51, 2**31, 2**63, -(2**63), 10**30, 0.5, 1e308, 3.0)


def any_value(chance: random.Random, depth: int = 0) -> Any:
    """Some JSON."""
    kind = chance.randrange(8 if depth < 3 else 5)
    if kind == 0:
        return None
    if kind == 1:
        return chance.random() < 0.5
    if kind == 2:
        return chance.choice(NUMBERS)
    if kind <= 4:
        return chance.choice(STRINGS)
    if kind == 5:
        return [any_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    if kind == 6:
        return ["a"] * chance.choice((51, 1000))
    return {chance.choice(STRINGS)[:20]: any_value(chance, depth + 1) for _ in range(chance.randrange(4))}


def likely_value(chance: random.Random, schema: dict[str, Any]) -> Any:
    """What a parameter takes, mostly."""
    if chance.random() < 0.25:
        return any_value(chance)
    if "enum" in schema:
        return chance.choice(schema["enum"])
    if schema["type"] == "boolean":
        return chance.random() < 0.5
    if schema["type"] == "integer":
        usual = (schema["minimum"], schema["maximum"], schema.get("default", 1))
        return chance.choice((*usual, chance.choice(NUMBERS)))
    if schema["type"] == "array":
        return [chance.choice(STRINGS) for _ in range(chance.randrange(3))]
    return chance.choice(STRINGS) if chance.random() < 0.9 else chance.randrange(9)


def tool_call(chance: random.Random) -> dict[str, Any]:
    """A call of a real tool, with arguments that may be right."""
    tool = chance.choice(list(TOOLS.values()))
    schema = input_schema(tool.takes)
    arguments: Any = {
        name: likely_value(chance, param)
        for name, param in schema["properties"].items()
        if chance.random() < (0.95 if name in schema.get("required", ()) else 0.3)
    }
    if chance.random() < 0.1:
        arguments[chance.choice(STRINGS)[:30]] = any_value(chance)
    if chance.random() < 0.05:
        arguments = any_value(chance)
    return {"method": "tools/call", "params": {"name": tool.name, "arguments": arguments}}


def broken_line(chance: random.Random, number: int) -> bytes:
    """A line that is wrong in some way, mostly."""
    kind = chance.randrange(6)
    message = {"jsonrpc": "2.0", "id": number, "method": chance.choice(METHODS), "params": any_value(chance)}
    if kind == 0:
        return json.dumps(any_value(chance)).encode()
    if kind == 1:
        return chance.choice(
            (b"[" * 5000, b'{"a":' * 5000, b"\xff\xfe\x00", b"{", b"NaN", b'{"id": 1e999}', b"")
        )
    if kind == 2:
        for key in chance.sample(sorted(message), chance.randrange(1, 3)):
            message[key] = any_value(chance)
        return json.dumps(message).encode()
    if kind == 3:
        whole = json.dumps(message).encode()
        at = chance.randrange(len(whole))
        return whole[:at] + bytes([chance.randrange(32, 256)]) + whole[at + 1 :]
    if kind == 4:
        message.pop("id")
        return json.dumps(message).encode()
    return json.dumps(message).encode()


class Server:
    """The process, and its answers as they come."""

    def __init__(self, folder: Path) -> None:
        command = [
            sys.executable,
            "-m",
            "outcrop",
            "--db",
            str(folder / "index.db"),
            "mcp",
            "--kb",
            str(folder / "kb"),
        ]
        command += ["--root", str(folder / "docs")]
        self.log = (folder / "log").open("wb")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin: IO[bytes] = self.process.stdin
        self.answers: queue.Queue[bytes] = queue.Queue()
        self.is_warm = False
        threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True).start()

    def _read(self, stdout: IO[bytes]) -> None:
        for line in stdout:
            self.answers.put(line)

    def ask(self, line: bytes, wanted: set[object]) -> Iterator[dict[str, Any]]:
        """Send a line; every answer until those with these ids are there, queue.Empty when they are not in time."""
        self.stdin.write(line + b"\n")
        self.stdin.flush()
        end = time.monotonic() + (LONGEST_S if self.is_warm else WARM_S)
        while wanted:
            answer = json.loads(self.answers.get(timeout=max(0.01, end - time.monotonic())))
            yield answer
            wanted.discard(answer.get("id"))


def request(number: object, method: str, params: object = None) -> bytes:
    """A line that asks for something."""
    message = {"jsonrpc": "2.0", "id": number, "method": method}
    return json.dumps(message if params is None else {**message, "params": params}).encode()


class Run:
    """What came back, and what should not have."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.folder = folder
        self.seen: Counter[str] = Counter()
        self.problems: list[str] = []
        self.slowest = 0.0
        (folder / "docs").mkdir()
        (folder / "docs" / "retries.md").write_text("# Retries\n\nThe client waits, then tries again.\n")
        (folder / "docs" / "lunch.md").write_text("# Lunch\n\nThe canteen serves soup on Mondays.\n")
        self.server = Server(folder)
        list(self.server.ask(request(0, "initialize", HELLO), {0}))
        list(self.server.ask(request("w", "tools/call", {"name": "refresh"}), {"w"}))
        self.server.is_warm = True

    def throw(self, number: int) -> bool:
        """One input; False when there is no server any more."""
        is_call = self.chance.random() < 0.5
        line = request(number, **tool_call(self.chance)) if is_call else broken_line(self.chance, number)
        ping = f"p{number}"
        wanted: set[object] = {number, ping} if is_call else {ping}
        began = time.monotonic()
        try:
            for answer in self.server.ask(line + b"\n" + request(ping, "ping"), wanted):
                self.note(answer, line)
        except queue.Empty:
            self.problems.append(f"no answer in {LONGEST_S} s to {line[:200]!r}")
        except (BrokenPipeError, ValueError) as error:
            self.problems.append(f"{error!r} after {line[:200]!r}")
        self.slowest = max(self.slowest, time.monotonic() - began)
        if self.server.process.poll() is None:
            return True
        self.problems.append(f"the server ended after {line[:200]!r}")
        return False

    def note(self, answer: dict[str, Any], line: bytes) -> None:
        """Count an answer, and look for what no answer may hold."""
        if str(answer.get("id", "")).startswith("p"):
            return
        text = json.dumps(answer)
        result = answer.get("result")
        is_error = isinstance(result, dict) and result.get("isError")
        self.seen["errors" if "error" in answer else "refusals" if is_error else "answers"] += 1
        for word in ("Traceback", "failed inside Outcrop", 'File \\"/'):
            if word in text:
                self.problems.append(f"{word} in the answer to {line[:300]!r}: {text[:300]}")

    def finish(self) -> None:
        """Close its input: it must end by itself, and its log must be clean."""
        self.server.stdin.close()
        code = self.server.process.wait(timeout=30)
        self.server.log.close()
        log = (self.folder / "log").read_text("utf-8", "replace")
        if code:
            self.problems.append(f"the server ended with {code}")
        if "Traceback" in log:
            self.problems.append(f"{log.count('Traceback')} tracebacks in the log; the last: {log[-1500:]}")


def main() -> int:
    """Run it; 1 when a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        run = Run(Path(name), args.seed)
        count = sum(1 for _ in itertools.takewhile(run.throw, range(1, args.inputs + 1)))
        run.finish()
    kinds = ", ".join(f"{number} {kind}" for kind, number in run.seen.most_common())
    print(f"{count} inputs, slowest {run.slowest:.2f} s; {kinds}; {len(run.problems)} problems")
    for problem in run.problems[:20]:
        print("PROBLEM", problem)
    return 1 if run.problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
