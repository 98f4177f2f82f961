"""Past sessions of coding agents at the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.parse.recorded import CLAUDE, CODEX
from tests.serve.cli.runner import Outcrop


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which Claude Code and Codex were used."""
    home = tmp_path / "home"
    for name, text in (
        (".claude/projects/-home-ann-courier/5f0c.jsonl", CLAUDE),
        (".codex/sessions/2026/03/02/rollout-c1.jsonl", CODEX),
    ):
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text(text, "utf-8")
    monkeypatch.setenv("HOME", str(home))
    return home


def test_sessions_are_added_by_the_name_of_their_agent(outcrop: Outcrop, home: Path) -> None:
    added = outcrop("add", "--sessions", "claude", "--sessions", "codex")
    assert added.exit_code == 0
    assert "2 added" in added.stdout
    found = outcrop("search", "why did the gateway drop calls", "-n", "1")
    assert "Why do the first calls after a deploy fail? › Claude, 2026-03-02 10:01" in found.stdout
    assert "three attempts do not last" in found.stdout
    names = {row["name"] for row in outcrop.json("status")["collections"]}
    assert names == {"claude sessions", "codex sessions"}


def test_a_collection_and_a_folder_can_be_named_and_sync_follows(outcrop: Outcrop, home: Path) -> None:
    folder = home / ".codex/sessions"
    assert outcrop("add", outcrop.notes, "--sessions", folder, "-c", "past").exit_code == 0
    (hit, *_) = outcrop.json("search", "cache emptied at each start", "--kind", "session")["hits"]
    assert hit["document"]["collection"] == "past"
    assert hit["heading_path"] == ["Codex, 2026-03-02 10:00"]
    assert hit["document"]["meta"]["files"] == "src/cache.py"
    with (folder / "2026/03/02/rollout-c1.jsonl").open("a") as file:
        file.write(CODEX.splitlines()[2].replace("Why is the cache cold?", "And the hellebore?") + "\n")
    assert "1 changed" in outcrop("sync").stdout
    assert outcrop.json("search", "hellebore")["hits"]


def test_the_whole_session_can_be_read(outcrop: Outcrop, home: Path) -> None:
    outcrop("add", "--sessions", "claude")
    shown = outcrop("show", home / ".claude/projects/-home-ann-courier/5f0c.jsonl")
    assert "User, 2026-03-02 10:02\nThen make it five." in shown.stdout


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        ("gemini", "there are no sessions of gemini in"),
        ("emacs", "agents known by name are claude, codex, gemini"),
    ],
)
def test_what_is_not_there_is_said_with_what_to_do(outcrop: Outcrop, home: Path, agent: str, says: str) -> None:
    refused = outcrop("add", "--sessions", agent)
    assert refused.exit_code != 0
    assert says in refused.stderr


def test_one_agent_that_is_missing_does_not_keep_out_the_others(outcrop: Outcrop, home: Path) -> None:
    mixed = outcrop("add", "--sessions", "gemini", "--sessions", "claude", "--strict")
    assert mixed.exit_code != 0
    assert "there are no sessions of gemini" in mixed.stdout + mixed.stderr
    assert outcrop.json("search", "gateway")["hits"]
