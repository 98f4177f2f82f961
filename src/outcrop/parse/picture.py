"""A page as people know it: its picture, and where its words stand on it. Of a PDF with text PDFium tells where, of
a scan whoever read it.

Runs in the worker: PDFium and Pillow draw what a stranger made.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from typing import Any, Final

import pypdfium2
from pypdfium2 import raw as pdfium

from outcrop.errors import ParseError
from outcrop.parse.passage import find_letters

MAX_SIDE: Final = 4_000
"""Pixels of a side at most: 48 MB of memory for a square. A page may claim to be a kilometre high."""
MAX_CHARS: Final = 50_000
"""Characters of a page that are looked at for a passage: ten times a dense one (not measured)."""

Word = tuple[str, float, float, float, float, bool]
"""Its text, its box (x, y, width and height as shares of the picture, from the upper left), and whether it is one of
the passage."""


def draw_page(data: bytes, number: int, width: int, passage: str) -> tuple[dict[str, Any], bytes]:
    """The page of this number, counted from 1, `width` pixels wide: its measures and words, as JSON can hold them, and
    a PNG; of a page that is not there only how many there are."""
    try:
        pdf = pypdfium2.PdfDocument(data)
        if not 1 <= number <= len(pdf):
            return {"pages": len(pdf)}, b""
        page = pdf[number - 1]
        across, down = page.get_size()
        scale = min(width / across, MAX_SIDE / across, MAX_SIDE / down)
        bitmap = page.render(scale=scale, rev_byteorder=True)
        words = _find_words(page, bitmap, passage)
    except pypdfium2.PdfiumError as error:
        raise ParseError(f"page {number} cannot be drawn: {error}") from error
    measures = {"pages": len(pdf), "width": bitmap.width, "height": bitmap.height, "words": words}
    return measures, _as_png(bitmap)


def draw_image(data: bytes, number: int, width: int) -> tuple[dict[str, Any], bytes]:
    """A page of a picture file in the same form; which words are on it the picture does not tell."""
    from outcrop.parse.scan.sheet import open_sheets

    sheets = open_sheets("image", data)
    if not 1 <= number <= sheets.pages:
        return {"pages": sheets.pages}, b""
    from PIL.Image import frombytes

    sheet = sheets.draw(number)
    scale = min(width / sheet.width, MAX_SIDE / sheet.height)
    size = (max(1, round(sheet.width * scale)), max(1, round(sheet.height * scale)))
    page = frombytes("RGB", (sheet.width, sheet.height), sheet.pixels)
    file = io.BytesIO()
    page.resize(size, reducing_gap=2.0).save(file, "PNG", compress_level=6)
    return {"pages": sheets.pages, "width": size[0], "height": size[1], "words": []}, file.getvalue()


def _as_png(bitmap: pypdfium2.PdfBitmap) -> bytes:
    """An RGB bitmap as PNG."""
    pixels, row = memoryview(bitmap.buffer), 3 * bitmap.width
    packer = zlib.compressobj(6)
    lines = [
        packer.compress(b"\0" + pixels[start : start + row])
        for start in range(0, bitmap.stride * bitmap.height, bitmap.stride)
    ]
    size = struct.pack(">IIBBBBB", bitmap.width, bitmap.height, 8, 2, 0, 0, 0)
    image = b"".join((*lines, packer.flush()))
    return (
        b"\x89PNG\r\n\x1a\n" + _png_chunk(b"IHDR", size) + _png_chunk(b"IDAT", image) + _png_chunk(b"IEND", b"")
    )


def _png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


# ------------------------------------------------------------------ where a passage stands


def _find_words(page: pypdfium2.PdfPage, bitmap: pypdfium2.PdfBitmap, passage: str) -> list[Word]:
    """The words that are seen on the page, in the order of its text."""
    text = page.get_textpage()
    signs = [pdfium.FPDFText_GetUnicode(text, at) for at in range(min(text.count_chars(), MAX_CHARS))]
    letters = [chr(sign) if sign < 0x110000 else "" for sign in signs]
    own = find_letters(letters, passage)
    to_bitmap = bitmap.get_posconv(page).to_bitmap
    across, down = bitmap.width, bitmap.height
    words: list[Word] = []
    for start, end in _runs(letters):
        boxes = [text.get_charbox(at, loose=True) for at in range(start, end)]
        left, bottom, _, _ = map(min, zip(*boxes, strict=True))
        _, _, right, top = map(max, zip(*boxes, strict=True))
        corners = (to_bitmap(left, top), to_bitmap(right, bottom))  # a page may be turned
        (x, far_x), (y, far_y) = (sorted(pair) for pair in zip(*corners, strict=True))
        if x < across and y < down and far_x > 0 and far_y > 0:  # text beside the page is nothing that one sees
            box = (x / across, y / down, (far_x - x) / across, (far_y - y) / down)
            words.append(("".join(letters[start:end]), *box, not own.isdisjoint(range(start, end))))
    return words


def _runs(letters: list[str]) -> Iterator[tuple[int, int]]:
    """Where the words of a page are: runs without space."""
    start = 0
    for at, letter in enumerate([*letters, " "]):
        if not letter or letter.isspace() or letter in "\x02\ufffe":
            if at > start:
                yield start, at
            start = at + 1
