"""The remote embedder against a real server that speaks the protocol, and misbehaves on request."""

from __future__ import annotations

import base64
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from outcrop.config import load_config
from outcrop.contracts import Embedder
from outcrop.embed.openai import OpenAIEmbedder
from outcrop.engine import Engine
from outcrop.errors import ConfigError, EmbedError, OutcropError
from outcrop.records import Model

KEY = "sk-very-secret-1234"
Answer = tuple[int, dict[str, str], bytes]


def vector_of(text: str, dimensions: int = 4) -> list[float]:
    return [float(len(text)), float(ord(text[0])), *[1.0] * (dimensions - 2)]


def embeddings(request: dict[str, Any], dimensions: int = 4) -> Answer:
    """A right answer, in the wrong order."""
    items: list[dict[str, Any]] = []
    for index, text in enumerate(request["input"]):
        vector: Any = vector_of(text, dimensions)
        if request["encoding_format"] == "base64":
            vector = base64.b64encode(np.array(vector, "<f4").tobytes()).decode()
        items.insert(0, {"index": index, "embedding": vector})
    return 200, {}, json.dumps({"data": items}).encode()


def failing(status: int, message: str = "no", **headers: str) -> Answer:
    return status, headers, json.dumps({"error": {"message": message, "code": None}}).encode()


@dataclass
class Server:
    """Answers with the scripted answers first, then rightly; remembers what it was asked."""

    url: str = ""
    script: list[Answer | Callable[[dict[str, Any]], Answer] | str] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    connections: set[Any] = field(default_factory=set)
    always: Callable[[dict[str, Any]], Answer] = embeddings
    released: threading.Event = field(default_factory=threading.Event)


def handler_for(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.requests.append({"path": self.path, **request})
            server.headers.append(dict(self.headers))
            server.connections.add(self.client_address)
            step = server.script.pop(0) if server.script else server.always
            if step == "hang":
                server.released.wait(10)
                self.close_connection = True
            elif step == "reset":
                linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
            elif step == "cut":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{")
                self.close_connection = True
            elif step == "drip":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n")
                while not server.released.wait(0.05):
                    self.wfile.write(b" ")
                self.close_connection = True
            elif step == "close":
                self.reply(embeddings(request))
                self.close_connection = True
            else:
                assert not isinstance(step, str)
                self.reply(step if isinstance(step, tuple) else step(request))

        def reply(self, answer: Answer) -> None:
            status, headers, body = answer
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler_for(state))
    http.daemon_threads = True
    http.handle_error = lambda request, client_address: None  # type: ignore[method-assign]
    thread = threading.Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    state.url = f"http://127.0.0.1:{http.server_port}/v1"
    yield state
    state.released.set()
    http.shutdown()
    thread.join()
    http.server_close()


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def connect(server: Server, waits: list[float]) -> Iterator[Callable[..., OpenAIEmbedder]]:
    made: list[OpenAIEmbedder] = []

    def build(**options: Any) -> OpenAIEmbedder:
        options = {"dimensions": None, "sleep": waits.append, **options}
        made.append(OpenAIEmbedder("m", server.url, KEY, **options))
        return made[-1]

    yield build
    for embedder in made:
        embedder.close()


Connect = Callable[..., OpenAIEmbedder]


def unit(text: str) -> np.ndarray[Any, Any]:
    vector = np.array(vector_of(text))
    return np.asarray(vector / np.linalg.norm(vector))


@pytest.mark.parametrize("encoding", ["float", "base64"])
def test_rows_come_back_in_order_at_unit_length_over_one_connection(
    server: Server, connect: Connect, encoding: str
) -> None:
    options = {"batch_texts": 2, "encoding": encoding, "document_prefix": "d: ", "query_prefix": "q: "}
    embedder: Embedder = connect(**options)
    rows = embedder.embed_documents(["a", "bb", "ccc", "dddd", "eeeee"])
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [unit("d: " + t) for t in ("a", "bb", "ccc", "dddd", "eeeee")], rtol=1e-6)
    np.testing.assert_allclose(embedder.embed_query("why"), unit("q: why"), rtol=1e-6)
    np.testing.assert_allclose(embedder.embed_paths(["a/b/c/d.py"])[0], unit("d: b c d"), rtol=1e-6)
    assert [request["input"] for request in server.requests] == [
        ["d: a", "d: bb"],
        ["d: ccc", "d: dddd"],
        ["d: eeeee"],
        ["q: why"],
        ["d: b c d"],
    ]
    assert {request["path"] for request in server.requests} == {"/v1/embeddings"}
    assert {request["model"] for request in server.requests} == {"m"}
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert len(server.connections) == 1
    assert embedder.path_weight == 0.5


