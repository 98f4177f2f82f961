"""One entry of front matter is set; everything else stays as it was."""

from __future__ import annotations

import pytest

from outcrop.notes.front_matter import body_start, read_entry, set_entry
from outcrop.parse.front_matter import read_front_matter


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# T\n", "---\nk: x.md\n---\n# T\n"),
        ("", "---\nk: x.md\n---\n"),
        ("# T\r\nw\r\n", "---\r\nk: x.md\r\n---\r\n# T\r\nw\r\n"),
        ("---\na: 1 # why\n---\n# T\n", "---\na: 1 # why\nk: x.md\n---\n# T\n"),
        ("---\nk: old\na: 1\n---\n", "---\nk: x.md\na: 1\n---\n"),
        ("---\nk:\n  - one\n  - two\na: 1\n---\n", "---\nk: x.md\na: 1\n---\n"),
        ("---\nk:\n- one\na:\n- k: 2\n---\n", "---\nk: x.md\na:\n- k: 2\n---\n"),
        ("+++\na = 1\n[t]\nb = 2\n+++\n", '+++\nk = "x.md"\na = 1\n[t]\nb = 2\n+++\n'),
        ("+++\na = 1\n+++\n", '+++\nk = "x.md"\na = 1\n+++\n'),
        (
            "---\n\nA break, no front matter.\n\n---\n",
            "---\nk: x.md\n---\n---\n\nA break, no front matter.\n\n---\n",
        ),
    ],
)
def test_an_entry_is_set_in_place(text: str, expected: str) -> None:
    assert set_entry(text, "k", ["x.md"]) == expected
    assert read_entry(expected, "k") == "x.md"
    assert expected[body_start(expected) :] in text


@pytest.mark.parametrize("value", ["a b.md", "it's: #1.md", '"q".md', "ä/ö.md", "-x.md", "2026", "yes\\no.md"])
@pytest.mark.parametrize("text", ["# T\n", "+++\na = 1\n+++\n# T\n"])
def test_what_is_set_is_read_back_by_the_parser(text: str, value: str) -> None:
    assert read_front_matter(set_entry(text, "supersedes", [value])).meta["supersedes"] == value
    both = read_front_matter(set_entry(text, "supersedes", [value, "b.md"])).meta["supersedes"]
    assert both == f"{value}, b.md"
