"""The ONNX graphs against a BERT written out in numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from training.export.channels import open_session, wide_channels
from training.export.onnx_graph import Architecture, Mode, cross_graph, encoder_graph, quantise

Floats = NDArray[Any]
WORDS, WIDTH, WIDE, HEADS, PLACES = 50, 32, 64, 4, 20
_ERF: Callable[[Floats], Floats] = np.vectorize(math.erf)


def make_arrays(layers: int = 2, *, wide_channel: int | None = None) -> dict[str, NDArray[np.float32]]:
    random = np.random.default_rng(5)

    def draw(*shape: int) -> NDArray[np.float32]:
        return random.normal(0, 0.3, shape).astype(np.float32)

    arrays = {"emb.word": draw(WORDS, WIDTH), "emb.pos": draw(PLACES, WIDTH), "emb.type": draw(2, WIDTH)}
    sizes = {"q": (WIDTH, WIDTH), "k": (WIDTH, WIDTH), "v": (WIDTH, WIDTH), "ao": (WIDTH, WIDTH),
             "f1": (WIDE, WIDTH), "f2": (WIDTH, WIDE)}  # fmt: skip
    for layer in range(layers):
        for part, shape in sizes.items():
            arrays[f"{layer}.{part}.w"], arrays[f"{layer}.{part}.b"] = draw(*shape), draw(shape[0])
    for norm in ("emb.ln", *(f"{layer}.{part}" for layer in range(layers) for part in ("aln", "fln"))):
        arrays[f"{norm}.w"], arrays[f"{norm}.b"] = 1 + draw(WIDTH), draw(WIDTH)
        if wide_channel is not None:
            arrays[f"{norm}.w"][wide_channel] = 40
    if wide_channel is not None:
        # As trained models have it: the wide channel is heard little.
        for name, values in arrays.items():
            if name.endswith((".q.w", ".k.w", ".v.w", ".f1.w")):
                values[:, wide_channel] /= 40
    arrays |= {"pool.w": draw(WIDTH, WIDTH), "pool.b": draw(WIDTH), "head.w": draw(1, WIDTH), "head.b": draw(1)}
    return arrays


def hidden_states(arrays: dict[str, Any], ids: list[int], types: list[int], first_position: int) -> Floats:
    def dense(x: Floats, name: str) -> Floats:
        return np.asarray(x @ arrays[f"{name}.w"].T + arrays[f"{name}.b"])

    def norm(x: Floats, name: str) -> Floats:
        spread = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-12)
        return np.asarray(
            (x - x.mean(axis=-1, keepdims=True)) / spread * arrays[f"{name}.w"] + arrays[f"{name}.b"]
        )

    def heads(x: Floats) -> Floats:
        return x.reshape(len(ids), HEADS, -1).transpose(1, 0, 2)

    arrays = {name: values.astype(np.float64) for name, values in arrays.items()}
    places = arrays["emb.pos"][first_position : first_position + len(ids)]
    x = norm(arrays["emb.word"][ids] + places + arrays["emb.type"][types], "emb.ln")
    for layer in range(sum(name.endswith(".q.w") for name in arrays)):
        query, key, value = (heads(dense(x, f"{layer}.{part}")) for part in "qkv")
        weights = np.exp(query @ key.transpose(0, 2, 1) / math.sqrt(WIDTH / HEADS))
        seen = (weights / weights.sum(axis=-1, keepdims=True)) @ value
        x = norm(x + dense(seen.transpose(1, 0, 2).reshape(len(ids), -1), f"{layer}.ao"), f"{layer}.aln")
        inner = dense(x, f"{layer}.f1")
        inner = inner * (1 + _ERF(inner / math.sqrt(2))) / 2
        x = norm(x + dense(inner, f"{layer}.f2"), f"{layer}.fln")
    return x


def embed(arrays: dict[str, Any], ids: list[int], architecture: Architecture) -> Floats:
    x = hidden_states(arrays, ids, [0] * len(ids), architecture.first_position)
    pooled = x[0] if architecture.pooling == "cls" else x.mean(axis=0)
    return np.asarray(pooled / np.linalg.norm(pooled))


TEXTS = [[1, 5, 9, 30, 2], [1, 44, 2], [1, 7, 7, 7, 8, 12, 13, 49, 2]]


def padded(texts: list[list[int]], filler: int = 0) -> dict[str, NDArray[np.int64]]:
    longest = max(map(len, texts))
    ids = np.array([text + [filler] * (longest - len(text)) for text in texts], np.int64)
    mask = np.array([[1] * len(text) + [0] * (longest - len(text)) for text in texts], np.int64)
    return {"input_ids": ids, "attention_mask": mask}


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("first_position", [0, 2])
def test_the_float_graph_says_what_a_bert_in_numpy_says_also_of_padded_texts(
    pooling: str, first_position: int
) -> None:
    arrays, architecture = make_arrays(), Architecture(HEADS, first_position, pooling)
    session = open_session(encoder_graph(arrays, architecture, "float").SerializeToString())
    wanted = [embed(arrays, text, architecture) for text in TEXTS]
    for filler in (0, 17):
        found = session.run(["sentence_embedding"], padded(TEXTS, filler))[0]
        np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_the_float_cross_encoder_says_what_a_bert_in_numpy_says() -> None:
    arrays = make_arrays(layers=3)
    graph = cross_graph(arrays, Architecture(HEADS, 0, "cls", typed=True), "float")
    types = [[0, 0, 1, 1, 1], [0, 1, 1], [0, 0, 0, 0, 1, 1, 1, 1, 1]]
    wanted = []
    for ids, kinds in zip(TEXTS, types, strict=True):
        first = hidden_states(arrays, ids, kinds, 0)[0]
        pooled = np.tanh(arrays["pool.w"] @ first + arrays["pool.b"])
        wanted.append((arrays["head.w"] @ pooled + arrays["head.b"])[0])
    feed = {**padded(TEXTS), "token_type_ids": padded(types)["input_ids"]}
    found = open_session(graph.SerializeToString()).run(["logits"], feed)[0]
    assert found.shape == (3,)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def closeness(
    arrays: dict[str, Any],
    mode: Mode,
    apart: dict[str, list[int]] | None = None,
    without: tuple[int, ...] = (),
) -> float:
    """The worst cosine to float, over all channels but those left out."""
    architecture = Architecture(HEADS, 0, "mean")
    session = open_session(encoder_graph(arrays, architecture, mode, apart=apart).SerializeToString())
    cosines = []
    for text in TEXTS:
        found, wanted = (
            np.delete(row.astype(np.float64), without)
            for row in (session.run(None, padded([text]))[0][0], embed(arrays, text, architecture))
        )
        cosines.append(float(found @ wanted / np.linalg.norm(found) / np.linalg.norm(wanted)))
    return min(cosines)


def test_quantised_graphs_stay_close_to_float() -> None:
    assert closeness(make_arrays(), "weights") > 0.9995
    assert closeness(make_arrays(), "int8") > 0.998


def test_a_channel_far_wider_than_the_others_is_found_and_kept_apart() -> None:
    arrays = make_arrays(wide_channel=11)
    apart = wide_channels(arrays, Architecture(HEADS, 0, "mean"), [1, 2])
    assert apart["0.qkv"] == [11]
    assert apart["1.f1"] == [11]
    # The wide channel makes nearly all of the length: with it, both cosines are 1 but for the rounding of floats.
    kept, lost = (1 - closeness(arrays, "int8", one, without=(11,)) for one in (apart, None))
    assert kept < lost / 4


def test_weights_become_floats_when_the_graph_is_loaded_not_when_it_runs(tmp_path: Path) -> None:
    graph = encoder_graph(make_arrays(), Architecture(HEADS, 0, "cls"), "weights")
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "loaded.onnx")
    options.log_severity_level = 3  # it warns that the file is for this machine only
    onnxruntime.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])
    loaded = onnx.load(tmp_path / "loaded.onnx").graph
    stored = {one.name: one.data_type for one in loaded.initializer}
    products = [node for node in loaded.node if node.op_type in {"MatMul", "Gemm", "FusedMatMul"}]
    assert len(products) == 9  # five in the last layer, where the query stands by itself
    assert all(stored[node.input[1]] == onnx.TensorProto.FLOAT for node in products)


def test_places_past_the_longest_text_are_not_kept() -> None:
    arrays, architecture = make_arrays(), Architecture(HEADS, 2, "cls")
    graph = encoder_graph(arrays, architecture, "float", max_tokens=9)
    kept = next(one for one in graph.graph.initializer if one.name == "emb.pos")
    assert list(kept.dims) == [9, WIDTH]
    found = open_session(graph.SerializeToString()).run(None, padded([TEXTS[2]]))[0][0]
    np.testing.assert_allclose(found, embed(arrays, TEXTS[2], architecture), atol=1e-5)


def test_the_same_weights_give_the_same_file() -> None:
    made = [encoder_graph(make_arrays(), Architecture(HEADS, 0, "cls"), "int8") for _ in range(2)]
    assert made[0].SerializeToString() == made[1].SerializeToString()


def test_a_row_of_zeros_quantises_to_zeros_and_others_within_half_a_step() -> None:
    values = np.array([[0, 0, 0], [1, -2, 0.5]], np.float32)
    numbers, scales = quantise(values, axis=1)
    assert not numbers[0].any()
    assert np.abs(numbers * scales - values).max() <= scales[1, 0] * 0.51
