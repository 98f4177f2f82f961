"""Scans: what decodes pictures, finds lines in a map and reads Tesseract's tables, whatever it is given."""

from __future__ import annotations

import io
import random

import numpy as np
from PIL import Image

from outcrop.errors import ParseError
from outcrop.parse.scan.finding import MAX_LINES, find_parts
from outcrop.parse.scan.letters import Word, cut_strip, make_levels
from outcrop.parse.scan.order import Line, arrange
from outcrop.parse.scan.sheet import MAX_PIXELS, open_sheets
from outcrop.parse.scan.tesseract import read_rows
from outcrop.records import ScanPage
from proofs.fuzz.mutate import change_some
from proofs.fuzz.seeds import Seeds
from proofs.fuzz.target import Target, need

FORMS = ("PNG", "JPEG", "TIFF", "WEBP")
TABLE = (
    b"level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n"
    b"1\t1\t0\t0\t0\t0\t0\t0\t600\t900\t-1\t\n5\t1\t1\t1\t1\t1\t10\t20\t30\t10\t96.1\tHello\n"
    b"5\t1\t1\t1\t1\t2\t50\t20\t30\t10\t90\tthere\n5\t1\t2\t1\t1\t1\t10\t90\t30\t10\t80\tbelow\n"
)


def _pictures() -> list[bytes]:
    made = []
    gradient = np.add.outer(np.arange(230), np.arange(210)).astype(np.uint8)
    for mode in ("L", "RGB", "1", "P", "RGBA", "I;16", "CMYK"):
        picture = Image.fromarray(gradient).convert("RGB" if mode in ("I;16", "RGBA", "CMYK") else mode)
        picture = picture.convert("L").convert("I;16") if mode == "I;16" else picture.convert(mode)
        for form in FORMS:
            file = io.BytesIO()
            try:
                picture.save(file, form, **({"save_all": True} if form == "TIFF" else {}))
            except OSError:  # a mode that the format does not have
                continue
            made.append(file.getvalue())
    return made


_PICTURES = _pictures()


def _check_picture(data: bytes) -> None:
    try:
        sheets = open_sheets("image", data)
        for number in range(1, min(sheets.pages, 3) + 1):
            sheet = sheets.draw(number)
            need(0 < sheet.width * sheet.height <= MAX_PIXELS, "a page is no larger than one may be")
            need(len(sheet.pixels) == 3 * sheet.width * sheet.height, "a page is its pixels")
    except ParseError as error:
        need(str(error), "an error says what happened")


def _make_map(chance: random.Random, seeds: Seeds) -> bytes:  # noqa: ARG001
    return bytes((chance.randrange(1, 40), chance.randrange(1, 40))) + chance.randbytes(400)


def _check_map(data: bytes) -> None:
    width, height = data[0] % 40 + 1, data[1] % 40 + 1
    pixels = np.resize(np.frombuffer(data[2:] or b"\0", np.uint8), (height, width)).astype(np.float32) / 255
    strips = find_parts(np.kron(pixels, np.ones((4, 4), np.float32)))
    need(len(strips) <= MAX_LINES, "lines are bounded")
    page = Image.new("RGB", (4 * width, 4 * height), "white")
    for strip in strips[:3]:
        need(cut_strip(make_levels(page), strip).shape[2] == 48, "a line is as high as the reader takes it")
    lines = [Line(strip, (Word(f"w{number}", 0.0, 1.0),)) for number, strip in enumerate(strips)]
    read = ScanPage(tuple(arrange(lines, page.size, data[0] % 4)))
    words = [word for line in read.lines for word in line.words]
    need(sorted(word.text for word in words) == sorted(f"w{n}" for n in range(len(strips))), "each line once")
    for word in words:
        need(0 <= word.x <= word.x + word.width <= 1.001, "a word lies on the page")
        need(0 <= word.y <= word.y + word.height <= 1.001, "a word lies on the page")


def _check_table(data: bytes) -> None:
    try:
        lines = read_rows(data.decode("utf-8", "replace"))
    except ValueError:
        return  # its caller says so of the page
    need(all(line.words for line in lines), "a line has words")


SCANS = (
    Target(
        "scan.picture",
        6_000,
        lambda chance, seeds: change_some(chance, _PICTURES),  # noqa: ARG005
        _check_picture,
        "pages of bounded size, or a ParseError",
    ),
    Target("scan.lines", 3_000, _make_map, _check_map, "each line once, in some order, on the page"),
    Target(
        "scan.tesseract",
        1_000,
        lambda chance, seeds: change_some(chance, [TABLE]),  # noqa: ARG005
        _check_table,
        "lines with words, or a ValueError",
    ),
)
"""What reads scans; its process is watched by the ingest, and here as any target is."""
