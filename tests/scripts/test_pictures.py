"""README's pictures of the page are there, small, and made with the style sheets of now."""

from __future__ import annotations

import pytest
from PIL import Image
from scripts.pictures import IMAGES, MARK, SCALE, VIEWPORT, mark_look


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_picture_is_small_and_not_stale(theme: str) -> None:
    path = IMAGES / f"page-{theme}.png"
    assert path.stat().st_size <= 200_000
    with Image.open(path) as picture:
        assert picture.size == tuple(SCALE * side for side in VIEWPORT)
        assert picture.info[MARK] == mark_look(), "the style sheets changed: python -m scripts.pictures"
        ground = picture.convert("L").getpixel((picture.width // 4, picture.height - 1))
    assert isinstance(ground, int)
    assert (ground < 64) == (theme == "dark")
