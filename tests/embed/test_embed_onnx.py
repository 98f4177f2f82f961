"""Transformers on disk through onnxruntime: a tiny real graph and a real tokenizer."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import tokenizers
from onnx import TensorProto, helper, numpy_helper
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from outcrop.contracts import Embedder
from outcrop.embed.inference.session import Session
from outcrop.embed.models import open_embedder
from outcrop.embed.onnx import OnnxEmbedder
from outcrop.embed.transformer import OnnxFolder
from outcrop.errors import EmbedError

WORDS = ["[UNK]", "red", "blue", "query", "document", ":"]
ROWS = np.array([[0, 0, 1], [3, 0, 0], [0, 4, 0], [0, 0, 2], [0, 0, 5], [0, 0, 0]], np.float32)


def write_graph(path: Path, *, kind: int = TensorProto.INT64, extra: str = "attention_mask") -> None:
    """Looks up a row for each token, which stands for what a transformer makes of it."""
    ids = helper.make_tensor_value_info("input_ids", kind, ["batch", "length"])
    mask = helper.make_tensor_value_info(extra, kind, ["batch", "length"])
    out = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "length", 3])
    table = numpy_helper.from_array(ROWS, "rows")
    node = helper.make_node("Gather", ["rows", "input_ids"], ["last_hidden_state"])
    graph = helper.make_graph([node], "tiny", [ids, mask], [out], [table])
    opset = [helper.make_opsetid("", 17)]
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), str(path))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    model = tmp_path / "tiny"
    write_graph(model / "model.onnx")
    tokenizer = tokenizers.Tokenizer(WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    # As models are often shipped: padded and cut to a length that was only for training.
    tokenizer.enable_padding(length=8)
    tokenizer.enable_truncation(2)
    tokenizer.save(str(model / "tokenizer.json"))
    return model


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")


def test_int8_products_cannot_overflow_on_processors_without_vnni(folder: Path) -> None:
    # Emulated, `benchmarks.processors` measures it: no test can where VNNI is.
    session = Session(OnnxFolder.read(folder).spec("texts", 1))
    assert session.options.get_session_config_entry("session.x64quantprecision") == "1"
    session.close()


def test_a_text_is_the_mean_of_its_tokens_at_unit_length(folder: Path) -> None:
    embedder = OnnxEmbedder(folder)
    assert isinstance(embedder, Embedder)
    rows = embedder.embed_documents(["red", "red blue", "", "red red red blue"])
    assert rows.dtype == np.float32
    nine_four = (np.array([9, 4, 0]) / 97**0.5).tolist()
    np.testing.assert_allclose(rows, np.array([[1, 0, 0], [0.6, 0.8, 0], [0, 0, 0], nine_four]), rtol=1e-6)
    np.testing.assert_allclose(embedder.embed_query("blue"), [0, 1, 0])
    np.testing.assert_allclose(
        embedder.embed_paths(["a/b/red/blue.md"])[0], np.array([3, 4, 1]) / 26**0.5, rtol=1e-6
    )
    assert embedder.model.name == "onnx:tiny"
    assert embedder.model.dimensions == 3
    assert embedder.path_weight == 0.5


def test_the_folder_says_pooling_length_and_prompts(folder: Path) -> None:
    plain = OnnxEmbedder(folder)
    write_json(
        folder / "1_Pooling" / "config.json",
        {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False},
    )
    first = OnnxEmbedder(folder)
    np.testing.assert_allclose(first.embed_query("red blue"), [1, 0, 0])
    assert first.model.version != plain.model.version

    write_json(folder / "1_Pooling" / "config.json", {"pooling_mode_mean_tokens": True})
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 3})
    write_json(folder / "tokenizer_config.json", {"model_max_length": 10**30})
    np.testing.assert_allclose(OnnxEmbedder(folder).embed_query("red red red blue"), [1, 0, 0])

    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 512})
    write_json(
        folder / "config_sentence_transformers.json",
        {"prompts": {"query": "query: ", "document": "document: "}},
    )
    prompted = OnnxEmbedder(folder)
    np.testing.assert_allclose(prompted.embed_query("red"), np.array([3, 0, 2]) / 13**0.5, rtol=1e-6)
    np.testing.assert_allclose(prompted.embed_documents(["red"])[0], np.array([3, 0, 5]) / 34**0.5, rtol=1e-6)
    own = OnnxEmbedder(folder, query_prefix="blue ")
    np.testing.assert_allclose(own.embed_query("red"), [0.6, 0.8, 0], rtol=1e-6)
    assert own.model == prompted.model != plain.model


def test_a_graph_in_the_folder_onnx_with_short_integers_and_types_works(folder: Path) -> None:
    (folder / "model.onnx").unlink()
    write_graph(folder / "onnx" / "model.onnx", kind=TensorProto.INT32, extra="token_type_ids")
    embedder = open_embedder(f"onnx:{folder}", url="", key="", query_prefix="blue ")
    np.testing.assert_allclose(embedder.embed_query("red"), [0.6, 0.8, 0], rtol=1e-6)


def test_a_text_with_a_lone_surrogate_is_embedded(folder: Path) -> None:
    np.testing.assert_allclose(
        OnnxEmbedder(folder).embed_documents(["red \ud800"])[0, :2], [3 / 10**0.5, 0], rtol=1e-6
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.onnx", None),
        ("model.onnx", b"no graph"),
        ("tokenizer.json", None),
        ("tokenizer.json", b"{}"),
        ("config.json", b"{"),
        ("config.json", b"[]"),
        ("1_Pooling/config.json", b'{"pooling_mode_lasttoken": true}'),
        ("config_sentence_transformers.json", b'{"prompts": ["query"]}'),
    ],
)
def test_a_folder_that_is_damaged_is_an_embed_error(folder: Path, name: str, content: bytes | None) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(EmbedError, match="tiny"):
        OnnxEmbedder(folder)


def test_a_graph_that_wants_other_inputs_is_an_embed_error(folder: Path) -> None:
    write_graph(folder / "model.onnx", extra="pixel_values")
    with pytest.raises(EmbedError, match="pixel_values"):
        OnnxEmbedder(folder)


def test_a_token_the_graph_does_not_know_is_an_embed_error(folder: Path) -> None:
    vocabulary = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    vocabulary["model"]["vocab"]["strange"] = 99
    write_json(folder / "tokenizer.json", vocabulary)
    with pytest.raises(EmbedError, match="failed"):
        OnnxEmbedder(folder).embed_documents(["strange"])


def test_without_the_extra_the_message_tells_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(EmbedError, match=r"pip install 'outcrop\[onnx\]'"):
        OnnxEmbedder(folder)
