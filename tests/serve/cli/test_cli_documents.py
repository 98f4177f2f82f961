"""ls, show, rm, status, doctor, reembed, eval, completion."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.serve.cli.runner import Outcrop
from tests.serve.cli.tiny_model import write_model

from outcrop.maintain.reembed import Forecast


def test_ls_lists_documents_and_collections(kb: Outcrop) -> None:
    out = kb("ls").stdout
    assert "deploy/rollback.md" in out
    assert len(out.splitlines()) == 3
    assert [info["path"] for info in kb.json("ls", "--kind", "text")] == ["budget.txt"]
    assert len(kb.json("ls", "-n", "1")) == 1
    assert kb.json("ls", "--collections")[0]["documents"] == 3
    assert "notes" in kb("ls", "--collections").stdout
    assert kb("ls", "--path", "nothing/**").stdout == "no documents\n"


def test_show_prints_the_text_its_lines_its_chunks_or_its_facts(kb: Outcrop) -> None:
    assert kb("show", "budget.txt").stdout.startswith("The marketing budget")
    assert kb("show", "retries.md", "--lines", "1-1").stdout == "# Retries\n"
    assert kb("show", "retries.md", "--lines", "3").stdout == "A failed request is retried three times.\n"
    assert "── chunk 0" in kb("show", "retries.md", "--chunks").stdout
    assert "sha256" in kb("show", "retries.md", "--info").stdout
    assert "text" not in kb.json("show", "retries.md", "--info")
    assert kb.json("show", "retries.md", "--chunks")["chunks"][0]["index"] == 0
    assert kb("show", "retries.md", "--lines", "x").exit_code == 2
    assert kb("show", "retries.md", "--lines", "9-2").exit_code == 2
    assert "ends with line" in kb("show", "retries.md", "--lines", "900-").stderr
    assert kb("show", "nothing.md").exit_code == 3


def test_json_holds_no_terminal_control_characters(kb: Outcrop) -> None:
    text = "before \x9b31m \u202e after \x1b[2J, and the rest of a plain sentence"
    kb("add", "--text", text, "--id", "odd")
    raw = kb("show", "odd", "--json").stdout
    assert not {"\x9b", "\u202e", "\x1b"} & set(raw)
    assert json.loads(raw)["text"] == text


def test_rm_removes_one_at_once_and_many_only_when_told(kb: Outcrop) -> None:
    one = kb("rm", "budget.txt")
    assert one.exit_code == 0
    assert "1 document removed" in one.stdout
    many = kb("rm", "-c", "notes")
    assert many.exit_code == 2
    assert "Say --yes" in many.stderr
    assert kb.json("rm", "-c", "notes", "--yes")["removed"] == 2
    assert kb("rm").exit_code == 2
    assert (kb.notes / "budget.txt").exists()


def test_rm_by_path_stays_within_the_collection(kb: Outcrop) -> None:
    assert kb("add", kb.notes, "-c", "copy").exit_code == 0
    assert kb.json("rm", "--path", "**/*.md", "-c", "copy", "--yes")["removed"] == 2
    assert kb.json("ls", "--collections") != []
    assert len(kb.json("ls", "-c", "notes")) == 3
    assert kb("rm", "--path", "none/*").exit_code == 1


def test_status_and_stale(kb: Outcrop) -> None:
    assert "3 documents" in kb("status").stdout
    (kb.notes / "budget.txt").unlink()
    status = kb.json("status", "--stale")
    assert status["stale"][0]["change"] == "missing"
    assert status["stats"]["documents"] == 3
    assert "budget.txt" in kb("status", "--stale").stdout


def test_doctor_passes_a_sound_index_and_fails_a_broken_one(kb: Outcrop) -> None:
    sound = kb("doctor")
    assert sound.exit_code == 0
    assert "✓ sqlite" in sound.stdout
    assert "✗" not in sound.stdout
    kb.db.write_bytes(b"this is not a database at all" * 100)
    for rest in ("-wal", "-shm"):
        kb.db.with_name(kb.db.name + rest).unlink(missing_ok=True)
    broken = kb("doctor")
    assert broken.exit_code == 1
    assert "✗ index" in broken.stdout
    assert kb("search", "budget").exit_code == 4


def test_a_reading_command_creates_no_index(outcrop: Outcrop) -> None:
    for command in (("search", "x"), ("ls",), ("status",), ("sync",), ("reembed",)):
        result = outcrop(*command)
        assert result.exit_code == 3, command
        assert "outcrop add FOLDER" in result.stderr
    examined = outcrop("doctor")
    assert examined.exit_code == 0
    assert "✓ languages" in examined.stdout
    assert not outcrop.db.exists()


def test_a_database_that_cannot_be_opened_is_an_error_without_its_password(
    outcrop: Outcrop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    url = "postgresql://ann:hush@localhost/papers"
    for command in (("search", "x"), ("status",), ("add", "--text", "x")):
        result = outcrop(*command, "--db", url)
        assert result.exit_code == 5, command
        assert "outcrop[postgres]" in result.stderr
        assert "hush" not in result.output
    doctor = outcrop("doctor", "--db", url)
    assert doctor.exit_code == 1
    assert "✗ index" in doctor.stdout
    assert "outcrop[postgres]" in doctor.stdout
    wrong = outcrop("ls", "--db", url + "?schema=No")
    assert wrong.exit_code == 2
    assert "One looks like postgresql://" in wrong.stderr
    assert "hush" not in wrong.output


def test_the_index_can_be_named_before_and_after_the_command(kb: Outcrop, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    assert kb("--db", other, "add", "--text", "alone").exit_code == 0
    assert len(kb.json("ls", "--db", other)) == 1
    assert len(json.loads(kb("--json", "--db", other, "ls").stdout)) == 1


def test_reembed_says_how_many(kb: Outcrop) -> None:
    assert kb.json("reembed")["embedded"] == 0
    assert "the index uses" in kb("reembed").stdout
    assert kb("reembed", "--model", "nonsense").exit_code == 2


def test_reembed_says_beforehand_how_long_it_will_take(kb: Outcrop, monkeypatch: pytest.MonkeyPatch) -> None:
    told = "18,000 texts to embed, about 22 min; the old vectors serve until then\n"
    for seconds, said in ((1320.0, told), (2.0, "")):
        ahead = Forecast(18_000, seconds)
        monkeypatch.setattr("outcrop.engine.Engine.forecast_reembed", lambda _engine, ahead=ahead: ahead)
        assert kb("reembed").stderr == said


def test_reembed_switches_the_model_for_good_and_back(kb: Outcrop, tmp_path: Path) -> None:
    model = tmp_path / "tiny"
    write_model(model)
    switched = kb.json("reembed", "--model", f"onnx:{model}")
    assert switched["embedded"] == kb.json("status")["stats"]["chunks"]
    assert switched["model"]["name"] == "onnx:tiny"
    assert kb.json("status")["index_model"] == kb.json("status")["model"] == switched["model"]
    answer = kb.json("search", "roll back a release")
    assert answer["reason"] is None
    assert answer["hits"][0]["document"]["path"] == "deploy/rollback.md"
    assert kb("add", "--text", "wombats dig").exit_code == 0
    assert kb.json("reembed", "--model", "static")["model"]["name"] != "onnx:tiny"
    assert kb.json("search", "wombats")["reason"] is None
    assert kb("doctor").exit_code == 0


def test_eval_prints_the_figures_and_warns_of_missing_documents(kb: Outcrop, tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text(
        json.dumps({"query": "roll back a release", "expected": ["deploy/rollback.md"]})
        + "\n"
        + json.dumps({"query": "delay between attempts", "expected": ["retries.md", "gone.md"]})
    )
    page = tmp_path / "report.html"
    result = kb("eval", cases, "--html", page)
    assert result.exit_code == 0
    assert "nDCG@10" in result.stdout
    assert "gone.md" in result.stderr
    assert page.read_text().startswith("<!doctype html>")
    report = kb.json("eval", cases)
    assert report["top_1"] == 1.0
    assert report["missing"] == ["gone.md"]
    cases.write_text(json.dumps([{"query": "x y", "expected": "gone.md"}]))
    assert kb("eval", cases).exit_code == 4
    other = cases.with_suffix(".json")
    other.write_text(json.dumps([{"query": "x y", "expected": "gone.md"}]))
    assert kb("eval", other).exit_code == 3


def test_eval_keeps_its_runs_and_says_what_changed(kb: Outcrop, tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text(json.dumps({"query": "roll back a release", "expected": ["deploy/rollback.md"]}))
    assert "no runs yet" in kb("eval", "--runs").stdout
    assert kb("eval").exit_code == 2
    assert kb("eval", cases, "--no-keep").exit_code == 0
    assert kb.json("eval", "--runs") == {"runs": [], "changes": []}
    assert kb("eval", cases).exit_code == 0
    (run,) = kb.json("eval", "--runs")["runs"]
    assert run["metrics"]["top_1"] == 1.0
    assert run["name"] == "cases.jsonl"
    kb(
        "add",
        "--text",
        "# Roll back a release\n\nRoll back a release, a release.",
        "--id",
        "roll back a release",
    )
    assert kb("eval", cases, "--balance", "0.5").exit_code == 0
    shown = kb("eval", "--runs").stdout
    assert "1 → " in shown
    assert "balance 0.5" in shown
    told = kb.json("eval", "--runs", cases)
    assert [run["options"].get("balance") for run in told["runs"]] == [0.5, None]
    assert told["changes"][0]["before"] == 1


def test_completion_prints_a_script_for_each_shell(outcrop: Outcrop) -> None:
    for shell in ("bash", "zsh", "fish"):
        result = outcrop("completion", shell)
        assert result.exit_code == 0
        assert "_OUTCROP_COMPLETE" in result.stdout
