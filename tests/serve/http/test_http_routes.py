"""Every route's ordinary path, over a real port."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image
from tests.notes.asked_notes import ASKED, NOTES, RIGHT_AT_LEAST, UNRELATED
from tests.serve.http.running import Running, serving
from tests.serve.page.corpus import write_pdf

from outcrop.records import Check
from outcrop.text.tokens import vocabulary


@pytest.fixture(scope="module")
def client(server: Running) -> httpx.Client:
    return server.client


def ok(response: httpx.Response, status: int = 200) -> Any:
    assert response.status_code == status, response.text
    return response.json()


def test_health_and_status_say_what_is_there(server: Running) -> None:
    assert ok(server.client.get("/healthz"))["status"] == "ok"
    status = ok(server.client.get("/api/status"))
    assert status["stats"]["documents"] >= 3
    assert str(server.notes) in status["roots"]
    assert (status["chat"], status["read_only"]) == (None, False)
    assert status["model"]["name"] == "outcrop-static"


def test_a_search_answers_with_everything_a_hit_has(client: httpx.Client) -> None:
    answer = ok(client.post("/api/search", json={"query": "how often is a request retried", "limit": 2}))
    hit = answer["hits"][0]
    assert hit["document"]["path"] == "retries.md"
    assert {"chunk_ids", "text", "score", "distance", "match_type", "why", "line_start", "stale"} <= hit.keys()
    assert 0 <= hit["score"] <= 1
    assert len(answer["hits"]) <= 2


@pytest.mark.parametrize("query", ["", "x"])
def test_an_empty_or_one_letter_query_answers_empty(client: httpx.Client, query: str) -> None:
    answer = ok(client.post("/api/search", json={"query": query}))
    assert (answer["hits"], answer["reason"]) == ([], "empty_query")


def test_filters_and_options_reach_the_engine(client: httpx.Client) -> None:
    body = {
        "query": "request retried",
        "kinds": ["code"],
        "explain": True,
        "balance": 0.0,
        "since": "2020-01-01",
    }
    assert all(hit["document"]["kind"] == "code" for hit in ok(client.post("/api/search", json=body))["hits"])
    missing = client.post("/api/search", json={"query": "request", "collections": ["nonsense"]})
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")
    wrong = client.post("/api/search", json={"query": "request", "since": "someday"})
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (422, "invalid")


def test_what_was_asked_of_a_pasted_text_is_in_the_answer(client: httpx.Client) -> None:
    report = "Releases cannot be rolled back\n- OS: Ubuntu 22.04\nIt says there is no previous tag, but there is one."
    answer = ok(client.post("/api/search", json={"query": report}))
    assert answer["question"][1] == {"name": "title", "text": "Releases cannot be rolled back", "weight": 1.0}
    assert ok(client.post("/api/search", json={"query": "roll back a release"}))["question"] == []


def test_a_pattern_is_looked_for_in_the_files(client: httpx.Client) -> None:
    found = ok(client.post("/api/grep", json={"pattern": r"retr\w+", "ignore_case": True, "limit": 1}))
    (file,) = found["files"]
    assert [line["matched"] for line in file["lines"]] == [True]
    assert file["lines"][0]["spans"]
    assert found["more"]
    one = ok(client.post("/api/grep", json={"pattern": "retries", "literal": True, "paths": ["nothing/*"]}))
    assert (one["files"], one["more"], one["problems"]) == ([], False, [])
    wrong = client.post("/api/grep", json={"pattern": "("})
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (422, "invalid")


def test_an_overview_counts_what_passes_a_filter(client: httpx.Client) -> None:
    whole = ok(client.post("/api/overview", json={}))
    assert whole["documents"] >= 3
    assert {"value": "python", "count": 1} in whole["facets"]["languages"]
    assert len(whole["examples"]) <= 3
    code = ok(client.post("/api/overview", json={"kinds": ["code"], "since": "2020-01-01"}))
    assert (code["documents"], code["examples"]) == (1, [])
    assert ok(client.post("/api/overview", json={"until": 0}))["documents"] == 0
    assert client.post("/api/overview", json={"collections": ["nonsense"]}).status_code == 404
    assert client.post("/api/overview", json={"since": "banana"}).status_code == 422


def test_a_saved_case_can_be_taken_back(client: httpx.Client) -> None:
    case = {"query": "who takes from the pool", "expected": ["pool.py"]}
    ok(client.post("/api/eval/cases", json=case), 201)
    removed = [ok(client.request("DELETE", "/api/eval/cases", json=case))["removed"] for _ in range(2)]
    assert removed == [True, False]
    assert case["query"] not in [one["query"] for one in ok(client.get("/api/eval/cases"))["cases"]]


def test_a_context_keeps_to_its_budget(client: httpx.Client) -> None:
    context = ok(client.post("/api/context", json={"query": "roll back a release", "budget_tokens": 60}))
    assert context["tokens"] <= 60
    assert context["sources"][0]["hit"]["document"]["path"] == "deploy/rollback.md"
    body = {"query": "acquire", "code": True, "boosts": [{"target": "pool.py", "strength": "must"}]}
    assert "codeRag:chunk" in ok(client.post("/api/context", json=body))["text"]


def test_code_is_asked_about_by_name(client: httpx.Client) -> None:
    assert ok(client.get("/api/related", params={"target": "Pool.acquire"}))["target"]
    assert "class Pool" in ok(client.get("/api/map"))["text"]
    assert ok(client.get("/api/graph", params={"limit": 5}))["nodes"]
    found = ok(client.get("/api/definition", params={"name": "Pool"}))["definitions"]
    assert found[0]["code"]["symbol"].startswith("Pool")
    assert isinstance(found[0]["code"]["defines"][0], dict)
    assert client.get("/api/related", params={"target": "nothing_like_it"}).status_code == 404


def test_a_text_is_added_found_read_and_deleted(client: httpx.Client) -> None:
    body = {
        "text": "The zanzibar protocol needs two keys.",
        "id": "zanzibar",
        "collection": "loose",
        "tags": ["t"],
    }
    report = ok(client.post("/api/documents", json=body), 201)
    (number,) = report["document_ids"]
    assert ok(client.post("/api/search", json={"query": "zanzibar"}))["hits"][0]["document"]["id"] == number
    listed = ok(client.get("/api/documents", params={"collection": "loose", "tag": "t"}))
    assert (listed["total"], listed["next_offset"], listed["documents"][0]["id"]) == (1, None, number)
    assert ok(client.get("/api/documents/by-path", params={"path": "zanzibar"}))["stale"] is None
    assert ok(client.get(f"/api/documents/{number}"))["collection"] == "loose"
    assert ok(client.get(f"/api/documents/{number}/text"))["text"].startswith("The zanzibar")
    assert ok(client.get(f"/api/documents/{number}/chunks"))["chunks"][0]["document"]["id"] == number
    assert ok(client.get("/api/collections/loose"))["documents"] == 1
    assert ok(client.delete(f"/api/documents/{number}"))["removed"] == 1
    assert client.get(f"/api/documents/{number}").status_code == 404


def test_a_page_of_a_pdf_comes_as_a_picture_with_its_words(tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    write_pdf(tmp_path / "papers" / "harbour.pdf")
    with serving(tmp_path) as server:
        server.state.engine.add(tmp_path / "papers")
        (hit,) = ok(server.client.post("/api/search", json={"query": "granite boulders", "limit": 1}))["hits"]
        at = f"/api/documents/{hit['document']['id']}/pages"
        lines = {"line_start": hit["line_start"], "line_end": hit["line_end"]}
        page = ok(server.client.get(f"{at}/{hit['page']}", params={**lines, "width": 300}))
        assert (page["page"], page["pages"], page["width"]) == (2, 2, 300)
        png = base64.b64decode(page["image"].removeprefix("data:image/png;base64,"))
        assert Image.open(io.BytesIO(png)).size == (300, page["height"])
        granite = next(word for word in page["words"] if word["text"] == "Granite")
        assert granite["marked"]
        assert 0 < granite["x"] < granite["x"] + granite["width"] < 1
        assert not any(word["marked"] for word in ok(server.client.get(f"{at}/2"))["words"])
        for wrong, status in {
            f"{at}/3": 404,
            f"{at}/0": 422,
            f"{at}/2?width=9000": 422,
            f"{at}/x": 404,
        }.items():
            assert server.client.get(wrong).status_code == status, wrong
        (tmp_path / "papers" / "harbour.pdf").unlink()
        refused = server.client.get(f"{at}/2")
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")


def test_documents_are_listed_in_pages(client: httpx.Client) -> None:
    first = ok(client.get("/api/documents", params={"collection": "notes", "limit": 2}))
    rest = ok(client.get("/api/documents", params={"collection": "notes", "limit": 2, "offset": 2}))
    assert (first["next_offset"], rest["next_offset"], first["total"]) == (2, None, 3)
    assert len({item["id"] for item in first["documents"] + rest["documents"]}) == 3


def test_a_collection_is_removed_whole(client: httpx.Client) -> None:
    ok(client.post("/api/documents", json={"text": "short lived", "collection": "passing"}), 201)
    assert ok(client.delete("/api/collections/passing"))["removed"] == 1
    assert client.get("/api/collections/passing").status_code == 404
    assert "passing" not in {item["name"] for item in ok(client.get("/api/collections"))["collections"]}


def test_some_lines_of_a_text_are_given(server: Running) -> None:
    number = ok(server.client.get("/api/documents/by-path", params={"path": "pool.py"}))["id"]
    params = {"line_start": 2, "line_end": 3}
    text = ok(server.client.get(f"/api/documents/{number}/text", params=params))["text"]
    assert text == "    def acquire(self):\n        return self.take()\n"


def test_a_changed_file_is_stale(tmp_path: Path) -> None:
    with serving(tmp_path) as running:
        (running.notes / "retries.md").write_text("# Other words entirely\n")
        stale = ok(running.client.get("/api/stale"))["stale"]
        assert [(item["document"]["path"], item["change"]) for item in stale] == [("retries.md", "changed")]
        assert ok(running.client.get("/api/documents/by-path", params={"path": "retries.md"}))["stale"] is True
        job = ok(running.client.post("/api/sync", json={"collection": "notes"}), 202)["job"]
        assert running.wait_for_job(job["id"])["report"]["changed"] == 1
        assert ok(running.client.get("/api/stale"))["stale"] == []


def test_texts_and_queries_are_embedded(client: httpx.Client) -> None:
    many = ok(client.post("/api/embed", json={"texts": ["one text", "another"]}))
    assert (len(many["embeddings"]), len(many["embeddings"][0])) == (2, many["dimensions"])
    one = ok(client.post("/api/embed", json={"texts": ["one text"], "single": True}))
    assert len(one["embedding"]) == one["dimensions"]
    assert client.post("/api/embed", json={"texts": ["a", "b"], "single": True}).status_code == 422
    assert client.post("/api/embed", json={"texts": ["a"], "single": 0}).status_code == 422
    assert ok(client.post("/api/search", json={"query": "request", "limit": 2.0}))["hits"]
    assert client.post("/api/search", json={"query": "request", "limit": 2.5}).status_code == 422


def test_the_openai_endpoint_speaks_both_encodings(client: httpx.Client) -> None:
    plain = ok(client.post("/v1/embeddings", json={"input": "one text", "model": "whatever", "user": "x"}))
    packed = ok(client.post("/v1/embeddings", json={"input": ["one text"], "encoding_format": "base64"}))
    raw = base64.b64decode(packed["data"][0]["embedding"])
    unpacked = struct.unpack(f"<{len(raw) // 4}f", raw)
    assert list(unpacked) == pytest.approx(plain["data"][0]["embedding"])
    assert sum(value * value for value in unpacked) == pytest.approx(1, abs=1e-4)
    assert (plain["object"], plain["data"][0]["index"]) == ("list", 0)


def test_a_text_is_read_as_its_kind(client: httpx.Client) -> None:
    for name, kind, title in (
        ("seen", None, "Otters"),
        ("plain", "text", "# Otters"),
        ("told", "md", "Otters"),
    ):
        body = {"text": "# Otters\n\nThey float.\n", "id": f"otters-{name}", "collection": "otters"}
        ok(client.post("/api/documents", json=body if kind is None else {**body, "kind": kind}), 201)
        found = ok(client.get("/api/documents/by-path", params={"path": f"otters-{name}"}))
        assert found["title"] == title
    wrong = client.post("/api/documents", json={"text": "x y", "kind": "docx"})
    assert wrong.status_code == 422


def test_right_notes_are_found_and_an_unrelated_question_finds_none(tmp_path: Path) -> None:
    with serving(tmp_path) as running:
        for path, text in NOTES.items():
            ok(running.client.put("/api/kb/file", json={"path": path, "text": text}))
        running.state.engine.embed_pending()

        def hits(query: str) -> list[Any]:
            found: list[Any] = ok(running.client.post("/api/kb/search", json={"query": query}))["hits"]
            return found

        right = [note in [hit["document"]["path"] for hit in hits(query)] for query, note in ASKED]
        assert sum(right) >= RIGHT_AT_LEAST
        assert [query for query in UNRELATED if hits(query)] == []


def test_notes_are_written_found_edited_moved_and_deleted(client: httpx.Client) -> None:
    note = {"path": "plans/trip.md", "text": "# Trip\n\nWe leave on quokkaday.\n"}
    assert ok(client.put("/api/kb/file", json=note))["path"] == "plans/trip.md"
    found = ok(client.post("/api/kb/search", json={"query": "quokkaday"}))["hits"]
    assert found[0]["document"]["path"] == "plans/trip.md"
    ok(client.post("/api/kb/append", json={"path": "plans/trip.md", "text": "Bring water."}))
    ok(client.post("/api/kb/edit", json={"path": "plans/trip.md", "old": "water", "new": "tea"}))
    twice = client.post("/api/kb/edit", json={"path": "plans/trip.md", "old": "r", "new": "s"})
    assert twice.status_code == 409
    text = ok(client.get("/api/kb/file", params={"path": "plans/trip.md", "line_start": 4}))["text"]
    assert text == "Bring tea.\n"
    ok(client.post("/api/kb/move", json={"path": "plans/trip.md", "to": "done/trip.md"}))
    assert [file["path"] for file in ok(client.get("/api/kb", params={"prefix": "done"}))["files"]] == [
        "done/trip.md"
    ]
    ok(client.delete("/api/kb/file", params={"path": "done/trip.md"}))
    assert client.get("/api/kb/file", params={"path": "done/trip.md"}).status_code == 404


def test_a_newer_note_replaces_an_older_one(client: httpx.Client) -> None:
    older = {"path": "wolpertinger/old.md", "text": "Wolpertingers sleep for an hour.\n"}
    newer = {"path": "wolpertinger/new.md", "text": "Wolpertingers sleep for a day.\n"}
    asked = {"query": "how long do wolpertingers sleep"}
    ok(client.put("/api/kb/file", json=older))
    offered = ok(client.put("/api/kb/file", json=newer))["same_subject"]
    assert [each["path"] for each in offered] == [older["path"]]
    problems = ok(client.get("/api/kb/check"))["problems"]
    assert [problem["kind"] for problem in problems] == ["contradiction"]
    ok(client.post("/api/kb/append", json={"path": newer["path"], "text": "", "supersedes": [older["path"]]}))
    assert ok(client.get("/api/kb/check"))["problems"] == []
    for route in ("/api/kb/search", "/api/search"):
        hits = ok(client.post(route, json=asked))["hits"]
        assert [hit["document"]["path"] for hit in hits[:2]] == [newer["path"], older["path"]]
        assert hits[1]["validity"]["replaced_by"] == newer["path"]
        past = ok(client.post(route, json={**asked, "as_of": "2020-01-31"}))["hits"]
        assert newer["path"] not in [hit["document"]["path"] for hit in past]
        assert past[0]["document"]["path"] == older["path"]
        assert client.post(route, json={**asked, "as_of": "some day"}).status_code == 422
    for note in (older, newer):
        ok(client.delete("/api/kb/file", params={"path": note["path"]}))


def test_a_repository_is_refreshed_and_asked(server: Running) -> None:
    report = ok(server.client.post("/coderag/refresh", params={"repoPath": str(server.notes), "wait": True}))
    assert report["failed"] == []
    assert ok(server.client.post("/coderag/refresh", params={"repoPath": str(server.notes)}), 202)["job"]["id"]
    body = {
        "messages": [{"role": "user", "content": "what does Pool.acquire return?"}],
        "approxLength": 300,
        "boosts": [{"target": "pool.py", "strength": "must"}],
    }
    answer = ok(server.client.post("/coderag/query", json=body))
    assert "def acquire" in answer["ragText"]
    assert (
        vocabulary("o200k").count(answer["ragText"]) <= 300 < len(answer["ragText"])
    )  # tokens, not characters
    assert answer["chunks"][0]["hit"]["document"]["path"] == "pool.py"
    assert "acquire" in answer["query"]


def test_members_of_a_query_for_code_that_are_not_known_are_ignored_with_a_note(server: Running) -> None:
    ok(server.client.post("/coderag/refresh", params={"repoPath": str(server.notes), "wait": True}))
    body = {
        "messages": [{"role": "user", "content": "what does Pool.acquire return?", "name": "ann"}],
        "approxLength": 2000,
        "model": "gpt",
        "temperature": 0.2,
    }
    answer = ok(server.client.post("/coderag/query", json=body))
    assert "def acquire" in answer["ragText"]
    assert "not known here, so ignored: model, temperature" in answer["detail"]
    many = {f"\x1b{number:03}" + "x" * 200: 1 for number in range(300)}
    detail = ok(server.client.post("/coderag/query", json={**body, **many}))["detail"]
    assert len(detail) < 400
    assert "and 297 more" in detail
    assert "\x1b" not in detail
    wrong = server.client.post("/coderag/query", json={**body, "approxLength": "many"})
    assert wrong.status_code == 422  # what is known is still checked


def test_ids_and_hashes_of_a_collection_come_in_pages(server: Running) -> None:
    client = server.client
    url = "/api/collections/notes/hashes"
    first = ok(client.get(url, params={"limit": 2}))
    rest = ok(client.get(url, params={"limit": 1000, "offset": first["next_offset"]}))
    found = {item["uri"]: item["sha256"] for item in (*first["documents"], *rest["documents"])}
    assert found == server.state.engine.hashes("notes")
    assert rest["next_offset"] is None
    path = server.notes / "retries.md"
    assert found[str(path)] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert client.get("/api/collections/nothing/hashes").status_code == 404


def test_the_index_is_examined_over_http_one_check_at_a_time(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ok(server.client.get("/api/doctor"))
    assert found["ok"] is True
    assert {"name", "ok", "detail"} <= set(found["checks"][0])
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> list[Check]:
        begun.set()
        assert go_on.wait(60)
        return [Check("arrays", False, "a block is damaged")]

    monkeypatch.setattr(server.state.engine, "doctor", slow)
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(httpx.get, f"{server.url}/api/doctor", timeout=60)
        assert begun.wait(60)
        busy = server.client.get("/api/doctor")
        go_on.set()
        assert (busy.status_code, busy.headers["retry-after"]) == (503, "5")
        assert asked.result().json()["ok"] is False


def test_notes_accept_the_parameters_of_other_note_servers(server: Running) -> None:
    client = server.client
    ok(client.put("/api/kb/file", json={"path": "/projects/api.md", "text": "# API\n\nTokens live an hour.\n"}))
    assert ok(client.get("/api/kb/file", params={"path": "/projects/api.md"}))["path"] == "projects/api.md"
    assert [file["path"] for file in ok(client.get("/api/kb", params={"prefix": "/projects"}))["files"]] == [
        "projects/api.md"
    ]
    found = ok(client.post("/api/kb/search", json={"query": "how long do tokens live", "topK": 1}))
    assert len(found["hits"]) == 1
    ok(client.delete("/api/kb/file", params={"path": "/projects/api.md"}))


def test_quotation_marks_in_a_conversation_do_not_empty_the_answer(server: Running) -> None:
    ok(server.client.post("/coderag/refresh", params={"repoPath": str(server.notes), "wait": True}))
    report = (
        'It stops with {"error": "pool is gone"}.\nThe log says "nobody wrote this line". Pool.acquire waits.'
    )
    body: dict[str, object] = {"messages": [{"role": "user", "content": report}]}
    answer = ok(server.client.post("/coderag/query", json=body))
    assert "def acquire" in answer["ragText"]
    assert answer["unmatchedPhrases"] == []
    body = {"messages": [{"role": "user", "content": 'what is "acquire a swimming pool"?'}]}
    answer = ok(server.client.post("/coderag/query", json=body))
    assert answer["chunks"]
    assert answer["unmatchedPhrases"] == ["acquire a swimming pool"]
    assert "without the quotation marks" in answer["detail"]
    found = ok(server.client.post("/api/search", json={"query": '"acquire a swimming pool"'}))
    assert found["hits"]
    assert found["unmatched_phrases"] == ["acquire a swimming pool"]


def test_cases_are_saved_and_run(server: Running) -> None:
    case = {"query": "how often is a request retried", "expected": ["retries.md"]}
    assert ok(server.client.post("/api/eval/cases", json=case), 201)["expected"] == {"retries.md": 1.0}
    assert [item["query"] for item in ok(server.client.get("/api/eval/cases"))["cases"]] == [case["query"]]
    job = ok(server.client.post("/api/eval/run"), 202)["job"]
    assert server.wait_for_job(job["id"])["state"] == "done"
    (line,) = ok(server.client.get("/api/eval/runs"))["runs"]
    run = ok(server.client.get(f"/api/eval/runs/{line['id']}"))
    assert run["cases"][0]["rank"] == 1
    assert server.client.get("/api/eval/runs/../../etc").status_code == 404


def test_metrics_are_counted_by_route(server: Running) -> None:
    server.client.get("/api/documents/999999")
    server.client.get("/api/documents/999998")
    server.client.get("/api/documents/none-such/at/all")
    text = server.client.get("/metrics").text
    counted = 'outcrop_http_requests_total{route="/api/documents/{document_id:int}",method="GET",status="404"} '
    (line,) = [line for line in text.splitlines() if line.startswith(counted)]
    assert int(line.removeprefix(counted)) >= 2
    assert 'route="(none)"' in text
    for line in text.splitlines():
        assert line.startswith("#") or float(line.rpartition(" ")[2]) >= 0
    assert "outcrop_chunks_pending 0" in text


def test_the_page_and_agents_are_served_too(server: Running) -> None:
    assert server.client.get("/").headers["content-type"].startswith("text/html")
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    headers = {"Accept": "application/json, text/event-stream"}
    with server.client.stream("POST", "/mcp", json=hello, headers=headers) as answer:
        assert answer.status_code == 200
        assert "serverInfo" in answer.read().decode()


def test_errors_have_one_shape(client: httpx.Client) -> None:
    for response in (
        client.get("/nowhere"),
        client.put("/api/search", json={}),
        client.post("/api/search", json={"query": 1}),
        client.post("/api/search", json={"query": "a", "unknown": 1}),
        client.post("/api/search", content=b"{", headers={"Content-Type": "application/json"}),
        client.get("/api/documents/0"),
    ):
        error = response.json()["error"]
        assert error.keys() == {"code", "message"}
        assert response.status_code in {404, 405, 422}
        assert "Traceback" not in response.text
    assert client.put("/api/kb/file/x", json={}).status_code == 404
    assert client.patch("/api/kb/file", json={}).headers["allow"] == "DELETE, GET, PUT"
    assert json.loads(client.get("/openapi.json").text)["info"]["title"] == "Outcrop"


def test_search_processes_give_the_same_answers(tmp_path: Path) -> None:
    with serving(tmp_path, workers=2) as running:
        query = "how often is a request retried"
        apart = ok(running.client.post("/api/search", json={"query": query, "limit": 2}))
        here = running.state.engine.search(query, limit=2)
        assert [hit["chunk_ids"] for hit in apart["hits"]] == [list(hit.chunk_ids) for hit in here.hits]
        ok(running.client.post("/api/documents", json={"text": "The zanzibar protocol."}), 201)
        assert ok(running.client.post("/api/search", json={"query": "zanzibar"}))["hits"]
        missing = running.client.post("/api/search", json={"query": "request", "collections": ["nonsense"]})
        assert missing.status_code == 404
