"""A real HTTP server that speaks the streaming chat protocol, and misbehaves on request."""

from __future__ import annotations

import json
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-very-secret-1234"
Request = dict[str, Any]


class Exchange(BaseHTTPRequestHandler):
    """What a step of the script can do with a request."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    model: ModelServer

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.model.requests.append({"path": self.path, **request})
        self.model.headers.append(dict(self.headers))
        step = self.model.script.pop(0) if self.model.script else self.model.always
        try:
            step(self, request)
        except OSError:
            self.model.hung_up.set()
            self.close_connection = True

    def start(self, status: int = 200, kind: str = "text/event-stream", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def send(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def finish_body(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def frame(self, delta: dict[str, Any], finish: str | None = None, **more: Any) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, **more}
        self.send(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")

    def wait_until_gone(self) -> None:
        """Until the client hangs up, or the test is over."""
        self.connection.settimeout(0.05)
        while not self.model.released.is_set():
            try:
                if not self.connection.recv(1):
                    self.model.hung_up.set()
                    break
            except TimeoutError:
                continue
            except OSError:
                self.model.hung_up.set()
                break
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        pass


Step = Callable[[Exchange, Request], None]


def saying(*pieces: str, finish: str = "stop", chances: Mapping[str, float] | None = None) -> Step:
    """An answer in pieces, as it should be, where `chances` are given with those of its first word."""
    told = [{"token": word, "logprob": math.log(chance)} for word, chance in (chances or {}).items()]
    more: dict[str, Any] = {"logprobs": {"content": [{"top_logprobs": told}]}} if chances else {}

    def step(exchange: Exchange, request: Request) -> None:
        exchange.start()
        exchange.frame({"role": "assistant", "content": ""})
        for piece in pieces:
            exchange.frame({"content": piece}, **more)
        exchange.frame({}, finish)
        exchange.send(b'data: {"choices": [], "usage": {"total_tokens": 9}}\n\ndata: [DONE]\n\n')
        exchange.finish_body()

    return step


def calling(*calls: str | dict[str, Any], text: str = "", name: str = "search") -> Step:
    """Calls of a tool, the arguments in small fragments."""

    def step(exchange: Exchange, request: Request) -> None:
        exchange.start()
        if text:
            exchange.frame({"content": text})
        for index, call in enumerate(calls):
            arguments = call if isinstance(call, str) else json.dumps(call)
            head = {
                "index": index,
                "id": f"call-{index}",
                "type": "function",
                "function": {"name": name, "arguments": ""},
            }
            exchange.frame({"tool_calls": [head]})
            for at in range(0, len(arguments), 7):
                fragment = {"index": index, "function": {"arguments": arguments[at : at + 7]}}
                exchange.frame({"tool_calls": [fragment]})
        exchange.frame({}, "tool_calls")
        exchange.send(b"data: [DONE]\n\n")
        exchange.finish_body()

    return step


def failing(status: int, message: str = "no", **headers: str) -> Step:
    """An error with its explanation."""

    def step(exchange: Exchange, request: Request) -> None:
        exchange.start(status, "application/json", **headers)
        exchange.send(json.dumps({"error": {"message": message, "code": None}}).encode())
        exchange.finish_body()

    return step


def raw(*blocks: bytes, kind: str = "text/event-stream", whole: bool = True) -> Step:
    """Bytes as they are; not `whole`: the connection ends before the body does."""

    def step(exchange: Exchange, request: Request) -> None:
        exchange.start(200, kind)
        for block in blocks:
            exchange.send(block)
        if whole:
            exchange.finish_body()
        exchange.close_connection = True

    return step


def hang(exchange: Exchange, request: Request) -> None:
    """Not a word."""
    exchange.wait_until_gone()


def speak_and_hang(exchange: Exchange, request: Request) -> None:
    """A word, then nothing."""
    exchange.start()
    exchange.frame({"content": "Well"})
    exchange.wait_until_gone()


def ping_forever(exchange: Exchange, request: Request) -> None:
    """Only comments that keep the connection open."""
    exchange.start()
    while not exchange.model.released.is_set():
        exchange.send(b": still here\n\n")
        time.sleep(0.02)


def talk_forever(exchange: Exchange, request: Request) -> None:
    """An answer without an end."""
    exchange.start()
    while not exchange.model.released.is_set():
        exchange.frame({"content": "and on " * 200})


def reset(exchange: Exchange, request: Request) -> None:
    """The connection breaks before there is an answer."""
    linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
    exchange.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    exchange.connection.shutdown(socket.SHUT_RDWR)
    exchange.close_connection = True


@dataclass
class ModelServer:
    """Follows its script, then always does the same; remembers what it was asked."""

    url: str = ""
    script: list[Step] = field(default_factory=list)
    always: Step = field(default_factory=lambda: saying("All ", "right."))
    requests: list[Request] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    hung_up: threading.Event = field(default_factory=threading.Event)

    def sent(self, at: int = -1) -> list[dict[str, Any]]:
        """The messages of a request."""
        messages: list[dict[str, Any]] = self.requests[at]["messages"]
        return messages


@contextmanager
def running() -> Iterator[ModelServer]:
    """A server on a free port."""
    model = ModelServer()
    handler = type("Handler", (Exchange,), {"model": model})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    model.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield model
    finally:
        model.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
