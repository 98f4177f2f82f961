"""Conditions on metadata: what is written becomes a tree, what a tree says is the tree again, and mistakes are told."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.store.conditions import conditions

from outcrop.errors import QueryError
from outcrop.records.where import All, Any, Compare, Condition, Contains, Exists, Not, OneOf, read_where

A, B, C = Compare("a", "==", 1), Exists("b"), Contains("c", "x")


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("year >= 2020", Compare("year", ">=", 2020)),
        ("price < -2.5", Compare("price", "<", -2.5)),
        ("far == 1e3", Compare("far", "==", 1000.0)),
        ('name == "O\'Hara \\"x\\" \\\\"', Compare("name", "==", 'O\'Hara "x" \\')),
        ("name != 'single'", Compare("name", "!=", "single")),
        ("draft == true", Compare("draft", "==", True)),
        ("draft == FALSE", Compare("draft", "==", False)),
        ("sent <= 2024-05-06", Compare("sent", "<=", date(2024, 5, 6))),
        ("sent > 2024-05-06T10:30:00Z", Compare("sent", ">", datetime(2024, 5, 6, 10, 30, tzinfo=UTC))),
        ("message-id exists", Exists("message-id")),
        ('"content type" exists', Exists("content type")),
        ('"and" exists', Exists("and")),
        ("größe.cm > 3", Compare("größe.cm", ">", 3)),
        ('status in ("draft", 2, true)', OneOf("status", ("draft", 2, True))),
        ("status in ['a']", OneOf("status", ("a",))),
        ("status not in (1)", Not(OneOf("status", (1,)))),
        ("a == 1 and b exists or c contains 'x'", Any((All((A, B)), C))),
        ("a == 1 AND (b exists OR c contains 'x')", All((A, Any((B, C))))),
        ("not a == 1 and b exists", All((Not(A), B))),
        ("not (a == 1 and b exists)", Not(All((A, B)))),
        ("((a==1))", A),
        ("a == 1 and b exists and c contains 'x'", All((A, B, C))),
    ],
)
def test_what_is_written_becomes_a_tree(text: str, condition: Condition) -> None:
    assert read_where(text) == condition
    assert read_where(str(condition)) == condition


@pytest.mark.parametrize(
    ("text", "place", "advice"),
    [
        ("", 0, "is empty; write one like"),
        ("year = 2020", 6, "write `==`"),
        ("year <> 2020", 6, "write `!=`"),
        ("status == draft", 11, 'put text in quotes: "draft"'),
        ("year >= ", 9, "write a value"),
        ("year", 5, "after year write ==, !=, <"),
        ("year 2020", 6, "after year write"),
        ("2020 <= year", 1, "write the name of what is compared first"),
        ("exists author", 1, "a name that is such a word stands in quotes"),
        ('name == "open', 9, "close the quotes"),
        ("(a == 1", 8, "write `)`"),
        ("a == 1)", 7, "or end the condition"),
        ("a == 1 && b == 2", 8, "write `and` here"),
        ("a == 1 || b == 2", 8, "write `or` here"),
        ("a in 3", 6, "in takes a list"),
        ("a in (1 2)", 9, "write `,` or `)`"),
        ("a contains 3", 12, "contains takes text in quotes"),
        ("sent > 2024-02-30", 8, "there is no such date"),
        ("a > true", 3, "true and false are compared with == or !="),
        ("a == 99999999999999999", 6, "too large"),
        ("a == §", 6, "put text in quotes"),
        ("(" * 60 + "a == 1" + ")" * 60, 51, "at most 50 parentheses"),
        (" or ".join(["a == 1"] * 201), 2001, "at most 200 comparisons"),
    ],
)
def test_a_mistake_is_shown_where_it_is_with_what_to_write(text: str, place: int, advice: str) -> None:
    with pytest.raises(QueryError) as raised:
        read_where(text)
    assert advice in str(raised.value)
    assert f"at character {place}," in str(raised.value) or not place


@pytest.mark.parametrize(("sign", "meant"), [("=>", ">="), ("=<", "<="), ("=", "=="), ("<>", "!=")])
def test_a_sign_of_another_language_is_told_as_ours(sign: str, meant: str) -> None:
    with pytest.raises(QueryError, match=f"write `{meant}`"):
        read_where(f"year {sign} 2020")


@pytest.mark.parametrize("text", ["x" * 900, f"a == {'x' * 900}", f'"{"x" * 900}" =='])
def test_a_mistake_is_told_in_short(text: str) -> None:
    with pytest.raises(QueryError) as error:
        read_where(text)
    assert len(str(error.value)) < 300


def test_a_condition_that_is_too_long_is_refused() -> None:
    with pytest.raises(QueryError, match="write at most 10,000"):
        read_where("a == 1 " * 2000)


@given(conditions())
def test_a_tree_says_what_parses_to_the_same_tree(condition: Condition) -> None:
    assert repr(read_where(str(condition))) == repr(condition)


@given(st.text(alphabet="ab01 .-\"'\\()[],<>=!&|xandornotincontainsexists§\n", max_size=60))
def test_any_text_is_a_condition_or_a_mistake_that_is_told(text: str) -> None:
    try:
        condition = read_where(text)
    except QueryError as error:
        assert str(error).startswith("the condition ")  # noqa: PT017
    else:
        assert read_where(str(condition)) == condition