def test_a_batch_is_bounded_by_its_estimated_tokens(server: Server, connect: Connect) -> None:
    connect(batch_tokens=10).embed_documents(["x" * 20, "y" * 10, "z" * 10, "w" * 90])
    assert [len(request["input"]) for request in server.requests] == [2, 1, 1]


def test_texts_of_whitespace_are_not_sent_and_have_zero_rows(server: Server, connect: Connect) -> None:
    rows = connect().embed_documents(["", "a", " \n"])
    assert rows.any(axis=1).tolist() == [False, True, False]
    assert [request["input"] for request in server.requests] == [["a"]]
    assert connect(dimensions=4).embed_query("").tolist() == [0, 0, 0, 0]
    assert connect().embed_documents([]).shape == (0, 4)


def test_the_model_is_named_by_endpoint_name_prefix_and_dimensions(server: Server, connect: Connect) -> None:
    model = connect().model
    assert (model.name, model.dimensions) == ("openai:m", 4)
    assert connect(query_prefix="other").model == model
    assert connect(document_prefix="other").model != model
    server.always = lambda request: embeddings(request, request.get("dimensions", 4))
    smaller = connect(dimensions=3)
    assert smaller.embed_documents(["a"]).shape == (1, 3)
    assert smaller.model.version != model.version
    elsewhere = OpenAIEmbedder("m", "https://embed.example/v1", KEY, dimensions=4)
    assert elsewhere.model.version != connect(dimensions=4).model.version


def test_too_many_requests_waits_as_long_as_the_server_says(
    server: Server, connect: Connect, waits: list[float]
) -> None:
    server.script = [failing(429, Retry_After="7"), failing(503, Retry_After=formatdate(time.time() + 30))]
    assert connect().embed_documents(["a"]).shape == (1, 4)
    assert waits[0] == 7
    assert 25 < waits[1] <= 30


def test_a_server_that_asks_for_too_long_a_wait_is_not_waited_for(
    server: Server, connect: Connect, waits: list[float]
) -> None:
    server.script = [failing(429, "slow down", Retry_After="3600")]
    with pytest.raises(EmbedError, match="slow down; it asks to wait 3600 s"):
        connect().embed_documents(["a"])
    assert waits == []


def test_a_used_up_quota_is_not_tried_again(server: Server, connect: Connect) -> None:
    body = {"error": {"message": "pay first", "code": "insufficient_quota"}}
    server.script = [(429, {}, json.dumps(body).encode())]
    with pytest.raises(EmbedError, match="quota"):
        connect().embed_documents(["a"])
    assert len(server.requests) == 1


def test_server_errors_are_tried_again_with_growing_jittered_delays(
    server: Server, connect: Connect, waits: list[float]
) -> None:
    server.script = [failing(500), failing(502), failing(500)]
    assert connect().embed_documents(["a"]).shape == (1, 4)
    assert [0.25 <= waits[0] <= 0.5, 0.5 <= waits[1] <= 1, 1 <= waits[2] <= 2] == [True] * 3


def test_a_server_that_never_recovers_is_given_up(server: Server, connect: Connect, waits: list[float]) -> None:
    server.always = lambda request: failing(500, "out of order")
    with pytest.raises(EmbedError, match="after 3 attempts: 500: out of order"):
        connect(max_retries=2).embed_documents(["a"])
    assert (len(server.requests), len(waits)) == (3, 2)


