"""Tiny real models for the tests of the worker process: graphs made by onnx, tokenizers by tokenizers."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import tokenizers
from onnx import TensorProto, helper, numpy_helper
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

WORDS = ["[UNK]", "[CLS]", "[SEP]", "red", "blue", "green", "slow"]
SLOW = WORDS.index("slow")
WIDTH = 16
SIDE = 192
"""Side of the matrices that `slow` has multiplied again and again: about 0.3 ms of one core each time."""
VALUES = np.array([0, 0, 0, 1, 2, 4, 8], np.float32)
QUERY_TOKEN = 1000
"""What each token of a query adds to the score of a pair."""


def write_embedder(folder: Path, *, work: int = 300) -> Path:
    """Looks up a row for each token and multiplies it in int8 with a scale of all that is in the run, as quantised
    models do. A text with `slow` in it takes `work` multiplications longer."""
    rng = np.random.default_rng(7)
    rows = rng.standard_normal((len(WORDS), WIDTH)).astype(np.float32) * VALUES[:, None].clip(0.1)
    weights = rng.integers(-100, 100, (WIDTH, WIDTH)).astype(np.int8)
    nodes = [
        helper.make_node("Gather", ["rows", "input_ids"], ["gathered"]),
        helper.make_node("Add", ["gathered", "delay"], ["x"]),
        helper.make_node("DynamicQuantizeLinear", ["x"], ["x8", "scale", "zero"]),
        helper.make_node("MatMulInteger", ["x8", "weights", "zero"], ["y32"]),
        helper.make_node("Cast", ["y32"], ["y"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["y", "scale"], ["last_hidden_state"]),
    ]
    inputs = [_integers("input_ids"), _integers("attention_mask")]
    out = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "length", WIDTH])
    tables = [numpy_helper.from_array(rows, "rows"), numpy_helper.from_array(weights, "weights")]
    return _write(folder, nodes, inputs, out, tables, work)


def write_cross(folder: Path, *, work: int = 300, outputs: int = 1) -> Path:
    """The score of a pair: QUERY_TOKEN for each token of the query's part, and the values of those of the text."""
    nodes = [
        helper.make_node("Cast", ["token_type_ids"], ["second"], to=TensorProto.FLOAT),
        helper.make_node("Gather", ["values", "input_ids"], ["value"]),
        helper.make_node("Sub", ["value", "query_token"], ["more"]),
        helper.make_node("Mul", ["more", "second"], ["of_text"]),
        helper.make_node("Add", ["of_text", "query_token"], ["each"]),
        helper.make_node("Add", ["each", "delay"], ["delayed"]),
        helper.make_node("ReduceSum", ["delayed", "last"], ["score"], keepdims=1),
        helper.make_node("Tile", ["score", "repeats"], ["logits"]),
    ]
    inputs = [_integers("input_ids"), _integers("token_type_ids")]
    out = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", outputs])
    tables = [
        numpy_helper.from_array(VALUES, "values"),
        numpy_helper.from_array(np.array(QUERY_TOKEN, np.float32), "query_token"),
        numpy_helper.from_array(np.array([1], np.int64), "last"),
        numpy_helper.from_array(np.array([1, outputs], np.int64), "repeats"),
    ]
    return _write(folder, nodes, inputs, out, tables, work)


def write_card(folder: Path, **said: Any) -> None:
    """A card with the hashes of what is in the folder."""
    names = ("model.onnx", "tokenizer.json")
    card = {
        "name": "tiny",
        "version": "3",
        "dimensions": WIDTH,
        "max_tokens": 32,
        "pooling": "mean",
        "licence": "none",
        "sha256": {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names},
    }
    (folder / "card.json").write_text(json.dumps(card | said), "utf-8")


def _write(
    folder: Path,
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    output: onnx.ValueInfoProto,
    tables: list[onnx.TensorProto],
    work: int,
) -> Path:
    delay, constants = _delay(work)
    graph = helper.make_graph([*delay, *nodes], "tiny", inputs, [output], [*tables, *constants])
    folder.mkdir(parents=True, exist_ok=True)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, str(folder / "model.onnx"))
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    tokenizer = tokenizers.Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def _delay(work: int) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
    """Zero, and how it takes time to say so: a loop that runs `work` times when one of the tokens is `slow`."""
    state = helper.make_tensor_value_info("before", TensorProto.FLOAT, [SIDE, SIDE])
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go_on"], ["still"]),
            helper.make_node("MatMul", ["before", "before"], ["after"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("turn", TensorProto.INT64, []),
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            state,
        ],
        [
            helper.make_tensor_value_info("still", TensorProto.BOOL, []),
            helper.make_tensor_value_info("after", TensorProto.FLOAT, [SIDE, SIDE]),
        ],
    )
    nodes = [
        helper.make_node("Equal", ["input_ids", "slow"], ["is_slow"]),
        helper.make_node("Cast", ["is_slow"], ["slow_ones"], to=TensorProto.INT64),
        helper.make_node("ReduceMax", ["slow_ones"], ["any_slow"], keepdims=0),
        helper.make_node("Mul", ["any_slow", "work"], ["turns"]),
        helper.make_node("Loop", ["turns", "", "zeros"], ["end"], body=body),
        helper.make_node("ReduceMax", ["end"], ["delay"], keepdims=0),
    ]
    constants = [
        numpy_helper.from_array(np.array(SLOW, np.int64), "slow"),
        numpy_helper.from_array(np.array(work, np.int64), "work"),
        numpy_helper.from_array(np.zeros((SIDE, SIDE), np.float32), "zeros"),
    ]
    return nodes, constants


def _integers(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
