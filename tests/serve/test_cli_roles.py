"""`outcrop grant`: who may read an index on Postgres."""

from __future__ import annotations

import json
from pathlib import Path

from tests.postgres.server import PostgresServer
from tests.serve.runner import Outcrop


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
