"""The hook that answers beside an agent's own search: its entry in clients' files, and what it does when it is run."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from functools import partial
from operator import eq
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.serve.mcp.test_mcp_install import install, jsonc

import outcrop
from outcrop.errors import ConfigError
from outcrop.serve.hook import DEADLINE_S, EVENTS, find_query, read_pattern
from outcrop.serve.mcp.edits import put_item, read_jsonc, remove_item
from outcrop.serve.mcp.hooks import HOOK_FILES, is_ours, make_hook, with_hook, without_hook

FILES = {
    "claude": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "cursor": ".cursor/hooks.json",
    "gemini": ".gemini/settings.json",
}
NOTES = "# Signing keys\n\nWe rotate the signing keys every ninety days, and at once when somebody leaves.\n"


# ------------------------------------------------------------------ the entry


def commands(value: dict[str, Any], client: str) -> list[str]:
    entries = value["hooks"].get(EVENTS[client], [])
    return [entry["command"] for item in entries for entry in item.get("hooks", [item])]


@pytest.mark.parametrize("client", HOOK_FILES)
def test_the_hook_is_asked_for_shown_and_taken_out_again(client: str, tmp_path: Path) -> None:
    path = tmp_path / FILES[client]
    assert install(tmp_path, client, "--yes").returncode == 0
    assert "outcrop.serve.hook" not in (path.read_text() if path.exists() else "")  # off unless asked for
    done = install(tmp_path, client, "--hooks", "--yes", "--db", tmp_path / "my index.db")
    assert done.returncode == 0, done.stderr
    assert "outcrop.serve.hook" in done.stderr  # shown
    (command,) = commands(json.loads(path.read_text()), client)
    assert shlex.split(command)[-2:] == ["--db", str(tmp_path / "my index.db")]
    before = path.read_bytes()
    assert "already" in install(tmp_path, client, "--hooks", "--yes", "--db", tmp_path / "my index.db").stdout
    assert path.read_bytes() == before
    assert install(tmp_path, client, "--hooks", "--remove", "--yes").returncode == 0
    assert "hook" not in json.loads(install(tmp_path, client, "--print", "--json").stdout)
    assert '"hooks"' not in (path.read_text() if path.exists() else "")
    assert install(tmp_path, client, "--remove", "--yes").returncode == 0
    assert [left for left in tmp_path.rglob("*") if left.is_file()] == []


@pytest.mark.parametrize("client", HOOK_FILES)
def test_removing_leaves_a_persons_hooks_as_they_were(client: str, tmp_path: Path) -> None:
    path = tmp_path / FILES[client]
    path.parent.mkdir(parents=True)
    text = json.dumps({"hooks": {"Stop": []}, "version": 1})
    path.write_text(text)
    assert install(tmp_path, client, "--hooks", "--yes").returncode == 0
    assert install(tmp_path, client, "--remove", "--yes").returncode == 0
    assert path.read_text() == text
    assert [left for left in tmp_path.rglob("*") if left.is_file()] == [path]


def test_removing_takes_out_the_server_and_the_hook(tmp_path: Path) -> None:
    assert install(tmp_path, "claude", "--hooks", "--yes").returncode == 0
    assert install(tmp_path, "claude", "--remove", "--yes").returncode == 0
    assert [left for left in tmp_path.rglob("*") if left.is_file()] == []


def test_nothing_is_written_without_a_yes_nor_where_a_client_has_no_hooks(tmp_path: Path) -> None:
    assert install(tmp_path, "claude", "--hooks").returncode == 2
    refused = install(tmp_path, "zed", "--hooks", "--yes")
    assert refused.returncode == 2
    assert "claude" in refused.stderr  # who has
    assert list(tmp_path.iterdir()) == []


def test_a_project_keeps_the_hook_out_of_what_it_shares(tmp_path: Path) -> None:
    assert install(tmp_path, "claude", "--hooks", "--yes", "--project", tmp_path).returncode == 0
    assert (tmp_path / ".claude/settings.local.json").is_file()


def test_hooks_and_comments_of_others_stay() -> None:
    theirs = (
        '{\n  // mine\n  "hooks": {\n    "PostToolUse": [\n'
        '      {"matcher": "Edit", "hooks": []}, // fmt\n    ]\n  }\n}\n'
    )
    after = with_hook("claude", theirs, make_hook("claude", "/x/index.db"))
    assert "// mine" in after
    assert "// fmt" in after
    assert len(read_jsonc(after).value["hooks"]["PostToolUse"]) == 2
    changed = with_hook("claude", after, make_hook("claude", "/y/index.db"))
    assert changed == after.replace("/x/index.db", "/y/index.db")
    assert read_jsonc(without_hook("claude", after)).value == read_jsonc(theirs).value


@pytest.mark.parametrize("text", ['{"hooks": 5}', "[]", '{"hooks": {"PostToolUse": {}}}', "{"])
def test_a_file_of_another_shape_is_left_alone(text: str) -> None:
    with pytest.raises(ConfigError):
        with_hook("claude", text, make_hook("claude", "/x/index.db"))


@given(jsonc(), st.lists(st.integers(0, 3), max_size=3))
def test_an_item_goes_in_and_out_of_any_file(text: str, items: list[int]) -> None:
    try:
        text = put_item(text, "z", "list", {"n": 0}, lambda _: False)
    except ConfigError:
        return  # a section that is no object
    for number in items:
        text = put_item(text, "z", "list", {"n": number}, partial(eq, {"n": number}))
    listed = read_jsonc(text).value["z"]["list"]
    assert sorted(item["n"] for item in listed) == sorted({0, *items})
    rest = [item for item in listed if item != {"n": 0}]
    left = remove_item(text, "z", "list", partial(eq, {"n": 0}))
    after = read_jsonc(left).value if left else {}
    assert after.get("z", {}).get("list", []) == rest


# ------------------------------------------------------------------ what is asked


def asked(pattern: str, response: Any = "src/a.py:1: x") -> str:
    return find_query({"tool_input": {"pattern": pattern}, "tool_response": response})


@pytest.mark.parametrize(
    ("pattern", "query"),
    [
        ("retry.*limit", "retry limit"),
        ("rotate|renew|expire", "rotate renew expire"),
        ("where are retries configured", "where are retries configured"),
        (r"(?i)signing\s+keys?", "signing keys"),
        ("parse_config", ""),  # a name: grep finds every place
        (r"retry\|backoff", "retry backoff"),
        (r"def \w+\(self\)", ""),
        (r"^import (os|sys)$", ""),
        ("", ""),
    ],
)
def test_only_what_grep_is_weak_at_is_asked(pattern: str, query: str) -> None:
    assert asked(pattern) == query


@pytest.mark.parametrize(
    "nothing",
    [
        "No matches found",
        "No files found",
        "",
        {"numFiles": 0},
        {"stdout": ""},
        {"llmContent": "No matches found for x"},
    ],
)
def test_a_name_that_was_not_found_is_asked_too(nothing: Any) -> None:
    assert asked("parse_config", nothing) == "parse_config"
    assert asked("retries", nothing) == "retries"


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("rg -n 'retry limit' src", "retry limit"),
        ("cd src && grep -rn --include '*.py' -e 'retry limit' .", "retry limit"),
        ("git grep -i -A 3 backoff", "backoff"),
        ("cat a | grep x", ""),  # a filter, not a search
        ("ls -la", ""),
    ],
)
def test_the_pattern_of_a_shell_command_is_read(command: str, pattern: str) -> None:
    assert read_pattern(command) == pattern


# ------------------------------------------------------------------ as a client runs it


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("hook")
    (home / "notes").mkdir()
    (home / "notes" / "signing-keys.md").write_text(NOTES)
    with outcrop.open(home / "index.db") as engine:
        engine.add(home / "notes")
    return home


def run(client: str, db: Path, event: object, cwd: Path, **more: str) -> subprocess.CompletedProcess[bytes]:
    hook = make_hook(client, str(db))
    command = hook.get("command") or hook["hooks"][0]["command"]
    given = event if isinstance(event, bytes) else json.dumps(event).encode()
    environment = {"PATH": os.environ["PATH"], "HOME": str(db.parent), **more}
    patient = [*shlex.split(command), "--within", "100"]  # on a busy machine a cold search takes many seconds
    return subprocess.run(patient, input=given, cwd=cwd, env=environment, capture_output=True, check=False)


def event(cwd: Path, pattern: str = "rotate.*keys") -> dict[str, Any]:
    return {"cwd": str(cwd), "tool_name": "Grep", "tool_input": {"pattern": pattern}, "tool_response": ""}


@pytest.mark.parametrize("client", HOOK_FILES)
def test_each_client_gets_the_places_in_its_own_words(client: str, notes: Path) -> None:
    done = run(client, notes / "index.db", event(notes / "notes"), notes)
    assert (done.returncode, done.stderr) == (0, b"")
    answer = json.loads(done.stdout)
    text = answer.get("additional_context") or answer["hookSpecificOutput"]["additionalContext"]
    assert "signing-keys.md:1-3 0." in text
    if client != "cursor":
        assert answer["hookSpecificOutput"]["hookEventName"] == EVENTS[client]


def test_a_folder_that_was_never_added_is_none_of_its_business(notes: Path, tmp_path: Path) -> None:
    assert run("claude", notes / "index.db", event(tmp_path), tmp_path).stdout == b"{}"


@pytest.mark.parametrize("given", [b"", b"junk", b"[]", b'{"tool_input": 3}', b"\xff\x00", b"[" * 100_000])
def test_whatever_is_sent_it_ends_well_and_silently(given: bytes, notes: Path, tmp_path: Path) -> None:
    done = run("claude", notes / "index.db", given, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"{}", b"")


def test_no_index_or_a_broken_one_is_silent(notes: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.db").write_bytes(b"no database" * 100)
    for db in (tmp_path / "none.db", tmp_path / "broken.db"):
        done = run("claude", db, event(notes / "notes"), tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"{}", b"")
    assert not (tmp_path / "none.db").exists()


def test_a_client_that_never_closes_its_end_is_not_waited_for(notes: Path) -> None:
    command = make_hook("claude", str(notes / "index.db"))["hooks"][0]["command"]
    start = time.monotonic()
    with subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.read() == b"{}"
        assert child.wait() == 0
    assert time.monotonic() - start >= DEADLINE_S - 0.5  # it did wait for the event


def test_nothing_of_the_current_folder_is_run(notes: Path, tmp_path: Path) -> None:
    for name in ("json.py", "threading.py", "sitecustomize.py", "numpy.py", "outcrop.py"):
        (tmp_path / name).write_text("open('ran', 'w')\n")
    done = run(
        "claude", notes / "index.db", event(notes / "notes"), tmp_path, PYTHONPATH=".", PYTHONSTARTUP="json.py"
    )
    assert b"signing-keys.md" in done.stdout
    assert not (tmp_path / "ran").exists()


def test_a_search_that_is_left_alone_loads_nothing_of_the_engine() -> None:
    code = (
        "import sys, outcrop.serve.hook as hook\n"
        "hook.find_query({'tool_input': {'command': 'rg parse_config'}, 'tool_response': 'a'})\n"
        "print([name for name in sys.modules if name.startswith('outcrop.') or name in ('numpy', 'click')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "['outcrop.serve', 'outcrop.serve.hook']"


def test_a_hook_of_somebody_else_is_not_taken_for_ours() -> None:
    assert is_ours(make_hook("claude", "/x.db"))
    assert is_ours(make_hook("cursor", "/x.db"))
    assert not is_ours({"matcher": "Grep", "hooks": [{"type": "command", "command": "my-hook"}]})
    both = make_hook("claude", "/x.db")
    both["hooks"].append({"type": "command", "command": "mine"})
    assert not is_ours(both)
