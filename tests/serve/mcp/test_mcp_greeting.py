"""The first words with an agent: the same as the protocol's library says, without loading it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from scripts.greeting import make_greeting

from outcrop.serve.mcp.greeting import ANSWERS, VERSIONS, Greeting, greet, read_answers

LIBRARY = """
import sys
from outcrop.serve.mcp.desk import Desk
from outcrop.serve.mcp.server import serve_stdio
serve_stdio(Desk(lambda: None, read_only="--read-only" in sys.argv), sys.argv[1])
"""
"""A server that is not greeted: the library answers everything."""
CLIENT = {"capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


def message(method: str, id_: object = None, params: object = None) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "method": method,
        **({} if id_ is None else {"id": id_}),
        **({} if params is None else {"params": params}),
    }


def opening(version: str = "2025-06-18") -> list[dict[str, Any]]:
    return [
        message("initialize", 1, {"protocolVersion": version, **CLIENT}),
        message("notifications/initialized"),
        message("ping", "two"),
        message("tools/list", 3),
        message("prompts/list", 4, {}),
        message("resources/templates/list", 5),
    ]


@contextmanager
def started(tmp_path: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"HOME": str(tmp_path)},
    ) as server:
        try:
            yield server
        finally:
            server.kill()


def talk(server: subprocess.Popen[str], said: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Say one thing after the other, and wait for each answer."""
    assert server.stdin
    assert server.stdout
    answers = []
    for each in said:
        server.stdin.write(json.dumps(each) + "\n")
        server.stdin.flush()
        if "id" in each:
            answers.append(json.loads(server.stdout.readline()))
    return answers


@pytest.mark.parametrize("options", [["lean"], ["all"], ["all", "--read-only"]])
def test_the_library_would_have_said_the_same(options: list[str], tmp_path: Path) -> None:
    for version in sorted(VERSIONS):
        with started(tmp_path, "-m", "outcrop", "mcp", "--tools", *options) as server:
            greeted = talk(server, opening(version))
        with started(tmp_path, "-c", LIBRARY, *options) as server:
            assert talk(server, opening(version)) == greeted


def test_the_greeting_is_as_the_tools_are_now() -> None:
    assert ANSWERS.read_text("utf-8") == make_greeting(), "run `make pages`"


def test_a_greeting_loads_no_library_and_the_calls_after_it_are_answered(tmp_path: Path) -> None:
    seen = (
        "import sys; print(sorted({'mcp', 'pydantic', 'numpy', 'anyio'} & set(sys.modules)), file=sys.stderr)"
    )
    code = f"import atexit; from outcrop.serve.cli.app import main; atexit.register(lambda: exec({seen!r})); main()"
    # All at once, so that nobody is idle; the client leaves after its lists.
    said = "".join(json.dumps(each) + "\n" for each in opening())
    done = subprocess.run(
        [sys.executable, "-c", code, "mcp"],
        input=said,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"HOME": str(tmp_path)},
        check=True,
    )
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, "two", 3, 4, 5]
    assert done.stderr.splitlines()[-1] == "[]"
    with started(tmp_path, "-m", "outcrop", "mcp") as server:
        call = message("tools/call", 6, {"name": "search", "arguments": {"query": "soup"}})
        *_, answer = talk(server, [*opening(), call])
        assert "nothing is indexed yet" in answer["result"]["content"][0]["text"]
        again = talk(server, [message("initialize", 7, {"protocolVersion": "2025-06-18", **CLIENT})])
        assert again[0]["id"] == 7


def test_what_does_not_begin_as_a_conversation_does_is_left_to_the_library(tmp_path: Path) -> None:
    first = message("initialize", 1, {"protocolVersion": "2099-01-01", **CLIENT})
    for said in (
        [first, message("tools/list", 2)],
        [message("tools/list", 1)],
        [message("initialize", 1, {"protocolVersion": "2025-06-18"})],
        [message("tools/list", 1, {"cursor": "x"})],
    ):
        with (
            started(tmp_path, "-m", "outcrop", "mcp") as server,
            started(tmp_path, "-c", LIBRARY, "lean") as other,
        ):
            assert talk(server, said) == talk(other, said)


def heard(said: bytes, file: Path) -> tuple[Greeting, list[dict[str, Any]]]:
    """What a greeting makes of bytes, after which the client leaves."""
    answers: list[dict[str, Any]] = []
    file.write_bytes(said)
    source = os.open(file, os.O_RDONLY)
    made = read_answers("lean", read_only=False)
    assert made is not None
    try:
        return greet(made, source, lambda line: answers.append(json.loads(line))), answers
    finally:
        os.close(source)


def test_nothing_that_was_read_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "said"
    first, *others = (json.dumps(each).encode() + b"\n" for each in opening())
    call = json.dumps(message("tools/call", 9)).encode() + b"\n"
    greeting, answers = heard(first + others[0] + call + b'{"half": ', file)
    assert greeting.answered == 1
    assert greeting.heard == [first, others[0], call]
    assert greeting.rest == b'{"half": '
    assert [each["id"] for each in answers] == [1]
    for strange in (
        b"[]\n",
        b"no JSON\n",
        b"[" * 100_000 + b"\n",
        b'{"id": 1, "method": "initialize"}\n',
        b"\xff\n",
    ):
        greeting, answers = heard(strange, file)
        assert (greeting.answered, greeting.heard, answers) == (None, [strange], [])


def test_a_client_that_leaves_at_once_is_no_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "outcrop", "mcp"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=tmp_path,
        env=os.environ | {"HOME": str(tmp_path)},
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
