"""history and impact in a small repository."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.serve.cli.runner import Outcrop
from tests.sources.repositories import commit, git, make

RETRY = "MAX_ATTEMPTS = {}\n\n\ndef call(send):\n    for _ in range(MAX_ATTEMPTS):\n        send()\n"


@pytest.fixture
def repo(outcrop: Outcrop, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of two commits, in which one stands."""
    top = make(outcrop.notes.parent / "project")
    first = {
        "retry.py": RETRY.format(3),
        "main.py": "from retry import call\n\n\ndef run():\n    call(print)\n",
    }
    commit(top, "retry: calls are repeated", dict(first), "2024-01-10T00:00:00Z")
    why = "retry: five attempts\n\nThe new gateway drops the first calls after a deploy."
    commit(top, why, {"retry.py": RETRY.format(5)}, "2024-03-10T00:00:00Z")
    monkeypatch.chdir(top)
    return top


def test_the_first_question_reads_the_history_of_an_added_repository(outcrop: Outcrop, repo: Path) -> None:
    assert outcrop("add", repo).exit_code == 0
    asked = outcrop("history", "why", "was", "the", "limit", "of", "attempts", "raised?")
    assert asked.exit_code == 0
    assert "2 commits read" in asked.stderr
    lines = asked.stdout.splitlines()
    assert lines[0].startswith(f"1. {git(repo, 'rev-parse', 'HEAD')[:12]}  2024-03-10  Ann")
    assert lines[1].strip() == "retry: five attempts"
    assert "+MAX_ATTEMPTS = 5" in asked.stdout
    assert outcrop("history", "attempts").stderr == ""
    found = outcrop.json("history", "gateway", "--path", "retry.py", "--since", "2024-02-01")
    assert {hit["document"]["title"] for hit in found["hits"]} == {"retry: five attempts"}
    assert outcrop("history", "gateway", "--path", "nowhere.py").exit_code == 1


def test_add_reads_the_history_where_asked_to(outcrop: Outcrop, repo: Path) -> None:
    done = outcrop("add", repo, "--history", "--since", "2024-02-01")
    assert done.exit_code == 0
    assert [info["title"] for info in outcrop.json("ls", "-c", "project history")] == ["retry: five attempts"]
    assert outcrop("add", "--text", "x", "--history").exit_code == 2
    assert outcrop("add", repo, "--since", "2024-02-01").exit_code == 2


def test_a_repository_that_was_not_added_is_not_read(outcrop: Outcrop, repo: Path) -> None:
    assert outcrop("add", outcrop.notes).exit_code == 0
    asked = outcrop("history", "attempts")
    assert asked.exit_code == 3
    assert "outcrop add" in asked.stderr


def test_the_commits_of_a_line_need_no_index(outcrop: Outcrop, repo: Path) -> None:
    (repo / "retry.py").write_text("# fresh\n" + RETRY.format(5))
    asked = outcrop("history", "retry.py:1-3")
    assert asked.exit_code == 0
    fresh, second, first = asked.stdout.splitlines()
    assert fresh.split() == ["1", "not", "committed", "yet"]
    assert second.split()[:2] == ["2", git(repo, "rev-parse", "HEAD")[:12]]
    assert first.split()[:2] == ["3", git(repo, "rev-parse", "HEAD~1")[:12]]
    found = outcrop.json("history", "retry.py:2")
    assert [change["made"] for change in found["changes"]] == [[[2, 2]], []]
    assert outcrop("history", "retry.py:99").exit_code == 3
    assert not outcrop.db.exists()


def test_impact_exits_by_whether_something_depends_on_the_change(outcrop: Outcrop, repo: Path) -> None:
    outcrop("add", repo)
    nothing = outcrop("impact")
    assert (nothing.exit_code, nothing.stdout.splitlines()[-1]) == (
        0,
        "0 files, 0 declarations changed; 0 dependents",
    )
    (repo / "retry.py").write_text(RETRY.format(5).replace("send()", "send(1)"))
    found = outcrop("impact")
    assert found.exit_code == 1
    assert "used by main.py:5  run\n      call(print)" in found.stdout
    told = json.loads(outcrop("impact", "--json").stdout)
    assert told["affected"][0]["declaration"]["name"] == "call"
    assert told["affected"][0]["dependents"][0]["evidence"] == "call(print)"
    diff = git(repo, "diff") + "\n"
    assert outcrop("impact", "--diff", "-", input=diff).exit_code == 1
    Path("change.diff").write_text(diff)
    assert outcrop("impact", "--diff", "change.diff").exit_code == 1
    assert outcrop("impact", "--diff", "HEAD~1..HEAD").exit_code in (0, 1)
    assert outcrop("impact", "HEAD~1..HEAD").stdout == outcrop("impact", "--diff", "HEAD~1..HEAD").stdout
    assert outcrop("impact", "HEAD", "--diff", "HEAD").exit_code == 2
    assert outcrop("impact", "--diff", "nowhere..HEAD").exit_code == 3
    assert outcrop("impact", "--diff", "-", input="no diff").exit_code == 2
