"""What a line says: a strip of the page through the recogniser, and where each word of it stands."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from outcrop.parse.scan.finding import Strip
from outcrop.system.arrays import NDArray
from outcrop.system.dataclass import dataclass

if TYPE_CHECKING:
    from PIL.Image import Image

HEIGHT: Final = 48
"""The height of a line as the model reads it."""
MAX_WIDTH: Final = 2_400
"""Pixels of a line at most: four times as long as one of a book (not measured). A longer one is squeezed."""
MIN_LEVEL: Final = 64
MAX_LEVELS: Final = 6
MIN_SURE: Final = 0.5
"""Lines that are read less surely are stains and pictures: the model's own setting."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word and where it begins and ends, as shares of its line."""

    text: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read of a line, and how sure that is, 0 to 1."""

    words: tuple[Word, ...]
    sure: float


def make_levels(page: Image) -> list[Image]:
    """A page, then half of it, a quarter and so on."""
    levels = [page]
    while min(levels[-1].size) >= MIN_LEVEL and len(levels) < MAX_LEVELS:
        levels.append(levels[-1].reduce(2))
    return levels


def cut_strip(levels: list[Image], strip: Strip) -> NDArray[np.float32]:
    """A line as the recogniser takes it: upright, 48 pixels high. `levels` are the page and its halves."""
    from PIL.Image import Resampling, Transform

    level = 0
    while level + 1 < len(levels) and strip.height / 2 ** (level + 1) >= HEIGHT:
        level += 1  # a picture that is made smaller in one step loses its thin strokes
    shrunk = 2.0**level
    width = max(8, min(MAX_WIDTH, round(HEIGHT * strip.length / strip.height)))
    width = -(-width // 8) * 8
    cos, sin = math.cos(strip.angle), math.sin(strip.angle)
    across, down = strip.length / width / shrunk, strip.height / HEIGHT / shrunk
    corner_x = strip.x / shrunk - cos * across * width / 2 + sin * down * HEIGHT / 2
    corner_y = strip.y / shrunk - sin * across * width / 2 - cos * down * HEIGHT / 2
    affine = (cos * across, -sin * down, corner_x, sin * across, cos * down, corner_y)
    cut = levels[level].transform(
        (width, HEIGHT), Transform.AFFINE, affine, Resampling.BICUBIC, fillcolor="white"
    )
    return as_input(cut)


def as_input(picture: Image) -> NDArray[np.float32]:
    """A picture as both models take it: one of a batch, blue first, from −1 to 1."""
    pixels = np.asarray(picture, np.float32)[:, :, ::-1]
    return np.ascontiguousarray((pixels / 127.5 - 1).transpose(2, 0, 1)[None])


def read_letters(output: NDArray[Any], alphabet: list[str]) -> Reading:
    """The words in the model's output: for each step along the line how likely each letter is. Steps that repeat the
    letter before, and those of the gap between letters, are dropped."""
    best = output.argmax(axis=1)
    kept = np.flatnonzero((best > 0) & (best != np.concatenate(([0], best[:-1]))))
    if not len(kept):
        return Reading((), 0.0)
    sure = float(output[kept, best[kept]].mean())
    steps = len(best)
    words: list[Word] = []
    letters: list[tuple[str, int]] = []
    for step in (*kept.tolist(), -1):
        letter = alphabet[best[step]] if step >= 0 else " "
        if not letter.isspace():
            letters.append((letter, step))
        elif letters:
            text = "".join(letter for letter, _ in letters)
            words.append(Word(text, letters[0][1] / steps, (letters[-1][1] + 1) / steps))
            letters = []
    return Reading(tuple(words), sure)
