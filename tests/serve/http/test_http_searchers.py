"""Processes that search: started when searches queue, and gone when it is quiet."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.serve.http.running import serving, write_notes

from outcrop.config import Config, load_config
from outcrop.engine import Engine
from outcrop.serve.http import searchers, work
from outcrop.serve.http.searchers import Searchers
from outcrop.serve.patience import Overdue, Patience, patience_for
from outcrop.workers.process import _started

LONG_S = 300


@pytest.fixture
def config(tmp_path: Path) -> Config:
    made = load_config({"db": str(tmp_path / "index.db")}, environ={"HOME": str(tmp_path)})
    with Engine(made) as engine:
        engine.add(write_notes(tmp_path / "notes"))
    return made


def searching() -> set[int]:
    return {child.pid for child in list(_started) if "searchers" in str(child.args) and child.poll() is None}


def wait_until(condition: Callable[[], object]) -> None:
    until = time.monotonic() + LONG_S
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_processes_come_on_demand_and_leave_when_nobody_asks(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searchers, "IDLE_S", 1.0)
    before = searching()
    pool = Searchers(config, 2, on_demand=lambda: True)
    pool.start()
    assert pool.search("retried", {}) is None
    assert searching() == before
    found: list[bytes] = []

    def ask() -> bool:
        pool.demand()  # again: on a busy machine they may have left before they were asked
        if (answer := pool.search("how often is a request retried", {})) is not None:
            found.append(answer[1])
        return bool(found)

    wait_until(ask)
    assert json.loads(found[0])["hits"][0]["document"]["path"].endswith("retries.md")
    wait_until(lambda: searching() == before)
    assert pool.search("retried", {}) is None
    pool.stop()


def test_a_pool_ends_with_its_server(config: Config) -> None:
    before = searching()
    pool = Searchers(config, 1, on_demand=lambda: True)
    pool.start()
    pool.demand()
    wait_until(lambda: pool.search("retried", {}) is not None)
    assert len(searching() - before) == 1
    pool.stop()
    wait_until(lambda: searching() == before)
    pool.demand()
    assert pool.search("retried", {}) is None
    assert searching() == before


def test_where_processes_would_be_heavy_none_is_started(config: Config) -> None:
    before = searching()
    asked: list[bool] = []

    def refuse() -> bool:
        asked.append(True)
        return False

    pool = Searchers(config, 2, on_demand=refuse)
    pool.demand()
    wait_until(lambda: asked)
    assert pool.search("retried", {}) is None
    assert searching() == before
    pool.stop()


def test_searches_that_queue_start_processes_which_answer_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "usable_cores", lambda: 2)
    before = searching()
    with serving(tmp_path, workers=None) as running:
        asked = {"query": "how often is a request retried", "limit": 2}
        here = running.client.post("/api/search", json=asked).json()
        assert searching() == before  # nothing queued
        monkeypatch.setattr(work, "QUEUED", 0)

        def ask() -> bool:
            answer = running.client.post("/api/search", json=asked).json()
            assert [hit["chunk_ids"] for hit in answer["hits"]] == [hit["chunk_ids"] for hit in here["hits"]]
            return len(searching() - before) == 2

        wait_until(ask)
        assert ask()
    wait_until(lambda: searching() == before)


def test_one_core_searches_in_its_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "usable_cores", lambda: 1)
    with serving(tmp_path) as running:
        assert work.make_searchers(running.state, None) is None
        assert work.make_searchers(running.state, 0) is None
        assert work.make_searchers(running.state, 3) is not None


def test_a_process_outlives_a_request_that_ran_out_of_time(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searchers, "REQUEST_S", LONG_S)  # how long a search may take once it was begun
    before = searching()
    pool = Searchers(config, 1)
    pool.start()
    hasty = Patience()
    try:
        assert pool.search("retried", {}) is not None
        (process,) = searching() - before
        os.kill(process, signal.SIGSTOP)
        hasty._until = time.monotonic() + 0.2
        threading.Timer(1.0, os.kill, (process, signal.SIGCONT)).start()
        with patience_for(hasty):
            assert pool.search("request", {}) is not None
            with pytest.raises(Overdue):
                pool.search("request", {})  # its time is over before it is begun
        assert searching() - before == {process}
    finally:
        pool.stop()
