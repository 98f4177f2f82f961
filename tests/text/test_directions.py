"""Names and paths in text that runs from the right."""

from __future__ import annotations

from html import escape

import pytest
from tests.cost import cpu_below

from outcrop.text.directions import find_code, isolate_code, runs_from_right


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("تستدعي (os.path.join) ثم getUserName() لا.", ["os.path.join", "getUserName()"]),
        ("ב--verbose, ובדקו את connect_db(host, port).", ["--verbose", "connect_db(host, port)"]),
        ('ה-API של "foo(x)"', ["API", "foo(x)"]),
        ("الملف /etc/app.conf. أيضا C++ و A->B", ["/etc/app.conf", "C++", "A->B"]),
        ("إن f(g(x)) أو (f)(g) أو a[i]) أو ((x)", ["f(g(x))", "(f)(g)", "a[i]", "x"]),
        ("خطأ 42 (404) في 10:30", []),
    ],
)
def test_code_is_told_from_the_signs_of_the_sentence(text: str, code: list[str]) -> None:
    assert [text[start:end] for start, end in find_code(text)] == code


def test_the_first_letter_decides_where_a_text_begins() -> None:
    assert runs_from_right("1. (שלום) foo()")
    assert not runs_from_right("foo() שלום")
    assert not runs_from_right("42 %")


def test_code_is_kept_apart_and_everything_is_escaped() -> None:
    assert isolate_code("אם a<b() אז <c>", escape) == (
        'אם <bdi dir="ltr">a&lt;b()</bdi> אז &lt;<bdi dir="ltr">c</bdi>&gt;'
    )
    assert isolate_code("see f() in שלום g()", escape) == "see f() in שלום g()"


def test_a_line_of_brackets_takes_no_time() -> None:
    with cpu_below(1):
        isolate_code("ש " + "(" * 200_000 + "x", escape)
