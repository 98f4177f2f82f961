"""Many threads search while one writes: a server's day."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import outcrop
from outcrop.index import arrays
from outcrop.index.arrays import SearchArrays
from outcrop.records import StoredChunk

THREADS = 16
ROUNDS = 12
WRITES = 25


class Writer:
    """Adds notes, deletes some, and reads a repository again, over and over; `done` says how far it is."""

    def __init__(self, kb: outcrop.Engine, repo: Path) -> None:
        self.kb, self.repo, self.done = kb, repo, 0

    def run(self) -> None:
        for i in range(WRITES):
            self.kb.add(text=f"Note number{i}word about a wombat's burrow.", id=f"n{i}", collection="notes")
            self.done = i + 1
            if i % 5 == 4:
                self.kb.delete(f"n{i - 4}", collection="notes")
                self.kb.add(self.repo, force=True)


def ask(kb: outcrop.Engine, writer: Writer, step: int) -> bool:
    """One of the things a server is asked; whether the answer is right."""
    if step == 0:
        answer = kb.search("wombat burrow digs", explain=True, collections=["notes"])
        return answer.hits[0].document.uri == "fixed"
    if step == 1:
        return kb.search("Pool.acquire", explain=True, balance=0.3).hits[0].document.path == "pool.py"
    if step == 2:
        return 0 < kb.context("wombat burrow", budget_tokens=200).tokens <= 200
    if step == 3:
        return len(kb.code_context("who makes a lease?", budget_tokens=300).sources) > 0
    if step == 4:
        return {node.path for node in kb.graph("make_lease").nodes} == {"lease.py", "pool.py"}
    latest = writer.done - 1  # what is written by now is found by its word, unless it is of those that go again
    if latest < 0 or latest % 5 == 0:
        return True
    return kb.search(f"number{latest}word").hits[0].document.uri == f"n{latest}"


def test_sixteen_threads_search_while_another_writes(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / "pool.py").write_text("class Pool:\n    def acquire(self):\n        return make_lease(self)\n")
    (repo / "lease.py").write_text("def make_lease(pool):\n    return pool\n")
    with outcrop.open(tmp_path / "i.db") as kb, ThreadPoolExecutor(THREADS + 1) as threads:
        kb.add(repo)
        kb.add(text="The wombat digs a burrow.", id="fixed", collection="notes")
        kb.warm()
        writer, begin = Writer(kb, repo), threading.Barrier(THREADS + 1)

        def search(number: int) -> list[int]:
            begin.wait()
            steps = [(number + i) % 6 for i in range(ROUNDS)]
            return [step for step in steps if not ask(kb, writer, step)]

        answers = [threads.submit(search, number) for number in range(THREADS)]
        begin.wait()
        writer.run()
        assert [future.result(60) for future in answers] == [[]] * THREADS
        assert all(check.ok for check in kb.doctor())


def test_a_warm_engine_has_nothing_left_to_load_for_its_first_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with outcrop.open(tmp_path / "i.db") as kb:
        kb.add(Path(outcrop.__file__).parent / "index")
    with outcrop.open(tmp_path / "i.db") as kb:
        kb.warm()
        monkeypatch.setattr(arrays, "Graph", None)
        monkeypatch.setattr(SearchArrays, "_catch_up", None)
        assert kb.search("where are names resolved?").hits
        assert not any(name.startswith("where does it begin") for name, _ in kb.parts.retriever._answers)


def test_warming_an_empty_index_is_no_trouble(tmp_path: Path) -> None:
    with outcrop.open(tmp_path / "i.db") as kb:
        kb.warm()
        assert kb.search("anything").reason == "empty_index"


def test_a_document_written_anew_between_finding_and_fetching_is_found_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with outcrop.open(tmp_path / "i.db") as kb:
        kb.add(text="The wombat digs a burrow.", id="note")
        fetch, writes = kb._store.chunks, iter(range(2))

        def write_then_fetch(chunk_ids: Sequence[int]) -> list[StoredChunk]:
            for _ in writes:  # a chunk that is written anew has another id
                kb.add(text="The wombat digs a burrow.", id="note", force=True)
                break
            return fetch(chunk_ids)

        monkeypatch.setattr(kb._store, "chunks", write_then_fetch)
        answer = kb.search("wombat")
        assert [hit.document.uri for hit in answer.hits] == ["note"]
        assert answer.hits[0].chunk_ids == (kb.chunks("note")[0].id,)


def test_a_document_written_anew_while_a_phrase_is_looked_up_is_found_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with outcrop.open(tmp_path / "i.db") as kb:
        kb.add(text="The wombat digs a burrow.", id="note")
        match, writes = kb._store.match_phrase, iter(range(2))

        def write_then_match(phrase: str, among: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
            for _ in writes:
                kb.add(text="The wombat digs a burrow.", id="note", force=True)
                break
            return match(phrase, among)

        monkeypatch.setattr(kb._store, "match_phrase", write_then_match)
        assert [hit.document.uri for hit in kb.search('"digs a burrow"').hits] == ["note"]
