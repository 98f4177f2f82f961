"""Which pages of a PDF have to be read by their picture."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Final

import pypdfium2
from pypdfium2 import raw as pdfium

FEW_LETTERS: Final = 100
"""A page with fewer letters and a large picture is a scan with a stamp on it, such as the note of a library."""
LARGE: Final = 0.5
"""A picture that covers as much of its page is the page."""
GARBAGE: Final = 0.3
"""From this share of signs that are none on, a text is that of a font without a table of its letters."""
MAX_OBJECTS: Final = 500
"""Objects of a page that are looked at; a scan has one, or a few strips. None of these is measured."""


def needs_reading(page: pypdfium2.PdfPage, text: str) -> bool:
    """Whether a page shows text that its text layer does not have."""
    letters = sum(map(str.isalnum, islice(text, 10 * FEW_LETTERS)))
    if letters >= FEW_LETTERS:
        return is_garbage(text)
    covered, drawn = _look(page)
    if letters:
        return covered >= LARGE or is_garbage(text)
    return drawn


def is_garbage(text: str) -> bool:
    """Whether a text is what a font without a table of its letters leaves: private, unassigned or control signs."""
    signs = Counter(_is_sign(char) for char in islice(text, 5_000) if not char.isspace())
    return signs[False] > GARBAGE * signs.total()


def _is_sign(char: str) -> bool:
    code = ord(char)
    return not (
        code < 0x20 or code in (0xFFFD, 0xFFFE, 0xFFFF) or 0xE000 <= code <= 0xF8FF or 0x7F <= code < 0xA0
    )


def _look(page: pypdfium2.PdfPage) -> tuple[float, bool]:
    """The share of a page that pictures cover, and whether anything is drawn on it."""
    width, height = page.get_size()
    area, drawn = 0.0, False
    for thing in islice(page.get_objects(max_depth=3), MAX_OBJECTS):
        drawn = True
        if thing.type == pdfium.FPDF_PAGEOBJ_IMAGE:
            left, bottom, right, top = thing.get_bounds()
            area += max(0.0, min(right, width) - max(left, 0.0)) * max(0.0, min(top, height) - max(bottom, 0.0))
    return area / (width * height) if width * height else 0.0, drawn
