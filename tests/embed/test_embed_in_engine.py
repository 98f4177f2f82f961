"""A transformer in the engine: its process ends with the engine, and a run that is stopped ends soon."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.embed.onnx_models import write_cross, write_embedder

import outcrop
from outcrop.config import load_config
from outcrop.embed.inference import runner as running
from outcrop.embed.inference.runner import Runner
from outcrop.embed.onnx import OnnxEmbedder
from outcrop.errors import Cancelled
from outcrop.records import Matrix, Text

TEXTS = [Text(f"red note {i}", id=f"n{i}") for i in range(150)]


class Noting(OnnxEmbedder):
    """Notes how many texts it is handed at a time."""

    sizes: list[int]

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        self.sizes.append(len(texts))
        return super().embed_documents(texts)


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Iterator[Runner]:
    """What this process shares, with no model of another test in it."""
    fresh = Runner()
    monkeypatch.setattr(running, "_shared", [fresh])
    yield fresh
    fresh.close()


def test_no_worker_process_is_left_when_an_engine_is_closed(tmp_path: Path, runner: Runner) -> None:
    model, reranker = write_embedder(tmp_path / "model"), write_cross(tmp_path / "cross")
    settings = {"db": tmp_path / "i.db", "model": f"onnx:{model}", "reranker": f"onnx:{reranker}"}
    with outcrop.Engine(load_config(settings, environ={})) as kb:
        kb.add_texts(TEXTS[:5])
        assert kb.search("red", rerank=True, rerank_seconds=60).reranked
        assert runner.state().models == 2
        pid = runner.state().pid
        assert pid is not None
    assert not Path(f"/proc/{pid}").exists()
    assert runner.state().pid is None


def test_a_model_that_was_handed_over_and_never_used_is_closed_too(tmp_path: Path, runner: Runner) -> None:
    embedder = OnnxEmbedder(write_embedder(tmp_path / "model"))
    assert runner.state().pid is not None
    outcrop.Engine(load_config({"db": tmp_path / "i.db"}, environ={}), embedder=embedder).close()
    assert runner.state().pid is None


def test_a_stopped_ingest_ends_after_the_few_texts_a_transformer_is_at(tmp_path: Path, runner: Runner) -> None:
    embedder = Noting(write_embedder(tmp_path / "model"))
    embedder.sizes = []
    with outcrop.Engine(load_config({"db": tmp_path / "i.db"}, environ={}), embedder=embedder) as kb:
        with pytest.raises(Cancelled):
            kb.add_texts(TEXTS, stopped=lambda: bool(embedder.sizes))
        assert embedder.sizes == [64]
        assert kb.add_texts(TEXTS).added == len(TEXTS)
        assert embedder.sizes == [64, 64, 64, 22]
