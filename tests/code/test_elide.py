"""Elision: the signature and what matched stay, `...` marks the rest, never over the budget."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcrop.code.elide import MAX_LINE_CHARS, _compose, _rank_lines, elide, matched_lines, signature
from outcrop.text.tokens.estimate import SafeEstimate

CODE = '''# Gives out connections.
@retrying(
    times=3,
)
def acquire(
    self,
    timeout: float = 5.0,
) -> Connection:
    """Take a connection."""
    first = 1
    second = 2

    if self._free:
        return self._free.popleft()
    third = 3
    self._waiters += 1
    fourth = 4
    return self._wait(timeout)'''


def words(text: str) -> int:
    return len(text.split())


def test_a_text_that_fits_is_given_whole() -> None:
    assert elide(CODE, [], 1000, words) is CODE


def test_the_least_is_the_signature_and_the_line_that_matched_best() -> None:
    assert elide(CODE, [15, 9], 1000, words, least_only=True) == (
        "...\ndef acquire(\n    self,\n    timeout: float = 5.0,\n) -> Connection:\n    ...\n"
        "    self._waiters += 1\n    ..."
    )


def test_with_more_room_the_lines_around_and_the_closing_line_stay() -> None:
    shown = elide(CODE, [15], 24, words)
    assert shown == (
        "...\ndef acquire(\n    self,\n    timeout: float = 5.0,\n) -> Connection:\n    ...\n"
        "    third = 3\n    self._waiters += 1\n    fourth = 4\n    return self._wait(timeout)"
    )


def test_less_than_the_least_is_nothing() -> None:
    assert elide(CODE, [15], 8, words) is None
    assert elide(CODE, [], 0, words) is None


def test_a_mark_stands_at_the_indentation_of_what_it_stands_for() -> None:
    text = (
        "class A:\n    def b(self):\n        one = 1 + 1\n        two = 2 + 2\n    def c(self):\n        pass"
    )
    assert elide(text, [4], 8, words) == "class A:\n    ...\n    def c(self):\n        pass"


def test_a_line_no_longer_than_the_mark_is_shown_itself() -> None:
    assert elide("int f() {\n  a + b + c + d;\n  x + y;\n}", [2], 8, words) == "int f() {\n  ...\n  x + y;\n}"


def test_one_endless_line_is_cut() -> None:
    shown = elide("var a = " + "x " * 5000, [], 120, words)
    assert shown is not None
    assert shown.endswith(" ...")
    assert len(shown) < 300


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("def f(a, b):\n    pass", (0, 0)),
        ("def f(\n    a='(',  # (\n):\n    pass", (0, 2)),
        ("public static void main(String[] a)\n    throws IOException\n{\n  x();\n}", (0, 2)),
        ("static int\npool_acquire(struct pool *p)\n{\n  return 1;\n}", (0, 2)),
        ("/** Doc.\n * more\n */\n@Override\npublic int x() {\n  return 1;\n}", (4, 4)),
        ("#[derive(Debug)]\npub fn get<T>(x: T) -> T\nwhere\n    T: Clone,\n{\n    x\n}", (1, 4)),
        ("func (p *Pool) Get(ctx context.Context) (*Conn, error) {\n\treturn nil, nil\n}", (0, 0)),
        ("#include <stdio.h>\nint x;", (0, 0)),
        ('"""Module."""\nimport os', (1, 1)),
        ("# only\n# comments", (0, 0)),
        ("TABLE = [\n" + "    1,\n" * 40 + "]", (0, 0)),
        ("", (0, 0)),
    ],
)
def test_where_a_signature_begins_and_ends(text: str, lines: tuple[int, int]) -> None:
    assert signature(text.split("\n")) == lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "def f(alpha\n      , beta):\n    pass",
            (0, 1),
        ),  # a bracket is open, though nothing at the end says so
        ("def f(\n" + "    a,\n" * 6 + "):\n    pass", (0, 7)),  # eight lines
        ("def f(\n" + "    a,\n" * 7 + "):\n    pass", (0, 0)),  # nine: a table or a literal
        ("Connection\nopen(Path where)", (0, 1)),  # a type by itself, and there is no third line
    ],
)
def test_a_signature_goes_on_where_it_must(text: str, lines: tuple[int, int]) -> None:
    assert signature(text.split("\n")) == lines


def test_a_comment_that_matched_is_shown_above_what_it_is_about() -> None:
    text = "# Retries are capped.\ndef f():\n" + "    step()\n" * 20
    shown = elide(text, [0], 1000, len, least_only=True)
    assert shown == "# Retries are capped.\ndef f():\n    ..."


def test_matched_lines_finds_forms_and_parts_of_names_rarest_first() -> None:
    text = "retry = 1\nmaxRetryCount = retry\nretry_policy = x\nBACKOFF_MS = 3\nnothing here\nHTTPRetries()"
    assert matched_lines(text, ["retries", "backoff"]) == [3, 0, 1, 2, 5]
    assert matched_lines(text, ["getBackoff"]) == [3]
    assert matched_lines(text, []) == []
    assert matched_lines("取得する\n別", ["取得する"]) == [0]


def test_matched_lines_begin_with_those_of_a_phrase() -> None:
    text = "rare\nname = is\nraise Error('is not a Valid name')\nvalid\nit is not\n  a valid one"
    assert matched_lines(text, ["rare", "valid"], ["is not a valid"]) == [2, 5, 4, 0, 3]
    assert matched_lines(text, [], ["is not a valid"]) == [2, 4, 5]
    assert matched_lines("\nit is not", [], ["is not"]) == [1]
    assert matched_lines(text, [], ["no such words"]) == []


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.text(alphabet="ab(){}[]'\"#/*:;@,\t \\<é", max_size=30), max_size=25),
    st.lists(st.integers(-3, 30), max_size=6),
    st.integers(0, 80),
)
def test_never_over_the_budget_and_never_a_line_that_was_not_there(
    lines: list[str], keep: list[int], budget: int
) -> None:
    text, count = "\n".join(lines), SafeEstimate().count
    shown = elide(text, keep, budget, count)
    assert shown == elide(text, keep, budget, count)
    if shown is None:
        return
    assert count(shown) <= budget
    if shown != text:
        rest = iter(lines)
        assert all(line.strip() == "..." or line in rest for line in shown.split("\n")), (
            "lines keep their order"
        )


def test_a_single_short_line_is_shown_and_two_or_a_longer_one_are_not() -> None:
    least = "def f(x):\n    {}\n    return x_and_more"
    for dropped, shown in (("y", "y"), ("abc", "abc"), ("abcd", "..."), ("y\n    z", "...")):
        assert elide(
            least.format(dropped), [least.format(dropped).count("\n")], 99, words, least_only=True
        ) == (least.format(shown))


def test_a_line_of_just_the_longest_size_is_not_cut() -> None:
    line = "x" * MAX_LINE_CHARS
    assert elide(f"{line}\nmore of it", [], 99, words, least_only=True) == f"{line}\n..."
    assert elide(f"{line}y\nmore of it", [], 99, words, least_only=True) == f"{line} ...\n..."


def test_as_much_is_shown_as_fits() -> None:
    """Whatever the budget: one line more would be too much."""
    lines = ["def f():", *(f"    line_{i} = {i}" for i in range(12)), "    return 0"]
    text = "\n".join(lines)
    least, order = _rank_lines(lines, [5])
    for budget in range(words(text)):
        fitting = [_compose(lines, set(order[:size])) for size in range(least, len(lines))]
        fitting = [shown for shown in fitting if words(shown) <= budget]
        assert elide(text, [5], budget, words) == (fitting[-1] if fitting else None)


def test_a_line_that_is_not_there_is_not_asked_for() -> None:
    text = "def f():\n    a = 1\n    b = 2\n    return a"
    assert elide(text, [4, -1, 2], 99, words, least_only=True) == "def f():\n    ...\n    b = 2\n    ..."


def test_the_very_first_line_is_around_the_second() -> None:
    """So it comes before the closing line, which costs as much."""
    text = "# About f.\ndef f():\n    a = 1\n    b = 2\n    c = 3\n    return a"
    assert elide(text, [1], 9, words) == "# About f.\ndef f():\n    a = 1\n    ..."


@pytest.mark.parametrize(("opener", "closer"), [('"""', '"""'), ("/*", "*/"), ("<!--", "-->")])
def test_what_stands_in_a_comment_is_no_signature(opener: str, closer: str) -> None:
    lines = [opener, "def not_this():", "    nor_this()", closer, "def this():", "    pass"]
    assert signature(lines) == (4, 4)


def test_a_word_of_small_letters_and_digits_is_one_word() -> None:
    assert matched_lines("md5 = 1\nmd = 2\nMD5sum = 3", ["md"]) == [1, 2]
