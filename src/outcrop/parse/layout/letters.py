"""The lines of a page of a PDF in the order in which it writes them, cut where wide gaps part them."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import pypdfium2
from pypdfium2 import raw as pdfium

MAX_CHARS: Final = 50_000
"""Of a page that is looked at; ten times a dense one (not measured)."""
GAP: Final = 1.0
"""A gap so many times the height of a line parts cells or columns; spaces of justified lines are half as wide (not
measured)."""
BOLD: Final = 600
UPRIGHT: Final = 0.2
"""From this share of words on that are higher than wide, a page is set sideways, and its places are not used."""
HYPHENS: Final = "\x02\ufffe"
"""With which PDFium marks a hyphen at the end of a line."""
_WORD: Final = re.compile(rf"[^\s\0{HYPHENS}]+[{HYPHENS}]?|[{HYPHENS}]")
_BOLD_NAME: Final = re.compile(rb"(?i)bold|black|heavy|semibd|demi|cmbx")
_FIXED_NAME: Final = re.compile(rb"(?i)courier|mono|typewriter|consol|nimbusmon|fixed|menlo|tt\d*$")
_EDGE: Final = 0.3


class Font(NamedTuple):
    """What the name of a font and its flags tell."""

    bold: bool = False
    fixed: bool = False


PLAIN: Final = Font()


@dataclass(slots=True)
class Piece:
    """Words of one line with no wide gap between them: where they stand, from the upper left in points, the number of
    their line, and where each word starts. `size` is that of the font, the lesser of its first and last word."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    line: int
    size: float
    font: Font
    starts: list[float]

    @property
    def height(self) -> float:
        """About 1.2 of the size of the font."""
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        """Half way down the line."""
        return (self.top + self.bottom) / 2


Box = tuple[float, float, float, float]


def read_pieces(page: pypdfium2.PdfPage, text: pypdfium2.PdfTextPage) -> list[Piece]:
    """The pieces of a page, in the order of its text; none where their places would tell nothing."""
    count = text.count_chars()
    if not 0 < count <= MAX_CHARS:
        return []
    read = pdfium.FPDFText_GetUnicode
    signs = [read(text, at) for at in range(count)]
    letters = "".join([chr(sign) if sign < 0x110000 else "\0" for sign in signs])
    box_of, style_of = _boxes(text, _turner(page)), _styles(text)
    far, low = _turned_size(page)
    pieces: list[Piece] = []
    last_words: list[int] = []
    line, before, upright, words = 0, 0, 0, 0
    for found in _WORD.finditer(letters):
        start, end = found.span()
        line += "\n" in letters[before:start] or (before > 0 and letters[before - 1] in HYPHENS)
        before = end
        end -= letters[end - 1] in HYPHENS and end - 1 > start
        left, top, right, bottom = _join(box_of(start), box_of(end - 1))
        if not (-_EDGE <= (left + right) / 2 <= far + _EDGE and -_EDGE <= (top + bottom) / 2 <= low + _EDGE):
            continue  # text beside the page is nothing that one sees
        words += 1
        upright += end - start > 2 and bottom - top > 1.5 * (right - left)
        last = pieces[-1] if pieces else None
        if (
            last is not None
            and last.line == line
            and -last.height < left - last.right <= GAP * max(last.height, 1.0)
        ):
            last.text = f"{last.text} {found[0]}"
            last.right, last.top, last.bottom = (
                max(last.right, right),
                min(last.top, top),
                max(last.bottom, bottom),
            )
            last.starts.append(left)
            last_words[-1] = start
        else:
            pieces.append(Piece(found[0], left, top, right, bottom, line, *style_of(start), [left]))
            last_words.append(start)
    for piece, start in zip(pieces, last_words, strict=True):
        if len(piece.starts) > 1:
            size, font = style_of(start)
            piece.size, piece.font = min(piece.size, size), font if font == piece.font else PLAIN
    return [] if upright > UPRIGHT * words else pieces


def _join(first: Box, last: Box) -> Box:
    return (
        min(first[0], last[0]),
        min(first[1], last[1]),
        max(first[2], last[2]),
        max(first[3], last[3]),
    )


