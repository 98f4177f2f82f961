"""`outcrop grant`: who may read an index on Postgres."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
from tests.postgres.server import PostgresServer
from tests.serve.cli.runner import Outcrop

import outcrop
from outcrop.serve.cli.app import COMMANDS


def run(*arguments: str) -> tuple[int, str]:
    done = Outcrop(Path("nowhere.db"), Path())(*arguments)
    return done.exit_code, done.output


def test_a_role_is_granted_collections_and_loses_them(
    postgres_server: PostgresServer, postgres_url: str, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text("apples and pears\n", "utf-8")
    assert run("--db", postgres_url, "add", str(tmp_path), "--collection", "fruit")[0] == 0
    assert "nobody but the owner" in run("--db", postgres_url, "grant")[1]
    postgres_server.execute("CREATE ROLE cli_guest LOGIN")
    try:
        code, said = run("--db", postgres_url, "grant", "cli_guest", "fruit", "--json")
        assert (code, json.loads(said)) == (0, [{"role": "cli_guest", "collection": "fruit"}])
        code, said = run("--db", postgres_url, "grant", "cli_guest", "nuts")
        assert code == 3
        assert "nuts" in said
        assert run("--db", postgres_url, "grant", "nobody_at_all")[0] == 4
        assert "nobody but the owner" in run("--db", postgres_url, "grant", "cli_guest", "--revoke")[1]
    finally:
        postgres_server.execute("DROP OWNED BY cli_guest", "DROP ROLE cli_guest")


def test_a_file_has_no_roles(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("apples and pears\n", "utf-8")
    db = str(tmp_path / "index.db")
    assert run("--db", db, "add", str(tmp_path))[0] == 0
    code, said = run("--db", db, "grant", "somebody")
    assert code == 2
    assert "permissions" in said


# ------------------------------------------------------------------ what a granted role can do

GUEST = "cli_reader"
POOL = '''"""Connections that are used again."""


def acquire(timeout: float) -> int:
    """Take an idle connection, or open one."""
    return int(timeout)
'''


@pytest.fixture
def guest(postgres_server: PostgresServer, postgres_url: str, tmp_path: Path) -> Iterator[Outcrop]:
    """The command line of a role that was granted one of two collections."""
    for name, text in {
        "shop/pool.py": POOL,
        "shop/orders.py": "from pool import acquire\n\n\ndef place_order() -> int:\n    return acquire(3.0)\n",
        "shop/README.md": "# Shop\n\n`acquire` gives a connection.\n",
        "secret/plan.md": "# Plan\n\nThe merger is acquired with a loan.\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    for name in ("shop", "secret"):
        assert run("--db", postgres_url, "add", str(tmp_path / name), "--tag", f"tag-{name}")[0] == 0
    postgres_server.execute(f"CREATE ROLE {GUEST} LOGIN PASSWORD 'secret'")
    assert run("--db", postgres_url, "grant", GUEST, "shop")[0] == 0
    parts = urlsplit(postgres_url)
    place = parts.netloc.rpartition("@")[2]
    yield Outcrop(Path("nowhere.db"), tmp_path, urlunsplit(parts._replace(netloc=f"{GUEST}:secret@{place}")))
    postgres_server.execute(f"DROP OWNED BY {GUEST}", f"DROP ROLE {GUEST}")


READING: dict[str, list[list[str]]] = {
    "search": [["acquire a connection"], ["acquire", "--explain"], ["acquire", "--json"]],
    "grep": [["acquire"]],
    "context": [["acquire a connection"], ["acquire", "--code"]],
    "related": [["acquire"]],
    "map": [[]],
    "impact": [["--diff", "{nothing}"]],
    "ls": [[], ["--collections"]],
    "show": [["pool.py"], ["pool.py", "--info"]],
    "status": [[], ["--json"]],
    "doctor": [[]],
    "grant": [[]],
    "eval": [["{questions}"]],
    "note": [["list"], ["read", "keys.md", "--kb", "{kb}"]],
    "move": [["{db}", "{target}"]],
}
"""What reads an index, and how it is called here."""
NOT_READING = {
    *("add", "sync", "watch", "rm", "reembed", "history"),  # write
    *("serve", "mcp", "chat", "ui"),  # ask through the engine what `search` and `context` ask
    *("install", "instructions", "completion"),  # need no index
}


def test_every_command_either_reads_or_is_known_not_to() -> None:
    assert COMMANDS.keys() == READING.keys() | NOT_READING


@pytest.mark.parametrize("command", READING)
def test_a_granted_role_can_use_every_command_that_reads(guest: Outcrop, tmp_path: Path, command: str) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text(json.dumps({"query": "acquire a connection", "expected": ["pool.py"]}) + "\n", "utf-8")
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "keys.md").write_text("The keys hang by the door.\n", "utf-8")
    (tmp_path / "nothing.diff").touch()
    places = {
        "nothing": tmp_path / "nothing.diff",
        "questions": questions,
        "kb": tmp_path / "kb",
        "db": guest.url,
        "target": tmp_path / "copy.db",
    }
    for arguments in READING[command]:
        done = guest(command, *(argument.format(**places) for argument in arguments))
        assert done.exit_code == 0, done.output
        assert "merger" not in done.output
        assert "secret" not in done.output.replace(str(tmp_path), "").replace(":secret@", "")


def test_a_granted_role_reads_through_the_library(guest: Outcrop) -> None:
    with outcrop.open(guest.url) as kb:
        assert [hit.document.path for hit in kb.search("acquire merger loan").hits]
        assert {hit.document.collection for hit in kb.search("acquire merger loan").hits} == {"shop"}
        assert kb.status().stats.documents == 3
        assert [check.name for check in kb.doctor() if not check.ok] == []
