"""Files of many records through the front door: each record a document, named by what its service calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.parse.test_exports import GITHUB, JIRA, POST
from tests.test_engine import CountingEmbedder, open_with

from outcrop.records import IngestReport


def counts(report: IngestReport) -> tuple[int, int, int, int]:
    assert not report.failed, report.failed
    return report.added, report.changed, report.unchanged, report.removed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "tracker"
    root.mkdir()
    return root


def test_a_list_of_issues_is_read_where_it_changed(tmp_path: Path, folder: Path) -> None:
    second = {**GITHUB, "number": 13, "title": "Größe der Queue", "body": "It holds ten thousand zeppelins."}
    file = folder / "issues.json"
    file.write_text(json.dumps([GITHUB, second], ensure_ascii=False, indent=1), "utf-8")
    with open_with(tmp_path / "i.db", CountingEmbedder()) as kb:
        assert counts(kb.add(folder)) == (3, 0, 0, 0)
        assert {info.path for info in kb.documents()} == {
            "issues.json",
            "issues.json/#12 First requests fail",
            "issues.json/#13 Größe der Queue",
        }
        assert counts(kb.add(folder)) == (0, 0, 1, 0)
        hit = kb.search("zeppelins").hits[0]
        assert (hit.document.title, hit.document.kind) == ("#13 Größe der Queue", "issue")
        closed = {**second, "state": "CLOSED"}
        file.write_text(json.dumps([GITHUB, closed], ensure_ascii=False, indent=1), "utf-8")
        assert counts(kb.add(folder)) == (0, 2, 1, 0)  # the issue and the file
        file.write_text(json.dumps([closed], ensure_ascii=False), "utf-8")
        report = kb.add(folder)
        assert (report.added, report.removed) == (0, 1)
        file.unlink()
        assert kb.add(folder).removed == 2


def test_issues_of_jira_and_posts_of_mattermost(tmp_path: Path, folder: Path) -> None:
    (folder / "jira.json").write_text(
        json.dumps({"total": 1, "issues": [JIRA, {**JIRA, "key": "OPS-8"}]}), "utf-8"
    )
    lines = [{"type": "version", "version": 1}, {"type": "channel", "channel": {"name": "gateway"}}, POST, POST]
    (folder / "core.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    with open_with(tmp_path / "i.db", CountingEmbedder()) as kb:
        assert counts(kb.add(folder)) == (6, 0, 0, 0)
        assert sorted((info.kind, info.path) for info in kb.documents()) == [
            ("chat", "core.jsonl/gateway/2026-03-02 09.00 ann"),
            ("chat", "core.jsonl/gateway/2026-03-02 09.00 ann"),
            ("export", "core.jsonl"),
            ("export", "jira.json"),
            ("issue", "jira.json/OPS-7 Rotate the keys"),
            ("issue", "jira.json/OPS-8 Rotate the keys"),
        ]


def test_data_that_only_has_the_fields_of_an_export_is_data(tmp_path: Path, folder: Path) -> None:
    (folder / "a.json").write_text('{"number": 1, "title": null, "body": "of an orchestra"}', "utf-8")
    (folder / "b.jsonl").write_text('{"type": "version"}\nno json at all', "utf-8")
    with open_with(tmp_path / "i.db", CountingEmbedder()) as kb:
        kb.add(folder)
        assert {(info.kind, info.path) for info in kb.documents()} == {("json", "a.json"), ("json", "b.jsonl")}
