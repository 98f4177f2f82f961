"""What is embedded of a chunk, and its content address."""

from __future__ import annotations

import pytest

from outcrop.embed.keys import context_head, context_parts, context_text, path_key, path_text, text_key


@pytest.mark.parametrize(
    ("title", "headings", "expected"),
    [
        ("Guide", ("Setup", "Linux"), "Document: Guide\nSection: Setup > Linux\n\nbody"),
        ("Guide", ("guide", "Setup"), "Document: Guide\nSection: Setup\n\nbody"),
        ("Guide", ("Guide",), "Document: Guide\n\nbody"),
        ("", ("Setup", " "), "Section: Setup\n\nbody"),
        ("A\n title ", (), "Document: A title\n\nbody"),
        ("", (), "body"),
    ],
)
def test_the_context_names_title_and_section_once_and_leaves_out_what_is_empty(
    title: str, headings: tuple[str, ...], expected: str
) -> None:
    assert context_text(title, headings, "body") == expected


def test_keys_are_sixteen_bytes_that_never_change() -> None:
    assert text_key("Document: A\n", "body").hex() == "e84aecaf19f01ff222910f4f9c502206"
    assert path_key("src/a.py").hex() == "f29e299cfd6e525c5dc8d23392764c46"


def test_keys_tell_apart_context_from_text_and_text_from_path() -> None:
    keys = {text_key("ab", "c"), text_key("a", "bc"), text_key("", "abc"), path_key("abc"), path_key("ab")}
    assert len(keys) == 5
    assert text_key(context_head("T", ()), "x") != text_key(context_head("U", ()), "x")


def test_keys_take_any_string_even_a_lone_surrogate() -> None:
    assert text_key("", "\ud800") != text_key("", "?")
    assert path_key("\udcff.txt") != path_key("?.txt")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/b/c/d.tar.gz", "b c d.tar"),
        ("v1.2/README", "README"),
        ("2026/03/p17.txt", ""),
        ("python3.11/utf8_sig.py", "python3.11 utf8_sig"),
        (".gitignore", ".gitignore"),
        ("notes.md", "notes"),
        ("/etc/hosts", "/ etc hosts"),
        ("https://example.org/docs/page.html", "example.org docs page"),
        ("", ""),
    ],
)
def test_of_a_path_the_last_three_components_are_embedded(path: str, expected: str) -> None:
    assert path_text(path) == expected


def test_a_file_named_by_a_number_is_not_named_above_its_text() -> None:
    assert context_head("0421.py", ()) == ""
    assert context_head("0421.py", ("paste",)) == "Section: paste\n"
    assert context_head("2.users.py", ()) == "Document: 2.users.py\n"
    assert context_head("1984", ()) == "Document: 1984\n"  # a title, not a file's name


def test_what_was_said_around_a_turn_follows_its_words_and_is_part_of_its_key() -> None:
    turn = ("Retries", ("Claude, 10:01", "Why do they fail?"), "Three attempts do not last.")
    assert context_text(*turn, "session") == (
        "Document: Retries\nSection: Claude, 10:01\n\nThree attempts do not last.\nWhy do they fail?"
    )
    other = (turn[0], ("Claude, 10:01", "What was it?"), turn[2])
    assert text_key(*context_parts(*turn, "session")) != text_key(*context_parts(*other, "session"))
