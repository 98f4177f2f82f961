"""Folders prepared by a cluster: what comes of it is what one process makes of them, whoever dies on the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import astuple, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cluster.conftest import PLANTED, RunningCluster
from tests.write.test_formats_end_to_end import write_pdf

import outcrop
from outcrop.errors import Cancelled
from outcrop.records import Progress
from outcrop.store.sqlite.store import open_sqlite

pytestmark = pytest.mark.timeout(1800)  # Ray takes its time to start, more so where all else is busy
SOURCE = Path(outcrop.__file__).parent
COUNTS = ("added", "changed", "moved", "unchanged", "removed", "chunks", "embedded")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Code, prose, a PDF, copies, and files that cannot be read."""
    root = tmp_path / "docs"
    (root / "copies").mkdir(parents=True)
    for path in (*(SOURCE / "rank").glob("*.py"), *(SOURCE / "notes").glob("*.md")):
        (root / path.name).write_bytes(path.read_bytes())
    (root / "copies" / "fusion.py").write_bytes((SOURCE / "rank" / "fusion.py").read_bytes())
    write_pdf(root / "paper.pdf", ["Pumice floats on water.", "Basalt does not."])
    (root / "broken.pdf").write_bytes(b"%PDF-1.7\ntruncated")
    (root / "deep.json").write_text("[" * 1_000_000, "utf-8")
    (root / "blob.dat").write_bytes(bytes(range(256)) * 8)
    (root / "empty.md").write_text("", "utf-8")
    return root


def slow_notes(folder: Path, count: int) -> Path:
    """Files that the cluster's processes take a while to open."""
    folder.mkdir()
    for number in range(count):
        text = f"# Note {number}\n\nStone number {number} weighs {number * 7} grams.\n"
        (folder / f"{number:03}.slow.md").write_text(text, "utf-8")
    return folder


def stored(db: Path) -> dict[str, Any]:
    """Everything that an index holds, vectors to the bit, without the numbers that depend on the order of writing."""
    store = open_sqlite(db)
    try:
        documents = store.documents()
        rows: dict[int, list[Any]] = {document.id: [] for document in documents}
        for row in store.feed(0, 100_000):
            vectors = (row.vector, row.path_vector, row.summary_vector)
            rows[row.document_id].append([None if vector is None else vector.tobytes() for vector in vectors])
        contents = {}
        for document in documents:
            info = replace(document, id=0, created_at=0, updated_at=0)
            chunks = [replace(chunk, id=0, document=info) for chunk in store.chunks_of(document.id)]
            contents[document.path] = (info, chunks, rows[document.id])
        return contents
    finally:
        store.close()


def test_a_local_cluster_makes_the_same_index_as_one_process(tmp_path: Path, folder: Path) -> None:
    db = str(tmp_path / "there.db")
    command = [
        sys.executable,
        "-m",
        "outcrop",
        "add",
        str(folder),
        "--tag",
        "field",
        "--ray",
        "--json",
        "--db",
        db,
    ]
    home = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(
        command, check=False, env=home, cwd=folder, capture_output=True, text=True, timeout=1500
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    there = json.loads(done.stdout)
    with outcrop.open(tmp_path / "here.db") as kb:
        here = kb.add(folder, tags=["field"])
    assert {name: there[name] for name in COUNTS} == {name: getattr(here, name) for name in COUNTS}
    assert sorted(map(itemgetter("path"), there["failed"])) == ["broken.pdf", "deep.json"]
    for lines, name in ((here.failed, "failed"), (here.skipped, "skipped")):
        assert sorted((line["path"], line["reason"]) for line in there[name]) == sorted(map(astuple, lines))
    assert stored(tmp_path / "there.db") == stored(tmp_path / "here.db")
    with outcrop.open(tmp_path / "there.db") as kb:
        assert kb.search("why does pumice float").hits[0].place == "paper.pdf p. 1"
        assert all(check.ok for check in kb.doctor())
        again = kb.add(folder)
        assert (again.unchanged, again.added, again.changed) == (here.added, 0, 0)


def test_a_cancelled_run_keeps_what_it_committed_with_gpu_vectors_and_the_next_one_continues(
    tmp_path: Path, cluster: RunningCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(PLANTED))  # for the stand-in for sentence-transformers
    model = tmp_path / "model"
    model.mkdir()
    (model / "modules.json").write_text("[]", "utf-8")
    monkeypatch.setattr("outcrop.write.commit.BATCH_CHUNKS", 1)
    notes = slow_notes(tmp_path / "notes", 60)
    seen: list[Progress] = []
    with outcrop.open(tmp_path / "i.db", model=f"sentence-transformers:{model}") as kb:
        with pytest.raises(Cancelled, match="what was committed so far is kept"):
            kb.add(notes, ray=cluster.address, progress=seen.append, stopped=lambda: len(seen) > 5)
        kept = stored(tmp_path / "i.db")
        assert 0 < len(kept) < 60
        vectors = [row[0] for _, _, rows in kept.values() for row in rows]
        assert len(vectors) == len(kept)
        assert all(np.frombuffer(vector, np.float16)[1] > 0 for vector in vectors), "made here, on a CPU"
        report = kb.add(notes)
        assert (report.unchanged, report.added) == (len(kept), 60 - len(kept))
        assert all(check.ok for check in kb.doctor())


def test_a_dead_node_and_a_file_that_kills_its_worker_neither_lose_nor_duplicate_documents(
    tmp_path: Path, cluster: RunningCluster
) -> None:
    notes = slow_notes(tmp_path / "notes", 90)
    with outcrop.open(tmp_path / "here.db") as kb:
        here = kb.add(notes)
    deadly = notes / "kills-its-reader.md"
    deadly.write_text("# Deadly\n", "utf-8")  # for the cluster's processes only
    seen: list[Progress] = []

    def note(progress: Progress) -> None:
        seen.append(progress)
        if len(seen) == 1:
            cluster.kill_a_node()

    with outcrop.open(tmp_path / "there.db") as kb:
        there = kb.add(notes, ray=cluster.address, progress=note)
        assert all(check.ok for check in kb.doctor())
    assert [step.done for step in seen] == list(range(1, 92))
    assert {step.total for step in seen} == {91}
    (lost,) = there.failed
    assert lost.path == deadly.name
    assert "died, whenever it was tried" in lost.reason
    assert {name: getattr(there, name) for name in COUNTS} == {name: getattr(here, name) for name in COUNTS}
    assert stored(tmp_path / "there.db") == stored(tmp_path / "here.db")
