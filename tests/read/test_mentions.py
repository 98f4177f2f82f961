"""Names and paths that a text mentions."""

from __future__ import annotations

import pytest

from outcrop.read.mentions import pasted_names, paths_in, spoken_names, ticked_names


def test_paths_are_found_with_their_lines_and_words_are_no_paths() -> None:
    text = "src/pool/core.py:12, lib/x.go, ./web/ and app.ts line 7, not and/or, Node.js, 1/2 or end."
    assert list(paths_in(text)) == ["src/pool/core.py:12", "lib/x.go", "web/", "app.ts:7"]


def test_an_address_is_a_path_only_where_it_shows_a_file_of_a_repository() -> None:
    assert list(
        paths_in("https://github.com/o/r/blob/main/src/deep/file.rs#L42 https://example.org/a/b.py")
    ) == ["src/deep/file.rs:42"]


def test_names_in_backticks_are_those_somebody_chose() -> None:
    assert ticked_names("`Pool.acquire()`, `retry`, `true`, `a b`, `lib/x.go`") == ["Pool.acquire", "retry"]


def test_names_in_prose_are_compound() -> None:
    assert spoken_names("The make_pool of HTTPServer calls run() in core.py") == [
        "make_pool",
        "HTTPServer",
        "run",
    ]


@pytest.mark.parametrize("line", ["return None", "if true:", "const x = 1"])
def test_words_of_a_language_are_no_names(line: str) -> None:
    assert pasted_names([line]) == []


def test_names_in_pasted_code_begin_with_what_it_declares() -> None:
    assert pasted_names(["connect(poolManager)", "def acquire_slot(self):"]) == [
        "acquire_slot",
        "poolManager",
        "connect",
    ]
