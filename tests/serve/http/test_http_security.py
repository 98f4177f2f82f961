"""What must be refused, is: by name, by origin, without a token, too much, too deep, too slow, too often."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cost import cpu_below
from tests.serve.http.running import Running, serving

from outcrop.config import load_config
from outcrop.errors import ConfigError
from outcrop.serve.http import limits, security
from outcrop.serve.http.limits import MAX_BODY_BYTES, MAX_VALUES, Shape
from outcrop.serve.http.metrics import escape
from outcrop.serve.http.problems import Refused
from outcrop.serve.http.security import CSP, require_token

TOKEN = "correct-horse"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("guarded")
    settings: dict[str, Any] = {
        "token": TOKEN,
        "allowed_origins": ["https://notes.example"],
        "allowed_hosts": ["kb.example"],
    }
    with serving(folder, read_only=True, **settings) as running:
        yield running


def raw(server: Running, request: bytes, seconds: float = 5) -> bytes:
    host, _, port = server.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=seconds) as connection:
        connection.sendall(request)
        answer = b""
        while data := connection.recv(65536):
            answer += data
        return answer


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:7411",
        "",
        "localhost:x",
        "[::1",
        "a@localhost",
    ],
)
def test_a_foreign_host_name_is_refused(server: Running, host: str) -> None:
    for path in ("/healthz", "/api/status", "/", "/mcp", "/openapi.json"):
        answer = httpx.get(server.url + path, headers={"Host": host})
        assert answer.status_code == 403, path
        assert answer.json()["error"]["code"] == "unknown_host"


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:1", "[::1]:7411", "localhost."])
def test_loopback_names_are_accepted_with_any_port(server: Running, host: str) -> None:
    assert httpx.get(f"{server.url}/healthz", headers={"Host": host}).status_code == 200


def test_two_host_headers_are_refused(server: Running) -> None:
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    assert raw(server, request).startswith(b"HTTP/1.1 400")
    assert raw(server, b"GET /healthz HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 403")


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "file://", "http://localhost"]
)
def test_a_page_of_another_origin_is_refused(server: Running, origin: str) -> None:
    for method in ("GET", "POST", "OPTIONS"):
        answer = httpx.request(method, f"{server.url}/api/status", headers={"Origin": origin})
        assert answer.status_code == 403
        assert answer.json()["error"]["code"] == "unknown_origin"
        assert "access-control-allow-origin" not in answer.headers


def test_our_own_page_is_accepted(server: Running) -> None:
    answer = httpx.get(f"{server.url}/api/status", headers={"Origin": server.url})
    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers


def test_an_allowed_origin_and_host_are_accepted(guarded: Running) -> None:
    page = {"Origin": "https://notes.example", "Host": "kb.example"}
    answer = guarded.client.get("/api/status", headers=page)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "https://notes.example"
    asking = {**page, "Access-Control-Request-Method": "POST"}
    preflight = httpx.options(f"{guarded.url}/api/search", headers=asking)
    assert preflight.status_code == 204
    assert "authorization" in preflight.headers["access-control-allow-headers"]


def test_the_token_is_required_everywhere_except_for_the_bare_page(guarded: Running) -> None:
    for path in ("/api/status", "/metrics", "/openapi.json", "/mcp", "/nowhere", "/api/documents/1/view"):
        for value in (None, "", TOKEN, f"Basic {TOKEN}", "Bearer", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}"):
            headers = {} if value is None else {"Authorization": value}
            answer = httpx.get(guarded.url + path, headers=headers)
            assert answer.status_code == 401, (path, value)
            assert answer.headers["www-authenticate"].startswith("Bearer")
    assert (
        httpx.get(f"{guarded.url}/api/status", headers={"Authorization": f"bearer {TOKEN}"}).status_code == 200
    )
    assert httpx.get(f"{guarded.url}/healthz").status_code == 200
    assert httpx.get(f"{guarded.url}/").status_code == 200
    assert raw(
        guarded, b"GET /assets/../api/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    ).startswith(b"HTTP/1.1 401")


def test_a_token_with_odd_bytes_is_refused_as_wrong(guarded: Running) -> None:
    head = b"GET /api/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    assert raw(guarded, head + b"Authorization: Bearer \xff\xfe\r\n\r\n").startswith(b"HTTP/1.1 401")


def test_a_public_server_needs_a_token() -> None:
    for host in ("0.0.0.0", "::", "192.168.1.5", "example.com"):
        with pytest.raises(ConfigError, match="token"):
            require_token(load_config({"db": "x.db", "host": host}, environ={"HOME": "/"}))
        require_token(load_config({"db": "x.db", "host": host, "token": "t"}, environ={"HOME": "/"}))
    for host in ("127.0.0.1", "localhost", "::1", "127.0.0.9"):
        require_token(load_config({"db": "x.db", "host": host}, environ={"HOME": "/"}))


WRITES = [
    ("POST", "/api/documents", {"text": "x"}),
    ("DELETE", "/api/documents/1", None),
    ("DELETE", "/api/documents/by-path?path=a.md", None),
    ("DELETE", "/api/collections/notes", None),
    ("POST", "/api/ingest", {"source": "https://example.com"}),
    ("POST", "/api/sync", {}),
    ("POST", "/api/reembed", None),
    ("DELETE", "/api/jobs/x", None),
    ("PUT", "/api/kb/file", {"path": "a.md", "text": "x"}),
    ("POST", "/api/kb/append", {"path": "a.md", "text": "x"}),
    ("POST", "/api/kb/edit", {"path": "a.md", "old": "x", "new": "y"}),
    ("POST", "/api/kb/move", {"path": "a.md", "to": "b.md"}),
    ("DELETE", "/api/kb/file?path=a.md", None),
    ("POST", "/coderag/refresh?repoPath=/x", None),
    ("POST", "/api/eval/cases", {"query": "a", "expected": ["b"]}),
    ("DELETE", "/api/eval/cases", {"query": "a", "expected": ["b"]}),
    ("POST", "/api/eval/run", None),
]


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_a_read_only_server_changes_nothing(guarded: Running, method: str, path: str, body: object) -> None:
    answer = (
        guarded.client.request(method, path, json=body)
        if body is not None
        else guarded.client.request(method, path)
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "read_only")


def test_every_writing_route_is_listed(guarded: Running) -> None:
    """Every route that is not a GET either only reads or is in the list above."""
    reading = {
        "/api/search",
        "/api/context",
        "/api/grep",
        "/api/overview",
        "/api/embed",
        "/v1/embeddings",
        "/api/kb/search",
        "/coderag/query",
    }
    described = guarded.client.get("/openapi.json").json()["paths"]
    listed = {(method, path.partition("?")[0]) for method, path, _ in WRITES}
    for path, methods in described.items():
        for method in methods:
            if method == "get" or path in reading | {"/api/chat"}:
                continue
            concrete = path.replace("{document_id}", "1").replace("{name}", "notes").replace("{job_id}", "x")
            assert (method.upper(), concrete) in listed


def test_a_read_only_server_still_reads(guarded: Running) -> None:
    assert guarded.client.post("/api/search", json={"query": "request retried"}).json()["hits"]


@pytest.mark.parametrize(
    "kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
def test_a_body_that_is_not_json_is_refused(server: Running, kind: str | None) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    answer = server.client.post("/api/search", content=b'{"query": "x"}', headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, "not_json")


def test_a_body_that_is_too_large_is_refused_before_it_is_read(server: Running) -> None:
    head = (
        f"POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {MAX_BODY_BYTES + 1}\r\n\r\n"
    )
    assert raw(server, head.encode()).startswith(b"HTTP/1.1 413")


def test_a_body_without_a_length_is_counted_while_it_arrives(server: Running) -> None:
    def chunks() -> Iterator[bytes]:
        yield b'{"query": "'
        for _ in range(MAX_BODY_BYTES // 65536 + 2):
            yield b"x" * 65536

    headers = {"Content-Type": "application/json"}
    try:
        answer = server.client.post("/api/search", content=chunks(), headers=headers)
    except (httpx.WriteError, httpx.ReadError):  # the server hung up while we were still sending
        return
    assert answer.status_code == 413


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("depth", [40, 100_000])
def test_json_that_is_nested_too_deeply_is_refused(server: Running, opening: str, depth: int) -> None:
    headers = {"Content-Type": "application/json"}
    for path in ("/api/search", "/mcp", "/api/documents"):
        answer = server.client.post(path, content=opening * depth, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_deep")


def test_brackets_inside_strings_are_not_depth(server: Running) -> None:
    assert server.client.post("/api/search", json={"query": '[{"\\' * 100}).status_code == 200


_json = st.recursive(st.none() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


def refusal(body: bytes, pieces: int = 1, **most: int) -> str:
    """Why a body of this shape is refused, when it comes in so many pieces; nothing if it is not."""
    shape = Shape(**most)
    step = max(1, len(body) // pieces)
    try:
        for start in range(0, len(body), step):
            shape.feed(body[start : start + step])
    except Refused as refused:
        return refused.code
    return ""


@given(_json, st.integers(1, 50))
def test_depth_and_values_match_a_parser_however_the_body_is_split(value: object, pieces: int) -> None:
    def depth(value: object) -> int:
        if isinstance(value, dict):
            value = list(value.values())
        return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0

    def count(value: object) -> int:
        if isinstance(value, dict):
            value = list(value.values())
        return 1 + sum(map(count, value)) if isinstance(value, list) else 1

    body = json.dumps(value).encode()
    assert (refusal(body, pieces, max_depth=2) == "too_deep") == (depth(value) > 2)
    deep = 10**6
    assert refusal(body, pieces, max_values=count(value) - 1, max_depth=deep) == "too_many_values"
    assert (
        refusal(body, pieces, max_values=2 * count(value), max_depth=deep) == ""
    )  # an empty list counts twice


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"[]," * 2_600_000,
        b"{" + b",".join(b'"a%d":1' % number for number in range(300_000)) + b"}",
        b'["' + b'","' * 2_000_000,
        b'""' * 3_000_000,
        b"{}" * 3_000_000,
    ],
    ids=["lists", "members", "strings", "bare strings", "objects"],
)
def test_a_body_of_very_many_values_is_refused_at_once(server: Running, body: bytes) -> None:
    with cpu_below(1):
        assert refusal(body) == "too_many_values"
    headers = {"Content-Type": "application/json"}
    for path in ("/api/search", "/mcp", "/coderag/query"):
        answer = server.client.post(path, content=body, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_many_values")


def test_a_long_hostile_body_is_measured_quickly() -> None:
    with cpu_below(3):
        for body in (b"[" * 30 + b'"' + b'\\"' * 4_000_000, b'"' + b"[" * 8_000_000, b'"\\' * 2_000_000):
            refusal(body)


def test_a_large_body_does_not_wait_for_slow_requests(server: Running) -> None:
    """It is counted in threads of its own, and the event loop answers others meanwhile."""
    text = json.dumps({"query": "x", "documents": [1] * 500}).ljust(100_000)
    assert server.client.post(
        "/api/search", content=text, headers={"Content-Type": "application/json"}
    ).is_success


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_json_in_another_encoding_is_refused(server: Running, encoding: str) -> None:
    """In which a character may hide what the count looks for."""
    body = ("[" + '"\u2200' * 40 + "[" * 40).encode(encoding)
    answer = server.client.post("/api/search", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, "send the JSON in UTF-8")


def test_our_own_largest_requests_stay_below_the_value_limit(server: Running) -> None:
    turns = [{"role": "user", "content": "x"}] * 1000
    answer = server.client.post("/coderag/query", json={"messages": turns})
    assert answer.status_code == 200
    assert refusal(json.dumps({"messages": turns, "documents": [*range(1000)]}).encode()) == ""
    assert refusal(json.dumps([*range(MAX_VALUES)]).encode()) == "too_many_values"


@pytest.mark.parametrize("paths", [["a" * 4000] * 100, ["*a" * 2500], ["*.py"] * 101])
def test_path_patterns_that_cost_seconds_are_refused(server: Running, paths: list[str]) -> None:
    answer = server.client.post("/api/search", json={"query": "retries", "paths": paths})
    assert answer.status_code == 422
    assert "at most" in answer.json()["error"]["message"]


def test_a_client_over_the_rate_limit_must_wait(tmp_path: Path) -> None:
    with serving(tmp_path, requests_per_minute=5) as running:
        answers = [running.client.get("/api/jobs") for _ in range(8)]
        assert [answer.status_code for answer in answers[:5]] == [200] * 5
        assert answers[-1].status_code == 429
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 12
        assert running.client.get("/healthz").status_code == 200


def test_a_request_that_never_arrives_times_out(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    from outcrop.serve.http import server as serving_module

    monkeypatch.setattr(serving_module, "READ_S", 0.3)
    monkeypatch.setattr(security, "READ_S", 0.3)
    assert raw(server, b"") == b""  # closed without a word
    assert raw(server, b"GET /healthz HT") == b""
    head = b"POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
    assert raw(server, head + b"Content-Length: 50\r\n\r\n{").startswith(b"HTTP/1.1 408")


def test_every_answer_has_the_security_headers(server: Running) -> None:
    for path in ("/", "/api/status", "/nowhere", "/healthz"):
        headers = server.client.get(path).headers
        assert headers["content-security-policy"] == CSP
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in headers
    assert server.client.get("/api/status").headers["cache-control"] == "no-store"
    refused = httpx.get(f"{server.url}/", headers={"Host": "evil.example"})
    assert refused.headers["content-security-policy"] == CSP


def test_an_unexpected_error_gives_an_id_and_the_log_has_the_rest(
    server: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise RuntimeError("secret detail /etc/shadow")

    monkeypatch.setattr(server.state.engine, "collections", broken)
    with httpx.Client(base_url=server.url) as client:
        answer = client.get("/api/collections")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    number = answer.json()["error"]["message"].rpartition(" ")[2]
    assert any(getattr(record, "error_id", None) == number for record in caplog.records)


def test_websockets_are_refused(server: Running) -> None:
    request = (
        b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGVzdA==\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=60) as connection:
        connection.sendall(request)
        assert b" 101 " not in connection.recv(100)


def test_labels_of_metrics_are_escaped() -> None:
    assert escape('a"b\\c\nd') == 'a\\"b\\\\c\\nd'


def test_the_limit_of_clients_remembered_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CLIENTS", 3)
    rate = limits.RateLimit(1)
    assert [rate.wait_s(str(number)) for number in range(10)] == [0] * 10
    assert rate.wait_s("9") > 0
    assert rate.wait_s("0") == 0  # forgotten by now
