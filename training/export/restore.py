"""The weights of a reranker that ships, as `training.weights` keeps them: training goes on from what was exported.

python -m training.export.restore --from FOLDER --into FOLDER
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray

from training.weights import save_arrays

Arrays = dict[str, NDArray[np.float32]]
HEADS = 12


def read_cross(path: Path) -> Arrays:
    """What `onnx_graph.cross_graph` wrote, in int8: numbers times their scales, and what was kept apart beside them."""
    graph = onnx.load(str(path)).graph
    kept = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    arrays: Arrays = {
        "emb.word": kept["emb.word"] * kept["emb.word.scale.half"].astype(np.float32),
        "emb.pos": kept["emb.pos.half"].astype(np.float32),
        "emb.type": kept["emb.type"],
    }
    arrays |= {name: kept[name] for name in kept if name.endswith(("ln.w", "ln.b"))}
    for name in sorted({one.rpartition(".")[0] for one in kept if one.endswith(".b") and "ln." not in one}):
        weight, bias = _read_product(kept, name), kept[f"{name}.b"]
        layer, _, part = name.rpartition(".")
        names = [f"{layer}.{one}" for one in part] if part in {"qkv", "kv"} else [name]
        for one, rows, values in zip(
            names, np.split(weight, len(names)), np.split(bias, len(names)), strict=True
        ):
            arrays[f"{one}.w"], arrays[f"{one}.b"] = rows, values
    return {name: np.ascontiguousarray(values, np.float32) for name, values in arrays.items()}


def _read_product(kept: dict[str, NDArray[np.float32]], name: str) -> NDArray[np.float32]:
    """The weight of a product, a row an output."""
    if f"{name}.w.half" in kept:
        return kept[f"{name}.w.half"].astype(np.float32).T
    if f"{name}.w.int8" in kept:
        groups = kept[f"{name}.w.int8"] * kept[f"{name}.w.scale.half"].astype(np.float32)
        return groups.reshape(-1, groups.shape[-1]).T
    weight = kept[f"{name}.w"] * kept[f"{name}.scale"].astype(np.float32)
    if f"{name}.apart" in kept:
        weight[kept[f"{name}.apart"]] = kept[f"{name}.apart.w.half"].astype(np.float32)
    return weight.T


def main(arguments: Sequence[str] | None = None) -> None:
    """Restore one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="source", type=Path, required=True)
    parser.add_argument("--into", type=Path, required=True)
    given = parser.parse_args(arguments)
    card = json.loads((given.source / "card.json").read_text("utf-8"))
    save_arrays(given.into / "encoder.npz", read_cross(given.source / "model.onnx"))
    (given.into / "tokenizer.json").write_bytes((given.source / "tokenizer.json").read_bytes())
    about = {"model": f"{card['name']} {card['version']}", "licence": card["licence"], "pooling": "cls"}
    (given.into / "about.json").write_text(json.dumps({**about, "first_position": 0, "heads": HEADS}), "utf-8")


if __name__ == "__main__":
    main()
