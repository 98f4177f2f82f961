"""No request is worked on for longer than anybody waits for it, and nothing holds up the end of the server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cost import cpu_below
from tests.serve.http.running import Running, serving, write_notes

import outcrop
from outcrop.errors import Cancelled
from outcrop.serve import patience
from outcrop.serve.http import searchers
from outcrop.serve.page import routes
from outcrop.serve.page.render import render_markdown
from outcrop.serve.patience import OVERDUE, Overdue, Patience
from outcrop.system.limits import check_wanted, wanted_while
from outcrop.workers.process import _started

LONG_S = 120.0
"""What a slow machine may need; everything waited for here would otherwise never come."""


class Endless:
    """Stands in for work without end that looks whether it is wanted."""

    def __init__(self) -> None:
        self.begun, self.ended = threading.Event(), threading.Event()
        self.why: Exception | None = None

    def __call__(self, *_: Any, **__: Any) -> None:
        self.begun.set()
        try:
            while True:
                check_wanted()
                time.sleep(0.005)
        except Exception as error:
            self.why = error
            raise
        finally:
            self.ended.set()


def only_id(server: Running, name: str) -> int:
    return int(server.client.get("/api/documents/by-path", params={"path": name}).json()["id"])


@pytest.fixture
def endless(server: Running, monkeypatch: pytest.MonkeyPatch) -> tuple[Endless, str]:
    work = Endless()
    monkeypatch.setattr(routes, "render_view", work)
    return work, f"/api/documents/{only_id(server, 'pool.py')}/view"


def test_work_stops_when_the_time_is_up_and_the_client_is_told(
    server: Running, endless: tuple[Endless, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    work, url = endless
    monkeypatch.setattr(patience, "REQUEST_S", 0.3)
    answer = server.client.get(url)
    assert answer.status_code == 503
    assert answer.json() == {"error": {"code": "overdue", "message": OVERDUE}}
    assert work.ended.wait(LONG_S)
    assert isinstance(work.why, Overdue)


def test_work_that_never_checks_does_not_keep_its_client_waiting(
    server: Running, endless: tuple[Endless, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    let_go = threading.Event()
    monkeypatch.setattr(routes, "render_view", lambda *_, **__: let_go.wait(LONG_S))
    monkeypatch.setattr(patience, "REQUEST_S", 0.3)
    answer = server.client.get(endless[1])
    let_go.set()
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "overdue")
    assert server.client.get("/healthz").status_code == 200


def test_work_stops_when_the_client_leaves(
    server: Running, endless: tuple[Endless, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    work, url = endless
    monkeypatch.setattr(patience, "REQUEST_S", 10 * LONG_S)
    with pytest.raises(httpx.ReadTimeout):
        httpx.get(server.url + url, timeout=httpx.Timeout(LONG_S, read=0.3))
    assert work.begun.is_set()
    assert work.ended.wait(LONG_S)
    assert isinstance(work.why, Cancelled)
    assert not isinstance(work.why, Overdue)


def test_slow_views_free_their_threads_again(
    server: Running, endless: tuple[Endless, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, url = endless
    monkeypatch.setattr(patience, "REQUEST_S", 1.0)
    clients = [threading.Thread(target=lambda: httpx.get(server.url + url, timeout=LONG_S)) for _ in range(40)]
    for client in clients:
        client.start()
    for client in clients:
        client.join(LONG_S)
        assert not client.is_alive()
    monkeypatch.undo()
    assert server.client.get(url).status_code == 200


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("blank.c", "\n" * 250_000),
        ("short.cpp", "a\n" * 125_000),
        ("fences.md", "```c\n" + "\n" * 100_000 + "```\n" + "```java\n" + "a\n" * 60_000 + "```\n"),
        ("many.md", "```python\nx\n```\n" * 15_000),
    ],
)
def test_source_crafted_to_be_slow_is_still_shown(name: str, text: str, tmp_path: Path) -> None:
    notes = write_notes(tmp_path / "notes")
    (notes / name).write_text("int a;\n" + text if name.endswith(("c", "p")) else "words\n\n" + text)
    with serving(tmp_path) as server, cpu_below(60):
        answer = server.client.get(f"/api/documents/{only_id(server, name)}/view")
        assert answer.status_code == 200
        assert 'data-line="1"' in answer.json()["html"]


def test_rendering_markdown_checks_for_cancellation() -> None:
    for text in ("# a\n\n" * 500, "*a* [b](c) " * 500):
        looks = 0

        def look() -> None:
            nonlocal looks
            looks += 1
            if looks > 100:
                raise Overdue(OVERDUE)

        with wanted_while(look), pytest.raises(Overdue):
            render_markdown(text)


@pytest.mark.parametrize("path", ["/api/map", "/api/graph", "/api/related?target=Pool", "/api/stale"])
def test_requests_that_walk_the_whole_index_check_for_cancellation(
    path: str, server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Patience, "check", refuse_at_once)
    answer = server.client.get(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "overdue")


def refuse_at_once(_self: Patience) -> None:
    raise Overdue(OVERDUE)


@pytest.mark.parametrize("path", ["/api/search", "/api/context", "/api/embed"])
def test_posted_requests_check_for_cancellation(
    path: str, server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Patience, "check", refuse_at_once)
    answer = server.client.post(path, json={"texts": ["a"]} if path == "/api/embed" else {"query": "pool"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "overdue")


def test_waiting_for_a_job_has_no_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path, roots=[str(tmp_path)]) as server:
        monkeypatch.setattr(patience, "REQUEST_S", 2.0)
        done = threading.Event()

        def slow(*_: Any) -> Any:
            time.sleep(3)
            done.set()
            return server.state.engine.sync()

        server.state.jobs.register("ingest", slow)
        answer = server.client.post(f"/coderag/refresh?repoPath={server.notes}&wait=true")
        assert answer.status_code == 200
        assert done.is_set()


# ------------------------------------------------------------------ processes that search


def searcher_ids() -> list[int]:
    return [child.pid for child in list(_started) if "searchers" in str(child.args) and child.poll() is None]


def test_a_hanging_search_process_is_replaced_and_the_next_search_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(searcher_ids())
    with serving(tmp_path, workers=1) as server:
        assert server.client.post("/api/search", json={"query": "pool"}).status_code == 200
        (stuck,) = set(searcher_ids()) - before
        os.kill(stuck, signal.SIGSTOP)
        monkeypatch.setattr(searchers, "REQUEST_S", 0.3)
        answer = server.client.post("/api/search", json={"query": "pool"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "overdue")
        monkeypatch.undo()
        assert server.client.post("/api/search", json={"query": "pool"}).status_code == 200
        assert stuck not in searcher_ids()


# ------------------------------------------------------------------ the end

ENDLESS_SERVER = """
import sys, time
from outcrop.serve.page import routes

