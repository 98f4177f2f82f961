"""The real server as a process over stdio, and behind a real uvicorn over HTTP, asked by the SDK's own client."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import IO, Any

import anyio
import httpx
import pytest
from mcp import Client
from tests.serve.mcp.conftest import Library, make_many, text_of
from tests.serve.mcp.serving import served

from outcrop.serve.mcp import http as mcp_http
from outcrop.serve.mcp.http import Sessions

Talk = Callable[[Callable[[Client], Awaitable[None]]], None]


@pytest.fixture(params=["stdio", "http", "http-2026"])
def talk(request: pytest.FixtureRequest, library: Library) -> Iterator[Talk]:
    """Runs a client against the library over one of the transports; over HTTP in both eras of the protocol."""

    def run(server: Any, mode: str, work: Callable[[Client], Awaitable[None]]) -> None:
        async def main() -> None:
            with anyio.fail_after(600):
                async with Client(server, mode=mode) as client:
                    await work(client)

        anyio.run(main)

    if request.param == "stdio":
        yield lambda work: run(library.command("--root", str(library.folder)), "legacy", work)
        return
    state = library.open()
    state.engine.add(library.folder)
    mode = "legacy" if request.param == "http" else "auto"
    with served(state) as url:
        yield lambda work: run(url, mode, work)
    state.engine.close()


def test_every_tool_answers_over_both_transports(talk: Talk, library: Library) -> None:
    calls: list[tuple[str, dict[str, Any], str]] = [
        ("refresh", {"path": str(library.folder)}, "Up to date"),
        ("search", {"query": "how long does the client wait"}, "twice as long"),
        ("context", {"query": "how long does the client wait"}, "twice as long"),
        ("read_document", {"document": "lunch.md"}, "soup"),
        ("find_definition", {"name": "acquire"}, "def acquire"),
        ("related", {"target": "Pool.acquire"}, "tests it"),
        ("map", {}, "class Pool"),
        ("status", {}, "documents"),
        ("add", {"path": str(library.folder)}, "Up to date"),
        ("list_documents", {}, "lunch.md"),
        ("kb_write", {"path": "a.md", "text": "The vault code is on the whiteboard."}, "Written"),
        ("kb_search", {"query": "vault code whiteboard"}, "whiteboard"),
        ("kb_read", {"path": "a.md"}, "whiteboard"),
        ("kb_append", {"path": "a.md", "text": "Not any more."}, "Appended"),
        ("kb_edit", {"path": "a.md", "old": "whiteboard", "new": "door"}, "Edited"),
        ("kb_list", {}, "a.md"),
        ("kb_check", {}, "Nothing is wrong"),
        ("kb_move", {"path": "a.md", "to": "b.md"}, "Moved"),
        ("kb_delete", {"path": "b.md"}, "Deleted"),
    ]

    async def live(client: Client) -> None:
        listed = await client.list_tools()
        assert {tool.name for tool in listed.tools} == {name for name, _, _ in calls}
        assert client.server_info
        assert client.server_info.name == "outcrop"
        for name, arguments, expected in calls:
            result = await client.call_tool(name, arguments)
            assert not result.is_error, (name, text_of(result))
            assert expected in text_of(result), name
        refused = await client.call_tool("search", {"query": "x", "limits": 3})
        assert refused.is_error
        assert "did you mean 'limit'" in text_of(refused)
        told = await client.read_resource("outcrop://instructions")
        assert "kb_search" in told.contents[0].text  # type: ignore[union-attr]
        assert len((await client.list_prompts()).prompts) == 2

    talk(live)


def test_a_refresh_tells_its_progress_and_stops_when_it_is_cancelled(talk: Talk, library: Library) -> None:
    make_many(library.folder, 2000)

    async def live(client: Client) -> None:
        heard: list[float] = []
        begun = anyio.Event()

        async def listen(progress: float, total: float | None, message: str | None) -> None:
            heard.append(progress)
            if message and message.startswith("read"):
                begun.set()

        async with anyio.create_task_group() as group:

            async def refresh() -> None:
                arguments = {"path": str(library.folder)}
                await client.call_tool("refresh", arguments, progress_callback=listen)

            group.start_soon(refresh)
            with anyio.fail_after(300):
                await begun.wait()
            group.cancel_scope.cancel()
        counts = [-1, -2]
        while len(set(counts[-4:])) > 1:  # until it stands still, however slow the machine is
            result = await client.call_tool("status", {})
            counts.append(result.structured_content["documents"])
            await anyio.sleep(0.15)
        assert counts[-1] < 1900, f"the work went on to its end: {counts}"
        assert heard == sorted(set(heard))

    talk(live)


def test_a_note_is_found_by_meaning_soon_after_it_is_written(library: Library) -> None:
    async def live(client: Client) -> None:
        await client.call_tool(
            "kb_write", {"path": "cars.md", "text": "# Cars\n\nThe automobile needs new tyres.\n"}
        )
        with anyio.fail_after(300):
            while True:
                result = await client.call_tool("status", {})
                if result.structured_content["pending"] == 0:
                    break
                await anyio.sleep(0.1)
        found = text_of(await client.call_tool("search", {"query": "vehicle wheels"}))
        assert "cars.md" in found

    run_stdio(library, live)


def run_stdio(library: Library, work: Callable[[Client], Awaitable[None]], *options: str) -> None:
    async def main() -> None:
        with anyio.fail_after(600):
            async with Client(library.command(*options), mode="legacy") as client:
                await work(client)

    anyio.run(main)


def test_several_processes_write_and_search_one_index_at_once(library: Library) -> None:
    names, count = ("ada", "bob", "eve"), 5

    async def one(name: str) -> None:
        async with Client(library.command(), mode="legacy") as client:
            for number in range(count):
                note = {"path": "shared.md", "text": f"{name} number {number} was here"}
                written = await client.call_tool("kb_append", note)
                assert not written.is_error, text_of(written)
                # At once, although the others write the same note anew all the time.
                found = await client.call_tool("search", {"query": note["text"]})
                assert note["text"] in text_of(found)

    async def main() -> None:
        with anyio.fail_after(90):
            async with anyio.create_task_group() as group:
                for name in names:
                    group.start_soon(one, name)

    anyio.run(main)
    text = (library.db.parent / "kb" / "shared.md").read_text()
    assert sorted(text.splitlines()) == sorted(f"{n} number {i} was here" for n in names for i in range(count))
    found = library.call("kb_search", query="eve bob ada was here")
    assert all(f"{name} number {count - 1} was here" in found for name in names)


def test_a_read_only_process_makes_and_changes_nothing(library: Library) -> None:
    async def live(client: Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert "search" in names
        assert not names & {"kb_write", "kb_append", "kb_edit", "kb_move", "kb_delete", "refresh"}
        missing = await client.call_tool("search", {"query": "anything"})
        assert missing.is_error
        assert "outcrop add" in text_of(missing)
        assert "only reads" in text_of(await client.call_tool("kb_write", {"path": "a.md", "text": "x"}))

    run_stdio(library, live, "--read-only")
    assert not library.db.exists()
    assert not (library.db.parent / "kb").exists()


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def started(
    library: Library, *options: str, stderr: int | IO[bytes] = subprocess.PIPE, **environment: str
) -> subprocess.Popen[bytes]:
    command = library.command(*options)
    return subprocess.Popen(
        [command.command, *command.args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env={**os.environ, **(command.env or {}), **environment},
    )


def exchange(process: subprocess.Popen[bytes], *messages: object) -> list[dict[str, Any]]:
    """Send lines; as many come back as were asked with an id."""
    assert process.stdin
    assert process.stdout
    for message in messages:
        process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
    wanted = sum(isinstance(message, dict) and "id" in message for message in messages)
    return [json.loads(process.stdout.readline()) for _ in range(wanted)]


def read_imports(importtime: str) -> set[str]:
    """The modules that `-X importtime` names."""
    lines = (line for line in importtime.splitlines() if line.startswith("import time:"))
    return {line.rpartition("|")[2].strip() for line in lines}


def test_the_list_of_tools_comes_before_any_warm_up(library: Library, tmp_path: Path) -> None:
    """Told by what is imported beyond the SDK, and not by a clock, which a busy machine holds up."""
    command = [sys.executable, "-X", "importtime", "-c", "import mcp.server.lowlevel, mcp.server.stdio"]
    sdk = read_imports(subprocess.run(command, capture_output=True, text=True, check=True).stderr)
    log = tmp_path / "imports"  # a file, since more is written than a pipe holds
    with log.open("wb") as errors:
        process = started(library, stderr=errors, PYTHONPROFILEIMPORTTIME="1")
        listed = exchange(process, INITIALIZE, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        process.kill()
        process.communicate()
    assert len(listed[1]["result"]["tools"]) == 19
    ours = read_imports(log.read_text("utf-8")) - sdk
    assert "outcrop.serve.mcp.greeting" in ours
    assert not [name for name in ours if name.startswith(("outcrop.engine", "outcrop.index", "outcrop.store"))]
    known = {"outcrop", "mcp", "anyio", *sys.stdlib_module_names}
    assert {name for name in ours if name.partition(".")[0] not in known} == set()
    assert not library.db.exists()


def test_standard_output_is_the_protocol_and_nothing_else_and_a_broken_line_ends_nothing(
    library: Library,
) -> None:
    process = started(library, "--log-level", "debug")
    assert process.stdin
    [answer] = exchange(process, INITIALIZE)
    assert answer["result"]["serverInfo"]["name"] == "outcrop"
    for line in (b"{", b"nonsense", b"[]", b"\xff\xfe", b'{"jsonrpc": "2.0"}', b"[" * 100_000, b"null"):
        process.stdin.write(line + b"\n")
    exchanged = exchange(process, {"jsonrpc": "2.0", "id": "ping", "method": "ping"})
    while exchanged[-1].get("id") != "ping":  # broken lines may be answered with errors that have no id
        assert "error" in exchanged[-1]
        exchanged += exchange(process, {"jsonrpc": "2.0", "id": "ping", "method": "ping"})
    out, _ = process.communicate(timeout=60)
    for line in out.splitlines():
        assert json.loads(line)["jsonrpc"] == "2.0"
    assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_at_once_while_it_waits_for_input(library: Library, number: int) -> None:
    # What is started in a shell's background ignores SIGINT.
    before = signal.signal(number, signal.default_int_handler)
    try:
        process = started(library)
    finally:
        signal.signal(number, before)
    exchange(process, INITIALIZE)
    process.send_signal(number)
    assert process.wait(timeout=60) != 0
    assert process.stderr
    assert b"Traceback" not in process.stderr.read()
    process.communicate()


def test_the_http_app_needs_its_lifespan_and_keeps_sessions_apart(library: Library) -> None:
    state = library.open()
    state.engine.add(library.folder)

    async def live(url: str) -> None:
        async with Client(url, mode="legacy") as first, Client(url, mode="legacy") as second:
            answers: list[str] = []

            async def ask(client: Client, query: str) -> None:
                answers.append(text_of(await client.call_tool("search", {"query": query})))

            async with anyio.create_task_group() as group:
                for number in range(10):
                    group.start_soon(ask, first if number % 2 else second, "canteen soup Mondays")
            marks = {re.findall(r"<data (\w+)>", answer)[0] for answer in answers}
            assert len(marks) == 10

    with served(state) as url:
        anyio.run(live, url)
    state.engine.close()


def test_a_flood_of_sessions_locks_nobody_out(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_http, "MAX_SESSIONS", 8)
    state = library.open()

    async def flood(http: httpx.AsyncClient, url: str) -> list[str]:
        opened = []
        for _ in range(50):
            answer = await http.post(
                url, json=INITIALIZE, headers={"Accept": "application/json, text/event-stream"}
            )
            assert answer.status_code == 200, answer.text
            opened.append(answer.headers["mcp-session-id"])
        return opened

    async def live(url: str) -> None:
        async with Client(url, mode="legacy") as agent, httpx.AsyncClient(timeout=60) as http:
            assert not (await agent.call_tool("status", {})).is_error
            opened = await flood(http, url)
            assert not (await agent.call_tool("status", {})).is_error  # it was used, so it stays
            async with Client(url, mode="legacy") as late:
                assert not (await late.call_tool("status", {})).is_error
            statuses = []
            for session in opened:
                ended = await http.delete(url, headers={"Mcp-Session-Id": session})
                statuses.append(ended.status_code)
            assert statuses[:40] == [404] * 40  # the oldest made room
            assert 200 in statuses[40:]

    with served(state) as url:
        anyio.run(live, url)
    state.engine.close()


def test_the_longest_idle_session_makes_room() -> None:
    sessions = Sessions(3)
    for name in "abc":
        sessions.open(name)
    for name in "ab":  # in use, but not at the moment
        sessions.enter(name)
        sessions.leave(name)
    assert sessions.take_surplus() is None
    sessions.open("d")
    assert sessions.take_surplus() == "c"  # opened and never used
    sessions.enter("d")
    sessions.open("e")
    sessions.enter("e")
    assert sessions.take_surplus() == "a"  # used before b
    sessions.enter("b")
    sessions.open("f")
    sessions.enter("f")
    assert sessions.take_surplus() is None  # all four are busy
    sessions.enter("nobody")
    sessions.leave("nobody")
    sessions.forget("b")
    assert len(sessions) == 3


def test_a_server_starts_without_the_library_of_agents(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from outcrop.serve.http.server import make_app\n"
        "from outcrop.engine import Engine\n"
        "from outcrop.config import load_config\n"
        "from outcrop.serve.state import make_state\n"
        f"with Engine(load_config({{'db': {str(tmp_path / 'index.db')!r}}})) as engine:\n"
        "    make_app(make_state(engine))\n"
        "print([name for name in ('mcp', 'mcp_types', 'outcrop.serve.mcp.server') if name in sys.modules])\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n", result.stdout
