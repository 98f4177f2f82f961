"""Markdown: headings agree with markdown-it, front matter is understood, titles are plain words."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from outcrop.parse.entry import parse
from outcrop.parse.limits import ParseLimits
from outcrop.parse.markdown import find_headings
from outcrop.records import Document

LIMITS = ParseLimits(timeout_s=20, memory_bytes=1024**3)
ORACLE = MarkdownIt("commonmark")

# Link definitions and items numbered beyond three digits are left out: markdown-it departs from the
# specification there (it closes a definition before its paragraph ends).
LINES = [
    "# one", "## two #", "   ### three", "    # code", "#not", "#", "text", "more text", "===", "---", "- item",
    "  - sub", "1. one", "2. two", "10) ten", "> quote", "> # q", "  # in item", "   text", "    text", "```",
    "~~~", "````", "``` py", "<!-- c", "-->", "<div>", "</div>", "<b>x</b>", "<pre>", "</pre>", "* * *", "***",
    "", "-", "- # h", "  ===", "\t# tab", "-\tfoo", "> - a", "+", "> ```", "- ```", "  ```", "===x", "<?x", "?>",
]  # fmt: skip


def markdown(text: str) -> Document:
    return parse(text.encode(), path="notes/page.md", limits=LIMITS)


def oracle_headings(text: str) -> list[tuple[int, int]]:
    return [
        (int(token.tag[1]), token.map[0])
        for token in ORACLE.parse(text)
        if token.type == "heading_open" and token.level == 0 and token.map is not None
    ]


def our_headings(text: str) -> list[tuple[int, int]]:
    return [(heading.level, text.count("\n", 0, heading.start)) for heading in find_headings(text)]


@settings(max_examples=700, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=12).map("\n".join))
def test_headings_equal_those_of_markdown_it_for_any_mix_of_blocks(text: str) -> None:
    assert our_headings(text) == oracle_headings(text)


SAMPLE = """\
Intro
=====

Para one
two lines
---------

```python
# not a heading
```

~~~~
```
# nor this
~~~~

<!-- # nor
# this -->

- item
  # in an item

  ```
  # fenced in an item
  ```

# After a list
> # quoted

   ## Indented by three
    # code
####### seven
#hash
"""


def test_headings_equal_those_of_markdown_it_on_a_page_with_every_block() -> None:
    assert our_headings(SAMPLE) == oracle_headings(SAMPLE)
    assert [h.title for h in find_headings(SAMPLE)] == [
        "Intro",
        "Para one two lines",
        "After a list",
        "Indented by three",
    ]


def test_the_text_is_the_file_and_a_heading_starts_its_line() -> None:
    document = markdown("before\n\n## A title ##\nafter\n")
    assert document.text == "before\n\n## A title ##\nafter\n"
    (heading,) = document.headings
    assert document.text[heading.start :].startswith("## A title ##")
    assert (heading.level, heading.title) == (2, "A title")


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("# Use `parse_it()` now", "Use parse_it() now"),
        ("# **Bold** and *it* and __b__ and _i_", "Bold and it and b and i"),
        ("# [Link](https://a.b/c_(d)) and ![img](x.png)", "Link and img"),
        ("# [Ref][r] <b>tag</b> &amp; more {#anchor}", "Ref tag & more"),
        ("# snake_case_name stays", "snake_case_name stays"),
        (r"# A \*star\* and `*code*`", "A *star* and *code*"),
        ("# Trailing ### ", "Trailing"),
        ("# C#", "C#"),
    ],
)
def test_titles_are_the_words_without_the_markup(source: str, title: str) -> None:
    assert markdown(source).headings[0].title == title


def test_yaml_front_matter_gives_title_tags_and_date() -> None:
    document = markdown(
        "---\n# a comment\ntitle: 'It''s here'  # why\ntags:\n  - alpha\n  - \"beta, gamma\"\ndate: 2024-05-06\n"
        "nested:\n  key: value\nsummary: >\n  folded\n  text\n---\n# Body\n"
    )
    assert document.title == "It's here"
    assert document.tags == ("alpha", "beta, gamma")
    assert document.meta["date"] == date(2024, 5, 6)
    assert document.meta["summary"] == "folded text"
    assert [h.title for h in document.headings] == ["Body"]


@pytest.mark.parametrize("tags", ["[a, 'b c', \"d\"]", "a, b c, d", "\n- a\n- b c\n- d"])
def test_tags_are_read_in_every_style(tags: str) -> None:
    assert markdown(f"---\ntags: {tags}\n---\ntext").tags == ("a", "b c", "d")


def test_toml_front_matter_is_read_too() -> None:
    document = markdown('+++\ntitle = "T"\ntags = ["x", "y"]\ndate = 2024-01-02\n+++\n## H\n')
    assert (document.title, document.tags, document.meta["date"]) == ("T", ("x", "y"), date(2024, 1, 2))


def test_values_of_front_matter_are_what_they_look_like_and_text_in_quotes() -> None:
    document = markdown(
        "---\nyear: 2020\nprice: -2.50\ndraft: false\nupdated: 2024-05-06T10:30:00Z\nisbn: '0307'\nroom: 007\n"
        'version: "1.10"\nauthors: [Ann Lee, 7, "8"]\nfar: 99999999999999999999\nnone:\n---\ntext'
    )
    assert document.meta == {
        "year": 2020,
        "price": -2.5,
        "draft": False,
        "updated": datetime(2024, 5, 6, 10, 30, tzinfo=UTC),
        "isbn": "0307",
        "room": "007",
        "version": "1.10",
        "authors": ("Ann Lee", 7, "8"),
        "far": "99999999999999999999",
    }
    assert type(document.meta["isbn"]) is str


def test_values_of_toml_keep_their_types() -> None:
    document = markdown(
        '+++\nyear = 2020\ndraft = true\nprice = 2.5\nid = "7"\nat = 10:30:00\nl = ["a", 1]\n+++\nx'
    )
    assert document.meta == {
        "year": 2020,
        "draft": True,
        "price": 2.5,
        "id": "7",
        "at": "10:30:00",
        "l": ("a", 1),
    }


@given(st.text(alphabet="ab:-[]{}'\"#,|>\n \t\\", max_size=80))
def test_strange_front_matter_is_never_an_error(block: str) -> None:
    markdown(f"---\nkey: {block}\n---\n# H\n")
    markdown(f"+++\n{block}\n+++\n# H\n")


def test_a_rule_at_the_top_is_not_front_matter() -> None:
    document = markdown("---\n# Heading\n---\n")
    assert [h.title for h in document.headings] == ["Heading"]
    assert document.meta == {}


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("## Second\n# First\n", "First"),
        ("## Only second\n", "Only second"),
        ("\n\nJust words here.\nMore.", "Just words here."),
        ("", "page"),
        ("word " * 100, ("word " * 20).strip()),
    ],
)
def test_the_title_comes_from_the_best_source_available(text: str, title: str) -> None:
    assert markdown(text).title == title
