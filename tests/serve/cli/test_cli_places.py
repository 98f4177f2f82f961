"""Paths that are shown can be opened from where one stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.serve.cli.runner import Outcrop

PLACE = re.compile(r"(\S+retries\.md|retries\.md):(\d+)")


def place_in(output: str) -> tuple[Path, int]:
    found = PLACE.search(output)
    assert found, output
    return Path(found[1]), int(found[2])


def test_a_hits_path_is_relative_to_the_current_folder(
    kb: Outcrop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    beside = tmp_path / "elsewhere"
    beside.mkdir()
    for folder, expected in (
        (kb.notes, Path("retries.md")),
        (kb.notes.parent, Path("notes/retries.md")),
        (beside, kb.notes / "retries.md"),
    ):
        monkeypatch.chdir(folder)
        path, line = place_in(kb("search", "delay between attempts", "-n", "1").stdout)
        assert path == expected
        assert path.read_text("utf-8").splitlines()[line - 1]


def test_lists_show_such_paths_too_and_a_shown_path_is_understood(
    kb: Outcrop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(kb.notes.parent)
    assert "notes/retries.md" in kb("ls").stdout
    assert "three times" in kb("show", "notes/retries.md").stdout
    (kb.notes / "retries.md").write_text("# Retries\n\nNever.\n", "utf-8")
    assert "changed   notes/retries.md" in kb("status", "--stale").stdout


def test_a_context_names_its_sources_by_such_paths(kb: Outcrop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(kb.notes.parent)
    assert "] notes/retries.md:" in kb("context", "delay between attempts").stderr


def test_status_says_what_was_added_to_each_collection(kb: Outcrop, tmp_path: Path) -> None:
    long = tmp_path / ("a folder with a rather long name, " * 4).strip(", ")
    long.mkdir()
    (long / "one.md").write_text("# One\n\nSomething else.\n", "utf-8")
    kb("add", long, "--collection", "other")
    lines = kb("status").stdout.splitlines()
    assert next(line for line in lines if line.startswith("notes ")).endswith(f"  {kb.notes}")
    assert next(line for line in lines if line.startswith("other ")).endswith(f"  {long}")
    roots = {info["name"]: info["roots"] for info in kb.json("status")["collections"]}
    assert roots == {"notes": [str(kb.notes)], "other": [str(long)]}


def test_a_text_keeps_its_name(kb: Outcrop) -> None:
    kb("add", "--id", "backups", "--text", "Backups run at night.")
    assert kb("search", "when do backups run?", "-n", "1").stdout.startswith("1. backups:1")


def test_a_removed_current_folder_does_not_matter(
    kb: Outcrop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    path, _ = place_in(kb("search", "delay between attempts", "-n", "1").stdout)
    assert path == kb.notes / "retries.md"
