"""A turn of a past session is the same hit through the library, HTTP and MCP."""

from __future__ import annotations

from pathlib import Path

from tests.parse.recorded import CLAUDE
from tests.serve.http.running import serving
from tests.serve.mcp.conftest import Library

WHO = "Claude, 2026-03-02 10:01"
QUERY = "why did the gateway drop calls"


def write_session(folder: Path) -> Path:
    path = folder / "sessions" / "5f0c.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(CLAUDE, "utf-8")
    return path


def test_http_answers_with_who_spoke_and_when(tmp_path: Path) -> None:
    path = write_session(tmp_path)
    with serving(tmp_path) as running:
        running.state.engine.add_sessions(path.parent)
        body = {"query": QUERY, "kinds": ["session"]}
        (hit, *_) = running.client.post("/api/search", json=body).json()["hits"]
        assert hit["heading_path"] == [WHO]
        assert hit["document"]["meta"]["agent"] == "Claude"
        assert [hit["heading_path"]] == [
            list(found.heading_path) for found in running.state.engine.search(QUERY, kinds=["session"]).hits[:1]
        ]
        packed = running.client.post("/api/context", json={**body, "budget_tokens": 500}).json()
        assert WHO in packed["text"]
        (listed,) = running.client.post("/api/overview", json={"kinds": ["session"]}).json()["facets"]["kinds"]
        assert listed == {"value": "session", "count": 1}


def test_an_agent_finds_and_reads_what_was_said(tmp_path: Path) -> None:
    path = write_session(tmp_path)
    library = Library(tmp_path / "index.db", path.parent)
    state = library.open()
    state.engine.add_sessions(path.parent)
    state.engine.close()
    found = library.call("search", query=QUERY)
    assert f"5f0c.jsonl text 1-18 · {WHO} · score" in found
    assert "three attempts do not last" in found
    read = library.call("read_document", document=str(path))
    assert "User, 2026-03-02 10:02\nThen make it five." in read
    assert "toolu_1" not in read, "what was said, not the file's records"
