"""A BERT as an ONNX graph, written node by node from the plain arrays of `training.weights`.

What is written is what onnxruntime on a CPU (1.20 and later) is fastest with, measured on 128 and 250 tokens:

- One product for queries, keys and values, then its fused attention. Its quantised attention is no faster.
- A sum and a layer norm, each by itself: fused into one step they take five times as long, and the fusion is not
  found when the sum is a `Sum` and no `Add`. 14 % of a cross-encoder's time.
- Where only the first token counts, the last layer is computed for it alone, from all the others: 20 % of the time
  of four layers, and not a digit of a float model changes.

Contributed operators (`com.microsoft`) are part of every onnxruntime; no other runtime is meant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

Arrays = Mapping[str, NDArray[np.float32]]
Apart = Mapping[str, Sequence[int]]
"""Product ("0.f1") to the channels of its input that stay float beside an int8 product."""
Mode = Literal["int8", "weights", "float"]
"""How products are kept and computed.

`int8`: both sides int8, what comes in with one scale a text; the products of a single token are int8 on disk only.
`weights`: half floats on disk, float once it is loaded. `float`: float throughout, the table of words too, to compare
with.
"""

_EPSILON = 1e-12
_OPSET, _IR = 18, 9
_CONTRIBUTED = "com.microsoft"
_GROUP = 64
"""Weights that share a scale where they are int8 on disk only."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """What the arrays do not say of a BERT."""

    heads: int
    first_position: int
    pooling: str
    """`cls` or `mean`."""
    typed: bool = False
    """Whether tokens come with a type; if not, all are of type 0."""


@dataclass(slots=True)
class _Graph:
    """Nodes and the numbers they use; every method returns the name of what it adds."""

    arrays: Arrays
    mode: Mode
    apart: Apart
    nodes: list[NodeProto] = field(default_factory=list)
    stored: dict[str, TensorProto] = field(default_factory=dict)

    def keep(self, name: str, values: NDArray[Any]) -> str:
        # order, not ascontiguousarray: that makes a scalar a list of one.
        self.stored[name] = numpy_helper.from_array(np.array(values, order="C"), name)
        return name

    def keep_half(self, name: str, values: NDArray[Any]) -> str:
        """Float16 on disk; the runtime makes it float when it loads the graph."""
        if self.mode == "float":
            return self.keep(name, values.astype(np.float32))
        return self.add(
            "Cast", [self.keep(f"{name}.half", values.astype(np.float16))], name, to=TensorProto.FLOAT
        )

    def whole(self, name: str, *values: int) -> str:
        return self.keep(name, np.array(values, np.int64))

    def add(self, operator: str, inputs: Sequence[str], *outputs: str, domain: str = "", **options: Any) -> str:
        node = helper.make_node(operator, inputs, outputs, name=outputs[0], domain=domain, **options)
        self.nodes.append(node)
        return outputs[0]

    def product(self, source: str, name: str, *, place: str | None = None, one_token: bool = False) -> str:
        """`source @ w.T + b`. A product with one row costs its memory, not its arithmetic: it is never int8."""
        weight, bias = self._weight_and_bias(name)
        if self.mode == "int8" and not one_token:
            return self._int8_product(source, name, weight, bias, self.apart.get(place or name, ()))
        store = {"int8": self._keep_int8, "weights": self.keep_half, "float": self.keep}[self.mode]
        self.add("MatMul", [source, store(f"{name}.w", weight)], f"{name}.product")
        return self.add("Add", [f"{name}.product", self.keep(f"{name}.b", bias)], name)

    def norm(self, source: str, name: str) -> str:
        kept = [self.keep(f"{name}.{kind}", self.arrays[f"{name}.{kind}"]) for kind in "wb"]
        return self.add("LayerNormalization", [source, *kept], name, epsilon=_EPSILON)

    def _weight_and_bias(self, name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Those of a product, ready to stand on the right; `0.qkv` and `0.kv` are several side by side."""
        layer, _, part = name.rpartition(".")
        names = [f"{layer}.{one}" for one in part] if part in {"qkv", "kv"} else [name]
        weight = np.concatenate([self.arrays[f"{one}.w"] for one in names]).T
        return weight, np.concatenate([self.arrays[f"{one}.b"] for one in names])

    def _keep_int8(self, name: str, weight: NDArray[np.float32]) -> str:
        """Int8 on disk, in groups along what is summed: half the size of half floats.

        Plain arithmetic, which the runtime folds into floats when it loads; a DequantizeLinear it would keep, and
        run each time.
        """
        rows, columns = weight.shape
        group = _GROUP if rows % _GROUP == 0 else rows
        numbers, scales = quantise(weight.reshape(rows // group, group, columns), axis=1)
        self.add("Cast", [self.keep(f"{name}.int8", numbers)], f"{name}.numbers", to=TensorProto.FLOAT)
        self.add("Mul", [f"{name}.numbers", self.keep_half(f"{name}.scale", scales)], f"{name}.groups")
        return self.add("Reshape", [f"{name}.groups", self.whole(f"{name}.shape", rows, columns)], name)

    def _int8_product(
        self,
        source: str,
        name: str,
        weight: NDArray[np.float32],
        bias: NDArray[np.float32],
        apart: Sequence[int],
    ) -> str:
        """Channels far wider than the rest would stretch the one scale of what comes in: they go beside, as floats."""
        others = np.ones(len(weight), np.float32)
        others[list(apart)] = 0
        if apart:
            left = self.add("Gather", [source, self.whole(f"{name}.apart", *apart)], f"{name}.wide", axis=2)
            right = self.keep_half(f"{name}.apart.w", weight[list(apart)])
            self.add("MatMul", [left, right], f"{name}.beside")
            source = self.add("Mul", [source, self.keep(f"{name}.others", others)], f"{name}.narrow")
        numbers, scales = quantise(weight * others[:, None], axis=0)
        inputs = [
            source,
            self.keep(f"{name}.w", numbers),
            self.keep(f"{name}.scale", scales[0]),
            # Said, though it is the default: what corrects overflow on CPUs before VNNI has failed without it.
            self.keep(f"{name}.zero", np.zeros(1, np.int8)),
            self.keep(f"{name}.b", bias),
        ]
        out = f"{name}.rest" if apart else name
        self.add("DynamicQuantizeMatMul", inputs, out, domain=_CONTRIBUTED)
        return self.add("Sum", [out, f"{name}.beside"], name) if apart else name


def quantise(values: NDArray[np.float32], axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Int8 and the scales along `axis`, which are numbers a float16 can hold."""
    scales = (np.abs(values).max(axis=axis, keepdims=True) / 127).astype(np.float16).astype(np.float32)
    scales[scales == 0] = 1
    return np.clip(np.round(values / scales), -127, 127).astype(np.int8), scales


def encoder_graph(
    arrays: Arrays,
    architecture: Architecture,
    mode: Mode,
    *,
    max_tokens: int | None = None,
    apart: Apart | None = None,
) -> ModelProto:
    """Token ids in, `sentence_embedding` out: a unit row a text."""
    graph = _Graph(arrays, mode, apart or {})
    only_first = architecture.pooling == "cls"
    hidden = _layers(graph, architecture, max_tokens, only_first=only_first)
    if only_first:
        pooled = graph.add("Squeeze", [hidden, graph.whole("token axis", 1)], "pooled")
    else:
        # The length is made one in the end, so the sum is as good as the mean.
        graph.add("Cast", ["attention_mask"], "shares", to=TensorProto.FLOAT)
        graph.add("Unsqueeze", ["shares", graph.whole("last axis", 2)], "columns")
        graph.add("Mul", [hidden, "columns"], "kept")
        pooled = graph.add("ReduceSum", ["kept", graph.whole("token axis", 1)], "pooled", keepdims=0)
    graph.add("LpNormalization", [pooled], "sentence_embedding", axis=1, p=2)
    return _model(graph, architecture, "sentence_embedding", arrays["emb.word"].shape[1])


def cross_graph(
    arrays: Arrays,
    architecture: Architecture,
    mode: Mode,
    *,
    max_tokens: int | None = None,
    apart: Apart | None = None,
) -> ModelProto:
    """Token ids of pairs in, `logits` out: a number a pair."""
    graph = _Graph(arrays, mode, apart or {})
    hidden = _layers(graph, architecture, max_tokens, only_first=True)
    graph.product(hidden, "pool", one_token=True)
    graph.add("Tanh", ["pool"], "bent")
    graph.product("bent", "head", one_token=True)
    graph.add("Squeeze", ["head", graph.whole("both axes", 1, 2)], "logits")
    return _model(graph, architecture, "logits")


def _layers(graph: _Graph, architecture: Architecture, max_tokens: int | None, *, only_first: bool) -> str:
    """Hidden states of every token, or (texts, 1, width) of the first."""
    hidden = _embedded(graph, architecture, max_tokens)
    graph.add("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
    count = sum(name.endswith(".q.w") for name in graph.arrays)
    for layer in range(count):
        cut = only_first and layer == count - 1
        seen, beside = _attention(graph, architecture, hidden, layer, cut=cut)
        graph.product(seen, f"{layer}.ao", one_token=cut)
        graph.add("Sum", [f"{layer}.ao", beside], f"{layer}.looked")
        graph.norm(f"{layer}.looked", f"{layer}.aln")
        graph.product(f"{layer}.aln", f"{layer}.f1", one_token=cut)
        graph.add("Gelu", [f"{layer}.f1"], f"{layer}.gelu", domain=_CONTRIBUTED)
        graph.product(f"{layer}.gelu", f"{layer}.f2", one_token=cut)
        graph.add("Sum", [f"{layer}.f2", f"{layer}.aln"], f"{layer}.thought")
        hidden = graph.norm(f"{layer}.thought", f"{layer}.fln")
    return hidden


def _embedded(graph: _Graph, architecture: Architecture, max_tokens: int | None) -> str:
    """Words, places and types, summed and normalised; int8 words are made float as they are looked up."""
    words = graph.arrays["emb.word"]
    if graph.mode == "float":
        graph.add("Gather", [graph.keep("emb.word", words), "input_ids"], "words")
    else:
        numbers, scales = quantise(words, axis=1)
        graph.add("Gather", [graph.keep("emb.word", numbers), "input_ids"], "word numbers")
        graph.add("Cast", ["word numbers"], "word floats", to=TensorProto.FLOAT)
        graph.add("Gather", [graph.keep_half("emb.word.scale", scales), "input_ids"], "word scales")
        graph.add("Mul", ["word floats", "word scales"], "words")
    places = graph.arrays["emb.pos"][architecture.first_position :][:max_tokens]
    kinds = graph.arrays["emb.type"]
    if not architecture.typed:
        places = places + kinds[0]
    graph.add("Shape", ["input_ids"], "tokens", start=1)
    bounds = [graph.whole("start", 0), "tokens", graph.whole("row axis", 0)]
    graph.add("Slice", [graph.keep_half("emb.pos", places), *bounds], "places")
    graph.add("Add", ["words", "places"], "placed")
    if not architecture.typed:
        return graph.norm("placed", "emb.ln")
    graph.add("Gather", [graph.keep("emb.type", kinds), "token_type_ids"], "types")
    graph.add("Add", ["placed", "types"], "typed")
    return graph.norm("typed", "emb.ln")


def _attention(
    graph: _Graph, architecture: Architecture, hidden: str, layer: int, *, cut: bool
) -> tuple[str, str]:
    """What the tokens see, and what they were; of the first token alone where the layer is cut."""
    query, key, value = (f"{layer}.{part}" for part in ("q", "k", "v"))
    joined = f"{layer}.qkv"
    if cut:
        bounds = [
            graph.whole(f"first {name}", number) for name, number in (("start", 0), ("end", 1), ("axis", 1))
        ]
        whole, hidden = hidden, graph.add("Slice", [hidden, *bounds], "first")
        graph.product(hidden, query, one_token=True)
        graph.product(whole, f"{layer}.kv", place=joined)
        graph.add("Split", [f"{layer}.kv"], key, value, axis=2, num_outputs=2)
    else:
        graph.product(hidden, joined)
        graph.add("Split", [joined], query, key, value, axis=2, num_outputs=3)
    inputs = [query, key, value, "", "mask"]
    seen = f"{layer}.seen"
    graph.add("MultiHeadAttention", inputs, seen, domain=_CONTRIBUTED, num_heads=architecture.heads)
    return seen, hidden


def _model(graph: _Graph, architecture: Architecture, output: str, *sizes: int) -> ModelProto:
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if architecture.typed else [])]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in names]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", *sizes])]
    whole = helper.make_graph(graph.nodes, "bert", inputs, outputs, list(graph.stored.values()))
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_CONTRIBUTED, 1)]
    return helper.make_model(whole, opset_imports=opsets, ir_version=_IR, producer_name="outcrop")
