"""Letters out of the steps of the recogniser, and lines cut out of pages."""

from __future__ import annotations

import numpy as np
from PIL import Image

from outcrop.parse.scan.finding import Strip
from outcrop.parse.scan.letters import HEIGHT, cut_strip, make_levels, read_letters

ALPHABET = ["", "a", "b", " "]


def steps(text: str) -> np.ndarray:
    """One letter a step; `-` is the gap between letters."""
    output = np.full((len(text), len(ALPHABET)), 0.05, np.float32)
    for at, letter in enumerate(text):
        output[at, 0 if letter == "-" else ALPHABET.index(letter)] = 0.85
    return output


def test_repeated_steps_are_one_letter_and_a_gap_between_two_of_them_makes_two() -> None:
    reading = read_letters(steps("aa-ab- bb--"), ALPHABET)
    assert [word.text for word in reading.words] == ["aab", "b"]
    assert reading.sure == np.float32(0.85)
    first, second = reading.words
    assert (first.start, second.start) == (0.0, 7 / 11)
    assert first.end == 5 / 11
    assert read_letters(steps("----"), ALPHABET).words == ()


def test_a_strip_is_cut_upright_from_a_tilted_page() -> None:
    page = Image.new("RGB", (600, 200), "white")
    page.paste("black", (100, 90, 300, 110))
    tilted = page.rotate(-5, Image.Resampling.BICUBIC, fillcolor="white")
    strip = Strip(201, 90.9, 200, 20, np.radians(5))
    cut = cut_strip(make_levels(tilted), strip)
    assert cut.shape == (1, 3, HEIGHT, 480)
    assert cut[0, :, 8:-8, 10:-10].max() < -0.9
    bigger = cut_strip(make_levels(tilted.resize((6000, 2000))), strip.scaled(10))
    assert bigger.shape == cut.shape
    assert bigger[0, :, 8:-8, 10:-10].max() < -0.9
