"""The adapter to sentence-transformers, over a small stand-in for the library, which weighs five gigabytes."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from outcrop.contracts import Embedder
from outcrop.embed.models import open_embedder
from outcrop.embed.sentence_transformers import SentenceTransformersEmbedder
from outcrop.errors import EmbedError


class FakeSentenceTransformer:
    """What the adapter uses of the real class: the same names and meanings. Length, and count of vowels, of a text."""

    def __init__(self, model_name_or_path: str, *, device: str, local_files_only: bool) -> None:
        assert (device, local_files_only) == ("cpu", True)
        if not (Path(model_name_or_path) / "modules.json").is_file():
            raise OSError("modules.json is missing")
        self._busy = threading.Lock()

    def encode(
        self,
        sentences: list[str],
        *,
        prompt: str | None,
        batch_size: int,
        show_progress_bar: bool,
        convert_to_numpy: bool,
        normalize_embeddings: bool,
    ) -> np.ndarray[Any, Any]:
        assert (batch_size, show_progress_bar, convert_to_numpy, normalize_embeddings) == (
            1,
            False,
            True,
            False,
        )
        assert prompt is not None  # None would let a default prompt of the model in
        if not self._busy.acquire(blocking=False):
            raise RuntimeError("Already borrowed")
        try:
            texts = [prompt + text for text in sentences]
            if any("fail" in text for text in texts):
                raise RuntimeError("out of memory")
            return np.array([[len(text), sum(map(text.count, "aeiou"))] for text in texts], np.float64)
        finally:
            self._busy.release()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    library = ModuleType("sentence_transformers")
    library.SentenceTransformer = FakeSentenceTransformer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    model = tmp_path / "tiny"
    model.mkdir()
    (model / "modules.json").write_text("[]", "utf-8")
    (model / "model.safetensors").write_bytes(b"weights")
    return model


def test_rows_have_unit_length_and_blank_texts_are_zero(folder: Path) -> None:
    embedder = SentenceTransformersEmbedder(folder)
    assert isinstance(embedder, Embedder)
    rows = embedder.embed_documents(["aaaa", " ", "xxxxx"])
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [[0.5**0.5, 0.5**0.5], [0, 0], [1, 0]], rtol=1e-6)
    np.testing.assert_allclose(embedder.embed_paths(["x/y/z/aaa.py"])[0], np.array([7, 3]) / 58**0.5, rtol=1e-6)
    assert embedder.embed_documents([]).shape == (0, 2)
    assert (embedder.model.name, embedder.model.dimensions) == ("sentence-transformers:tiny", 2)
    assert embedder.path_weight == 0.5


def test_prompts_come_from_the_folder_unless_a_prefix_is_given(folder: Path) -> None:
    plain = SentenceTransformersEmbedder(folder).model
    prompts = {"prompts": {"query": "xxx", "passage": "aa"}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts), "utf-8")
    embedder = SentenceTransformersEmbedder(folder)
    np.testing.assert_allclose(embedder.embed_query("a"), np.array([4, 1]) / 17**0.5, rtol=1e-6)
    np.testing.assert_allclose(embedder.embed_documents(["x"])[0], np.array([3, 2]) / 13**0.5, rtol=1e-6)
    own = open_embedder(f"sentence-transformers:{folder}", url="", key="", query_prefix="x")
    np.testing.assert_allclose(own.embed_query("a"), np.array([2, 1]) / 5**0.5, rtol=1e-6)
    assert own.model == embedder.model != plain


def test_other_weights_are_another_model(folder: Path) -> None:
    before = SentenceTransformersEmbedder(folder).model
    (folder / "model.safetensors").write_bytes(b"Weights")
    assert SentenceTransformersEmbedder(folder).model.version != before.version


def test_threads_take_turns(folder: Path) -> None:
    embedder = SentenceTransformersEmbedder(folder)
    failed: list[EmbedError] = []

    def work() -> None:
        for _ in range(50):
            try:
                embedder.embed_documents(["a" * 1000] * 20)
            except EmbedError as error:
                failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_what_the_library_raises_becomes_an_embed_error(folder: Path) -> None:
    with pytest.raises(EmbedError, match="out of memory"):
        SentenceTransformersEmbedder(folder).embed_query("fail")
    (folder / "modules.json").unlink()
    with pytest.raises(EmbedError, match=r"cannot be loaded: modules\.json is missing"):
        SentenceTransformersEmbedder(folder)


def test_without_the_extra_the_message_tells_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EmbedError, match=r"pip install 'outcrop\[transformers\]'"):
        SentenceTransformersEmbedder(folder)
