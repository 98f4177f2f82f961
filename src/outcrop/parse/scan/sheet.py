"""A page of a PDF or of a picture file as pixels. Runs in the worker: both are what a stranger made."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Final

import numpy as np
import pypdfium2

from outcrop.errors import ParseError
from outcrop.parse.scan.formats import HEIF
from outcrop.system.dataclass import dataclass

if TYPE_CHECKING:
    from PIL.Image import Image

DPI: Final = 200
"""A line of 10 points is then as high as the recogniser takes it, 40 pixels."""
MAX_PIXELS: Final = 9_000_000
"""Of a page: A3 at 200 dpi. A larger one is made smaller, so that memory stays within 700 MB."""
MAX_FRAMES: Final = 2_000
"""Pages of a TIFF."""
MIN_SIDE: Final = 64
MIN_PIXELS: Final = 40_000
"""A smaller picture is an icon, on which nobody looks for text: 200 × 200 pixels (not measured)."""
MAX_SOURCE: Final = 60_000_000
"""Pixels of a picture file: 180 MB of memory when it is decoded."""
_DAMAGE: Final = (
    OSError,
    EOFError,
    ValueError,
    SyntaxError,
    TypeError,
    LookupError,
    ArithmeticError,
    struct.error,
)
"""What Pillow raises for a damaged picture: whatever its parts stumble over (a TIFF without a width is a TypeError)."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A page as rows of red, green and blue."""

    width: int
    height: int
    pixels: bytes

    @property
    def name(self) -> str:
        """The hash of what it shows."""
        return sha256(b"%d %d " % (self.width, self.height) + self.pixels).hexdigest()

    def as_ppm(self) -> bytes:
        """The page as the simplest of picture files."""
        return b"P6 %d %d 255\n" % (self.width, self.height) + self.pixels


@dataclass(frozen=True, slots=True)
class Sheets:
    """The pages of an opened file: how many, and each by its number, from 1."""

    pages: int
    draw: Callable[[int], Sheet]


def open_sheets(kind: str, data: bytes) -> Sheets:
    """The pages of a PDF or of a picture; ParseError where it is damaged or nothing to read."""
    return _open_pdf(data) if kind == "pdf" else _open_picture(data)


def _open_pdf(data: bytes) -> Sheets:
    try:
        pdf = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise ParseError("damaged or encrypted PDF") from error

    def draw(number: int) -> Sheet:
        try:
            page = pdf[number - 1]
            width, height = page.get_size()
            scale = min(DPI / 72, (MAX_PIXELS / max(1.0, width * height)) ** 0.5)
            pixels = page.render(scale=scale, rev_byteorder=True).to_numpy()[:, :, :3]
            page.close()
        except (pypdfium2.PdfiumError, IndexError) as error:
            raise ParseError(f"page {number} cannot be drawn: {error}") from error
        return Sheet(pixels.shape[1], pixels.shape[0], np.ascontiguousarray(pixels).tobytes())

    return Sheets(len(pdf), draw)


def _open_picture(data: bytes) -> Sheets:
    import PIL.Image  # of the extra ocr

    PIL.Image.MAX_IMAGE_PIXELS = MAX_SOURCE // 2  # Pillow refuses from twice of this on
    if data[4:8] == b"ftyp":
        _learn_heif()
    try:
        picture = PIL.Image.open(io.BytesIO(data))
        frames = getattr(picture, "n_frames", 1) if picture.format in ("TIFF", "MPO") else 1
    except (PIL.Image.DecompressionBombError, *_DAMAGE) as error:
        raise ParseError(f"a picture that cannot be read: {_said(error)}") from error
    if min(picture.size) < MIN_SIDE or picture.width * picture.height < MIN_PIXELS:
        raise ParseError("a picture too small to hold text")

    def draw(number: int) -> Sheet:
        try:
            picture.seek(number - 1)
            if picture.format == "JPEG" and picture.width * picture.height > 4 * MAX_PIXELS:
                picture.draft("RGB", (picture.width // 2, picture.height // 2))
            page = as_page(picture)
        except (PIL.Image.DecompressionBombError, *_DAMAGE) as error:
            raise ParseError(f"a picture that cannot be read: {_said(error)}") from error
        return Sheet(page.width, page.height, page.tobytes())

    return Sheets(min(frames, MAX_FRAMES), draw)


def as_page(picture: Image) -> Image:
    """A picture the right way up, on white, no larger than a page may be."""
    import PIL.Image
    from PIL.ImageOps import exif_transpose

    page = exif_transpose(picture)
    if page.mode.startswith(("I;16", "I", "F")):
        low, high = page.getextrema()
        page = page.convert("F").point(lambda value: (value - low) * 255 / max(high - low, 1)).convert("L")  # type: ignore[operator]
    if page.has_transparency_data:
        page = page.convert("RGBA")
        white = PIL.Image.new("RGBA", page.size, "white")
        page = PIL.Image.alpha_composite(white, page)
    page = page.convert("RGB")
    shrink = (MAX_PIXELS / (page.width * page.height)) ** 0.5
    if shrink < 1:
        page = page.resize(
            (max(1, int(page.width * shrink)), max(1, int(page.height * shrink))), reducing_gap=2.0
        )
    return page


def _learn_heif() -> None:
    """Pictures of phones (HEIC), where the library for them is installed."""
    try:
        import pillow_heif  # type: ignore[import-not-found]
    except ImportError as error:
        raise ParseError(HEIF) from error
    pillow_heif.register_heif_opener()


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
