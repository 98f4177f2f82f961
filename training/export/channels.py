"""Which channels an int8 product would suffer from, found by running the float model.

What enters a product gets one scale. A few channels of a BERT are far wider than the others, whatever the text
(one of granite's reaches 130 where the median of the others is 1.3), and with them in, the others are left a handful
of steps. So they are found here and `onnx_graph` multiplies them by themselves. Cosine to float of 300 chunks of
code and prose: granite 0.951 without, 0.9988 with; MiniLM 0.994 and 0.9989. It costs about a tenth
of the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper

from outcrop.embed.inference.session import EXACT_INT8
from training.export.onnx_graph import Architecture, Arrays, encoder_graph

_TEXTS, _SHORTEST, _LONGEST = 64, 10, 250
"""Texts of random words: they find channels as good as 64 chunks of real text do, and are the same everywhere."""
_USUAL, _WIDER = 0.9, 2.0
"""Apart is what gets past twice the width that nine channels in ten keep to. At 1.5 times, granite's cosine rises by
0.0001 only, and the products beside cost 10 % of the time."""
_MOST = 8
"""Channels apart in one product; with 16 nothing changed."""

Feed = dict[str, NDArray[np.int64]]


def wide_channels(arrays: Arrays, architecture: Architecture, frame: Sequence[int]) -> dict[str, list[int]]:
    """Product to the channels of its input that are to stay float; `frame`: the ids a tokenizer puts around a text."""
    # By the mean, for then no layer is cut to the first token.
    graph = encoder_graph(arrays, replace(architecture, pooling="mean"), "float")
    watched = _inputs_of_products(sum(name.endswith(".q.w") for name in arrays))
    for name in watched.values():
        graph.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    session = open_session(graph.SerializeToString())
    widths: dict[str, NDArray[np.float32]] = {}
    for feed in random_texts(arrays, architecture, frame, _TEXTS):
        for product, values in zip(watched, session.run(list(watched.values()), feed), strict=True):
            found = np.abs(values[0]).max(axis=0)
            widths[product] = np.maximum(widths.get(product, found), found)
    return {product: _apart(found) for product, found in widths.items()}


def random_texts(
    arrays: Arrays, architecture: Architecture, frame: Sequence[int], count: int, longest: int = _LONGEST
) -> Iterator[Feed]:
    """What the graph is fed for texts of random words; always the same ones."""
    random = np.random.default_rng(0)
    first, last = frame[0], frame[-1]
    longest = min(longest, len(arrays["emb.pos"]) - architecture.first_position)
    for length in random.integers(min(_SHORTEST, longest), longest + 1, count) - 2:
        ids = np.array([[first, *random.integers(0, len(arrays["emb.word"]), length), last]], np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        if architecture.typed:
            # A question of a few words, and what may answer it.
            feed["token_type_ids"] = (np.arange(ids.size) >= min(12, ids.size // 2)).astype(np.int64)[None]
        yield feed


def open_session(graph: bytes, threads: int = 0) -> onnxruntime.InferenceSession:
    """A session that runs a graph as the engine does."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry(EXACT_INT8, "1")
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def _inputs_of_products(layers: int) -> dict[str, str]:
    """Product to the value that enters it, by the names of `onnx_graph`."""
    names = {}
    for layer in range(layers):
        names[f"{layer}.qkv"] = f"{layer - 1}.fln" if layer else "emb.ln"
        names[f"{layer}.ao"] = f"{layer}.seen"
        names[f"{layer}.f1"] = f"{layer}.aln"
        names[f"{layer}.f2"] = f"{layer}.gelu"
    return names


def _apart(widths: NDArray[np.float32]) -> list[int]:
    widest = np.argsort(-widths, kind="stable")[:_MOST]
    limit = _WIDER * np.quantile(widths, _USUAL)
    return sorted(int(channel) for channel in widest if widths[channel] > limit)
