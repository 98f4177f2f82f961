"""A real server on a real port, in a thread of this process, for tests."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from outcrop.config import load_config
from outcrop.engine import Engine
from outcrop.serve.http.app import make_app
from outcrop.serve.http.server import TimedProtocol, bind, url_of
from outcrop.serve.state import State, make_state

NOTES = {
    "retries.md": "# Retries\n\nA failed request is retried three times.\n\n## Backoff\n\nThe delay between attempts "
    "doubles each time, starting at one second.\n",
    "deploy/rollback.md": "# Rollback\n\nTo roll back a release, run the deploy script with the previous tag.\n",
    "pool.py": "class Pool:\n    def acquire(self):\n        return self.take()\n\n    def take(self):\n"
    "        return 1\n\n\ndef use(pool):\n    return Pool().acquire()\n",
}


@dataclass(frozen=True)
class Running:
    """A server that runs, and clients for it."""

    url: str
    state: State
    client: httpx.Client
    notes: Path

    def wait_for_job(self, job_id: str, seconds: float = 20) -> Any:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            job = self.client.get(f"/api/jobs/{job_id}").json()
            if job["state"] in {"done", "failed", "cancelled"}:
                return job
            time.sleep(0.02)
        raise AssertionError("the job did not end")


def write_notes(folder: Path) -> Path:
    for name, text in NOTES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@contextmanager
def serving(
    folder: Path, *, read_only: bool = False, workers: int | None = 0, **settings: Any
) -> Iterator[Running]:
    """A server over an index in this folder that holds the notes."""
    notes = write_notes(folder / "notes")
    config = load_config({"db": folder / "index.db", "port": 0, **settings}, environ={"HOME": str(folder)})
    with Engine(config) as engine:
        engine.add(notes)
        state = make_state(engine, read_only=read_only)
        listening = bind(config.host, 0)
        # As in `serve`, but a thread has no signals.
        server = uvicorn.Server(
            uvicorn.Config(
                make_app(state, workers=workers),
                http=TimedProtocol,
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=1,
            )
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        url = url_of(listening, config.host).rstrip("/")
        headers = {"Authorization": f"Bearer {config.token}"} if config.token else {}
        try:
            with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
                yield Running(url, state, client, notes)
        finally:
            state.jobs.close()
            server.should_exit = True
            thread.join(60)
            listening.close()
            assert not thread.is_alive()
