"""One model inside the worker process: a graph run by onnxruntime, a text or a pair at a time.

Texts are never batched into one run: padding changes the last digits of a vector depending on the rest of the batch,
and a model quantized to int8 scales its activations by the whole batch, so that even texts of equal length change each
other (by up to 2.0 in one component of a BERT of 384, measured). Nor would batching pay: on two cores 256 tokens took
28 ms alone and 29 to 32 ms each in batches of 4 and 8. Each run has one thread, and several run in parallel: 30 ms per
text of 256 tokens on two cores and 59 ms of CPU time, against 34 to 37 and 68 for runs of two threads, which also spin
between queries (18 ms of CPU time for a query of 4 tokens). And vectors do not depend on the number of threads."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from outcrop.embed.inference.loaded import Loaded
from outcrop.embed.transformer import ModelSpec, graph_files, stamp_files
from outcrop.errors import EmbedError
from outcrop.records import Vector
from outcrop.system.arrays import NDArray
from outcrop.system.machine import need_extra

EXACT_INT8 = "session.x64quantprecision"
"""Without it an int8 product saturates on x86 processors that have AVX2 but no VNNI (most before 2020): pairs of
products are added in 16 bits. With it onnxruntime multiplies in a way that cannot overflow there, and ignores it
elsewhere. On an emulated Haswell the reranker's scores were off by .021 of their standard deviation on average and .096
at worst, and 2 of 60 pairs changed places; with it by .001 and .008, and none did (`benchmarks/processors.py`)."""
_INPUT_TYPES: dict[str, type[np.signedinteger[Any]]] = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_RUNTIME_ERRORS = (
    "Fail InvalidArgument InvalidGraph InvalidProtobuf NoModel NoSuchFile NotImplemented RuntimeException"
).split()
_NAMED_OUTPUTS = {"texts": "sentence_embedding", "pairs": "logits"}
"""The name of the output to use when a graph has several; without it the first is used."""
_QUERY_SHARE = 3
"""A query gets at most one in this many tokens of a pair: a pasted page must leave room for the text."""
_CUT_QUERIES = 64
"""Truncated queries that are cached; each comes once for every text it is paired with."""
_WARM_UP = {"texts": ("dimensions",), "pairs": ("what is this?", "a text")}


class Session(Loaded):
    """A loaded model. Runs once when it is made, to learn the width of its answers and that it works."""

    def __init__(self, spec: ModelSpec) -> None:
        ort, tokenizers = _import_runtime()
        self._spec = spec
        self._errors = _runtime_errors(ort)
        folder = Path(spec.folder)
        pairs = spec.reads == "pairs"
        try:
            if stamp_files(graph_files(folder, Path(spec.path))) != spec.stamp:
                raise EmbedError(f"the model in {folder} changed while it was in use: open the index again")
            self._tokenizer = _load_tokenizer(tokenizers, folder)
            # A second one, since truncation is state of a tokenizer; not used for texts.
            self._query_tokenizer = _load_tokenizer(tokenizers, folder) if pairs else self._tokenizer
            self._session = self._load(ort)
        except self._errors as error:
            raise EmbedError(f"the model in {folder} cannot be loaded: {error}") from error
        self._query_tokenizer.enable_truncation(max(1, spec.max_tokens // _QUERY_SHARE))
        self._tokenizer.enable_truncation(spec.max_tokens, strategy="only_second" if pairs else "longest_first")
        self._cut = lru_cache(_CUT_QUERIES)(self._cut_query)
        self._inputs = self._check_inputs()
        names = [output.name for output in self._session.get_outputs()]
        wanted = _NAMED_OUTPUTS[spec.reads]
        self._output = wanted if wanted in names else names[0]
        super().__init__(spec.threads)
        self.width = 0
        self.width = len(self.run(_WARM_UP[spec.reads]))
        if not self.width:
            raise EmbedError(f"the tokenizer in {folder} makes no tokens: copy the model's folder again")

    def run(self, item: tuple[str, ...] | list[str]) -> Vector:
        """The vector of a text, or the score of a query and a text, of any length."""
        encoded = self._encode(item)
        if not encoded.ids:
            return np.zeros(self.width, np.float32)
        known = {
            "input_ids": encoded.ids,
            "attention_mask": encoded.attention_mask,
            "token_type_ids": encoded.type_ids,
        }
        feed = {name: np.array([known[name]], kind) for name, kind in self._inputs.items()}
        try:
            output: NDArray[Any] = self._session.run([self._output], feed)[0]
        except self._errors as error:
            raise EmbedError(f"the model in {self._spec.folder} failed: {error}") from error
        first = np.asarray(output[0], np.float32)
        return self._only_score(first) if self._spec.reads == "pairs" else self._pooled(first)

    @property
    def options(self) -> Any:
        """The options onnxruntime runs the graph with."""
        return self._session.get_session_options()

    def _load(self, ort: Any) -> Any:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.add_session_config_entry(EXACT_INT8, "1")
        return ort.InferenceSession(self._spec.path, options, providers=["CPUExecutionProvider"])

    def _encode(self, item: tuple[str, ...] | list[str]) -> Any:
        clean = [_without_surrogates(text) for text in item]
        if self._spec.reads == "texts":
            return self._tokenizer.encode(clean[0])
        return self._tokenizer.encode(self._cut(clean[0]), clean[1])

    def _cut_query(self, query: str) -> str:
        offsets = self._query_tokenizer.encode(query, add_special_tokens=False).offsets
        return query[: offsets[-1][1]] if offsets else query

    def _only_score(self, first: Vector) -> Vector:
        if first.size != 1:
            raise EmbedError(
                f"the model in {self._spec.folder} gives {first.size} numbers for a pair, not one score: "
                "use a cross-encoder with one output"
            )
        return first.reshape(1)

    def _pooled(self, first: Vector) -> Vector:
        if first.ndim == 1:
            return first
        if first.ndim != 2:
            raise EmbedError(
                f"{self._spec.folder}: the output {self._output} is neither one vector per token nor one per text"
            )
        # Without padding the mask is all ones, and the mean over the tokens is the plain mean.
        return np.asarray(first[0] if self._spec.pooling == "cls" else first.mean(axis=0), np.float32)

    def _check_inputs(self) -> dict[str, type[np.signedinteger[Any]]]:
        inputs = {entry.name: entry.type for entry in self._session.get_inputs()}
        wrong = [name for name, kind in inputs.items() if name not in _INPUTS or kind not in _INPUT_TYPES]
        if wrong:
            raise EmbedError(
                f"the model in {self._spec.folder} wants the inputs {', '.join(wrong)}, which a text encoder does "
                "not have: export it for feature extraction"
            )
        return {name: _INPUT_TYPES[kind] for name, kind in inputs.items()}


def _load_tokenizer(tokenizers: Any, folder: Path) -> Any:
    tokenizer = tokenizers.Tokenizer.from_buffer((folder / "tokenizer.json").read_bytes())
    # Padding and truncation in a tokenizer.json are left over from training.
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _without_surrogates(text: str) -> str:
    """Rust strings hold no lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _import_runtime() -> tuple[Any, Any]:
    try:
        import onnxruntime
        import tokenizers
    except ImportError as error:
        raise need_extra(EmbedError, "an ONNX model", "onnx") from error
    return onnxruntime, tokenizers


def _runtime_errors(ort: Any) -> tuple[type[Exception], ...]:
    """What tokenizers and onnxruntime raise; the classes of the latter share no base class of their own."""
    state = ort.capi.onnxruntime_pybind11_state
    return (OSError, ValueError, *(getattr(state, name) for name in _RUNTIME_ERRORS if hasattr(state, name)))
