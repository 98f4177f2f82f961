"""Metadata and one's own names over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.serve.http.running import Running

OWN = {"year": 2020, "authors": ["Ann Lee", "Bo"], "seen": "2020-05-06", "draft": True, "price": 2.5}


@pytest.fixture(scope="module")
def client(server: Running) -> Iterator[httpx.Client]:
    body = {"text": "The comet of May was seen from the tower.", "id": "papers/1", "meta": OWN}
    assert server.client.post("/api/documents", json=body).status_code == 201
    yield server.client
    server.client.delete("/api/documents/by-path", params={"path": "papers/1"})


def found(client: httpx.Client, where: str) -> list[str]:
    response = client.post("/api/search", json={"query": "comet seen from the tower", "where": where})
    assert response.status_code == 200, response.text
    return [hit["document"]["uri"] for hit in response.json()["hits"]]


def test_a_text_keeps_its_metadata_and_is_found_by_it(client: httpx.Client) -> None:
    (hit,) = client.post("/api/search", json={"query": "comet", "where": "year == 2020"}).json()["hits"]
    assert hit["document"]["meta"] == OWN
    assert found(client, 'authors contains "lee" and seen >= 2020-05-01 and price < 3') == ["papers/1"]
    assert found(client, "year > 2020") == []
    listed = client.get("/api/documents", params={"where": "draft == true"}).json()
    assert [info["uri"] for info in listed["documents"]] == ["papers/1"]
    assert client.post("/api/overview", json={"where": "draft == true"}).json()["documents"] == 1
    packed = client.post("/api/context", json={"query": "comet", "where": "draft == true"}).json()
    assert [source["hit"]["document"]["uri"] for source in packed["sources"]] == ["papers/1"]


@pytest.mark.parametrize("where", ["year = 2020", "x" * 10_001, ""])
def test_a_condition_that_is_none_is_refused(client: httpx.Client, where: str) -> None:
    for response in (
        client.post("/api/search", json={"query": "comet", "where": where}),
        client.get("/api/documents", params={"where": where}),
    ):
        assert response.status_code in (400, 422), response.text


@pytest.mark.parametrize(
    "meta", [{"a": None}, {"a": {"b": 1}}, {"": 1}, {"a": ["x"] * 1001}, {"k" * 101: 1}, [1]]
)
def test_metadata_that_cannot_be_kept_is_refused(client: httpx.Client, meta: Any) -> None:
    assert client.post("/api/documents", json={"text": "A note.", "meta": meta}).status_code in (400, 422)


def test_a_document_is_read_and_removed_by_the_name_its_owner_gave(client: httpx.Client) -> None:
    text = "Of one's own.\n\nSecond line."
    assert client.post("/api/documents", json={"text": text, "id": "mine 7"}).status_code == 201
    named = {"path": "mine 7"}
    assert client.get("/api/documents/by-path", params=named).json()["uri"] == "mine 7"
    assert (
        client.get("/api/documents/by-path/text", params=named | {"line_start": 3}).json()["text"]
        == "Second line."
    )
    (chunk,) = client.get("/api/documents/by-path/chunks", params=named).json()["chunks"]
    assert chunk["document"]["uri"] == "mine 7"
    body = {"query": "of one's own", "documents": ["mine 7"]}
    assert {hit["document"]["uri"] for hit in client.post("/api/search", json=body).json()["hits"]} == {
        "mine 7"
    }
    assert client.get("/api/documents/by-path/pages/1", params=named).status_code in (404, 409)
    assert client.delete("/api/documents/by-path", params=named).json() == {"removed": 1}
    assert client.get("/api/documents/by-path/text", params=named).status_code == 404
