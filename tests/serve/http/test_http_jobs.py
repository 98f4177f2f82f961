"""Long work: its progress, its end, what it may reach, and that a kill does not lose it."""

from __future__ import annotations

import functools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
from tests.serve.http.running import Running, serving, write_notes

import outcrop
import outcrop.sources.url as fetching
from outcrop.errors import NotAllowed
from outcrop.records import IngestReport
from outcrop.serve.as_json import plain
from outcrop.serve.jobs import WAITING, Job, Jobs, Task
from outcrop.serve.state import require_root

FILES = 1000
"""Enough that an ingest takes a second."""
PUBLIC = "93.184.216.34"


def events_of(server: Running, job_id: str) -> list[tuple[str, Any]]:
    with server.client.stream("GET", f"/api/jobs/{job_id}/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        frames = "".join(answer.iter_text()).strip().split("\n\n")
    found = []
    for frame in frames:
        name, data = frame.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_a_folder_is_ingested_with_progress_and_found(tmp_path: Path) -> None:
    more = tmp_path / "root" / "more"
    more.mkdir(parents=True)
    for number in range(300):
        (more / f"{number}.md").write_text(f"# Note {number}\n\nThe wombat number {number} sleeps.\n")
    with serving(tmp_path, roots=[str(tmp_path / "root")]) as server:
        body = {"source": str(more), "tags": ["animals"]}
        answer = server.client.post("/api/ingest", json=body)
        assert answer.status_code == 202
        events = events_of(server, answer.json()["job"]["id"])
        assert {name for name, _ in events[:-1]} <= {"progress"}
        name, job = events[-1]
        assert (name, job["state"], job["report"]["added"]) == ("done", "done", 300)
        assert any(job["progress"] for _, job in events)  # the last one may be all that was seen of a fast job
        assert len(job["report"]["document_ids"]) == 200  # a job keeps the first of them
        found = server.client.post("/api/search", json={"query": "wombat number 7", "tags": ["animals"]}).json()
        assert found["hits"]
        assert server.client.get("/api/jobs").json()["jobs"][0]["id"] == job["id"]


@pytest.fixture
def blocked(tmp_path: Path) -> Iterator[tuple[Running, threading.Event]]:
    """A server whose jobs of the kind `eval` wait until they are stopped or let go."""
    let_go = threading.Event()

    def work(_task: Task, _tell: object, stopped: Any) -> IngestReport:
        while not stopped() and not let_go.is_set():
            time.sleep(0.01)
        return IngestReport(added=1)

    with serving(tmp_path) as server:
        server.state.jobs.register("eval", work)
        yield server, let_go


def test_queued_and_running_jobs_can_be_cancelled(
    blocked: tuple[Running, threading.Event],
) -> None:
    server, _ = blocked
    running = server.client.post("/api/eval/run").json()["job"]
    while server.state.jobs.get(running["id"]).state != "running":
        time.sleep(0.01)
    waiting = server.client.post("/api/sync").json()["job"]
    assert waiting["state"] == "queued"
    assert server.client.delete(f"/api/jobs/{waiting['id']}").json()["state"] == "cancelled"
    server.client.delete(f"/api/jobs/{running['id']}")
    assert server.wait_for_job(running["id"])["state"] == "cancelled"
    assert events_of(server, running["id"])[-1][0] == "failed"


def test_a_task_is_queued_once_and_the_queue_is_bounded(blocked: tuple[Running, threading.Event]) -> None:
    server, let_go = blocked
    first = server.client.post("/api/eval/run").json()["job"]
    while server.state.jobs.get(first["id"]).state != "running":
        time.sleep(0.01)
    ids = {server.client.post("/api/sync").json()["job"]["id"] for _ in range(3)}
    assert len(ids) == 1
    for number in range(WAITING - 1):
        server.state.jobs.submit(Task("sync", collection=str(number)))
    answer = server.client.post("/api/reembed")
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "too_many_jobs")
    assert answer.headers["retry-after"]
    let_go.set()


def test_an_unknown_job_is_not_found(server: Running) -> None:
    for path in ("/api/jobs/none", "/api/jobs/none/events"):
        assert server.client.get(path).status_code == 404
    assert server.client.delete("/api/jobs/none").status_code == 404


# ------------------------------------------------------------------ what a job may reach


@pytest.mark.parametrize(
    "source", ["/etc", "/etc/passwd", "relative/path", "~root/x", "~nobody-such/x", "\0", "/a\0b"]
)
def test_only_roots_can_be_indexed(server: Running, source: str) -> None:
    answers = [
        server.client.post("/api/ingest", json={"source": source}),
        server.client.post("/coderag/refresh", params={"repoPath": source}),
    ]
    for answer in answers:
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "outside_roots")


