"""Every way an endpoint can fail is one clear message, soon, and without the key."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from dataclasses import replace
from typing import Any

import pytest
from tests.chat.model_server import (
    KEY,
    ModelServer,
    Step,
    calling,
    failing,
    hang,
    ping_forever,
    raw,
    reset,
    saying,
    speak_and_hang,
    talk_forever,
)
from tests.cost import PATIENCE_S

from outcrop.chat import endpoint as module
from outcrop.chat.endpoint import Begun, ChatEndpoint, Ended, Limits, ToolsRefused
from outcrop.errors import Cancelled, ChatError, ConfigError

LIMITS = Limits(
    first_token_s=PATIENCE_S,
    idle_s=PATIENCE_S,
    total_s=2 * PATIENCE_S,
    line_bytes=20_000,
    total_bytes=200_000,
)
MESSAGES = [{"role": "user", "content": "Hello?"}]


@pytest.fixture(autouse=True)
def short_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RETRY_DELAY_S", 0.01)


def stream(model: ModelServer, limits: Limits = LIMITS, **options: Any) -> list[str | Begun | Ended]:
    return list(ChatEndpoint("tiny", model.url, KEY, limits).stream(MESSAGES, **options))


def failure(model: ModelServer, *script: Step, limits: Limits = LIMITS, **options: Any) -> str:
    """The message of the error that a script leads to; it and the log never hold the key."""
    model.script = list(script)
    with pytest.raises(ChatError) as caught:
        stream(model, limits, **options)
    assert KEY not in str(caught.value)
    return str(caught.value)


# ------------------------------------------------------------------ as it should be


def test_text_comes_as_it_is_sent_and_then_how_it_ended(model: ModelServer) -> None:
    model.script = [saying("Hel", "lo ", "wörld")]
    assert stream(model) == ["Hel", "lo ", "wörld", Ended("stop", ())]
    assert model.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert model.headers[0]["Accept"] == "text/event-stream"


def test_the_first_word_is_there_before_the_last_is_sent(model: ModelServer) -> None:
    model.script = [speak_and_hang]
    answer = ChatEndpoint("tiny", model.url, limits=LIMITS).stream(MESSAGES)
    assert next(answer) == "Well"
    answer.close()
    assert model.hung_up.wait(PATIENCE_S)


def test_an_answer_that_is_not_streamed_is_read_too(model: ModelServer) -> None:
    body = b'{"choices": [\n{"message": {"role": "assistant", "content": "All at once."}}\n]}'
    model.script = [raw(body[:20], body[20:], kind="application/json; charset=utf-8")]
    assert stream(model) == ["All at once.", Ended("stop", ())]


def test_crlf_comments_other_fields_and_reasoning_are_skipped(model: ModelServer) -> None:
    model.script = [
        raw(
            b": ping\r\n\r\nevent: message\r\nid: 1\r\nretry: 5\r\n",
            b'data:{"choices": [{"delta": {"reasoning_content": "Hm."}}]}\r\n\r\n',
            b'data: {"choices": [{"delta":\r\ndata: {"content": "Two lines"}}]}\r\n\r\n',
            b'data: {"choices": [{"delta": null, "finish_reason": "stop"}]}\n\n',
            b'data: {"choices": [], "usage": {}}',  # neither an empty line nor [DONE]
        )
    ]
    assert stream(model) == ["Two lines", Ended("stop", ())]


def test_frames_may_be_cut_anywhere(model: ModelServer) -> None:
    whole = 'data: {"choices": [{"delta": {"content": "Grüße 🙂"}}]}\n\ndata: [DONE]\n\n'.encode()
    model.script = [raw(*(whole[at : at + 1] for at in range(len(whole))))]
    assert stream(model) == ["Grüße 🙂", Ended("stop", ())]


def test_a_lone_surrogate_is_sent_as_a_question_mark(model: ModelServer) -> None:
    list(ChatEndpoint("tiny", model.url).stream([{"role": "user", "content": "a\ud83d"}]))
    assert model.sent()[0]["content"] == "a?"


# ------------------------------------------------------------------ refused


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_reported_without_the_servers_words(model: ModelServer, status: int) -> None:
    said = failure(model, failing(status, f"Incorrect API key: {KEY[:8]}***"))
    assert "chat_key" in said
    assert KEY[:8] not in said


@pytest.mark.parametrize(
    ("status", "told"),
    [(404, "chat_model"), (400, "check chat_model"), (413, "chat_window_tokens"), (302, "not followed")],
)
def test_a_refusal_tells_what_to_check_and_is_not_repeated(model: ModelServer, status: int, told: str) -> None:
    said = failure(model, failing(status, f"because of {KEY}", Location="http://127.0.0.1:9/v1"))
    assert told in said
    assert len(model.requests) == 1


def test_refused_tools_raise_an_error_of_their_own(model: ModelServer) -> None:
    model.script = [failing(400, "no tools")]
    with pytest.raises(ToolsRefused):
        stream(model, options={"tools": []})


@pytest.mark.parametrize("trouble", [failing(429), failing(500), failing(503, Retry_After="0"), reset])
def test_a_temporary_failure_is_tried_once_more(model: ModelServer, trouble: Step) -> None:
    model.script = [trouble]
    assert stream(model)[:-1] == ["All ", "right."]
    assert "503: overloaded" in failure(model, trouble, failing(503, "overloaded"))
    assert len(model.requests) == 4


def test_a_long_retry_after_is_reported_instead_of_waited_for(model: ModelServer) -> None:
    assert "asks to wait 60 s" in failure(model, failing(429, Retry_After="60"))
    assert len(model.requests) == 1


def test_a_quota_that_is_used_up_is_not_tried_again(model: ModelServer) -> None:
    assert "quota" in failure(model, failing(429, "insufficient_quota"))
    assert len(model.requests) == 1


def test_an_endpoint_that_cannot_be_reached_is_an_error_that_says_so() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        with pytest.raises(ChatError, match=r"cannot be reached.*ollama serve"):
            list(ChatEndpoint("tiny", f"http://127.0.0.1:{port}/v1").stream(MESSAGES))
    with pytest.raises(ChatError, match="cannot be reached"):
        list(ChatEndpoint("tiny", "http://no-such-host.invalid/v1").stream(MESSAGES))


def test_a_plain_http_server_behind_an_https_url_cannot_be_reached(model: ModelServer) -> None:
    with pytest.raises(ChatError, match="cannot be reached"):
        list(ChatEndpoint("tiny", model.url.replace("http:", "https:"), KEY, LIMITS).stream(MESSAGES))


# ------------------------------------------------------------------ broken off


def test_a_connection_that_breaks_in_the_middle_is_an_error(model: ModelServer) -> None:
    word = b'data: {"choices": [{"delta": {"content": "Well"}}]}\n\n'
    assert "in the middle" in failure(model, raw(word, whole=False))
    assert "in the middle" in failure(model, raw(word))
    assert len(model.requests) == 2, "what was begun is not said twice"


@pytest.mark.parametrize(
    "frame",
    [
        b"data: {not json\n\n",
        b"data: []\n\n",
        b'data: {"choices": 3}\n\n',
        b'data: {"choices": [3]}\n\n',
        b'data: {"choices": [{"delta": "x"}]}\n\n',
        b'data: {"choices": [{"delta": {"content": {"a": 1}}}]}\n\n',
        b'data: {"choices": [{"delta": {"tool_calls": {"a": 1}}}]}\n\n',
        b'data: {"choices": [{"delta": {"tool_calls": [{"function": "x"}]}}]}\n\n',
        b"data: \xff\xfe\n\n",
        b"data: " + b"[" * 15_000 + b"\n\n",
    ],
)
def test_a_malformed_frame_ends_the_answer(model: ModelServer, frame: bytes) -> None:
    assert "no chat completion" in failure(model, raw(frame, b"data: [DONE]\n\n"))


def test_an_error_within_the_stream_is_reported_without_the_key(model: ModelServer) -> None:
    said = failure(model, raw(f'data: {{"error": {{"message": "out of memory {KEY}"}}}}\n\n'.encode()))
    assert "out of memory ***" in said


@pytest.mark.parametrize("kind", ["text/html", "text/event-stream"])
def test_a_web_page_instead_of_a_stream_points_at_the_url(model: ModelServer, kind: str) -> None:
    assert "usually ends in /v1" in failure(model, raw(b"<html>\nWelcome\n</html>\n", kind=kind))


def test_a_stream_that_ends_before_it_began_is_tried_once_more(model: ModelServer) -> None:
    empty = raw(b'data: {"choices": [{"delta": {"role": "assistant"}}]}\n\n')
    model.script = [empty]
    assert stream(model)[0] == "All "
    assert "before the answer began" in failure(model, empty, empty)


# ------------------------------------------------------------------ without end


@pytest.mark.parametrize("step", [hang, ping_forever])
def test_a_silent_server_is_given_up_at_the_deadline(model: ModelServer, step: Step) -> None:
    assert "said nothing within 0.5 s" in failure(model, step, limits=replace(LIMITS, first_token_s=0.5))
    assert model.hung_up.wait(PATIENCE_S)


def test_a_server_that_falls_silent_in_the_middle_is_given_up(model: ModelServer) -> None:
    assert "stopped in the middle" in failure(model, speak_and_hang, limits=replace(LIMITS, idle_s=0.4))
    assert model.hung_up.wait(PATIENCE_S)


def test_a_server_that_never_ends_is_cut_off(model: ModelServer) -> None:
    assert "more than any answer needs" in failure(model, talk_forever)
    assert model.hung_up.wait(PATIENCE_S)


@pytest.mark.parametrize(
    "blocks", [[b"data: " + b"x" * 30_000], [b"data: " + b"x" * 9_000 + b"\n"] * 3, [b"x" * 210_000 + b"\n"]]
)
def test_lines_and_frames_that_are_too_long_are_cut_off(model: ModelServer, blocks: list[bytes]) -> None:
    assert "more than any answer needs" in failure(model, raw(*blocks))


def test_an_answer_that_takes_too_long_in_all_is_cut_off(model: ModelServer) -> None:
    def drip(exchange: Any, request: Any) -> None:
        exchange.start()
        while not exchange.model.released.wait(0.05):
            exchange.frame({"content": "x"})

    assert "more than 0.6 s in all" in failure(model, drip, limits=replace(LIMITS, total_s=0.6))


def test_a_stop_is_noticed_during_the_pause_before_a_retry(
    model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_RETRY_DELAY_S", 1000.0)
    monkeypatch.setattr(module, "_LONGEST_DELAY_S", 1000.0)
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    model.script = [failing(503)]
    with pytest.raises(Cancelled):
        stream(model, stopped=stop.is_set)


def test_no_thread_is_left_behind(model: ModelServer) -> None:
    for step in (hang, speak_and_hang, talk_forever, failing(500), saying("x"), calling("{}")):
        model.script = [step]
        hasty = replace(LIMITS, first_token_s=0.5)
        answer = ChatEndpoint("tiny", model.url, limits=hasty).stream(MESSAGES, stopped=None)
        with contextlib.suppress(ChatError):
            next(answer, None)
        answer.close()
    model.released.set()
    until = time.monotonic() + 60
    while any(thread.name == "outcrop-chat" for thread in threading.enumerate()):
        assert time.monotonic() < until
        time.sleep(0.02)


# ------------------------------------------------------------------ settings


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("ftp://host/v1", ""),
        ("nonsense", ""),
        ("http://user:pass@127.0.0.1/v1", ""),
        ("http://10.0.0.1/v1", KEY),
        ("https://host/v1", "two words"),
    ],
)
def test_a_url_or_key_that_cannot_be_used_is_refused_without_repeating_it(url: str, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ChatEndpoint("tiny", url, key)
    assert "pass" not in str(caught.value).replace("password", "")
    assert KEY not in str(caught.value)


def test_the_key_is_in_no_log_and_no_repr(model: ModelServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    failure(model, failing(500, f"you sent {KEY}"), failing(500, f"you sent {KEY}"))
    logged = [str(vars(record)) for record in caplog.records]
    assert any("trying again" in line for line in logged)
    assert not any(KEY in line for line in logged)
    assert KEY not in repr(ChatEndpoint("tiny", model.url, KEY))
