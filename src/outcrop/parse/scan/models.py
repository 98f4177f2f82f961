"""A page read by two models: one finds the lines, the other reads each of them (PP-OCRv6, Apache-2.0)."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from outcrop.parse.scan.finding import Strip, find_parts
from outcrop.parse.scan.letters import MIN_SURE, Reading, as_input, cut_strip, make_levels, read_letters
from outcrop.parse.scan.order import Line, arrange
from outcrop.system.arrays import NDArray

if TYPE_CHECKING:
    from PIL.Image import Image

    from outcrop.parse.scan.sheet import Sheet
    from outcrop.records import ScanLine

DETECT_SIDE: Final = 960
"""Pixels of the longer side of what the detector sees: lines of 9 points on A4 are 8 pixels apart then."""
STEP: Final = 32
"""Its sides are multiples of this."""
SMALL: Final = 13.0
"""Strips lower than this, in pixels of the map, are read again at twice the size: a newspaper, a poster."""
PROBED: Final = 4
"""Lines by which it is told whether a page lies on its head."""
UPRIGHT_SURE: Final = 0.85
"""Lines that are read as surely as this are the right way up; a page with none is tried the other way too."""


class ModelReader:
    """Both models, loaded; `threads` lines are read at a time."""

    def __init__(self, folder: Path, threads: int) -> None:
        self._detector = _load(folder / "detect.onnx")
        self._recogniser = _load(folder / "read.onnx")
        letters = self._recogniser.get_modelmeta().custom_metadata_map["character"]
        self._alphabet = ["", *letters.split("\n"), " "]
        self._pool = ThreadPoolExecutor(max(1, threads))

    def read(self, sheet: Sheet) -> list[ScanLine]:
        """The lines of a page in the order of reading."""
        from PIL.Image import frombytes

        page = frombytes("RGB", (sheet.width, sheet.height), sheet.pixels)
        strips = self.find_strips(page)
        turned = 0
        if _stands(strips):
            page, turned = page.rotate(90, expand=True), 1
            strips = self.find_strips(page)
        first = self._read_strips(page, strips[:PROBED])
        if strips and _mean_sure(first) < UPRIGHT_SURE:
            other = page.rotate(180)
            there = self.find_strips(other)
            otherwise = self._read_strips(other, there[:PROBED])
            if _mean_sure(otherwise) > _mean_sure(first):
                page, strips, first, turned = other, there, otherwise, turned + 2
        readings = first + self._read_strips(page, strips[PROBED:])
        lines = [
            Line(strip, reading.words)
            for strip, reading in zip(strips, readings, strict=True)
            if reading.words and reading.sure >= MIN_SURE
        ]
        return arrange(lines, page.size, turned)

    def find_strips(self, page: Image) -> list[Strip]:
        """The lines of a page, longest first."""
        scale = min(1.0, DETECT_SIDE / max(page.size))
        strips = self._find_at(page, scale)
        if strips and scale < 1.0 and float(np.median([strip.height for strip in strips])) * scale < SMALL:
            return self._find_at(page, min(1.0, 2 * scale)) or strips
        return strips

    def _find_at(self, page: Image, scale: float) -> list[Strip]:
        """The lines of a page seen at this scale; band by band, for the detector takes 300 MB a million pixels."""
        width = max(STEP, round(page.width * scale / STEP) * STEP)
        height = max(STEP, round(page.height * scale / STEP) * STEP)
        small = page.resize((width, height), reducing_gap=2.0)
        bands: list[NDArray[np.float32]] = []
        top = 0
        while top < height:
            end = min(height, top + DETECT_SIDE)
            first, last = max(0, top - STEP), min(height, end + STEP)
            found = self._detector.run(None, {"x": as_input(small.crop((0, first, width, last)))})[0][0, 0]
            bands.append(found[top - first : end - first])
            top = end
        across, down = page.width / width, page.height / height
        return [_stretched(strip, across, down) for strip in find_parts(np.concatenate(bands))]

    def _read_strips(self, page: Image, strips: Sequence[Strip]) -> list[Reading]:
        levels = make_levels(page)

        def read(strip: Strip) -> Reading:
            output = self._recogniser.run(None, {"x": cut_strip(levels, strip)})[0][0]
            return read_letters(output, self._alphabet)

        return list(self._pool.map(read, strips))


def _mean_sure(readings: Sequence[Reading]) -> float:
    return sum(reading.sure for reading in readings) / len(readings) if readings else 0.0


def _stretched(strip: Strip, across: float, down: float) -> Strip:
    """A strip of the map as one of the page; both sides are scaled nearly alike."""
    scaled = strip.scaled((across + down) / 2)
    return Strip(strip.x * across, strip.y * down, scaled.length, scaled.height, scaled.angle)


def _stands(strips: Sequence[Strip]) -> bool:
    """Whether most of the text runs up or down."""
    standing = sum(strip.length for strip in strips if abs(math.sin(strip.angle)) > 0.7)
    return standing > sum(strip.length for strip in strips) / 2


def _is_inexact() -> bool:
    """Whether int8 products may saturate on this processor: on x86 without VNNI. With it the way that cannot costs half
    as much again (47 ms a line instead of 32)."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    try:
        return "vnni" not in Path("/proc/cpuinfo").read_text("ascii", "replace")
    except OSError:
        return True


def _load(path: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    if _is_inexact():
        options.add_session_config_entry("session.x64quantprecision", "1")  # as in embed/inference/session.py
    options.enable_cpu_mem_arena = False  # lines differ in length: an arena would keep the sum of all
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
