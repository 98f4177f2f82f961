"""Models on disk that are not exported to ONNX, run by sentence-transformers."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from outcrop.embed.keys import fingerprint
from outcrop.embed.transformer import Transformer, read_model_folder, unit_rows
from outcrop.errors import EmbedError
from outcrop.records import Matrix, Model
from outcrop.system.machine import need_extra

_WEIGHTS = ("*.safetensors", "*.bin", "*.json", "*/*.safetensors", "*/*.bin", "*/*.json")
"""The files of a model's folder that determine its vectors."""
_GPU_TEXTS = 64
"""Texts a GPU takes at once: one alone leaves nearly all of it idle (not measured)."""


class SentenceTransformersEmbedder(Transformer):
    """A model of sentence-transformers from disk only, on the CPU or another device. Rows are of unit length."""

    def __init__(
        self, folder: Path, *, query_prefix: str = "", document_prefix: str = "", device: str = "cpu"
    ) -> None:
        """A prefix that is not given is the prompt the model's folder names for queries or documents."""
        library = _import_library()
        settings = read_model_folder(folder)
        self._query_prefix = query_prefix or settings.query_prefix
        self._document_prefix = document_prefix or settings.document_prefix
        try:
            self._encoder = library.SentenceTransformer(str(folder), device=device, local_files_only=True)
            parts = sorted({path for pattern in _WEIGHTS for path in folder.glob(pattern) if path.is_file()})
            version = fingerprint((self._document_prefix,), parts)
        except (OSError, ValueError, RuntimeError, KeyError, TypeError) as error:
            raise EmbedError(f"the model in {folder} cannot be loaded: {error}") from error
        self._at_once = 1 if device == "cpu" else _GPU_TEXTS
        # Its tokenizer may not be used by two threads at once.
        self._one_at_a_time = threading.Lock()
        dimensions = len(self._encode(["dimensions"], "")[0])
        self.model = Model(f"sentence-transformers:{folder.name}", version, dimensions)

    def __repr__(self) -> str:
        return f"SentenceTransformersEmbedder({self.model})"

    def _embed(self, texts: Sequence[str], prefix: str) -> Matrix:
        out = np.zeros((len(texts), self.model.dimensions), np.float32)
        # Rust tokenizers hold no lone surrogates; a text of whitespace has no vector.
        sent = [number for number, text in enumerate(texts) if text.strip()]
        if sent:
            clean = [texts[number].encode("utf-8", "replace").decode("utf-8") for number in sent]
            out[sent] = self._encode(clean, prefix)
        return unit_rows(out)

    def _encode(self, texts: list[str], prefix: str) -> Matrix:
        try:
            with self._one_at_a_time:
                # Alone in its batch a text has no padding, so its vector does not depend on its company; on a GPU
                # it does in the last bits. The prompt goes apart: some models leave its tokens out of the mean.
                rows: Any = self._encoder.encode(
                    texts,
                    prompt=prefix,
                    batch_size=self._at_once,
                    show_progress_bar=False,
                    convert_to_numpy=True,
                    normalize_embeddings=False,
                )
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            raise EmbedError(f"the model failed: {error}") from error
        matrix = np.asarray(rows, np.float32)
        if matrix.ndim != 2 or len(matrix) != len(texts) or not np.isfinite(matrix).all():
            raise EmbedError("the model did not make one finite vector a text: use another model")
        return matrix


def _import_library() -> Any:
    try:
        import sentence_transformers
    except ImportError as error:
        raise need_extra(EmbedError, "this model", "transformers") from error
    return sentence_transformers
