"""A transformer's folder as small as it gets: a real graph and a real tokenizer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import tokenizers
from onnx import TensorProto, helper, numpy_helper
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

WORDS = ("[UNK]", "release", "budget", "delay", "wombats")


def write_model(folder: Path) -> None:
    """Each word looks up a row of its own, which stands for what a transformer makes of it."""
    names = ("input_ids", "attention_mask")
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in names]
    out = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "length", len(WORDS)])
    rows = numpy_helper.from_array(np.eye(len(WORDS), dtype=np.float32), "rows")
    node = helper.make_node("Gather", ["rows", "input_ids"], ["last_hidden_state"])
    graph = helper.make_graph([node], "tiny", inputs, [out], [rows])
    folder.mkdir()
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(folder / "model.onnx"))
    tokenizer = tokenizers.Tokenizer(WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
