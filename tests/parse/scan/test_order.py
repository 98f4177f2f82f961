"""Lines in the order in which people read them, with the boxes of their words."""

from __future__ import annotations

import pytest

from outcrop.parse.scan.finding import Strip
from outcrop.parse.scan.letters import Word
from outcrop.parse.scan.order import Line, arrange
from outcrop.records import ScanPage

SIZE = (1000, 1400)


def line(text: str, x: float, y: float, length: float = 400, height: float = 20, angle: float = 0.0) -> Line:
    return Line(Strip(x + length / 2, y, length, height, angle), (Word(text, 0.0, 1.0),))


def text_of(lines: list[Line]) -> str:
    return ScanPage(tuple(arrange(lines, SIZE, 0))).text


def test_columns_are_read_one_after_the_other_below_their_title() -> None:
    left = [line(f"l{n}", 50, 200 + 30 * n) for n in range(6)]
    right = [line(f"r{n}", 520, 203 + 30 * n) for n in range(6)]
    title, foot = line("title", 60, 100, length=850, height=40), line("foot", 60, 600, length=850)
    mixed = [part for pair in zip(right, left, strict=True) for part in pair]
    assert text_of([foot, *mixed, title]).split() == [
        "title", *(f"l{n}" for n in range(6)), *(f"r{n}" for n in range(6)), "foot",
    ]  # fmt: skip


def test_cells_of_a_table_are_read_row_by_row() -> None:
    cells = [
        line(f"{row}{column}", 100 + 300 * column, 200 + 30 * row + column, length=90)
        for column in range(3)
        for row in range(6)
    ]
    assert text_of(cells).splitlines() == [f"{row}0 {row}1 {row}2" for row in range(6)]


def test_a_larger_distance_begins_a_paragraph() -> None:
    lines = [line(name, 50, y) for name, y in (("a", 100), ("b", 130), ("c", 200), ("d", 230))]
    assert text_of(lines) == "a\nb\n\nc\nd"


def test_a_tilted_page_is_read_as_if_it_were_straight() -> None:
    # Two columns, tilted so that the end of a line stands lower than the beginning of the next.
    lines = []
    for number in range(6):
        for name, x in (("l", 50.0), ("r", 520.0)):
            middle = x + 200
            tilted = line(f"{name}{number}", x, 200 + 30 * number + 0.1 * middle, angle=0.0997)
            lines.append(tilted)
    assert text_of(lines).split() == [*(f"l{n}" for n in range(6)), *(f"r{n}" for n in range(6))]


@pytest.mark.parametrize(
    ("turned", "expected"),
    [(0, (0.1, 0.2)), (1, (0.8 - 0.02, 0.1)), (2, (0.9 - 0.04, 0.8 - 0.02)), (3, (0.2, 0.9 - 0.04))],
)
def test_boxes_are_those_of_the_page_as_it_was_before_it_was_turned(
    turned: int, expected: tuple[float, float]
) -> None:
    strip = Strip(100 + 20, 200 + 10, 40, 20, 0.0)
    (found,) = arrange([Line(strip, (Word("x", 0.0, 1.0),))], (1000, 1000), turned)
    assert (found.words[0].x, found.words[0].y) == pytest.approx(expected, abs=1e-4)
    assert arrange([], SIZE, turned) == []
