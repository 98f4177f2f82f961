"""Past sessions through the front door, on both stores: found by turn, followed as they grow, without their secrets."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.parse.recorded import CLAUDE, CODEX, GEMINI_HEAD, claude, gemini, lines, result
from tests.test_engine import CountingEmbedder, open_with

import outcrop
from outcrop.errors import SourceError

PATIENCE_S = 60
TOKEN = "ghp_" + "x7Kq9ZpL2mNv8RtY4wBc6HdJ1fGs5Qa3Xe0U"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What three agents left behind."""
    home = tmp_path / "home"
    write(home, ".claude/projects/-home-ann-courier/5f0c.jsonl", CLAUDE)
    write(home, ".claude/projects/-home-ann-courier/5f0c/tool-results/1.txt", "The gateway drops them.")
    write(home, ".codex/sessions/2026/03/02/rollout-2026-03-02T10-00-00-c1.jsonl", CODEX)
    messages = [gemini("1", "user", "Rename the courier to herald."), gemini("2", "gemini", "Renamed.")]
    session = json.dumps({**GEMINI_HEAD, "messages": messages}, indent=2)
    write(home, ".gemini/tmp/ab/chats/session-2026-03-02T10-00-g1.json", session)
    return home


@pytest.fixture(params=["sqlite", "postgres"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[outcrop.Engine]:
    place = (
        request.getfixturevalue("postgres_url") if request.param == "postgres" else str(tmp_path / "index.db")
    )
    with outcrop.open(place, data_dir=tmp_path) as opened:
        yield opened


@pytest.fixture
def small(tmp_path: Path) -> Iterator[outcrop.Engine]:
    """An index in a file, for what does not depend on the store."""
    with outcrop.open(str(tmp_path / "index.db")) as opened:
        yield opened


def test_a_search_finds_the_turn_with_who_spoke_and_when(
    index: outcrop.Engine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(folder))
    for agent in ("claude", "codex", "gemini"):
        report = index.add_sessions(agent)
        assert (report.added, report.failed) == (1, ()), agent
    assert {info.name for info in index.collections()} == {
        f"{agent} sessions" for agent in ("claude", "codex", "gemini")
    }
    first = index.search("gateway drops three attempts").hits[0]
    assert first.heading_path == ("Claude, 2026-03-02 10:01",)
    assert "Claude, 2026-03-02 10:01\nThe gateway drops them: three attempts do not last." in first.text
    assert ("User, 2026-03-02 10:00",) in first.headings, "with the turns beside it"
    alone = index.search("gateway drops three attempts", merge=False).hits[0]
    assert alone.text == "Claude, 2026-03-02 10:01\nThe gateway drops them: three attempts do not last."
    assert (first.document.kind, first.document.meta["branch"]) == ("session", "retries")
    assert first.document.title == "Why do the first calls after a deploy fail?"
    assert not first.stale
    (said,) = {hit.document.meta["agent"] for hit in index.search("cache emptied at each start").hits[:1]}
    assert said == "Codex"
    assert index.search("herald").hits[0].document.collection == "gemini sessions"


def test_a_turn_is_found_by_what_was_asked_before_it(index: outcrop.Engine, folder: Path) -> None:
    index.add_sessions(folder / ".claude/projects")
    hits = index.search("deploy fail", merge=False, mode="keyword").hits
    assert hits[0].heading_path == ("User, 2026-03-02 10:00",), "its own words come first"
    answer = next(hit for hit in hits if "three attempts do not last" in hit.text)
    assert not {"deploy", "fail"} & set(answer.text.split())


def test_only_turns_that_are_new_or_have_new_neighbours_are_embedded_again(tmp_path: Path) -> None:
    words = ("alpha", "beta", "gamma", "delta")
    turns = [
        claude(kind, f"{words[number % 4]} turn {number} of the {kind}", f"10:{number:02}:00")
        for number in range(40)
        for kind in [("user", "assistant")[number % 2]]
    ]
    path = write(tmp_path / "sessions", "s.jsonl", lines(*turns[:38]))
    embedder = CountingEmbedder()
    with open_with(tmp_path / "i.db", embedder) as kb:
        kb.add_sessions(path.parent)
        assert len(embedder.embedded) >= 38
        embedder.embedded.clear()
        with path.open("a") as file:
            file.write(lines(*turns[38:]))
        report = kb.add_sessions(path.parent)
        assert (report.changed, report.unchanged) == (1, 0)
        assert len(embedder.embedded) == 4, "two new turns and the two before them"
        assert kb.search("turn 39", mode="keyword").hits[0].heading_path == ("Claude, 2026-03-02 10:39",)
        assert kb.add_sessions(path.parent).unchanged == 1
        with path.open("a") as file:
            file.write('{"type": "user", "mess')  # it is being written
        embedder.embedded.clear()
        report = kb.add_sessions(path.parent)
        assert embedder.embedded == []
        assert report.failed == ()


def test_secrets_are_masked_wherever_a_turn_is_shown_or_searched(index: outcrop.Engine, tmp_path: Path) -> None:
    session = lines(
        claude("user", f"Use the token {TOKEN} for the release.", "10:00:00"),
        claude("assistant", [{"type": "text", "text": f"I exported GITHUB_TOKEN={TOKEN} now."}], "10:00:05"),
        claude(
            "assistant",
            [{"type": "tool_use", "name": "Bash", "input": {"command": f"curl -H 'Authorization: {TOKEN}' x"}}],
            "10:00:06",
        ),
        claude("user", result(f"Error: bad credentials {TOKEN}", is_error=True), "10:00:07"),
        claude("user", "Then publish it.", "10:01:00"),
    )
    path = write(tmp_path / "sessions", "s.jsonl", session)
    report = index.add_sessions(path.parent)
    assert report.masked
    secret = TOKEN.removeprefix("ghp_")
    for query in ("token for the release", "publish it", "exported GITHUB_TOKEN", secret, TOKEN):
        shown = repr(index.search(query)).replace(repr(query), "").replace(query, "")
        assert secret not in shown, query
    assert secret not in index.context("token for the release").text
    (info,) = index.documents()
    assert secret not in repr(info)
    assert "for the release" in info.title


def test_since_goes_by_the_last_turn(small: outcrop.Engine, folder: Path) -> None:
    small.add_sessions(folder / ".claude/projects")
    last = datetime(2026, 3, 2, 10, 3, tzinfo=UTC).timestamp()
    assert small.search("gateway", since=last).hits
    assert not small.search("gateway", since=last + 60).hits


def test_a_bad_file_among_sessions_is_a_line_in_the_report(small: outcrop.Engine, folder: Path) -> None:
    projects = folder / ".claude/projects"
    write(projects, "cut.jsonl", CLAUDE[: len(CLAUDE) // 2])
    write(projects, "nested.jsonl", CLAUDE.splitlines()[1] + "\n" + "[" * 1_000_000)
    write(projects, "binary.jsonl", "").write_bytes(b'{"parentUuid":"sessionId" "message"\0\xff\xfe')
    report = small.add_sessions(projects)
    assert report.added == 3
    assert "binary.jsonl" in repr((report.skipped, report.failed))
    remarks = {Path(line.path).name: line.reason for line in report.remarks}
    assert remarks == dict.fromkeys(("cut.jsonl", "nested.jsonl"), "1 line damaged left out")
    assert small.search("gateway").hits
    assert {info.path for info in small.documents()} >= {"cut.jsonl", "nested.jsonl"}


def test_the_output_of_tools_beside_sessions_is_left_out(small: outcrop.Engine, folder: Path) -> None:
    write(
        folder,
        ".claude/projects/-home-ann-courier/sessions-index.json",
        '{"entries": [{"firstPrompt": "Why"}]}',
    )
    report = small.add_sessions(folder / ".claude/projects")
    (left_out,) = report.skipped
    assert left_out.reason == "output of a coding agent's tools"
    assert [info.kind for info in small.documents()] == ["session"]


def test_watch_follows_a_session_as_it_is_written(small: outcrop.Engine, folder: Path) -> None:
    projects = folder / ".claude/projects"
    small.add_sessions(projects)
    stop = threading.Event()
    reports = small.watch([projects], stop=stop)
    next(reports)
    pump = threading.Thread(target=lambda: [None for _ in reports])
    pump.start()
    try:
        with (projects / "-home-ann-courier/5f0c.jsonl").open("a") as file:
            file.write(lines(claude("user", "Now the hellebore, please.", "10:04:00")))
        end = time.monotonic() + PATIENCE_S
        while not small.search("hellebore", mode="keyword").hits:
            assert time.monotonic() < end, "the new turn did not appear"
            time.sleep(0.02)
    finally:
        stop.set()
        pump.join(PATIENCE_S)
    assert small.search("hellebore").hits[0].heading_path == ("User, 2026-03-02 10:04",)


def test_a_place_without_sessions_is_an_error_that_says_what_to_do(
    small: outcrop.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    with pytest.raises(SourceError, match=r"no sessions of codex in .*\.codex/sessions; name the folder"):
        small.add_sessions("codex")
    with pytest.raises(SourceError, match=r"there is no folder emacs, .* claude, codex, gemini"):
        small.add_sessions("emacs")
