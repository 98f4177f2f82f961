"""Transformer models on disk, run by onnxruntime: a folder with model.onnx and tokenizer.json."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outcrop.embed.fingerprint import fingerprint
from outcrop.embed.folder import Pooling, read_model_folder
from outcrop.embed.transformer import Transformer
from outcrop.embed.unit import unit_rows
from outcrop.errors import EmbedError
from outcrop.records import Matrix, Model, Vector

_INPUT_TYPES: dict[str, type[np.signedinteger[Any]]] = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_RUNTIME_ERRORS = (
    "Fail",
    "InvalidArgument",
    "InvalidGraph",
    "InvalidProtobuf",
    "NoModel",
    "NoSuchFile",
    "NotImplemented",
    "RuntimeException",
)


class OnnxEmbedder(Transformer):
    """A transformer on the CPU. Rows are of unit length.

    Texts go through one at a time: padding a batch would change the last digits of a vector (for quantised
    models more than that) with the company it is in, and on a CPU a chunk fills the cores by itself.
    """

    def __init__(
        self, folder: Path, *, query_prefix: str = "", document_prefix: str = "", threads: int = 0
    ) -> None:
        """A prefix that is not given is taken from the model's folder; `threads` 0 means every core."""
        ort, tokenizers = _import_runtime()
        settings = read_model_folder(folder)
        graph = _find_graph(folder)
        self._folder = folder
        self._query_prefix = query_prefix or settings.query_prompt
        self._document_prefix = document_prefix or settings.document_prompt
        self._pooling: Pooling = settings.pooling
        self._errors = _runtime_errors(ort)
        try:
            self._tokenizer = tokenizers.Tokenizer.from_buffer((folder / "tokenizer.json").read_bytes())
            # What a tokenizer.json says of padding and length is left over from training.
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(settings.max_tokens)
            options = ort.SessionOptions()
            options.intra_op_num_threads = threads
            self._session = ort.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
            # Weights past 2 GB lie in files beside the graph that begin with its name.
            parts = [*sorted(graph.parent.glob(f"{graph.name}*")), folder / "tokenizer.json"]
            version = fingerprint(
                (self._pooling, str(settings.max_tokens), self._document_prefix), filter(Path.is_file, parts)
            )
        except self._errors as error:
            raise EmbedError(f"the model in {folder} cannot be loaded: {error}") from error
        self._inputs = self._check_inputs()
        names = [output.name for output in self._session.get_outputs()]
        # A graph that pools by itself says so with this name; else the first output holds a vector a token.
        self._output = "sentence_embedding" if "sentence_embedding" in names else names[0]
        # One run tells the dimensions and that the model works at all.
        self._dimensions = 0
        self._dimensions = len(self._run("dimensions"))
        if not self._dimensions:
            raise EmbedError(f"the tokenizer in {folder} makes no tokens: copy the model's folder again")
        self._model = Model(f"onnx:{folder.name}", version, self._dimensions)

    def __repr__(self) -> str:
        return f"OnnxEmbedder({self._model})"

    @property
    def model(self) -> Model:
        """The folder's name, a fingerprint of its files and settings, and the dimensions found."""
        return self._model

    def _embed(self, texts: Sequence[str], prefix: str) -> Matrix:
        out = np.zeros((len(texts), self._model.dimensions), np.float32)
        for number, text in enumerate(texts):
            if text.strip():
                out[number] = self._run(prefix + text)
        if not np.isfinite(out).all():
            raise EmbedError(f"{self._model.name} made numbers that are not finite: use another model")
        return unit_rows(out)

    def _run(self, text: str) -> Vector:
        """The pooled vector of one text, of any length."""
        # Rust strings hold no lone surrogates.
        encoded = self._tokenizer.encode(text.encode("utf-8", "replace").decode("utf-8"))
        if not encoded.ids:
            return np.zeros(self._dimensions, np.float32)
        known = {
            "input_ids": encoded.ids,
            "attention_mask": encoded.attention_mask,
            "token_type_ids": encoded.type_ids,
        }
        feed = {name: np.array([known[name]], kind) for name, kind in self._inputs.items()}
        try:
            output: NDArray[Any] = self._session.run([self._output], feed)[0]
        except self._errors as error:
            raise EmbedError(f"the model in {self._folder} failed: {error}") from error
        first = np.asarray(output[0], np.float32)
        if first.ndim == 1:
            return first
        if first.ndim != 2:
            raise EmbedError(f"{self._folder}: the output {self._output} is no vector a token, nor one a text")
        # Without padding the mask is all ones, and the mean over the tokens is the plain mean.
        return np.asarray(first[0] if self._pooling == "cls" else first.mean(axis=0), np.float32)

    def _check_inputs(self) -> dict[str, type[np.signedinteger[Any]]]:
        inputs = {entry.name: entry.type for entry in self._session.get_inputs()}
        wrong = [name for name, kind in inputs.items() if name not in _INPUTS or kind not in _INPUT_TYPES]
        if wrong:
            raise EmbedError(
                f"the model in {self._folder} wants the inputs {', '.join(wrong)}, which a text encoder does "
                "not have: export it for feature extraction"
            )
        return {name: _INPUT_TYPES[kind] for name, kind in inputs.items()}


def _import_runtime() -> tuple[Any, Any]:
    try:
        import onnxruntime
        import tokenizers
    except ImportError as error:
        raise EmbedError(
            f"onnx models need two more packages ({error}): run pip install 'outcrop[onnx]'"
        ) from error
    return onnxruntime, tokenizers


def _find_graph(folder: Path) -> Path:
    for path in (folder / "model.onnx", folder / "onnx" / "model.onnx"):
        if path.is_file():
            return path
    raise EmbedError(
        f"there is no model.onnx in {folder} or in its folder onnx: export the model to ONNX first"
    )


def _runtime_errors(ort: Any) -> tuple[type[Exception], ...]:
    """What tokenizers and onnxruntime raise; the classes of the latter share no root of their own."""
    state = ort.capi.onnxruntime_pybind11_state
    return (OSError, ValueError, *(getattr(state, name) for name in _RUNTIME_ERRORS if hasattr(state, name)))
