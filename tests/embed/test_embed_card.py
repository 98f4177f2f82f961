"""What the card of a model that ships with Outcrop decides."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.embed.onnx_models import WIDTH, write_card, write_embedder

from outcrop.contracts import Embedder
from outcrop.embed.inference.runner import Runner
from outcrop.embed.onnx import OnnxEmbedder
from outcrop.errors import EmbedError
from outcrop.records import Model, Trust


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_embedder(tmp_path / "tiny")


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    runner = Runner()
    yield runner
    runner.close()


def test_a_card_says_name_version_weights_prefixes_length_and_pooling(folder: Path, runner: Runner) -> None:
    plain = OnnxEmbedder(folder, runner=runner)
    write_card(
        folder,
        path_weight=0.25,
        trust={"prose": 0.5, "code": 0.75},
        query_prefix="blue ",
        document_prefix="green ",
        max_tokens=4,
        pooling="cls",
    )
    (folder / "config.json").write_text('{"max_position_embeddings": 512}', "utf-8")
    embedder = OnnxEmbedder(folder, runner=runner)
    assert isinstance(embedder, Embedder)
    assert embedder.model == Model("tiny", "3", WIDTH)
    assert embedder.path_weight == 0.25
    assert embedder.trust == Trust(prose=0.5, code=0.75)
    # Four tokens are two marks and two words, the first of which is the prefix.
    assert np.array_equal(embedder.embed_documents(["red"]), embedder.embed_documents(["red red red"]))
    assert not np.array_equal(embedder.embed_documents(["red"])[0], embedder.embed_query("red"))
    assert not np.array_equal(embedder.embed_query("red"), plain.embed_query("blue red")), "pooled otherwise"
    own = OnnxEmbedder(folder, query_prefix="red ", runner=runner)
    assert own.model == embedder.model
    assert not np.array_equal(own.embed_query("red"), embedder.embed_query("red"))
    assert OnnxEmbedder(folder, document_prefix="red ", runner=runner).model.version.startswith("3+")


def test_without_weights_a_card_leaves_them_as_those_of_any_transformer(folder: Path, runner: Runner) -> None:
    write_card(folder)
    embedder = OnnxEmbedder(folder, runner=runner)
    assert (embedder.path_weight, embedder.trust) == (0.5, Trust())


def test_a_changed_file_is_found_by_the_hash_on_the_card_or_by_the_fingerprint(
    folder: Path, runner: Runner
) -> None:
    bare = OnnxEmbedder(folder, runner=runner)
    write_card(folder)
    carded = OnnxEmbedder(folder, runner=runner)
    assert bare.damage() == carded.damage() == []
    graph = (folder / "model.onnx").read_bytes()
    (folder / "model.onnx").write_bytes(graph[:-1] + b"\x00")
    assert "model.onnx is not the file its card names: reinstall" in carded.damage()[0]
    assert "changed" in bare.damage()[0]
    (folder / "tokenizer.json").unlink()
    assert "tokenizer.json cannot be read" in carded.damage()[1]
    assert "cannot be loaded" in bare.damage()[0]


@pytest.mark.parametrize(
    "said", [{"name": None}, {"max_tokens": "many"}, {"pooling": "last"}, {"trust": 1}, {"sha256": 3}, []]
)
def test_a_card_that_cannot_be_read_is_an_embed_error(folder: Path, runner: Runner, said: Any) -> None:
    write_card(folder)
    path = folder / "card.json"
    if isinstance(said, dict):
        said = json.loads(path.read_text("utf-8")) | said
        said = {name: value for name, value in said.items() if value is not None}
    path.write_text(json.dumps(said), "utf-8")
    with pytest.raises(EmbedError, match=r"card\.json cannot be read .*reinstall"):
        OnnxEmbedder(folder, runner=runner)


def test_a_graph_that_is_not_as_its_card_says_is_an_embed_error_at_the_first_use(
    folder: Path, runner: Runner
) -> None:
    write_card(folder, dimensions=WIDTH + 1)
    with pytest.raises(EmbedError, match=f"makes {WIDTH} numbers per text, its card says {WIDTH + 1}"):
        OnnxEmbedder(folder, runner=runner).embed_query("red")
    (folder / "model.onnx").write_bytes(b"no graph")
    with pytest.raises(EmbedError, match="cannot be loaded"):
        OnnxEmbedder(folder, runner=runner).embed_query("red")