def spin(*_, **__):
    print("spinning", flush=True)
    while True:
        pass

routes.render_view = spin
from outcrop.serve.cli.app import main
sys.argv = ["outcrop", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_sigterm_ends_a_server_during_endless_work(workers: str, tmp_path: Path) -> None:
    with outcrop.open(tmp_path / "index.db") as engine:
        engine.add(write_notes(tmp_path / "notes"))
        document = engine.get("pool.py").id
    command = [sys.executable, "-c", ENDLESS_SERVER, "--db", str(tmp_path / "index.db"), "serve", "--port", "0"]
    with subprocess.Popen(
        [*command, "--json", "--workers", workers], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout is not None
            url = url_in(server.stdout.readline())
            if workers != "0":
                assert (
                    httpx.post(f"{url}/api/search", json={"query": "pool"}, timeout=LONG_S).status_code == 200
                )
            children = children_of(server.pid)
            assert len(children) == int(workers)
            for child in children:
                os.kill(child, signal.SIGSTOP)  # as if it would never answer again
            threading.Thread(target=ask, args=(f"{url}/api/documents/{document}/view",), daemon=True).start()
            assert server.stdout.readline() == "spinning\n"
            server.send_signal(signal.SIGTERM)
            began = time.monotonic()
            assert server.wait(LONG_S) == 0
            print(f"ended after {time.monotonic() - began:.1f} s")
            assert not any(is_alive(child) for child in children)
        finally:
            server.kill()


def url_in(line: str) -> str:
    return str(json.loads(line)["url"]).rstrip("/")


def ask(url: str) -> None:
    with pytest.raises(httpx.HTTPError):
        httpx.get(url, timeout=LONG_S).raise_for_status()


def children_of(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in listed for child in path.read_text("ascii").split()]


def is_alive(pid: int) -> bool:
    until = time.monotonic() + LONG_S
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        if state == "Z":
            return False
        time.sleep(0.05)
    return True
