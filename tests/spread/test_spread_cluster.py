"""Folders prepared by a cluster: what comes of it is what one process makes of them, whoever dies on the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.spread.conftest import PLANTED, RunningCluster
from tests.test_formats_end_to_end import write_pdf

import outcrop
from outcrop.errors import Cancelled
from outcrop.records import IngestReport, Progress
from outcrop.store.sqlite import open_sqlite

pytestmark = pytest.mark.timeout(300)  # Ray takes its time to start, more so where all else is busy
SOURCE = Path(outcrop.__file__).parent


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Code, prose, a PDF, copies, and files that cannot be read."""
    root = tmp_path / "docs"
    (root / "copies").mkdir(parents=True)
    for path in (*(SOURCE / "rank").glob("*.py"), *(SOURCE / "kb").glob("*.md")):
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


def told(report: IngestReport) -> dict[str, Any]:
    """What a report says, in an order of its own: files come back from a cluster as they are done."""
    return {
        **{
            name: getattr(report, name)
            for name in ("added", "changed", "unchanged", "removed", "chunks", "embedded")
        },
        "failed": sorted((item.path, item.reason) for item in report.failed),
        "skipped": sorted((item.path, item.reason) for item in report.skipped),
    }


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


def test_a_cluster_makes_of_a_folder_what_one_process_makes_of_it(
    tmp_path: Path, folder: Path, cluster: RunningCluster
) -> None:
    with outcrop.open(tmp_path / "here.db") as kb:
        here = kb.add(folder, tags=["field"])
    deadly = folder / "kills-its-reader.md"
    deadly.write_text("# Deadly\n", "utf-8")  # for the cluster's processes
    seen: list[Progress] = []
    with outcrop.open(tmp_path / "there.db") as kb:
        there = kb.add(folder, tags=["field"], ray=cluster.address, progress=seen.append)
        assert kb.search("why does pumice float").hits[0].place == "paper.pdf p. 1"
        assert all(check.ok for check in kb.doctor())
        deadly.unlink()
        again = kb.add(folder)
        assert (again.unchanged, again.added, again.changed) == (there.added, 0, 0)
    (killer,) = (failure for failure in there.failed if failure.path == deadly.name)
    assert "died" in killer.reason
    others = tuple(failure for failure in there.failed if failure is not killer)
    assert {failure.path for failure in others} == {"broken.pdf", "deep.json"}
    assert told(replace(there, failed=others)) == told(here)
    assert stored(tmp_path / "there.db") == stored(tmp_path / "here.db")
    assert [step.done for step in seen] == list(range(1, len(seen) + 1))
    assert seen[-1].done == seen[-1].total


def test_a_stopped_run_keeps_what_it_committed_and_the_next_goes_on(
    tmp_path: Path, cluster: RunningCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("outcrop.committing.BATCH_CHUNKS", 1)
    notes = slow_notes(tmp_path / "notes", 60)
    seen: list[Progress] = []
    with outcrop.open(tmp_path / "i.db") as kb:
        with pytest.raises(Cancelled, match="what was committed so far is kept"):
            kb.add(notes, ray=cluster.address, progress=seen.append, stopped=lambda: len(seen) > 5)
        kept = len(kb.list())
        assert 0 < kept < 60
        report = kb.add(notes)
        assert (report.unchanged, report.added) == (kept, 60 - kept)
        assert all(check.ok for check in kb.doctor())


def test_a_model_that_can_use_a_gpu_runs_where_there_is_one(
    tmp_path: Path, cluster: RunningCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(PLANTED))  # for the stand-in for sentence-transformers
    model = tmp_path / "model"
    model.mkdir()
    (model / "modules.json").write_text("[]", "utf-8")
    notes = slow_notes(tmp_path / "notes", 12)
    with outcrop.open(tmp_path / "i.db", model=f"sentence-transformers:{model}") as kb:
        assert kb.add(notes, ray=cluster.address).added == 12
    vectors = [row[0] for _, _, rows in stored(tmp_path / "i.db").values() for row in rows]
    assert len(vectors) == 12
    assert all(np.frombuffer(vector, np.float16)[1] > 0 for vector in vectors), "made by this process, on a CPU"


def test_a_machine_that_dies_loses_nothing_and_doubles_nothing(tmp_path: Path, cluster: RunningCluster) -> None:
    notes = slow_notes(tmp_path / "notes", 90)
    killed_at: list[Progress] = []

    def kill_once(progress: Progress) -> None:
        if progress.phase == "read" and not killed_at:
            killed_at.append(progress)
            cluster.kill_a_node()

    with outcrop.open(tmp_path / "there.db") as kb:
        there = kb.add(notes, ray=cluster.address, progress=kill_once)
        assert all(check.ok for check in kb.doctor())
    assert killed_at[0].done == 1
    assert (there.added, there.failed) == (90, ())
    with outcrop.open(tmp_path / "here.db") as kb:
        here = kb.add(notes)
    assert told(there) == told(here)
    assert stored(tmp_path / "there.db") == stored(tmp_path / "here.db")


def test_without_an_address_it_uses_this_machine_and_says_nothing_but_the_report(
    tmp_path: Path, folder: Path
) -> None:
    db = str(tmp_path / "i.db")
    command = [sys.executable, "-m", "outcrop", "add", str(folder), "--ray", "--json", "--db", db]
    done = subprocess.run(
        command,
        check=False,
        env={**os.environ, "HOME": str(tmp_path)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert {failure["path"] for failure in report["failed"]} == {"broken.pdf", "deep.json"}
    with outcrop.open(tmp_path / "j.db") as kb:
        assert report["added"] == kb.add(folder).added
