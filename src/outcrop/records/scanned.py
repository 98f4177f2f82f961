"""What was read of a page that has no text of its own."""

from __future__ import annotations

from typing import NamedTuple

from outcrop.system.dataclass import dataclass


class ScanWord(NamedTuple):
    """A word, with its box as shares (0–1) of the page's width and height, from the upper left."""

    text: str
    x: float
    y: float
    width: float
    height: float


class ScanLine(NamedTuple):
    """The words of a line, and whether a paragraph or a column begins with it."""

    words: tuple[ScanWord, ...]
    starts_block: bool = False


@dataclass(frozen=True, slots=True)
class ScanPage:
    """The lines of a page in the order of reading, and how many secrets were masked in them."""

    lines: tuple[ScanLine, ...]
    masked: int = 0

    @property
    def text(self) -> str:
        """Its text, with an empty line before each block."""
        parts = []
        for number, line in enumerate(self.lines):
            parts.append("\n\n" if line.starts_block and number else "\n" if number else "")
            parts.append(" ".join(word.text for word in line.words))
        return "".join(parts)