def _boxes(
    text: pypdfium2.PdfTextPage, turn: Callable[[float, float], tuple[float, float]]
) -> Callable[[int], Box]:
    rectangle = pdfium.FS_RECTF()
    place, read = ctypes.byref(rectangle), pdfium.FPDFText_GetLooseCharBox

    def box_of(at: int) -> Box:
        if not read(text, at, place):
            return 0.0, 0.0, 0.0, 0.0
        x, y = turn(rectangle.left, rectangle.top)
        far, low = turn(rectangle.right, rectangle.bottom)
        return min(x, far), min(y, low), max(x, far), max(y, low)

    return box_of


def _turner(page: pypdfium2.PdfPage) -> Callable[[float, float], tuple[float, float]]:
    """From the coordinates of a page, whose origin is below, to those of the page as it is shown."""
    left, bottom, right, top = page.get_bbox()
    turned = page.get_rotation()
    if turned == 90:
        return lambda x, y: (y - bottom, x - left)
    if turned == 180:
        return lambda x, y: (right - x, y - bottom)
    if turned == 270:
        return lambda x, y: (top - y, right - x)
    return lambda x, y: (x - left, top - y)


def _turned_size(page: pypdfium2.PdfPage) -> tuple[float, float]:
    left, bottom, right, top = page.get_bbox()
    across, down = right - left, top - bottom
    return (down, across) if page.get_rotation() in (90, 270) else (across, down)


def _styles(text: pypdfium2.PdfTextPage) -> Callable[[int], tuple[float, Font]]:
    """The size and the font of a letter: its box depends on what its font claims of itself."""
    matrix, name, flags = pdfium.FS_MATRIX(), ctypes.create_string_buffer(64), ctypes.c_int()
    place, flag = ctypes.byref(matrix), ctypes.byref(flags)
    known: dict[tuple[bytes, int, int], Font] = {}

    def style_of(at: int) -> tuple[float, Font]:
        size = pdfium.FPDFText_GetFontSize(text, at)
        if pdfium.FPDFText_GetMatrix(text, at, place):
            size *= math.hypot(matrix.c, matrix.d)
        length = pdfium.FPDFText_GetFontInfo(text, at, name, len(name), flag)
        key = (
            name.value if 0 < length <= len(name) else b"",
            flags.value,
            pdfium.FPDFText_GetFontWeight(text, at),
        )
        font = known.get(key)
        if font is None:
            bold = _BOLD_NAME.search(key[0]) is not None if key[0] else key[2] >= BOLD
            font = known[key] = Font(bold, bool(key[1] & 1) or _FIXED_NAME.search(key[0]) is not None)
        return size, font

    return style_of


def find_rules(page: pypdfium2.PdfPage) -> tuple[list[Box], list[Box]]:
    """The lines that are drawn on a page: those across and those down."""
    across: list[Box] = []
    down: list[Box] = []
    turn = _turner(page)
    sides = [ctypes.c_float() for _ in range(4)]
    places = [ctypes.byref(side) for side in sides]
    for at in range(min(pdfium.FPDFPage_CountObjects(page), MAX_OBJECTS)):
        thing = pdfium.FPDFPage_GetObject(page, at)
        if pdfium.FPDFPageObj_GetType(thing) != pdfium.FPDF_PAGEOBJ_PATH:
            continue
        if not pdfium.FPDFPageObj_GetBounds(thing, *places):
            continue
        left, bottom, right, top = (side.value for side in sides)
        (x, far), (y, low) = (sorted(pair) for pair in zip(turn(left, top), turn(right, bottom), strict=True))
        if low - y <= THIN < far - x:
            across.append((x, y, far, low))
        elif far - x <= THIN < low - y:
            down.append((x, y, far, low))
        elif far - x > 4 * THIN and low - y > 4 * THIN and len(across) < MAX_RULES:  # a box: its four sides
            across += [(x, y, far, y), (x, low, far, low)]
            down += [(x, y, x, low), (far, y, far, low)]
        if len(across) + len(down) > MAX_RULES:
            break
    return across, down


THIN: Final = 3.0
"""Points: what is thinner is a line."""
MAX_OBJECTS: Final = 20_000
MAX_RULES: Final = 2_000
"""Drawings have thousands of lines, tables hundreds (not measured)."""