def test_dots_and_links_do_not_lead_out_of_a_root(server: Running) -> None:
    link = server.notes / "out"
    link.symlink_to("/etc")
    try:
        for source in (
            f"{server.notes}/../..",
            f"{server.notes}/out",
            f"{server.notes}/out/passwd",
            f"{server.notes}x",
        ):
            assert server.client.post("/api/ingest", json={"source": source}).status_code == 403
        # The folder itself is fine; what the link leads to stays out.
        job = server.client.post("/api/ingest", json={"source": str(server.notes)}).json()["job"]
        assert server.wait_for_job(job["id"])["state"] == "done"
        listed = server.client.get("/api/documents", params={"limit": 1000}).json()["documents"]
        assert not [item for item in listed if "out/" in item["path"] or item["uri"].startswith("/etc")]
    finally:
        link.unlink()


def test_a_folder_replaced_by_a_link_is_not_followed(tmp_path: Path) -> None:
    with outcrop.open(tmp_path / "i.db") as engine:
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "secret.md").write_text("secret")
        (tmp_path / "asked").symlink_to(tmp_path / "elsewhere")
        jobs = Jobs(engine, tmp_path / "jobs.json", partial(require_root, engine))
        job = jobs.submit(Task("ingest", str(tmp_path / "asked")))
        jobs.start()
        while not jobs.get(job.id).is_over:
            time.sleep(0.01)
        jobs.stop()
        assert "leads elsewhere" in (jobs.get(job.id).error or "")
        assert not engine.collections()


class _Inside(BaseHTTPRequestHandler):
    """A service of this machine that must not be reached."""

    seen: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.seen.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"inside")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def inside() -> Iterator[int]:
    _Inside.seen.clear()
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), _Inside)
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    yield httpd.server_port
    httpd.shutdown()
    thread.join()
    httpd.server_close()


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "localhost",
        "0",
        "169.254.169.254",
        "[::ffff:7f00:1]",
        "127.0.0.1.",
        "user@127.0.0.1",
    ],
)
def test_a_private_address_is_not_fetched(server: Running, inside: int, host: str) -> None:
    answer = server.client.post("/api/ingest", json={"source": f"http://{host}:{inside}/secret"})
    assert answer.status_code == 202
    job = server.wait_for_job(answer.json()["job"]["id"])
    assert job["state"] == "failed"
    assert job["error"]
    assert _Inside.seen == []


def _listen(answer: bytes) -> socket.socket:
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    return listening


def _with_network(
    monkeypatch: pytest.MonkeyPatch, port: int, answers: dict[str, list[Sequence[str]]]
) -> list[str]:
    """A resolver of our own; the public address leads to the local port. The addresses that were connected to."""
    connected: list[str] = []

    def resolve(host: str, _port: int) -> Sequence[str]:
        turns = answers.get(host)
        if turns is None:
            return [host]
        return turns.pop(0) if len(turns) > 1 else turns[0]

    def connect(address: str, _port: int, timeout_s: float) -> socket.socket:
        connected.append(address)
        return fetching.connect_to("127.0.0.1", port, timeout_s)

    network = fetching.Network(resolve, connect)
    monkeypatch.setattr(fetching, "fetch", functools.partial(fetching.fetch, network=network))
    return connected


