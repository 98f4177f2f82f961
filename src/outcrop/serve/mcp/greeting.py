"""The first words with an agent, said before the protocol's library is loaded.

Every client begins alike: `initialize`, then a list of what it may call. To load the library takes five times the
processor time that answering takes, at every start of every agent. So these answers are made beforehand
(`greeting.json`, by `make pages`; a test holds them to what the library says). Whatever else comes first is left to the
library, which is then told how it began.
"""

from __future__ import annotations

import io
import json
import os
import select
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Final

from outcrop.system.dataclass import dataclass

ANSWERS: Final = Path(__file__).with_name("greeting.json")
VERSIONS: Final = frozenset({"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"})
"""Versions of the protocol that begin with `initialize`; asked for another one, the library negotiates."""
LISTS: Final = frozenset({"tools/list", "prompts/list", "resources/templates/list"})
IDLE_S: Final = 0.2
"""After this long without a word the library is loaded, so that the first call does not wait for it (not measured)."""
MAX_LINE: Final = 1 << 20
"""Bytes of a line that is looked at here: a greeting has some hundred."""
_BLOCK: Final = 1 << 16

Send = Callable[[bytes], None]


@dataclass(slots=True)
class Greeting:
    """What has been said: the `initialize` that was answered and the lines that followed, for the library to hear."""

    answered: object = None
    """The id of that `initialize`; None where the library is to answer it."""
    heard: list[bytes] = field(default_factory=list)
    rest: bytes = b""
    """What was read beyond."""
    closed: bool = False
    """The client left."""


def read_answers(tools: str, *, read_only: bool) -> Mapping[str, Any] | None:
    """The answers of a server with these tools; None where they are chosen one by one."""
    name = tools.strip() or "lean"
    if name not in ("lean", "all"):
        return None
    made = json.loads(ANSWERS.read_text("utf-8"))
    offered = [tool for tool in made["tools/list"][name] if not (read_only and tool["name"] in made["writing"])]
    return {**made["answers"], "tools/list": {"tools": offered}}


def greet(answers: Mapping[str, Any], source: int, send: Send) -> Greeting:
    """Answer what comes from a file descriptor as long as it is the beginning of a conversation."""
    greeting = Greeting()
    listed = False
    for line in _lines(source, greeting):
        message = _parse(line)
        request = message.get("id")
        method = message.get("method")
        if method == "initialize" and greeting.answered is None and _is_plain_start(message):
            version = message["params"]["protocolVersion"]
            result = {**answers["initialize"], "protocolVersion": version}
            greeting.answered = request
            greeting.heard.append(line)
        elif greeting.answered is not None and method == "notifications/initialized":
            greeting.heard.append(line)
            continue
        elif greeting.answered is not None and isinstance(request, str | int) and method == "ping":
            result = {}
        elif greeting.answered is not None and isinstance(request, str | int) and _asks_for_list(message):
            result = answers[str(method)]
            listed = listed or method == "tools/list"
        else:
            greeting.heard.append(line)
            return greeting
        send(
            json.dumps({"jsonrpc": "2.0", "id": request, "result": result}, ensure_ascii=False).encode() + b"\n"
        )
        if listed and not greeting.rest and _is_idle(source):
            return greeting
    return greeting


def _lines(source: int, greeting: Greeting) -> Iterator[bytes]:
    """Lines as they come; what was read beyond one is `rest`. Ends where the client leaves or a line is very long."""
    while True:
        line, found, rest = greeting.rest.partition(b"\n")
        if found:
            greeting.rest = rest
            yield line + found
            continue
        if len(greeting.rest) > MAX_LINE:
            return
        block = os.read(source, _BLOCK)
        if not block:
            greeting.closed = True
            return
        greeting.rest += block


def _parse(line: bytes) -> dict[str, Any]:
    """A message; empty where it is none, which the library answers in its own way."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) and message.get("jsonrpc") == "2.0" else {}


def _is_plain_start(message: Mapping[str, Any]) -> bool:
    """Whether this is the `initialize` that every client sends; the library judges others."""
    params = message.get("params")
    if not isinstance(message.get("id"), str | int) or not isinstance(params, dict):
        return False
    client = params.get("clientInfo")
    return (
        params.get("protocolVersion") in VERSIONS
        and isinstance(params.get("capabilities"), dict)
        and isinstance(client, dict)
        and isinstance(client.get("name"), str)
        and isinstance(client.get("version"), str)
    )


def _asks_for_list(message: Mapping[str, Any]) -> bool:
    params = message.get("params")
    if params is not None and not (isinstance(params, dict) and params.keys() <= {"_meta"}):
        return False
    return message.get("method") in LISTS


def _is_idle(source: int) -> bool:
    if os.name != "posix":  # where pipes cannot be waited for
        return False
    return not select.select([source], [], [], IDLE_S)[0]


# ------------------------------------------------------------------ what the library is given to read and to write


class Resumed(io.RawIOBase):
    """Bytes that were read already, then those of a file descriptor."""

    def __init__(self, before: bytes, source: int) -> None:
        self._before = memoryview(before)
        self._source = source

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """As of any raw stream."""
        if not self._before:
            block = os.read(self._source, len(buffer))
            buffer[: len(block)] = block
            return len(block)
        taken, self._before = self._before[: len(buffer)], self._before[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)


class Muted(io.TextIOWrapper):
    """Passes messages on, but for the answer to a request that was answered before."""

    def __init__(self, sink: io.BufferedWriter, answered: object) -> None:
        super().__init__(sink, encoding="utf-8", newline="\n")
        self._answered = answered

    def write(self, text: str) -> int:
        """The library writes a message at a time."""
        if self._answered is not None:
            message = json.loads(text)
            if message.get("id") == self._answered and "method" not in message:
                self._answered = None
                return len(text)
        return super().write(text)


Streams = tuple[io.TextIOWrapper, io.TextIOWrapper]


def greet_stdio(tools: str, *, read_only: bool) -> Streams | None:
    """Greet the client on standard input and output, which from then on are nobody else's: what any part of the program
    prints goes to standard error. Returns what the library is to go on with; None where the client has left."""
    source, sink = os.dup(0), os.dup(1)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    writer = io.FileIO(sink, "wb", closefd=False)
    answers = read_answers(tools, read_only=read_only)
    greeting = Greeting() if answers is None else greet(answers, source, lambda line: _write(writer, line))
    if greeting.closed and not greeting.rest:
        return None
    before = b"".join((*greeting.heard, greeting.rest))
    reading = io.TextIOWrapper(io.BufferedReader(Resumed(before, source)), encoding="utf-8", errors="replace")
    return reading, Muted(io.BufferedWriter(writer), greeting.answered)


def _write(writer: io.FileIO, line: bytes) -> None:
    left = memoryview(line)
    while left:
        left = left[writer.write(left) :]
