"""Pages to be read: text set in three fonts and five languages, then printed, scanned, tilted and soiled by numbers.

The fonts are those that PDFium carries for the standard fourteen, so a page looks the same on every machine.
"""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pypdfium2
from PIL import Image, ImageFilter
from reportlab.lib.pagesizes import A4
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas

FONTS: Final = ("Helvetica", "Times-Roman", "Courier")
LANGUAGES: Final = ("en", "de", "fr", "es", "sv")
MARGIN: Final = 62
SIZE: Final = 11
LEADING: Final = 15
GUTTER: Final = 24


@dataclass(frozen=True, slots=True)
class Condition:
    """How a page is made worse: pixels an inch, tilt in degrees, noise and stains, columns, the quality of a JPEG."""

    name: str
    dpi: int = 200
    tilt: float = 0.0
    noise: float = 0.0
    columns: int = 1
    blur: float = 0.0
    jpeg: int = 0
    turned: int = 0

    @property
    def is_clean(self) -> bool:
        """Whether it is as good as a printout."""
        return not (self.tilt or self.noise or self.blur or self.jpeg or self.turned) and self.dpi >= 150


CONDITIONS: Final = (
    Condition("clean"),
    Condition("clean, 300 dpi", dpi=300),
    Condition("clean, two columns", columns=2),
    Condition("tilted", tilt=2.5),
    Condition("noisy", noise=28.0, blur=0.6),
    Condition("tilted and noisy", tilt=-1.7, noise=28.0, blur=0.6),
    Condition("tilted and noisy, two columns", tilt=1.3, noise=28.0, columns=2, blur=0.6),
    Condition("fax: 110 dpi, JPEG", dpi=110, noise=10.0, jpeg=45),
    Condition("upside down", turned=180),
    Condition("on its side", turned=90),
)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A page and what is on it, line by line in the order of reading."""

    condition: Condition
    font: str
    language: str
    picture: Image.Image
    text: str


def read_texts(path: Path | None = None) -> dict[str, list[str]]:
    """Paragraphs by language."""
    texts: dict[str, list[str]] = {}
    for line in (path or Path(__file__).with_name("texts.txt")).read_text("utf-8").splitlines():
        if line.startswith("# "):
            texts[line[2:].strip()] = []
        elif line.strip():
            texts[list(texts)[-1]].append(line.strip())
    return texts


def make_sheets(conditions: tuple[Condition, ...], seed: int, texts: dict[str, list[str]]) -> Iterator[Sheet]:
    """A page for each condition, font and language."""
    for condition in conditions:
        for font in FONTS:
            for language in LANGUAGES:
                name = f"{seed} {condition.name} {font} {language}"
                chance = random.Random(name)
                lines, pdf = set_page(texts[language], font, condition.columns, chance)
                picture = print_page(pdf, condition, chance.randrange(2**32))
                yield Sheet(condition, font, language, picture, "\n".join(lines))


def set_page(paragraphs: list[str], font: str, columns: int, chance: random.Random) -> tuple[list[str], bytes]:
    """A page of A4 full of paragraphs in any order: its lines, and the PDF."""
    width, height = A4
    across = (width - 2 * MARGIN - (columns - 1) * GUTTER) / columns
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=A4, invariant=True)
    canvas.setFont(font, SIZE)
    lines: list[str] = []
    queue: list[str] = []
    for column in range(columns):
        x, y = MARGIN + column * (across + GUTTER), height - MARGIN
        while y > MARGIN:
            if not queue:
                queue = _wrap(chance.choice(paragraphs), font, across)
                y -= LEADING / 2
            canvas.drawString(x, y, queue[0])
            lines.append(queue.pop(0))
            y -= LEADING
    canvas.save()
    return lines, file.getvalue()


def _wrap(paragraph: str, font: str, width: float) -> list[str]:
    lines = [""]
    for word in paragraph.split():
        longer = f"{lines[-1]} {word}".strip()
        if stringWidth(longer, font, SIZE) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def print_page(pdf: bytes, condition: Condition, seed: int) -> Image.Image:
    """The page as a scanner would have it."""
    opened = pypdfium2.PdfDocument(pdf)
    drawn = opened[0].render(scale=condition.dpi / 72, rev_byteorder=True)
    page: Image.Image = drawn.to_pil().convert("RGB")
    if condition.tilt:
        page = page.rotate(condition.tilt, Image.Resampling.BICUBIC, expand=True, fillcolor="white")
    if condition.turned:
        page = page.rotate(condition.turned, expand=True)
    if condition.blur:
        page = page.filter(ImageFilter.GaussianBlur(condition.blur))
    if condition.noise:
        page = _soil(page, condition.noise, seed)
    if condition.jpeg:
        file = io.BytesIO()
        page.save(file, "JPEG", quality=condition.jpeg)
        page = Image.open(file).convert("RGB")
    return page


def _soil(page: Image.Image, noise: float, seed: int) -> Image.Image:
    """Grain, grey paper that darkens towards an edge, and specks."""
    chance = np.random.default_rng(seed)
    pixels = np.asarray(page, np.float32) * 0.88 + 8
    height, width = pixels.shape[:2]
    pixels -= (30 * np.linspace(0, 1, width, dtype=np.float32) ** 3)[None, :, None]
    pixels += chance.normal(0, noise, (height, width, 1)).astype(np.float32)
    specks = height * width // 5_000
    pixels[chance.integers(0, height, specks), chance.integers(0, width, specks)] = 20
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
