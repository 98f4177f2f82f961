"""What goes on beside the requests, and what stops when a client is gone."""

from __future__ import annotations

import logging
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.serve.http.running import serving

from outcrop.errors import Cancelled, EmbedError
from outcrop.serve import background
from outcrop.system.limits import check_wanted


def wait_until(reached: Any, seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_text_gets_its_vector_soon_after_it_was_added(tmp_path: Path) -> None:
    with serving(tmp_path) as running:
        answer = running.client.post("/api/documents", json={"text": "Marsupials rest during the day."})
        assert answer.status_code == 201
        wait_until(lambda: running.client.get("/api/status").json()["pending"] == 0)
        stats = running.client.get("/api/status").json()["stats"]
        assert stats["chunks_with_vector"] == stats["chunks"]


def test_a_note_that_an_editor_saved_is_found(tmp_path: Path) -> None:
    with serving(tmp_path) as running:
        folder = running.state.config.kb
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "edited.md").write_text("# Edited\n\nThe numbat eats termites.\n")
        body = {"query": "numbat", "collections": ["kb"]}
        wait_until(lambda: running.client.post("/api/search", json=body).json().get("hits"))


def test_a_failing_model_is_retried_with_growing_pauses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(background, "LOOK_S", 0.02)
    tries: list[float] = []

    def failing(**_: object) -> int:
        tries.append(time.monotonic())
        raise EmbedError("the endpoint is down")

    with serving(tmp_path) as running, caplog.at_level(logging.WARNING, "outcrop"):
        monkeypatch.setattr(running.state.engine, "embed_pending", failing)
        assert running.client.post("/api/documents", json={"text": "The quoll hunts."}).status_code == 201
        wait_until(lambda: len(tries) == 2)
        time.sleep(0.3)
        assert len(tries) == 2  # the next one is two seconds away
        assert running.client.post("/api/search", json={"query": "quoll"}).json()["hits"]
        monkeypatch.undo()
        wait_until(lambda: running.client.get("/api/status").json()["pending"] == 0)
    assert "the endpoint is down" in caplog.text


def test_a_search_stops_when_its_client_disconnects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = threading.Event()

    def endless(*_: object, **__: object) -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                check_wanted()
            except Cancelled:
                gone.set()
                raise
            time.sleep(0.01)

    with serving(tmp_path) as running:
        monkeypatch.setattr(running.state.engine, "search", endless)
        port = int(running.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(
                b"POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b'Content-Length: 16\r\n\r\n{"query": "abc"}'
            )
            time.sleep(0.2)
            assert not gone.is_set()
        assert gone.wait(60)
