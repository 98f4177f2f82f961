"""The table of models."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from tests.embed.onnx_models import write_card, write_cross, write_embedder

import outcrop_models
from outcrop.contracts import Embedder
from outcrop.embed.models import open_embedder, open_reranker
from outcrop.errors import ConfigError, EmbedError


def opened(model: str) -> Embedder:
    return open_embedder(model, url="https://embed.example/v1", key="k", query_prefix="q: ")


def test_static_and_openai_open_without_asking_anyone() -> None:
    assert opened("static").model.name == "outcrop-static"
    assert repr(opened("openai:small")) == "OpenAIEmbedder('small', 'embed.example/v1/embeddings')"


@pytest.mark.parametrize("model", ["onnx:/no/such/folder", "sentence-transformers:~/no/such/folder"])
def test_a_folder_that_is_not_there_or_a_library_that_is_missing_is_an_embed_error(model: str) -> None:
    with pytest.raises(EmbedError, match=r"is not a folder|pip install"):
        opened(model)


def test_an_unknown_model_names_the_near_one_and_all_choices() -> None:
    choices = "choose one of static, mini, e5-small, openai:NAME, onnx:FOLDER, sentence-transformers:FOLDER"
    with pytest.raises(ConfigError, match=re.escape(f"did you mean openai? {choices}")):
        opened("opnai:small")
    with pytest.raises(ConfigError, match=re.escape(f"'word2vec'; {choices}")):
        opened("word2vec")


@pytest.mark.parametrize("model", ["openai:", "openai", "onnx", "static:v2", "mini:2"])
def test_a_model_named_by_half_or_with_too_much_is_a_config_error(model: str) -> None:
    with pytest.raises(ConfigError, match="write it as"):
        opened(model)


def test_mini_names_the_packaged_embedder_and_reranker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, folder in (("mini", write_embedder(tmp_path / "m")), ("rerank", write_cross(tmp_path / "r"))):
        write_card(folder, name=f"outcrop-{name}")
        monkeypatch.setattr(outcrop_models, name, folder)
    assert opened("mini").model.name == "outcrop-mini"
    assert repr(open_reranker("mini")) == "CrossEncoder(outcrop-rerank@3)"
    assert repr(open_reranker(f"onnx:{tmp_path / 'r'}")) == "CrossEncoder(outcrop-rerank@3)"


def test_without_the_distribution_of_models_the_message_tells_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "outcrop_models", None)
    with pytest.raises(
        EmbedError,
        match=re.escape(
            "the model mini needs the extra mini, which is not installed: pip install 'outcrop[mini]'"
        ),
    ):
        opened("mini")
    with pytest.raises(
        EmbedError,
        match=re.escape(
            "the reranker mini needs the extra mini, which is not installed: pip install 'outcrop[mini]'"
        ),
    ):
        open_reranker("mini")


def test_the_distribution_of_models_names_its_folders() -> None:
    assert [outcrop_models.mini.name, outcrop_models.rerank.name] == ["mini", "rerank"]
    assert outcrop_models.mini.parent == Path(outcrop_models.__file__).parent


@pytest.mark.parametrize(
    ("name", "says"), [("minni", "did you mean mini?"), ("onnx:", "write it as onnx:FOLDER")]
)
def test_a_reranker_that_is_not_there_is_a_config_error(name: str, says: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(says)):
        open_reranker(name)
