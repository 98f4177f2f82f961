"""`outcrop` alone: five lines that say what is indexed and what to do next."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.serve.cli.runner import Outcrop

from outcrop.serve.cli.render import say_age


def test_a_new_place_begins_with_adding_a_folder(outcrop: Outcrop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(outcrop.notes)
    result = outcrop()
    lines = result.stdout.splitlines()
    assert (result.exit_code, len(lines), result.stderr) == (0, 5, "")
    assert lines[1] == "Nothing is indexed yet."
    assert lines[2].startswith("  outcrop add .")
    assert not outcrop.db.exists(), "looking around makes no index"


def test_an_index_is_named_with_what_to_do_next(kb: Outcrop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(kb.notes / "deploy")
    inside = kb().stdout.splitlines()
    assert inside[:2] == ["3 documents indexed: notes (3).", "Last change just now."]
    assert "outcrop add" not in "".join(inside), "this folder is indexed already"
    monkeypatch.chdir(kb.db.parent)
    assert "  outcrop add ." in "\n".join(kb().stdout.splitlines())
    assert len(inside) == 5
    assert max(map(len, inside)) <= 80


def test_only_the_largest_collections_are_named(outcrop: Outcrop) -> None:
    for number in range(5):
        assert outcrop("add", "--text", f"text {number}", "-c", f"c{number}").exit_code == 0
    assert outcrop().stdout.splitlines()[0] == "5 documents indexed: c0 (1), c1 (1), c2 (1), 2 more."


def test_the_home_folder_and_a_removed_one_are_not_suggested(
    outcrop: Outcrop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    monkeypatch.setenv("HOME", str(gone))
    assert "outcrop add FOLDER" in outcrop().stdout
    gone.rmdir()
    assert "outcrop add FOLDER" in outcrop().stdout


def test_programs_get_the_collections(kb: Outcrop) -> None:
    found = json.loads(kb("--json").stdout)
    assert found["db"] == str(kb.db)
    assert [info["documents"] for info in found["collections"]] == [3]


def test_ages_are_said_in_the_largest_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outcrop.serve.cli.render.time.time", lambda: 1_000_000.0)
    ages = [say_age(1_000_000.0 - past) for past in (5, 60, 7200, 90_000, 200_000)]
    assert ages == ["just now", "1 minute ago", "2 hours ago", "1 day ago", "2 days ago"]
