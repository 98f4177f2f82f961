"""Grounded chat over a real index and a real server: what the model gets, and what the reader gets."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.chat.model_server import ModelServer, calling, failing, hang, raw, saying, speak_and_hang
from tests.cost import PATIENCE_S

from outcrop.chat import (
    Chat,
    Delta,
    Done,
    Event,
    Failed,
    Notice,
    Source,
    Sources,
    ToolCall,
    event_name,
    open_chat,
)
from outcrop.chat.ask import MAX_ROUNDS
from outcrop.chat.rules import EXAMPLES, NOT_STATED, RULES
from outcrop.config import load_config
from outcrop.engine import Engine
from outcrop.errors import ConfigError, QueryError, StoreError
from outcrop.records import Message, Model

QUESTION = "How often is a failed request retried?"


def ask(engine: Engine, *said: str, **options: Any) -> list[Event]:
    """The events of a question after alternate turns."""
    roles = ("user", "assistant")
    messages = [Message(roles[at % 2], text) for at, text in enumerate(said or (QUESTION,))]
    return list(open_chat(engine).ask(messages, **options))


def text_of(events: Iterable[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Delta))


def sources_of(events: Iterable[Event]) -> list[Source]:
    """Those of the last such event, which has all."""
    shown = [event.sources for event in events if isinstance(event, Sources)]
    return list(shown[-1]) if shown else []


def notices_of(events: Iterable[Event]) -> list[Notice]:
    return [event for event in events if isinstance(event, Notice)]


# ------------------------------------------------------------------ context


def test_sources_stand_before_the_question_and_citations_lead_to_them(
    engine: Engine, model: ModelServer
) -> None:
    model.script = [saying("Three ", "times [1", "].")]
    events = ask(engine)
    assert isinstance(events[0], Sources)
    first = events[0].sources[0]
    assert (first.number, first.path, first.collection) == (1, "retries.md", "notes")
    assert "retried three times" in first.text
    assert first.line_start <= 3 <= first.line_end
    assert 0 < first.score <= 1
    assert engine.text(first.document_id)[first.start : first.end] == first.text
    assert text_of(events) == "Three times [1]."
    assert events[-1] == Done(citations=(1,))
    request = model.requests[0]
    assert (request["path"], request["model"], request["stream"]) == ("/v1/chat/completions", "tiny", True)
    assert "tools" not in request
    system, *shots, user = model.sent()
    assert system == {"role": "system", "content": RULES}
    assert [message["content"] for message in shots] == [text for one in EXAMPLES for text in one]
    assert user["content"].index("retried three times") < user["content"].index(QUESTION)
    assert (request["temperature"], request["logprobs"]) == (0, True)


def test_a_follow_up_is_searched_with_what_it_refers_to(engine: Engine, model: ModelServer) -> None:
    ask(engine, "How do I roll back a release?", "By the deploy script.", "and which tag does it need?")
    assert "previous tag" in model.sent()[-1]["content"]
    turns = model.sent()[1 + 2 * len(EXAMPLES) :]
    assert [message["role"] for message in turns] == ["user", "assistant", "user"]
    assert turns[0]["content"] == "How do I roll back a release?"


def test_citations_of_sources_that_do_not_exist_are_listed_as_unknown(
    engine: Engine, model: ModelServer
) -> None:
    model.script = [saying("So [1], so [77].")]
    assert ask(engine)[-1] == Done(citations=(1,), unknown=(77,))


def test_when_the_answer_is_probably_not_here_the_reader_is_told(engine: Engine, model: ModelServer) -> None:
    model.script = [saying(f"{NOT_STATED}.")]
    events = ask(engine, "Which three wines go with the previous course of a long dinner?")
    assert sources_of(events)
    assert [notice.message.startswith("Probably not here") for notice in notices_of(events)] == [True]
    assert text_of(events) == "The documents do not say."


def test_when_nothing_is_found_both_the_model_and_the_reader_are_told(
    engine: Engine, model: ModelServer
) -> None:
    model.script = [saying("The documents do not tell.")]
    events = ask(engine, "zzyzx qwfpgj?")
    assert [notice.reason for notice in notices_of(events)] == ["no_hits"]
    assert not sources_of(events)
    assert "There are no sources" in model.sent()[-1]["content"]
    assert f"{NOT_STATED}." in model.sent()[0]["content"]
    assert events[-1] == Done()


def test_an_empty_index_is_a_notice(tmp_path: Path, model: ModelServer) -> None:
    with Engine(
        load_config({"db": tmp_path / "new.db", "chat_model": "m", "chat_url": model.url}, {})
    ) as engine:
        events = ask(engine)
    assert [notice.reason for notice in notices_of(events)] == ["empty_index"]
    assert "outcrop add" in notices_of(events)[0].message
    assert isinstance(events[-1], Done)


class Renamed:
    """The model that ships, under another name."""

    def __init__(self, engine: Engine) -> None:
        self._inner = engine.parts.embedder
        self.model = Model("other", "1", self._inner.model.dimensions)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def test_vectors_of_another_model_are_a_notice(engine: Engine, model: ModelServer) -> None:
    with Engine(engine.config, embedder=Renamed(engine)) as other:
        found, nothing = ask(other), ask(other, "zzyzx qwfpgj?")
    assert sources_of(found)  # by their words
    for events in (found, nothing):
        assert [notice.reason for notice in notices_of(events)] == ["model_mismatch"]
        assert re.search("re-?embed", notices_of(events)[0].message)
        assert isinstance(events[-1], Done)


@pytest.mark.parametrize("error", [StoreError("the disk is gone"), QueryError("odd")])
def test_a_chat_goes_on_when_retrieval_fails(
    engine: Engine, model: ModelServer, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(engine, "context", broken)
    events = ask(engine)
    assert [notice.reason for notice in notices_of(events)] == ["error"]
    assert str(error) in notices_of(events)[0].message
    assert text_of(events) == "All right."
    assert isinstance(events[-1], Done)


def test_an_unknown_collection_is_a_notice_and_the_chat_goes_on(engine: Engine) -> None:
    events = ask(engine, collections=("note",))
    assert "did you mean 'notes'" in notices_of(events)[0].message
    assert isinstance(events[-1], Done)


def test_a_message_without_words_is_answered_without_a_search(engine: Engine, model: ModelServer) -> None:
    events = ask(engine, "?!")
    assert [notice.reason for notice in notices_of(events)] == ["empty_query"]
    assert isinstance(events[-1], Done)


def test_sources_keep_to_the_budget(engine: Engine, model: ModelServer) -> None:
    long = " ".join(f"A failed request of client {number} is retried." for number in range(300))
    engine.add(text=long, id="long.md", collection="notes")
    few = sources_of(ask(engine, budget_tokens=200))
    more = sources_of(ask(engine, budget_tokens=1500))
    assert sum(len(source.text) for source in few) < 200 * 5
    assert sum(len(source.text) for source in more) > 2 * sum(len(source.text) for source in few)


# ------------------------------------------------------------------ off


def test_off_sends_the_conversation_alone(engine: Engine, model: ModelServer) -> None:
    model.script = [saying("See [1].")]
    events = ask(engine, mode="off")
    assert model.sent() == [{"role": "user", "content": QUESTION}]
    assert events == [Delta("See [1]."), Done()]


def test_a_system_message_is_kept_after_the_rules(engine: Engine, model: ModelServer) -> None:
    messages = [Message("system", "Answer like a pirate."), Message("user", QUESTION)]
    list(open_chat(engine).ask(messages))
    assert model.sent()[0]["content"] == f"{RULES}\n\nAnswer like a pirate."
    list(open_chat(engine).ask(messages, mode="off"))
    assert model.sent()[0]["content"] == "Answer like a pirate."


# ------------------------------------------------------------------ tool


def test_the_model_searches_by_itself_and_numbers_go_on(engine: Engine, model: ModelServer) -> None:
    model.script = [
        calling({"query": "failed request retried", "limit": 1}, text="Let me look."),
        calling({"query": "roll back a release", "limit": 1}),
        saying("Three times [1]; by the script [2]."),
    ]
    events = ask(engine, mode="tool")
    assert [event.query for event in events if isinstance(event, ToolCall)] == [
        "failed request retried",
        "roll back a release",
    ]
    assert [(source.number, source.path) for source in sources_of(events)] == [
        (1, "retries.md"),
        (2, "rollback.md"),
    ]
    assert text_of(events) == "Let me look.\n\nThree times [1]; by the script [2]."
    assert events[-1] == Done(citations=(1, 2))
    assert model.requests[0]["tools"][0]["function"]["name"] == "search"
    asked, answered = model.sent()[-2:]
    assert json.loads(asked["tool_calls"][0]["function"]["arguments"])["query"] == "roll back a release"
    assert answered["role"] == "tool"
    assert answered["tool_call_id"] == asked["tool_calls"][0]["id"]
    assert re.search(r"<<source 2 (\w+)>>\n.*previous tag\.\s*\n<<end 2 \1>>", answered["content"], re.DOTALL)


def test_a_source_found_twice_keeps_its_number(engine: Engine, model: ModelServer) -> None:
    one = {"query": "failed request retried", "limit": 1}
    model.script = [calling(one, one), saying("Yes [1].")]
    events = ask(engine, mode="tool")
    assert [source.number for source in sources_of(events)] == [1]
    assert events[-1] == Done(citations=(1,))
    assert all("<<source 1 " in message["content"] for message in model.sent()[-2:])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("{not json", "must be JSON"),
        ("[]", "must be JSON"),
        ('{"limit": 3}', "must be JSON"),
        ('{"query": "x", "limit": "many"}', "must be JSON"),
        ('{"query": "x", "limit": 1e999}', "must be JSON"),
        ("[" * 50_000, "must be JSON"),
    ],
)
def test_a_wrong_call_is_answered_with_what_is_wrong(
    engine: Engine, model: ModelServer, arguments: str, told: str
) -> None:
    model.script = [calling(arguments), saying("Sorry.")]
    events = ask(engine, mode="tool")
    assert told in model.sent()[-1]["content"]
    assert events[-1] == Done()


def test_another_tool_than_search_does_not_exist(engine: Engine, model: ModelServer) -> None:
    model.script = [calling({"command": "rm -rf"}, name="shell"), saying("Sorry.")]
    events = ask(engine, mode="tool")
    assert "no such tool" in model.sent()[-1]["content"]
    assert not any(isinstance(event, ToolCall) for event in events)


def test_a_failing_search_is_told_to_the_model_and_to_the_reader(
    engine: Engine, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise StoreError("the disk is gone")

    monkeypatch.setattr(engine, "context", broken)
    model.script = [calling({"query": "retries"}), saying("It cannot be searched now.")]
    events = ask(engine, mode="tool")
    assert [notice.reason for notice in notices_of(events)] == ["error"]
    assert "the search failed" in model.sent()[-1]["content"]
    assert events[-1] == Done()


def test_a_model_that_only_searches_is_made_to_answer_after_some_rounds(
    engine: Engine, model: ModelServer
) -> None:
    model.always = calling({"query": "retries"})
    events = ask(engine, mode="tool")
    assert len(model.requests) == MAX_ROUNDS + 1
    assert [request["tool_choice"] for request in model.requests] == ["auto"] * MAX_ROUNDS + ["none"]
    assert isinstance(events[-1], Failed)
    assert "empty answer" in events[-1].message


def test_searches_end_when_there_is_no_room_for_more(engine: Engine, model: ModelServer) -> None:
    engine.add(text="A failed request is retried. " * 400, id="long.md", collection="notes")
    queries = ("retried request", "failed request", "request is retried", "is a failed request")
    model.script = [*(calling({"query": query, "limit": 20}) for query in queries), saying("Done.")]
    chat = Chat(engine, open_chat(engine)._endpoint, window_tokens=1500)
    list(chat.ask([Message("user", QUESTION)], mode="tool", budget_tokens=600))
    said = [message["content"] for message in model.sent() if message["role"] == "tool"]
    assert "<<source 1 " in said[0]
    assert "no room" in said[-1]


def test_without_tools_the_sources_are_put_before_the_question(engine: Engine, model: ModelServer) -> None:
    model.script = [failing(400, "tiny does not support tools"), saying("Three times [1].")]
    events = ask(engine, mode="tool")
    assert "cannot search by itself" in notices_of(events)[0].message
    assert "retried three times" in model.sent()[-1]["content"]
    assert "tools" not in model.requests[-1]
    assert events[-1] == Done(citations=(1,))


@pytest.mark.parametrize("status", [404, 422, 500, 501])
def test_servers_say_in_many_ways_that_they_take_no_tools(
    engine: Engine, model: ModelServer, status: int
) -> None:
    model.script = [failing(status, "tools param requires a flag")]
    assert isinstance(ask(engine, mode="tool")[-1], Done)
    assert len(model.requests) == 2


def test_calls_that_share_an_index_or_have_none_are_kept_apart(engine: Engine, model: ModelServer) -> None:
    def call(name: str, query: str, **more: Any) -> dict[str, Any]:
        return {"id": name, "function": {"name": "search", "arguments": {"query": query}}, **more}

    def frame(*calls: dict[str, Any]) -> bytes:
        return b"data: " + json.dumps({"choices": [{"delta": {"tool_calls": calls}}]}).encode() + b"\n\n"

    both = [call("a", "retries", index=0), call("b", "rollback", index=0)]
    model.script = [raw(frame(*both), b"data: [DONE]\n\n"), saying("x")]
    model.script += [
        raw(frame(call("a", "retries")), frame(call("", "rollback")), b"data: [DONE]\n\n"),
        saying("x"),
    ]
    for _ in range(2):
        events = ask(engine, mode="tool")
        assert [event.query for event in events if isinstance(event, ToolCall)] == ["retries", "rollback"]


# ------------------------------------------------------------------ history


def test_the_oldest_turns_are_left_out_whole_when_the_window_is_full(
    engine: Engine, model: ModelServer
) -> None:
    turns = [text for n in range(6) for text in (f"question {n} " + "w " * 300, f"answer {n} " + "w " * 300)]
    messages = [Message(("user", "assistant")[at % 2], text) for at, text in enumerate(turns)]
    asked = [Message("system", "Be brief."), *messages, Message("user", QUESTION)]
    chat = Chat(engine, open_chat(engine)._endpoint, window_tokens=1100)
    events = list(chat.ask(asked, mode="off"))
    sent = [message["content"][:10] for message in model.sent()]
    assert sent == ["Be brief.", "question 4", "answer 4 w", "question 5", "answer 5 w", QUESTION[:10]]
    assert "4 oldest turns" in notices_of(events)[0].message


def test_a_question_that_is_too_long_by_itself_is_still_sent(engine: Engine, model: ModelServer) -> None:
    chat = Chat(engine, open_chat(engine)._endpoint, window_tokens=10)
    assert isinstance(list(chat.ask([Message("user", QUESTION * 50)], mode="off"))[-1], Done)


def test_a_question_that_got_no_answer_is_one_message_with_the_next(engine: Engine, model: ModelServer) -> None:
    list(open_chat(engine).ask([Message("user", "First?"), Message("user", "Second?")], mode="off"))
    assert model.sent() == [{"role": "user", "content": "First?\n\nSecond?"}]


# ------------------------------------------------------------------ wrong use, and stopping


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [Message("user", "  ")],
        [Message("user", "a"), Message("assistant", "b")],
        [Message("system", "a")],
        [Message("tool", "a"), Message("user", "b")],
    ],
)
def test_messages_that_do_not_end_with_a_question_are_refused_at_once(
    engine: Engine, model: ModelServer, messages: list[Message]
) -> None:
    with pytest.raises(QueryError):
        open_chat(engine).ask(messages)
    assert not model.requests


def test_an_unknown_mode_or_a_budget_below_one_is_refused(engine: Engine) -> None:
    with pytest.raises(QueryError, match="context, tool, off"):
        ask(engine, mode="magic")
    with pytest.raises(QueryError, match="budget_tokens"):
        ask(engine, budget_tokens=0)


def test_without_a_model_the_error_tells_how_to_set_one(tmp_path: Path) -> None:
    with Engine(load_config({"db": tmp_path / "a.db"}, {})) as engine, pytest.raises(ConfigError) as caught:
        open_chat(engine)
    assert "OUTCROP_CHAT_MODEL" in str(caught.value)
    assert "ollama" in str(caught.value)


@pytest.mark.parametrize("step", [hang, speak_and_hang])
def test_stopping_ends_the_answer_and_the_request(engine: Engine, model: ModelServer, step: Any) -> None:
    stop = threading.Event()

    def stopped_meanwhile(exchange: Any, request: Any) -> None:
        stop.set()
        step(exchange, request)

    model.script = [stopped_meanwhile]
    assert ask(engine, stopped=stop.is_set)[-1] == Done(stopped=True)
    assert model.hung_up.wait(PATIENCE_S)


def test_stopping_before_the_search_asks_nothing_of_the_model(engine: Engine, model: ModelServer) -> None:
    assert ask(engine, stopped=lambda: True)[-1] == Done(stopped=True)
    assert not model.requests


def test_closing_the_events_ends_the_request(engine: Engine, model: ModelServer) -> None:
    model.script = [speak_and_hang]
    events = open_chat(engine).ask([Message("user", QUESTION)], mode="off")
    assert next(events) == Delta("Well")
    events.close()
    assert model.hung_up.wait(PATIENCE_S)


def test_an_answer_cut_at_its_limit_is_a_notice(engine: Engine, model: ModelServer) -> None:
    model.script = [saying("Well", finish="length")]
    assert "cut" in notices_of(ask(engine, mode="off"))[0].message


def test_every_event_has_a_name() -> None:
    events: list[Event] = [Sources(()), Delta(""), ToolCall("", ""), Notice(""), Done(), Failed("")]
    assert [event_name(event) for event in events] == ["sources", "delta", "tool", "notice", "done", "error"]
