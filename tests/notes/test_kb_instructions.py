"""`outcrop instructions` prints the text for the files that agents read."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from outcrop.notes import instructions
from outcrop.serve.cli.app import cli


def printed(*words: str) -> str:
    done = CliRunner().invoke(cli, ["instructions", *words])
    assert done.exit_code == 0
    return done.stdout


def test_the_text_is_printed_as_it_is() -> None:
    assert printed() == instructions()


@pytest.mark.parametrize("reader", ["claude", "agents"])
def test_for_a_file_of_markdown_it_is_marked_and_its_headings_go_one_level_down(reader: str) -> None:
    text = printed("--for", reader)
    assert text.startswith("<!-- outcrop: begin -->\n## Outcrop")
    assert text.endswith("<!-- outcrop: end -->\n")
    assert "\n### How to read a score\n" in text


def test_for_cursor_it_is_a_rule() -> None:
    text = printed("--for", "cursor")
    assert text.startswith("---\ndescription: ")
    assert text.split("---\n", 2)[1].splitlines()[-1] == "alwaysApply: true"
    assert text.endswith(instructions())


def test_as_json_it_is_one_document() -> None:
    assert json.loads(printed("--json", "--for", "agents"))["text"] == printed("--for", "agents")
