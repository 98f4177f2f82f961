"""The table of models."""

from __future__ import annotations

import re

import pytest

from outcrop.contracts import Embedder
from outcrop.embed.models import open_embedder
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
    choices = "choose one of static, openai:NAME, onnx:FOLDER, sentence-transformers:FOLDER"
    with pytest.raises(ConfigError, match=re.escape(f"did you mean openai? {choices}")):
        opened("opnai:small")
    with pytest.raises(ConfigError, match=re.escape(f"'word2vec'; {choices}")):
        opened("word2vec")


@pytest.mark.parametrize("model", ["openai:", "openai", "onnx", "static:v2"])
def test_a_model_named_by_half_or_with_too_much_is_a_config_error(model: str) -> None:
    with pytest.raises(ConfigError, match="write it as"):
        opened(model)
