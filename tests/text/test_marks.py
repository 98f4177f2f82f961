"""A mark is random, and in none of the texts it fences."""

from __future__ import annotations

from outcrop.text.marks import draw_mark


def test_a_mark_that_a_text_holds_is_drawn_again() -> None:
    drawn = iter(["abc", "def", "fed"])
    assert draw_mark(["x abc", "defdef"], draw=lambda _: next(drawn)) == "fed"


def test_marks_are_as_long_as_asked_and_differ() -> None:
    marks = {draw_mark([], 4) for _ in range(50)}
    assert len(marks) > 45
    assert {len(mark) for mark in marks} == {8}
    assert len(draw_mark([])) == 24
