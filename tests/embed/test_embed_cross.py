"""The reranker: pairs to scores, as many as a budget allows."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.embed.onnx_models import QUERY_TOKEN, write_card, write_cross, write_embedder

from outcrop.contracts import Reranker
from outcrop.embed.inference.runner import Runner
from outcrop.embed.onnx import CrossEncoder, OnnxEmbedder
from outcrop.errors import EmbedError

ENOUGH = 60.0


@pytest.fixture
def runner() -> Iterator[Runner]:
    runner = Runner()
    yield runner
    runner.close()


@pytest.fixture
def cross(tmp_path: Path, runner: Runner) -> CrossEncoder:
    folder = write_cross(tmp_path / "cross")
    write_card(folder, max_tokens=16)
    return CrossEncoder(folder, threads=2, runner=runner)


def test_each_pair_has_one_score_in_the_order_of_the_texts(cross: CrossEncoder) -> None:
    assert isinstance(cross, Reranker)
    assert cross.name == "tiny@3"
    query = 4 * QUERY_TOKEN  # two words and two marks
    texts = ["red", "blue green", "", "unknown", "\ud800 blue"]
    assert cross.score("red blue", texts, ENOUGH) == [query + value for value in (1, 6, 0, 0, 2)]
    assert cross.score("red", [], ENOUGH) == []
    assert cross.score("red", texts, 0) == []
    assert cross.damage() == []


def test_a_long_query_is_cut_to_a_third_and_the_text_to_the_rest(cross: CrossEncoder) -> None:
    # 16 tokens: five of the query, three marks, eight of the text.
    assert cross.score("red " * 100, ["green " * 100], ENOUGH) == [7 * QUERY_TOKEN + 8 * 4]
    assert cross.score("red", ["green " * 100], ENOUGH) == [3 * QUERY_TOKEN + 12 * 4]
    assert cross.score("red " * 100_000, ["green " * 100_000], ENOUGH) == [7 * QUERY_TOKEN + 8 * 4]


def test_the_budget_is_honoured_and_what_is_done_is_the_first_of_the_texts(cross: CrossEncoder) -> None:
    full = cross.score("red", ["slow"], ENOUGH)
    for seconds in (0.05, 0.5):
        scores = cross.score("red", ["red", *["slow"] * 200], seconds)
        assert len(scores) < 100
        assert scores == [3 * QUERY_TOKEN + 1, *full * 200][: len(scores)]
    assert cross.score("red", ["red"], ENOUGH) == [3 * QUERY_TOKEN + 1], "the rest is not begun"


def test_a_reranker_that_is_not_ready_in_time_returns_none_and_goes_on_loading(
    cross: CrossEncoder, runner: Runner
) -> None:
    assert cross.score("red", ["red"], 0.01) == []
    until = time.monotonic() + 60
    while not runner.state().models and time.monotonic() < until:
        time.sleep(0.01)
    assert runner.state().models == 1
    assert cross.score("red", ["red"], ENOUGH) == [3 * QUERY_TOKEN + 1]
    pid = runner.state().pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert cross.score("red", ["red"], ENOUGH) == [3 * QUERY_TOKEN + 1]


def test_an_ingest_and_a_reranker_share_one_process_and_the_reranker_goes_first(
    cross: CrossEncoder, runner: Runner, tmp_path: Path
) -> None:
    embedder = OnnxEmbedder(write_embedder(tmp_path / "tiny"), threads=2, runner=runner)
    assert cross.score("red", ["red"], ENOUGH)
    assert runner.state().models == 2
    rows = embedder.embed_documents(["red"])
    assert rows.shape == (1, embedder.model.dimensions)


def test_a_graph_that_is_damaged_or_gives_two_numbers_is_an_embed_error_at_the_first_score(
    tmp_path: Path, runner: Runner
) -> None:
    folder = write_cross(tmp_path / "cross", outputs=2)
    with pytest.raises(EmbedError, match="gives 2 numbers for a pair"):
        CrossEncoder(folder, runner=runner).score("red", ["red"], ENOUGH)
    (folder / "model.onnx").write_bytes(b"no graph")
    broken = CrossEncoder(folder, runner=runner)
    assert broken.name == "onnx:cross"
    with pytest.raises(EmbedError, match="cannot be loaded"):
        broken.score("red", ["red"], ENOUGH)
    with pytest.raises(EmbedError, match="cannot be loaded"):
        broken.score("red", ["red"], 1e-9)  # known by now
    (folder / "model.onnx").unlink()
    with pytest.raises(EmbedError, match="export the model"):
        CrossEncoder(folder, runner=runner)
