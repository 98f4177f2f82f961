"""POST /api/chat on a real server: events as they happen, and an end when the reader leaves."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from starlette.responses import Response
from tests.chat.model_server import ModelServer, calling, failing, saying, speak_and_hang
from tests.cost import PATIENCE_S
from tests.postgres.server import create_server, open_home

from outcrop.config import load_config
from outcrop.engine import Engine
from outcrop.errors import OutcropError
from outcrop.serve.http.problems import Refused, body_of, refusal_of
from outcrop.serve.http.routes import chat as module
from outcrop.serve.http.routes.chat import chat_router

Frame = tuple[str, dict[str, Any]]


class Served:
    """The route on a port of its own."""

    def __init__(self, engine: Engine) -> None:
        self.jobs = SimpleNamespace(is_closing=False)
        state: Any = SimpleNamespace(engine=engine, config=engine.config, jobs=self.jobs)
        app = FastAPI()
        app.include_router(chat_router(state))
        app.add_exception_handler(OutcropError, lambda _, error: refuse(refusal_of(error)))
        app.add_exception_handler(Refused, lambda _, error: refuse(error))
        self.app = app
        listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}/api/chat"
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=2))
        self._thread = threading.Thread(target=self._server.run, args=([listening],))
        self._thread.start()

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join()

    def ask(self, content: str = "How often is a failed request retried?", **more: Any) -> list[Frame]:
        body = {"messages": [{"role": "user", "content": content}], **more}
        with httpx.stream("POST", self.url, json=body, timeout=PATIENCE_S) as response:
            assert response.status_code == 200
            assert response.headers["content-type"].startswith("text/event-stream")
            return read_frames("".join(response.iter_text()))


def refuse(refused: Refused) -> Response:
    return Response(body_of(refused.code, refused.message), refused.status, media_type="application/json")


def read_frames(text: str) -> list[Frame]:
    frames = []
    for block in text.strip().split("\n\n"):
        if block.startswith(":"):
            continue
        name, data = block.split("\n")
        frames.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return frames


@pytest.fixture
def served(engine: Engine) -> Iterator[Served]:
    server = Served(engine)
    yield server
    server.close()


def test_events_come_as_frames_with_what_opens_a_source(served: Served, model: ModelServer) -> None:
    model.script = [saying("Three ", "times [1]\n\nor [8].")]
    frames = served.ask()
    assert [name for name, _ in frames] == ["sources", "delta", "delta", "done"]
    source = frames[0][1]["sources"][0]
    wanted = {"number", "document_id", "path", "place", "line_start", "line_end", "page", "score", "text"}
    assert wanted <= set(source)
    assert (source["number"], source["path"]) == (1, "retries.md")
    assert frames[1:3] == [("delta", {"text": "Three "}), ("delta", {"text": "times [1]\n\nor [8]."})]
    assert frames[-1][1] == {"citations": [1], "unknown": [8], "stopped": False, "unsupported": []}


def test_tool_calls_notices_and_errors_are_events(served: Served, model: ModelServer) -> None:
    model.script = [calling({"query": "zzyzx qwfpgj"}), failing(401)]
    frames = served.ask(mode="tool", collections=["notes"], budget_tokens=500)
    assert [name for name, _ in frames] == ["tool", "notice", "error"]
    assert frames[0][1] == {"name": "search", "query": "zzyzx qwfpgj"}
    assert frames[1][1]["reason"] == "no_hits"
    assert "chat_key" in frames[2][1]["message"]


def test_an_index_that_is_damaged_while_the_server_runs_costs_the_sources_only(
    served: Served, engine: Engine, model: ModelServer
) -> None:
    served.ask()
    db = Path(str(engine.config.db))
    for file in (db, db.with_name(f"{db.name}-wal")):
        if file.exists():
            file.write_bytes(b"\xa5" * max(8192, file.stat().st_size))
    model.script = [saying("I have no sources.")]
    frames = served.ask("What is a rollback?")
    assert [data["reason"] for name, data in frames if name == "notice"] == ["error"]
    assert frames[-1][0] == "done"


def test_a_database_that_goes_away_while_the_server_runs_costs_the_sources_only(
    model: ModelServer, tmp_path: Path
) -> None:
    with open_home() as home:
        server = create_server(home, "leaving")
        config = load_config(
            {"db": server.url("chats"), "data_dir": tmp_path, "chat_model": "tiny", "chat_url": model.url},
            environ={"HOME": str(tmp_path)},
        )
        with Engine(config) as engine:
            engine._store._connections._patience_s = 0.5  # type: ignore[attr-defined]
            engine.add(text="A failed request is retried three times.", id="retries.md")
            served = Served(engine)
            try:
                assert any(name == "sources" for name, _ in served.ask())
                server.stop()
                frames = served.ask()
            finally:
                served.close()
    notices = [data for name, data in frames if name == "notice"]
    assert [notice["reason"] for notice in notices] == ["error"]
    assert "cannot be reached" in notices[0]["message"]
    assert frames[-1][0] == "done"


def test_the_first_words_are_there_while_the_model_still_writes(served: Served, model: ModelServer) -> None:
    model.script = [speak_and_hang]
    body = {"messages": [{"role": "user", "content": "hello"}], "mode": "off"}
    with httpx.stream("POST", served.url, json=body, timeout=PATIENCE_S) as response:
        text = response.iter_text()  # held: an iterator that is gone takes its connection with it
        assert read_frames(next(text)) == [("delta", {"text": "Well"})]
        assert not model.hung_up.is_set()
    assert model.hung_up.wait(PATIENCE_S), "the reader left, so the model need not go on"


def test_the_answer_ends_when_the_server_ends(served: Served, model: ModelServer) -> None:
    model.script = [speak_and_hang]
    threading.Timer(0.3, lambda: setattr(served.jobs, "is_closing", True)).start()
    assert served.ask(mode="off")[-1][1]["stopped"] is True


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": []},
        {"messages": [{"role": "user", "content": "a"}], "extra": 1},
        {"messages": [{"role": "user", "content": "a", "name": "b"}]},
        {"messages": [{"role": "tool", "content": "a"}]},
        {"messages": [{"role": "user", "content": " "}]},
        {"messages": [{"role": "assistant", "content": "a"}]},
        {"messages": [{"role": "user", "content": 3}]},
        {"messages": [{"role": "user", "content": "a"}], "mode": "magic"},
        {"messages": [{"role": "user", "content": "a"}], "budget_tokens": 0},
        {"messages": [{"role": "user", "content": "a"}] * 501},
        {"messages": [{"role": "user", "content": "a" * 100_001}]},
    ],
)
def test_a_body_that_is_no_conversation_is_refused(
    served: Served, model: ModelServer, body: dict[str, Any]
) -> None:
    assert httpx.post(served.url, json=body).status_code == 422
    assert not model.requests


def test_without_a_chat_model_it_is_503_with_what_to_do(engine: Engine) -> None:
    with Engine(load_config({"db": engine.config.db}, {})) as bare:
        served = Served(bare)
        answer = httpx.post(served.url, json={"messages": [{"role": "user", "content": "a"}]})
        served.close()
    assert answer.status_code == 503
    assert "OUTCROP_CHAT_MODEL" in answer.json()["error"]["message"]


def test_more_answers_than_there_are_places_for_are_refused_and_places_are_given_back(
    engine: Engine, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_CHATS", 1)
    served = Served(engine)
    model.script = [speak_and_hang]
    body = {"messages": [{"role": "user", "content": "a"}], "mode": "off"}
    with httpx.stream("POST", served.url, json=body, timeout=PATIENCE_S) as response:
        text = response.iter_text()  # held: an iterator that is gone takes its connection with it
        assert "Well" in next(text)
        assert httpx.post(served.url, json=body, timeout=PATIENCE_S).status_code == 429
    end = time.monotonic() + PATIENCE_S
    while httpx.post(served.url, json=body, timeout=PATIENCE_S).status_code == 429:
        assert time.monotonic() < end
        time.sleep(0.05)
    served.close()


def test_a_bug_ends_the_stream_with_an_error_and_no_detail(
    served: Served, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(engine, "context", broken)
    frames = served.ask()
    assert [name for name, _ in frames] == ["error"]
    assert "secret" not in frames[0][1]["message"]


def test_the_openapi_says_what_the_route_takes_and_gives(served: Served) -> None:
    route = served.app.openapi()["paths"]["/api/chat"]["post"]
    assert "text/event-stream" in route["responses"]["200"]["content"]
    assert {"422", "429", "503"} <= set(route["responses"])
    schema = served.app.openapi()["components"]["schemas"]["ChatBody"]
    assert schema["additionalProperties"] is False
