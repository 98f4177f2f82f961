"""The recording in README shows what the commands print today, and nothing is loaded to show it."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from scripts.record import (
    BOLD,
    COLOURS,
    COLUMNS,
    IMAGE,
    Look,
    Step,
    draw,
    is_current,
    read_screen,
    read_text,
    record,
)


@pytest.fixture(scope="module")
def steps() -> list[Step]:
    return record()


def text(written: str) -> list[str]:
    return ["".join(character for character, _ in line) for line in read_screen(written)]


def test_the_drawing_shows_what_the_commands_print_today(steps: list[Step]) -> None:
    assert is_current(IMAGE.read_text("utf-8"), steps), "run `make pages`"
    shown = read_text(IMAGE.read_text("utf-8"))
    assert [f"$ {step.typed}" for step in steps] == [line for line in shown if line.startswith("$ ")]


def test_other_words_make_a_drawing_old_and_other_times_do_not(steps: list[Step]) -> None:
    drawing = draw(steps)
    assert is_current(drawing.replace(" added", " taken"), steps) is False
    assert is_current(drawing.replace(" chunks in ", " chunks in 1"), steps)
    assert is_current(draw(steps[:-1]), steps) is False


def test_the_drawing_is_whole_and_loads_nothing() -> None:
    drawing = IMAGE.read_text("utf-8")
    assert ElementTree.fromstring(drawing).tag == "{http://www.w3.org/2000/svg}svg"
    assert "http" not in drawing.replace("http://www.w3.org/2000/svg", "")
    assert "<script" not in drawing
    assert max(map(len, read_text(drawing))) <= COLUMNS


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("one\r\ntwo\r\n", ["one", "two"]),
        ("50 %\r100 %\r\ndone", ["100 %", "done"]),
        ("bar\r\x1b[Kdone\r\n", ["done"]),
        ("a\r\nb\r\n\x1b[2A\x1b[2KA\r\n", ["A", "b"]),
        ("\x1b[?25lhidden cursor\x1b[?25h", ["hidden cursor"]),
        ("\x1b]8;id=1;file:///a.md\x1b\\a.md\x1b]8;;\x1b\\ and more", ["a.md and more"]),
        ("x" * (COLUMNS + 2), ["x" * COLUMNS, "xx"]),
    ],
)
def test_a_screen_is_what_is_left_of_all_that_was_written(written: str, shown: list[str]) -> None:
    assert text(written) == shown


def test_colours_are_kept() -> None:
    ((_, red), (_, both), (_, plain), (_, grey)) = read_screen("\x1b[31ma\x1b[1mb\x1b[0mc\x1b[38;5;250md")[0]
    assert (red, both, plain) == (Look(COLOURS[1]), Look(COLOURS[1], BOLD), Look())
    assert grey.colour == "#bcbcbc"
    assert "<tspan" in draw([Step("a < b", read_screen("\x1b[2m<&>"))])
    assert read_text(draw([Step("a < b", read_screen("\x1b[2m<&>"))])) == ["$ a < b", "<&>"]