@pytest.mark.parametrize("fault", ["reset", "cut"])
def test_a_broken_connection_is_tried_again(
    server: Server, connect: Connect, waits: list[float], fault: str
) -> None:
    server.script = [fault]
    assert connect().embed_documents(["a"]).shape == (1, 4)
    assert len(waits) == 1


def test_a_kept_connection_the_server_has_closed_is_replaced_at_once(
    server: Server, connect: Connect, waits: list[float]
) -> None:
    server.script = ["close"]
    embedder = connect()
    embedder.embed_documents(["a"])
    time.sleep(1)  # the server's end is here by then, on a busy machine too
    embedder.embed_documents(["b"])
    assert waits == []
    assert len(server.connections) == 2


@pytest.mark.parametrize("fault", ["hang", "drip"])
def test_a_server_that_hangs_or_drips_runs_into_the_time_limit(
    server: Server, connect: Connect, fault: str
) -> None:
    server.script = [fault]
    with pytest.raises(EmbedError, match=r"no answer within 0\.3 s"):
        connect(timeout_s=0.3, max_retries=0).embed_documents(["a"])


def test_nobody_listening_is_an_error_that_says_what_to_do(waits: list[float]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
    embedder = OpenAIEmbedder("m", url, KEY, dimensions=None, max_retries=1, sleep=waits.append)
    with pytest.raises(EmbedError, match="Check that it is running"):
        embedder.embed_query("a")


def test_a_batch_that_is_too_long_is_halved_until_it_fits(server: Server, connect: Connect) -> None:
    def at_most_two(request: dict[str, Any]) -> Answer:
        return failing(413, "too long") if len(request["input"]) > 2 else embeddings(request)

    server.always = at_most_two
    texts = ["a", "bb", "ccc", "dddd", "eeeee", "ffffff", "ggggggg"]
    np.testing.assert_allclose(connect().embed_documents(texts), [unit(text) for text in texts], rtol=1e-6)


def test_a_single_text_that_is_refused_is_named(server: Server, connect: Connect) -> None:
    def refusing(request: dict[str, Any]) -> Answer:
        long = any(len(text) > 100 for text in request["input"])
        return failing(400, "maximum context length") if long else embeddings(request)

    server.always = refusing
    with pytest.raises(
        EmbedError, match=r"refused text 4 \(150 characters, beginning 'xxx.*smaller chunk_tokens"
    ):
        connect().embed_documents(["a", "", "b", "x" * 150, "c"])


def test_a_model_that_changes_its_dimensions_is_refused_forever_after(server: Server, connect: Connect) -> None:
    embedder = connect()
    embedder.embed_documents(["a"])
    server.script = [lambda request: embeddings(request, 5)]
    with pytest.raises(EmbedError, match="5 dimensions instead of 4"):
        embedder.embed_documents(["a"])
    with pytest.raises(EmbedError, match="4 dimensions instead of 6"):
        connect(dimensions=6).embed_query("a")


@pytest.mark.parametrize(
    "body",
    [
        b"<html>hello</html>",
        b"[]",
        b'{"data": null}',
        b'{"data": [1]}',
        b'{"data": []}',
        b'{"data": [{"index": 0, "embedding": "%%%"}]}',
        b'{"data": [{"index": 0, "embedding": [[1, 2]]}]}',
        b'{"data": [{"index": 0, "embedding": []}]}',
        b'{"data": [{"index": 0, "embedding": ["x"]}]}',
        b'{"data": [{"index": 1, "embedding": [1, 2]}]}',
        b'{"data": [{"index": "0", "embedding": [1, 2]}]}',
        b'{"data": [{"index": 0, "embedding": [NaN, 2]}]}',
    ],
)
def test_an_answer_that_makes_no_sense_is_an_embed_error(server: Server, connect: Connect, body: bytes) -> None:
    server.script = [(200, {}, body)]
    with pytest.raises(EmbedError):
        connect().embed_documents(["a"])
    assert len(server.requests) == 1


def test_an_answer_without_indexes_is_read_in_order(server: Server, connect: Connect) -> None:
    server.script = [(200, {}, b'{"data": [{"embedding": [3, 0]}, {"embedding": [0, 4]}]}')]
    assert connect().embed_documents(["a", "b"]).tolist() == [[1, 0], [0, 1]]


def test_redirects_are_not_followed(server: Server, connect: Connect) -> None:
    server.script = [(302, {"Location": f"{server.url}/elsewhere"}, b"")]
    with pytest.raises(EmbedError, match="redirects"):
        connect().embed_documents(["a"])
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
def test_the_key_is_in_no_message_repr_or_log(
    server: Server, connect: Connect, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    caplog.set_level(logging.DEBUG)
    server.always = lambda request: failing(
        status, f"bad key {KEY} or {KEY[:8]}" if status in (401, 403) else KEY
    )
    embedder = connect(max_retries=1)
    with pytest.raises(EmbedError) as caught:
        embedder.embed_documents(["a"])
    error: BaseException | None = caught.value
    while error is not None:
        assert KEY[:8] not in f"{error} {error!r}"
        error = error.__cause__ or error.__context__
    assert KEY not in repr(embedder)
    assert KEY not in " ".join(str(vars(record)) for record in caplog.records)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://embed.example/v1", KEY),
        ("ftp://embed.example", ""),
        ("embed.example/v1", ""),
        ("https://", ""),
        ("https://user:pw@embed.example/v1", ""),
        ("https://embed.example:port/v1", ""),
        ("https://embed.example/v1?key=1", ""),
        ("https://embed.example/v 1", ""),
        ("https://embed.example/v1", f"{KEY}\nX: y"),
        ("https://embed.example/v1", f"{KEY}é"),
    ],
)
def test_an_unsafe_or_malformed_address_or_key_is_refused_before_anything_is_sent(url: str, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        OpenAIEmbedder("m", url, key, dimensions=4)
    assert isinstance(caught.value, OutcropError)
    assert KEY not in str(caught.value)
    assert "pw" not in str(caught.value)


def test_plain_http_is_fine_without_a_key_or_on_this_machine() -> None:
    for url, key in (
        ("http://embed.example/v1", ""),
        ("http://localhost:1234/v1/", KEY),
        ("http://[::1]:1234/v1", KEY),
        ("http://127.0.0.2/v1", KEY),
    ):
        OpenAIEmbedder("m", url, key, dimensions=4)


def test_many_threads_share_one_embedder(server: Server, connect: Connect) -> None:
    embedder = connect(batch_texts=3)
    texts = [chr(97 + number) * (number + 1) for number in range(10)]
    expected = np.array([unit(text) for text in texts])
    wrong: list[int] = []

    def work(number: int) -> None:
        if not np.allclose(embedder.embed_documents(texts), expected, rtol=1e-6):
            wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(server.requests) == 24


def test_an_index_knows_the_dimensions_of_its_remote_model(server: Server, tmp_path: Path) -> None:
    """The endpoint is asked for them once for an index, not with each command."""
    config = load_config(
        {"db": tmp_path / "i.db", "model": "openai:small", "embed_url": server.url, "embed_key": "k"},
        environ={},
    )
    with Engine(config) as engine:
        engine.add(text="The canteen serves soup on Mondays.")
    asked = len(server.requests)
    for _ in range(3):
        with Engine(config) as engine:
            assert engine.parts.embedder.model.dimensions == 4
            assert engine.search("soup", mode="keyword").hits
    assert len(server.requests) == asked


def test_the_dimensions_of_another_model_are_not_taken_from_the_index(server: Server, connect: Connect) -> None:
    embedder = connect()
    embedder.recall(Model("openai:m", "another version", 7))
    embedder.recall(Model("static", "1", 256))
    assert embedder.model.dimensions == 4
    changed = connect()
    changed.recall(Model(embedder.model.name, embedder.model.version, 8))
    assert changed.model.dimensions == 8
    with pytest.raises(EmbedError, match="8"):  # the endpoint answers four by now
        changed.embed_documents(["a text"])
