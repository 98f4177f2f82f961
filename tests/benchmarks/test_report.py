"""What a benchmark leaves behind says how long all of it took."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from benchmarks.report import Report

from benchmarks import report


def test_a_report_made_at_the_end_counts_from_where_the_run_began() -> None:
    ended = time.time()
    assert Report("late", {}).started < ended


def test_what_is_kept_says_when_the_run_began_and_how_long_it_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "ROOT", tmp_path)
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    kept = json.loads(Report("long", {}, started=time.time() - 3600).keep().read_text("utf-8"))
    assert kept["seconds"] >= 3600
    assert kept["date"] < json.loads(Report("short", {}).keep().read_text("utf-8"))["date"]
