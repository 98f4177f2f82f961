"""Rows, cells and numbers as they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcrop.text.cells import (
    cells_of_row,
    find_cells,
    is_row,
    is_rule,
    is_value,
    join_thousands,
    without_asides,
)


def test_rows_are_told_from_lines_that_only_hold_a_bar() -> None:
    assert is_row("| a | b |")
    assert is_row("a | b")
    assert not is_row("a||b")
    assert is_rule("|---|:-:|")
    assert not is_rule("| - a |")
    assert cells_of_row("| a |  | b |") == ["a", "", "b"]


def test_cells_of_csv_may_hold_delimiters() -> None:
    assert list(find_cells('"Smith, John",3\nx,4', "csv")) == ["Smith, John", "3", "x", "4"]
    assert list(find_cells("a;b\nc;1", "csv")) == ["a", "b", "c", "1"]


def test_a_table_without_numbers_is_text_in_columns() -> None:
    assert list(find_cells("| command | what it does |\n| start | begins |\n| stop | ends |")) == []
    assert list(find_cells("| | 2019 |\n| Sales | $ 1,234.5 |")) == ["2019", "Sales", "$ 1,234.5"]
    assert [is_value(cell) for cell in ("(12)", "4.00 %", "12 €", "2019", "FY 2019", "no. 4", "")] == [
        *(True, True, True, False, False, False, False)
    ]


def test_text_without_rows_has_no_cells() -> None:
    assert list(find_cells("no bars, no cells")) == []


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("$ 1,234,567 in all", ["1234567"]),
        ("1.234.567 und 12'500", ["1234567", "12500"]),
        ("1\u202f234", ["1234"]),
        ("1,23 and 12,3456 and 2019", []),
        ("v1.200 0.125", []),
    ],
)
def test_marks_between_thousands_are_left_out(text: str, numbers: list[str]) -> None:
    assert [number for number in join_thousands(text) if number != "0125"] == numbers


def test_asides_are_no_part_of_a_label() -> None:
    assert without_asides("Revenue (in millions)").strip() == "Revenue"


@given(st.text(alphabet='|,;"\n\x00 a1-(', max_size=300), st.sampled_from(["", "csv"]))
def test_nothing_breaks_it(text: str, kind: str) -> None:
    for cell in find_cells(text, kind):
        assert cell
        without_asides(cell)
