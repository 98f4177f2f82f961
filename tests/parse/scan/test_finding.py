"""Lines in a map of probabilities, whatever their tilt."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PIL import Image

from outcrop.parse.scan.finding import MAX_LINES, find_parts


def drawn(angle: float, *, bars: int = 3) -> np.ndarray:
    """Bars of 200 × 12 below each other, turned clockwise."""
    page = np.zeros((400, 400), np.float32)
    for bar in range(bars):
        page[120 + 60 * bar : 132 + 60 * bar, 100:300] = 255
    turned = Image.fromarray(page).rotate(-angle, Image.Resampling.BILINEAR)
    return np.asarray(turned, np.float32) / 255


@pytest.mark.parametrize("angle", [0, 2.5, -7, 30, 85])
def test_a_line_is_found_with_its_tilt_and_grown_as_the_model_was_taught(angle: float) -> None:
    strips = find_parts(drawn(angle))
    assert len(strips) == 3
    for strip in strips:
        off = math.degrees(strip.angle) - angle
        assert min(abs(off), abs(180 - abs(off))) < 0.5
        grown = 200 * 12 * 1.6 / (2 * 212)
        assert strip.length == pytest.approx(200 + 2 * grown, abs=5)
        assert strip.height == pytest.approx(12 + 2 * grown, abs=5)
    middle = sorted((strip.x, strip.y) for strip in strips)[1]
    assert math.dist(middle, (199.5, 199.5)) == pytest.approx(13.5, abs=3)  # as far from the middle as before


def test_touching_by_a_corner_is_one_part_and_faint_or_tiny_ones_are_none() -> None:
    page = np.zeros((60, 60), np.float32)
    page[10:14, 10:20] = 0.9
    page[14:18, 20:30] = 0.9
    page[40:44, 5:40] = 0.4  # text for the map, but not surely enough
    page[50, 50] = 1
    assert len(find_parts(page)) == 1


def test_a_ring_is_one_part_and_a_page_of_dots_is_bounded() -> None:
    ring = np.zeros((40, 40), np.float32)
    ring[5:35, 5:35] = 1
    ring[10:30, 10:30] = 0
    assert len(find_parts(ring)) == 1
    dots = np.zeros((600, 600), np.float32)
    for row in range(4):
        for column in range(4):
            dots[row::9, column::9] = 1
    assert len(find_parts(dots)) == MAX_LINES
    assert find_parts(np.zeros((9, 9), np.float32)) == []