def test_a_redirect_to_a_private_address_is_not_followed(
    server: Running, inside: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for location in (f"http://127.0.0.1:{inside}/", f"http://2130706433:{inside}/", "http://rebound.example/"):
        with _listen(
            f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()
        ) as listening:
            with monkeypatch.context() as patch:
                names = {"public.example": [[PUBLIC]], "rebound.example": [["127.0.0.1"]]}
                connected = _with_network(patch, listening.getsockname()[1], names)  # type: ignore[arg-type]
                job = server.client.post("/api/ingest", json={"source": "http://public.example/page"}).json()[
                    "job"
                ]
                ended = server.wait_for_job(job["id"])
            listening.shutdown(socket.SHUT_RDWR)
        assert ended["state"] == "failed"
        assert connected == [PUBLIC]
        assert _Inside.seen == []


def test_dns_rebinding_is_not_followed(server: Running, inside: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """DNS rebinding: public when it is checked, private when it is connected to. There is one look-up, so there is no
    second answer to connect to."""
    page = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 14\r\n\r\nrebinding text"
    with _listen(page) as listening:
        names = {"rebind.example": [[PUBLIC], ["127.0.0.1"]], "mixed.example": [[PUBLIC, "10.0.0.1"]]}
        connected = _with_network(monkeypatch, listening.getsockname()[1], names)  # type: ignore[arg-type]
        ends = {}
        for name in ("rebind.example", "mixed.example", "rebind.example/again"):
            job = server.client.post("/api/ingest", json={"source": f"http://{name}"}).json()["job"]
            ends[name] = server.wait_for_job(job["id"])["state"]
        listening.shutdown(socket.SHUT_RDWR)
    assert ends == {"rebind.example": "done", "mixed.example": "failed", "rebind.example/again": "failed"}
    assert connected == [PUBLIC]
    assert _Inside.seen == []


# ------------------------------------------------------------------ a process of its own


@contextmanager
def process(db: Path, *options: str, **env: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A real `outcrop serve`, and where it is."""
    command = [sys.executable, "-m", "outcrop", "--db", str(db), "serve", "--port", "0", "--json", *options]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OUTCROP_")}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**clean, **env}
    ) as running:
        assert running.stdout is not None
        line = running.stdout.readline()
        said = json.loads(line)
        if "url" not in said:
            raise AssertionError(said["error"]["message"])
        try:
            yield running, said["url"].rstrip("/")
        finally:
            if running.poll() is None:
                running.kill()


def test_a_job_resumes_after_a_kill(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for number in range(FILES):
        (root / f"{number}.md").write_text(f"# Note {number}\n\n" + f"The wombat {number} sleeps. " * 30)
    db = tmp_path / "index.db"
    with process(db, "--root", str(root)) as (server, url):
        job = httpx.post(f"{url}/api/ingest", json={"source": str(root)}, timeout=60).json()["job"]
        last = httpx.post(f"{url}/api/reembed", timeout=60).json()["job"]
        until = time.monotonic() + 60
        while httpx.get(f"{url}/api/jobs/{job['id']}", timeout=60).json()["progress"] is None:
            assert time.monotonic() < until
        server.send_signal(signal.SIGKILL)
        server.wait()
    kept = json.loads((tmp_path / "index.db.jobs.json").read_text())
    assert {row["job"]["id"]: row["job"]["state"] for row in kept} == {
        job["id"]: "running",
        last["id"]: "queued",
    }
    assert (tmp_path / "index.db.jobs.json").stat().st_mode & 0o077 == 0
    with process(db, "--root", str(root)) as (server, url), httpx.Client(base_url=url, timeout=60) as client:
        until = time.monotonic() + 60
        while client.get(f"/api/jobs/{last['id']}").json()["state"] != "done":
            assert time.monotonic() < until
            time.sleep(0.1)
        assert client.get(f"/api/jobs/{job['id']}").json()["state"] == "done"
        assert client.get("/api/documents", params={"limit": 1}).json()["total"] == FILES
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0


def leave_jobs(db: Path, *tasks: Task) -> str:
    """The file of a server that was killed with these jobs waiting; its text."""
    rows = [
        {"job": plain(Job(f"left{number}", task.kind, task.source)), "task": plain(task)}
        for number, task in enumerate(tasks)
    ]
    file = db.with_name(db.name + ".jobs.json")
    file.write_text(json.dumps(rows))
    return file.read_text()


def test_a_read_only_server_leaves_unfinished_jobs_alone(tmp_path: Path) -> None:
    folder = write_notes(tmp_path / "more")
    left = leave_jobs(tmp_path / "index.db", Task("ingest", str(folder)), Task("reembed"))
    with serving(tmp_path, read_only=True, roots=[str(tmp_path)]) as server:
        assert server.client.get("/api/jobs").json()["jobs"] == []
        assert server.client.post("/api/ingest", json={"source": str(folder)}).status_code == 403
        with pytest.raises(NotAllowed, match="only reads"):
            server.state.jobs.submit(Task("ingest", str(folder)))
        before = {path.name for path in tmp_path.iterdir()}
        # A server that may write can still take the jobs: this one does not hold the lock.
        assert "index.db.jobs.json.lock" not in before
    assert (tmp_path / "index.db.jobs.json").read_text() == left
    with outcrop.open(tmp_path / "index.db") as engine:
        assert len(engine.documents()) == 3


def test_a_read_only_server_writes_nothing_in_the_background(tmp_path: Path) -> None:
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "note.md").write_text("A note that an editor wrote.")
    with outcrop.open(tmp_path / "index.db") as engine:
        engine.add(text="words that wait for a vector", id="waiting", defer_embedding=True)
    others = set(threading.enumerate())
    with serving(tmp_path, read_only=True, kb=tmp_path / "kb") as server:
        assert server.client.get("/healthz").status_code == 200
        for thread in set(threading.enumerate()) - others:
            if thread.name == "outcrop-background":
                thread.join(60)  # it warms the index up and is through
                assert not thread.is_alive()
        assert server.state.engine.pending() == 1
        assert not any(found.path.endswith("note.md") for found in server.state.engine.documents())


def test_a_resumed_job_is_held_to_the_current_roots(tmp_path: Path) -> None:
    (tmp_path / "formerly").mkdir()
    (tmp_path / "formerly" / "secret.md").write_text("secret")
    (tmp_path / "still").mkdir()
    (tmp_path / "still" / "wombat.md").write_text("The wombat sleeps.")
    tasks = Task("ingest", str(tmp_path / "formerly")), Task("ingest", str(tmp_path / "still"))
    leave_jobs(tmp_path / "index.db", *tasks, Task("ingest", "http://127.0.0.1:9/private"))
    with serving(tmp_path, roots=[str(tmp_path / "still")]) as server:
        refused, done, inside = (server.wait_for_job(f"left{number}") for number in range(3))
        assert (refused["state"], done["state"], inside["state"]) == ("failed", "done", "failed")
        assert "no folder that may be indexed" in refused["error"]
        assert "secret.md" not in {found.path for found in server.state.engine.documents()}


def test_sigterm_puts_a_running_job_back_in_the_queue(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for number in range(FILES):
        (root / f"{number}.md").write_text(f"# Note {number}\n\n" + f"The wombat {number} sleeps. " * 30)
    with process(tmp_path / "index.db", "--root", str(root)) as (server, url):
        job = httpx.post(f"{url}/api/ingest", json={"source": str(root)}, timeout=60).json()["job"]
        with httpx.stream("GET", f"{url}/api/jobs/{job['id']}/events", timeout=60) as stream:
            for number, _ in enumerate(stream.iter_bytes()):  # the stream ends, and nobody waits for it
                if number == 0:
                    server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
        assert server.stderr is not None
        assert "Traceback" not in server.stderr.read()
    (row,) = json.loads((tmp_path / "index.db.jobs.json").read_text())
    assert row["job"]["state"] in {"queued", "done"}


def test_a_public_server_makes_a_token_that_only_its_owner_can_read(tmp_path: Path) -> None:
    write_notes(tmp_path / "notes")
    db = tmp_path / "index.db"
    with process(db, "--host", "0.0.0.0") as (server, url):
        file = tmp_path / "index.db.token"
        token = file.read_text().strip()
        assert file.stat().st_mode & 0o777 == 0o600
        assert len(token) >= 32
        assert httpx.get(f"{url}/api/status", timeout=60).status_code == 401
        headers = {"Authorization": f"Bearer {token}"}
        assert httpx.get(f"{url}/api/status", headers=headers, timeout=60).status_code == 200
        server.terminate()
        assert server.wait(60) == 0
        assert server.stderr is not None
        said = server.stderr.read()
        assert str(file) in said
        assert token not in said
        assert token not in url
    file.chmod(0o644)
    with pytest.raises(AssertionError, match="chmod 600"), process(db, "--host", "0.0.0.0"):
        pass


def test_a_port_in_use_is_reported_plainly(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "outcrop", "--db", str(tmp_path / "i.db"), "serve", "--port", port]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert f"port {port} is taken" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_second_server_leaves_the_first_ones_jobs_alone(tmp_path: Path) -> None:
    with outcrop.open(tmp_path / "i.db") as engine:
        first, second = (
            Jobs(engine, tmp_path / "jobs.json", partial(require_root, engine)),
            Jobs(engine, tmp_path / "jobs.json", partial(require_root, engine)),
        )
        first.start()
        second.start()
        job = second.submit(Task("sync"))
        while not second.get(job.id).is_over:
            time.sleep(0.01)
        second.stop()
        first.submit(Task("sync", force=True))
        first.stop()
        assert job.id not in (tmp_path / "jobs.json").read_text()


def test_a_job_file_with_missing_report_fields_is_read(tmp_path: Path) -> None:
    file = tmp_path / "jobs.json"
    with outcrop.open(tmp_path / "i.db") as engine:
        jobs = Jobs(engine, file, partial(require_root, engine))
        jobs.start()
        job = jobs.submit(Task("sync"))
        while not jobs.get(job.id).is_over:
            time.sleep(0.01)
        jobs.stop()
        rows = json.loads(file.read_text())
        assert rows[0]["job"]["report"].pop("masked") == 0
        file.write_text(json.dumps(rows))
        later = Jobs(engine, file, partial(require_root, engine))
        later.start()
        assert later.get(job.id).report == jobs.get(job.id).report
        later.stop()


def test_a_damaged_job_file_is_replaced(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "jobs.json").write_text('[{"job": 1}')
    with outcrop.open(tmp_path / "i.db") as engine:
        jobs = Jobs(engine, tmp_path / "jobs.json", partial(require_root, engine))
        jobs.start()
        jobs.submit(Task("sync"))
        jobs.stop()
        assert len(jobs.list()) == 1
    assert "cannot be read" in caplog.text
