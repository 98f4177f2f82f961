"""outcrop note: what agents have in the kb_* tools, for people."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tests.serve.cli.runner import Outcrop


def test_a_note_is_written_found_read_listed_and_deleted(kb: Outcrop) -> None:
    written = kb("note", "write", "/projects/api.md", "Tokens", "live", "for an hour.")
    assert written.stdout == "projects/api.md written: 1 line\n"
    assert (kb.db.parent / "kb" / "projects" / "api.md").read_text() == "Tokens live for an hour.\n"
    assert (
        "appended to: 3 lines"
        in kb("note", "append", "projects/api", input="\nRefresh tokens live a day.\n").stdout
    )
    assert kb("note", "read", "projects/api.md", "--lines", "1").stdout == "Tokens live for an hour.\n"
    assert "a day" in kb("note", "read", "/projects/api.md").stdout
    found = kb("note", "search", "how long do tokens live")
    assert found.exit_code == 0
    assert "projects/api.md" in found.stdout
    assert kb.json("status")["stats"]["documents"] == 4
    assert [note["path"] for note in kb.json("note", "list", "projects/")] == ["projects/api.md"]
    assert kb("note", "list", "other/").stdout == "no notes\n"
    assert "--yes" in kb("note", "delete", "projects/api.md").stderr
    assert kb("note", "delete", "projects/api.md", "-y").stdout == "projects/api.md deleted\n"
    assert kb("note", "read", "projects/api.md").exit_code == 3
    assert kb("note", "delete", "projects/api.md", "-y").exit_code == 3


def test_a_note_is_found_by_meaning_although_no_server_runs(kb: Outcrop) -> None:
    kb("note", "write", "cars.md", "The automobile needs new tyres.")
    assert "cars.md" in kb("search", "--mode", "semantic", "automobile tyres").stdout


def test_a_search_of_the_notes_without_a_hit_says_so_and_exits_with_one(kb: Outcrop) -> None:
    kb("note", "write", "cars.md", "The automobile needs new tyres.")
    assert kb("note", "search", "eruption of Krakatoa").exit_code == 1
    assert kb("note", "search", "-n", "11", "tyres").exit_code == 2


def test_what_cannot_be_a_note_is_refused(kb: Outcrop) -> None:
    for wrong in (
        ("write",),
        ("read",),
        ("read", "a.md", "b.md"),
        ("delete",),
        ("search",),
        ("list", "a", "b"),
        ("list", "--lines", "1-2"),
        ("write", "empty.md"),
        ("read", "a.md", "--lines", "x"),
        ("burn", "a.md"),
    ):
        result = kb("note", *wrong, input="")
        assert result.exit_code == 2, wrong
        assert "Traceback" not in result.stderr
    assert kb("note", "write", "../outside.md", "x").exit_code == 4
    assert kb("note", "write", "bytes.md", input=b"\xff\xfe").exit_code == 2


def test_notes_of_another_folder(kb: Outcrop, tmp_path: Path) -> None:
    kb("note", "write", "a.md", "text", "--kb", tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere" / "a.md").read_text() == "text\n"


def test_ids_with_hashes_are_listed(kb: Outcrop) -> None:
    file = kb.notes / "retries.md"
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert f"{digest}  {file}" in kb("ls", "--hashes").stdout.splitlines()
    assert len(kb("ls", "--hashes", "-n", "1").stdout.splitlines()) == 1
    listed = {item["uri"]: item["sha256"] for item in kb.json("ls", "--hashes", "-c", "notes")}
    assert listed[str(file)] == digest
    assert kb("ls", "--hashes", "--collections").exit_code == 2


def test_a_newer_note_replaces_an_older_one_and_the_check_is_content(kb: Outcrop) -> None:
    kb("note", "write", "tokens.md", "Access tokens live for an hour.")
    written = kb("note", "write", "lifetime.md", "Access tokens live for a day.").stdout
    assert "on the same subject: tokens.md:1 Access tokens live for an hour." in written
    assert "outcrop note supersede lifetime.md tokens.md" in written
    wrong = kb("note", "check")
    assert wrong.exit_code == 1
    assert "contradiction lifetime.md:1: " in wrong.stdout
    assert kb("note", "supersede", "lifetime.md", "tokens.md").stdout.startswith(
        "lifetime.md replaces tokens.md"
    )
    assert kb("note", "check").stdout == "0 problems\n"
    first, second = kb.json("note", "search", "how long do access tokens live")["hits"]
    assert [hit["document"]["path"] for hit in (first, second)] == ["lifetime.md", "tokens.md"]
    assert second["validity"]["standing"] == "replaced"
    assert second["validity"]["replaced_by"] == "lifetime.md"
    assert "replaced by lifetime.md on 20" in kb("search", "how long do access tokens live").stdout
    again = kb("note", "write", "life time.md", "Access tokens live for a week.").stdout
    assert "outcrop note supersede 'life time.md' lifetime.md" in again
    past = kb("note", "search", "how long do access tokens live", "--as-of", "2020-01-31").stdout
    assert "tokens.md" in past
    assert "lifetime.md:" not in past
    assert "lifetime.md:" not in kb("search", "how long do access tokens live", "--as-of", "2020-01-31").stdout
    kb("note", "write", "weekly.md", "Access tokens live for a week.", "--supersedes", "lifetime.md")
    assert kb.json("note", "check") == []


def test_time_is_asked_of_those_who_know_it(kb: Outcrop) -> None:
    for wrong in (
        ("supersede", "a.md"),
        ("check", "a.md"),
        ("list", "--as-of", "2020-01-31"),
        ("read", "a.md", "--supersedes", "b.md"),
        ("search", "tokens", "--as-of", "some day"),
    ):
        assert kb("note", *wrong).exit_code == 2, wrong
