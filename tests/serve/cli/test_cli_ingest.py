"""add, sync and watch: what comes in, and how they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.serve.cli.runner import Outcrop

from outcrop.engine import Engine, open_engine
from outcrop.records import Failure, IngestReport, Skipped


def test_adding_a_folder_counts_and_adding_again_changes_nothing(outcrop: Outcrop) -> None:
    (outcrop.notes / "empty.md").write_text("")
    first = outcrop("add", outcrop.notes)
    assert first.exit_code == 0
    assert "3 added" in first.stdout
    assert "1 skipped" in first.stdout
    again = outcrop.json("add", outcrop.notes)
    assert (again["added"], again["unchanged"]) == (0, 3)


def test_text_comes_from_an_option_or_from_standard_input(outcrop: Outcrop) -> None:
    assert (
        outcrop("add", "--text", "wombats dig burrows", "--id", "wombat", "--title", "Wombats").exit_code == 0
    )
    assert outcrop("add", "-", "--id", "quokka", input="quokkas smile").exit_code == 0
    assert outcrop("show", "quokka").stdout == "quokkas smile\n"
    assert outcrop.json("show", "wombat")["document"]["title"] == "Wombats"
    assert outcrop("add", "-", input=b"\xff\xfe\x00x").exit_code == 2


def test_a_text_is_read_as_its_kind(outcrop: Outcrop) -> None:
    text = "# Wombats\n\n## Diet\n\nThey eat grass at night.\n"
    assert outcrop("add", "--text", text, "--id", "seen").exit_code == 0
    assert outcrop("add", "--text", text, "--id", "plain", "--kind", "text").exit_code == 0
    assert outcrop("add", "-", "--id", "told", "--kind", "md", input="Wombats").exit_code == 0
    kinds = {name: outcrop.json("show", name)["document"]["kind"] for name in ("seen", "plain", "told")}
    assert kinds == {"seen": "markdown", "plain": "text", "told": "markdown"}
    wrong = outcrop("add", "--text", text, "--kind", "docx")
    assert wrong.exit_code != 0
    assert "markdown" in wrong.stderr
    assert outcrop("add", outcrop.notes, "--kind", "md").exit_code == 2


def test_masked_secrets_are_counted_and_never_shown(outcrop: Outcrop) -> None:
    secret = "".join(("q7", "Rt", "2m", "Zc", "9L")) * 3
    (outcrop.notes / "login.md").write_text(f"api_key: {secret}\n")
    (outcrop.notes / ".env").write_text(f"API_KEY={secret}\n")
    added = outcrop("add", outcrop.notes)
    assert "1 secret masked" in added.stdout
    assert (
        "1 × looks like credentials, which are not indexed (unless index_secrets is set) (.env)" in added.stdout
    )
    assert outcrop("show", "login.md").stdout.strip() == f"api_key: {'*' * 30}"
    forced = outcrop("add", outcrop.notes, "--force", "--json")
    assert json.loads(forced.stdout)["masked"] == 1
    assert secret not in added.stdout + forced.stdout + outcrop("add", outcrop.notes, "-v").stdout


def test_an_empty_source_is_not_the_current_folder(outcrop: Outcrop) -> None:
    result = outcrop("add", "")
    assert result.exit_code == 2
    assert "write . for the current folder" in result.stderr


def test_a_watch_that_is_stopped_before_it_begins_ends_well(
    kb: Outcrop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Engine, "watch", lambda *_args, **_named: iter(()))  # what a stopped watch yields
    assert kb("watch", kb.notes).exit_code == 0


def test_conflicting_options_are_a_usage_error(outcrop: Outcrop) -> None:
    assert outcrop("add").exit_code == 2
    assert outcrop("add", outcrop.notes, "--id", "x").exit_code == 2
    assert outcrop("add", outcrop.notes, "--title", "x").exit_code == 2
    missing = outcrop("add", outcrop.notes, "nowhere")
    assert missing.exit_code == 2
    assert "There is no file or folder 'nowhere'." in missing.stderr
    assert not outcrop.db.exists()


def test_a_failed_file_is_reported_and_only_counts_when_strict(outcrop: Outcrop) -> None:
    (outcrop.notes / "broken.pdf").write_bytes(b"%PDF-1.4 nothing more")
    result = outcrop("add", outcrop.notes)
    assert result.exit_code == 0
    assert "1 failed" in result.stdout
    assert "broken.pdf:" in result.stdout
    assert outcrop("add", outcrop.notes, "--strict").exit_code == 1
    assert outcrop("add", outcrop.notes / "broken.pdf", "-c", "alone").exit_code == 1


def test_one_bad_source_of_several_does_not_stop_the_others(outcrop: Outcrop) -> None:
    report = outcrop.json("add", "http://127.0.0.1:9/x", outcrop.notes)
    assert report["added"] == 3
    assert report["failed"][0]["path"] == "http://127.0.0.1:9/x"
    alone = outcrop("add", "http://127.0.0.1:9/x")
    assert alone.exit_code == 4
    assert alone.stderr.startswith("Error: ")
    assert "Traceback" not in alone.stderr
    assert "Traceback" in outcrop("add", "http://127.0.0.1:9/x", "-vv").stderr


def test_sync_follows_the_folder(kb: Outcrop) -> None:
    (kb.notes / "budget.txt").unlink()
    (kb.notes / "new.md").write_text("# New\n\nSomething new.\n")
    report = kb.json("sync")
    assert (report["added"], report["removed"]) == (1, 1)
    assert kb("sync", "-c", "nots").exit_code == 3


def test_many_failures_are_counted_by_reason_and_listed_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    from outcrop.serve.cli.render_reports import print_report
    from outcrop.serve.cli.session import Screen

    failed = tuple(Failure(f"f{i}.pdf", "no pages") for i in range(30))
    report = IngestReport(added=1, failed=failed, skipped=(Skipped("a.png", "an image"),))
    print_report(Screen(lambda: Console(width=200)), report, everything=False)
    short = capsys.readouterr().out
    assert "30 × no pages" in short
    assert "1 × an image (a.png)" in short
    assert "f29.pdf" not in short
    print_report(Screen(lambda: Console(width=200)), report, everything=True)
    assert "f29.pdf: no pages" in capsys.readouterr().out


def start(*args: str | Path, db: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "outcrop", *map(str, args)],
        env={**os.environ, "OUTCROP_DB": str(db)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until_documents(db: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if db.exists():
            with open_engine(db) as kb:
                if kb.collections():
                    return
        time.sleep(0.05)
    raise AssertionError("nothing was committed within 20 s")


def test_ctrl_c_during_an_add_keeps_what_was_committed(tmp_path: Path) -> None:
    folder, db = tmp_path / "many", tmp_path / "i.db"
    folder.mkdir()
    for i in range(3000):
        body = "\n\n".join(f"Paragraph {i} {j} about wombats. " * 20 for j in range(4))
        (folder / f"{i}.md").write_text(f"# Note {i}\n\n{body}")
    process = start("add", folder, db=db)
    wait_until_documents(db)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "what was committed so far is kept, run it again" in err
    assert "Traceback" not in err + out
    with open_engine(db) as kb:
        assert all(check.ok for check in kb.doctor())
        assert 0 < kb.status().stats.documents < 3000


def test_watch_prints_a_line_for_each_change_until_it_is_told_to_stop(outcrop: Outcrop) -> None:
    process = start("watch", outcrop.notes, "--json", db=outcrop.db)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["added"] == 3
    told = threading.Event()

    def save_until_told() -> None:  # nothing says when the watch has begun
        while not told.wait(0.5):
            (outcrop.notes / "new.md").write_text(f"# New\n\nSomething new at {time.monotonic()}.\n")

    with ThreadPoolExecutor(1) as pool:
        saving = pool.submit(save_until_told)
        line = json.loads(process.stdout.readline())
        told.set()
        saving.result()
    assert line["added"] == 1
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "Traceback" not in err
