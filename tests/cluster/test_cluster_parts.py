"""The parts of a run over a cluster that need no cluster."""

from __future__ import annotations

import pickle
import sys
import tempfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from tests.serve.cli.runner import Outcrop

import outcrop as library
from outcrop.chunk.strategies import ChunkOptions
from outcrop.cluster.attempts import Attempts
from outcrop.cluster.order import Embedding
from outcrop.cluster.prepare import RayPrepare, outcomes_of
from outcrop.cluster.stages import add_vectors, deliver, open_once
from outcrop.embed.models import open_embedder
from outcrop.errors import ClusterError, EmbedError, SourceError
from outcrop.parse.limits import ParseLimits
from outcrop.records import SourceFile
from outcrop.write.prepare import (
    BYTES_A_BATCH,
    FILES_A_BATCH,
    Job,
    Prepared,
    Recipe,
    Unchanged,
    Unreadable,
    cut_batches,
    vector_keys,
)

RECIPE = Recipe(ChunkOptions(), ParseLimits(60.0, 2**30), 1_000_000, "notes")


def job(path: Path, size: int = 10) -> Job:
    return Job(SourceFile(str(path), path.name, "file", str(path.parent), 1, size), known=None)


@pytest.fixture
def static() -> Embedding:
    model = open_embedder("static", url="", key="", query_prefix="").model
    return Embedding("static", "", "", "", model)


def test_every_file_is_in_one_batch_and_no_batch_is_too_large() -> None:
    sizes = [10, BYTES_A_BATCH, 30 * BYTES_A_BATCH, *range(2000)]
    jobs = [job(Path(f"/notes/{number}.md"), size) for number, size in enumerate(sizes)]
    batches = cut_batches(jobs, cores=2)
    assert [pair for batch in batches for pair in batch] == list(enumerate(jobs))
    for batch in batches:
        assert len(batch) <= FILES_A_BATCH
        assert len(batch) == 1 or sum(job.file.size or 0 for _, job in batch) <= BYTES_A_BATCH


def test_few_files_are_enough_for_all_cores() -> None:
    assert len(cut_batches([job(Path(f"/{number}")) for number in range(64)], cores=8)) >= 32
    assert len(cut_batches([job(Path("/one"))], cores=64)) == 1


def test_a_file_that_only_this_machine_has_is_said_to_be_missing_there(tmp_path: Path) -> None:
    here, gone = tmp_path / "here.md", tmp_path / "gone.md"
    delivery = deliver([job(here), job(gone)], RECIPE)  # on a machine that has neither
    here.write_text("# Here\n", "utf-8")
    first, second = outcomes_of(delivery)
    assert isinstance(first, Unreadable)
    assert f"the machine {delivery.host} of the cluster does not have it" in first.reason
    assert isinstance(second, Unreadable)
    assert "it is gone" in second.reason


def test_content_that_is_stored_is_only_read(tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text("# Note\n", "utf-8")
    known = sha256(note.read_bytes()).hexdigest()
    assert deliver([replace(job(note), known=known)], RECIPE).outcomes == (Unchanged(job(note).file),)


def test_a_batch_may_begin_twice_in_each_stage() -> None:
    attempts = Attempts()
    assert [attempts.may_begin("prepare", 1) for _ in range(3)] == [True, True, False]
    assert attempts.may_begin("embed", 1)
    assert attempts.may_begin("prepare", 2)


def test_a_delivery_has_a_vector_for_every_key_and_arrives_as_it_was_sent(
    tmp_path: Path, static: Embedding
) -> None:
    (tmp_path / "code.py").write_text(
        "def weigh(stone):\n    '''Say how heavy it is.'''\n    return 1\n", "utf-8"
    )
    (tmp_path / "note.md").write_text("# Note\n\nOn feldspar.\n", "utf-8")
    sent = add_vectors(deliver([job(path) for path in tmp_path.iterdir()], RECIPE), open_once(static, "cpu"))
    prepared = [item for item in outcomes_of(pickle.loads(pickle.dumps(sent))) if isinstance(item, Prepared)]
    assert len(prepared) == 2
    for item in prepared:
        assert vector_keys([item.write]) <= set(item.vectors)
        assert all(vector.any() for vector in item.vectors.values())


def test_a_machine_with_another_model_is_refused(static: Embedding) -> None:
    with pytest.raises(EmbedError, match="the same models on every machine"):
        open_once(replace(static, model=replace(static.model, version="0")), "cpu")


def test_the_key_of_an_endpoint_is_not_shown() -> None:
    model = open_embedder("static", url="", key="", query_prefix="").model
    assert "s3cret" not in repr(Embedding("openai:large", "http://host/v1", "s3cret", "", model))


def test_a_text_cannot_be_sent_to_a_cluster(tmp_path: Path) -> None:
    with library.open(tmp_path / "i.db") as kb, pytest.raises(SourceError, match="files and folders"):
        kb.add(text="A note.", ray="local")


def test_without_the_package_the_error_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "note.md").write_text("# Note\n", "utf-8")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with (
        library.open(tmp_path / "i.db") as kb,
        pytest.raises(ClusterError, match=r"pip install 'outcrop\[ray\]'"),
    ):
        kb.add(tmp_path / "note.md", ray="local")


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("", "could not start"),
        ("echo no luck today >&2\nexit 3", r"ended \(exit status 3\).*run it again\. It said: no luck today$"),
    ],
)
def test_a_driver_that_fails_is_an_error_and_leaves_no_folder_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, told: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    python = tmp_path / "python"
    if script:
        python.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(ClusterError, match=told):
        list(RayPrepare("local", None)([job(tmp_path / "note.md")], RECIPE, lambda: None))
    assert not list(tmp_path.glob("outcrop-ray-*"))


def test_a_malformed_address_is_wrong_usage_and_an_unreachable_one_an_error(outcrop: Outcrop) -> None:
    folder_as_address = outcrop("add", "--ray", outcrop.notes)
    assert folder_as_address.exit_code == 2
    assert "name the folder before it" in folder_as_address.stderr
    assert outcrop("add", outcrop.notes, "--ray", "some/where").exit_code == 2
    assert outcrop("add", "--text", "x", "--ray").exit_code == 2
    nobody = outcrop("add", outcrop.notes, "--ray", "127.0.0.1:9")
    assert nobody.exit_code == 4
    assert "no Ray cluster answers at 127.0.0.1:9" in nobody.stderr
