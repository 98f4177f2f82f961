"""A real server over a small real index, a real browser, and a page that may not complain or call anywhere else."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, expect, sync_playwright
from playwright.sync_api import Request as BrowserRequest

sys.path.insert(0, str(Path(__file__).parents[3]))  # `tests.serve.page.corpus`

from tests.serve.page.corpus import write_corpus

import outcrop

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
PATIENCE_MS = 20_000
"""A loaded machine is slow, not wrong."""
SHOTS = Path(__file__).parents[3] / ".artifacts" / "screenshots"


@dataclass
class Server:
    """A running `outcrop serve`."""

    url: str
    folder: Path
    db: Path


@contextmanager
def serve(db: Path, *options: str, **settings: str) -> Iterator[str]:
    """`outcrop serve` as a process of its own, on a port of its own; its address."""
    command = [sys.executable, "-m", "outcrop", "serve", "--json", "--port", "0", "--db", str(db), *options]
    environment = {**os.environ, **{f"OUTCROP_{name.upper()}": value for name, value in settings.items()}}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, f"the server ended with {process.wait()}"
        yield json.loads(line)["url"]
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        finally:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


expect.set_options(timeout=PATIENCE_MS)


class ChatModel(BaseHTTPRequestHandler):
    """Speaks enough of the protocol to stream an answer that cites its first source."""

    words = "Retry on a timeout and on status 503 [1]. The pause doubles each time [1]."

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"data": [{"id": "small"}]}).encode())

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for at, word in enumerate(self.words.split(" ")):
            delta = {"content": word if at == 0 else f" {word}"}
            self._send({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        self._send({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        self.wfile.write(b"data: [DONE]\n\n")

    def _send(self, data: object) -> None:
        self.wfile.write(f"data: {json.dumps(data)}\n\n".encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="session")
def chat_url() -> Iterator[str]:
    """A chat model on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), ChatModel)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, chat_url: str) -> Iterator[Server]:
    """The server most tests ask: notes, code and a PDF are indexed, a chat model is set."""
    folder = tmp_path_factory.mktemp("page")
    corpus = write_corpus(folder / "field")
    db = folder / "data" / "index.db"
    with outcrop.open(db) as engine:
        report = engine.add(corpus, collection="field")
        assert [Path(failure.path).name for failure in report.failed] == ["broken.pdf"]
    (corpus / "queue.md").write_text("# Queue\n\nThe file changed since it was indexed.\n")
    with serve(db, "--root", str(folder), chat_model="small", chat_url=chat_url) as url:
        for query, path in {
            "how do retries work": "retries.md",
            "copies of the database": "backups.md",
        }.items():
            ask(url, "api/eval/cases", {"query": query, "expected": [str(corpus / path)]})
        ask(url, "api/eval/run", {})
        yield Server(url, folder, db)


def ask(url: str, path: str, body: object) -> None:
    """POST to a server, as a program would."""
    request = Request(f"{url}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request) as answer:
        assert answer.status in {201, 202}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium. Not for the session: while it is there this thread can run no other event loop."""
    found = shutil.which("chromium")
    assert found, "these tests drive a real browser: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


@dataclass
class Visit:
    """A page and everything it should not have done."""

    page: Page
    base: str
    wrongs: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def go(self, address: str) -> Page:
        """Open a place of the page, afresh."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.base}{address}")
        return self.page

    def check(self) -> None:
        """Nothing was complained of, nothing ran that should not, nobody else was asked."""
        wrongs = [wrong for wrong in self.wrongs if not any(part in wrong for part in self.expected)]
        assert not wrongs, "\n".join(wrongs)


def watch(context: BrowserContext, base: str) -> Visit:
    """A page whose complaints are collected."""
    page = context.new_page()
    visit = Visit(page, base)

    def on_console(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            visit.wrongs.append(f"console: {message.text}")

    def on_dialog(dialog: Dialog) -> None:
        visit.wrongs.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def on_request(request: BrowserRequest) -> None:
        if not request.url.startswith((base, "data:", "about:")):
            visit.wrongs.append(f"asked elsewhere: {request.url}")

    page.on("console", on_console)
    page.on("pageerror", lambda error: visit.wrongs.append(f"error: {error}"))
    page.on("dialog", on_dialog)
    page.on("request", on_request)
    return visit


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Visit]]:
    """Opens pages of any server, theme and size; what they did wrong fails the test."""
    contexts: list[BrowserContext] = []
    visits: list[Visit] = []

    def opened(base: str, theme: str = "light", width: int = 1280, height: int = 820) -> Visit:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if theme == "dark" else "light",
            reduced_motion="reduce",
        )
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        visits.append(watch(context, base))
        return visits[-1]

    yield opened
    for context in contexts:
        context.close()
    for visit in visits:
        visit.check()


@pytest.fixture
def visit(open_page: Callable[..., Visit], server: Server) -> Visit:
    """A page of the server, light, as wide as a laptop."""
    return open_page(server.url)
