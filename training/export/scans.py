"""Makes the models that read scans: `python -m training.export.scans --detector FILE --reader FILE --into FOLDER`.

The two files are PP-OCRv6 small as rapidocr ships it. Large weights become float16, and the convolutions of the reader
int8, scaled by what they see on pages set from this project's documentation. On one core a line of 1 200 pixels then
takes 31 ms instead of 47.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from benchmarks.ocr.sheets import CONDITIONS, FONTS, print_page, set_page
from onnx import TensorProto, helper, numpy_helper, version_converter
from onnxruntime.quantization import (
    CalibrationDataReader,
    CalibrationMethod,
    QuantFormat,
    QuantType,
    quantize_static,
)
from onnxruntime.quantization.shape_inference import quant_pre_process

from outcrop.parse.scan.letters import cut_strip, make_levels
from outcrop.parse.scan.models import ModelReader

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = ("docs/tutorial.md", "ARCHITECTURE.md")
EVERY: Final = 6
"""Of the lines of six pages one in so many is shown to the quantizer: 45."""
WIDTH: Final = 640
LARGE: Final = 1024
OPSET: Final = 17


def main() -> None:
    """Read, quantize, halve, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--detector", type=Path, required=True)
    parser.add_argument("--reader", type=Path, required=True)
    parser.add_argument("--into", type=Path, required=True)
    given = parser.parse_args()
    given.into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "detect.onnx").write_bytes(given.detector.read_bytes())
        (work / "read.onnx").write_bytes(given.reader.read_bytes())
        strips = list(show_strips(ModelReader(work, 1)))
        quant_pre_process(str(work / "read.onnx"), str(work / "shaped.onnx"), skip_symbolic_shape=True)
        raised = version_converter.convert_version(onnx.load(work / "shaped.onnx"), OPSET)
        onnx.save(raised, work / "raised.onnx")
        quantize_static(
            str(work / "raised.onnx"),
            str(work / "small.onnx"),
            _Strips(strips),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            weight_type=QuantType.QInt8,
            activation_type=QuantType.QUInt8,
            op_types_to_quantize=["Conv"],
            calibrate_method=CalibrationMethod.MinMax,
        )
        for source, name in ((given.detector, "detect.onnx"), (work / "small.onnx", "read.onnx")):
            onnx.save(halve(onnx.load(source)), given.into / name)


def show_strips(reader: ModelReader) -> Iterator[np.ndarray[Any, Any]]:
    """Lines of printed pages, clean and soiled, as the reader gets them."""
    text = "\n\n".join((ROOT / path).read_text("utf-8") for path in PAGES)
    blocks = (" ".join(re.sub(r"[^ -~\n]", "", block).split()) for block in text.split("\n\n"))
    paragraphs = [block for block in blocks if len(block) > 80 and "|" not in block and "```" not in block]
    for condition in (CONDITIONS[0], CONDITIONS[5]):
        for font in FONTS:
            _, pdf = set_page(paragraphs, font, 1, random.Random(font + condition.name))
            page = print_page(pdf, condition, 5)
            levels = make_levels(page)
            for strip in reader.find_strips(page)[::EVERY]:
                yield cut_strip(levels, strip)[:, :, :, :WIDTH]


class _Strips(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime is not typed
    def __init__(self, strips: list[np.ndarray[Any, Any]]) -> None:
        self._waiting = iter(strips)

    def get_next(self) -> dict[str, Any] | None:
        strip = next(self._waiting, None)
        return None if strip is None else {"x": strip}


def halve(model: onnx.ModelProto) -> onnx.ModelProto:
    """Large weights as float16, cast to float when the graph is loaded."""
    graph = model.graph
    kept, casts = [], []
    for weight in graph.initializer:
        if weight.data_type != TensorProto.FLOAT or np.prod(weight.dims) < LARGE:
            kept.append(weight)
            continue
        half = numpy_helper.to_array(weight).astype(np.float16)
        kept.append(numpy_helper.from_array(half, f"{weight.name}_half"))
        casts.append(helper.make_node("Cast", [f"{weight.name}_half"], [weight.name], to=TensorProto.FLOAT))
    nodes = list(graph.node)
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(kept)
    graph.node.extend([*casts, *nodes])
    onnx.checker.check_model(model)
    return model


if __name__ == "__main__":
    main()
