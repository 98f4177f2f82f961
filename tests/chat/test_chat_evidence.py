"""A reply begins with a quote: what is shown of it, when, and what of the answer the sources do not hold."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.chat.model_server import ModelServer, failing, saying, speak_and_hang
from tests.chat.test_chat_ask import ask, notices_of, sources_of, text_of
from tests.chat.test_chat_fence import source

from outcrop.chat import Delta, Done, Failed, open_chat
from outcrop.chat.evidence import Reply, find_gap, find_quote, find_unsupported
from outcrop.chat.reading import Reading
from outcrop.engine import Engine
from outcrop.records import Message
from outcrop.text.terms import Terms

HELD = "<quote>A failed request is retried three times.</quote>"


def read(*pieces: str) -> tuple[str, str | None]:
    """What is shown of a reply that comes in these pieces, and its quote."""
    reply = Reply()
    shown = [reply.feed(piece) for piece in pieces]
    return "".join([*shown, reply.end()]), reply.quote


@pytest.mark.parametrize(
    ("reply", "shown", "quote"),
    [
        ("<quote>the gate</quote> At nine [1].", "At nine [1].", "the gate"),
        ("\n<Quote>\nthe gate\n</QUOTE>\n\nAt nine.", "At nine.", "the gate"),
        ("<quote source=2>the gate</quote>At nine.", "At nine.", "the gate"),
        ("<quote>none</quote> The documents do not tell.", "The documents do not tell.", ""),
        ("<quote>None.</quote>", "", ""),
        ("none.\n", "", ""),
        ("None of them tells.", "None of them tells.", None),
        ("<quote>the gate", "", "the gate"),
        ("At nine.", "At nine.", None),
        ("<quo", "<quo", None),
        ("<question> at nine", "<question> at nine", None),
        ("if a < b: pass", "if a < b: pass", None),
        ("At nine. <quote>the gate</quote>", "At nine. <quote>the gate</quote>", None),
        ("", "", None),
    ],
)
def test_a_reply_is_read_the_same_in_whatever_pieces_it_comes(
    reply: str, shown: str, quote: str | None
) -> None:
    assert read(reply) == (shown, quote)
    assert read(*reply) == (shown, quote)


@given(st.lists(st.sampled_from(["<", "/", "quote", ">", " ", "none", "a", "<quote>", "</quote>", "\n"])))
def test_any_pieces_are_read_as_the_whole_is(pieces: list[str]) -> None:
    assert read(*pieces) == read("".join(pieces))


def test_a_quote_without_an_end_is_shown_in_the_end() -> None:
    reply = "<quote>" + "and on " * 1000
    shown, quote = read(*reply)
    assert quote is None
    assert "and on and on" in shown


def test_the_answer_streams_once_its_quote_is_found(engine: Engine, model: ModelServer) -> None:
    model.script = [
        saying("<quo", "te>A failed request is", " retried three times.</quote>", " Three", " times", " [1].")
    ]
    events = ask(engine)
    assert [event.text for event in events if isinstance(event, Delta)] == ["Three", " times", " [1]."]
    assert events[-1] == Done(citations=(1,))


def test_a_source_that_was_quoted_is_cited_where_the_answer_does_not(
    engine: Engine, model: ModelServer
) -> None:
    model.script = [saying(HELD, " Three times.")]
    events = ask(engine)
    assert text_of(events) == "Three times. [1]"
    assert events[-1] == Done(citations=(1,))


def test_a_quote_alone_is_the_answer(engine: Engine, model: ModelServer) -> None:
    model.script = [saying(HELD)]
    events = ask(engine)
    assert text_of(events) == "A failed request is retried three times. [1]"
    assert events[-1] == Done(citations=(1,))


def test_a_model_that_finds_no_quote_gives_no_answer(engine: Engine, model: ModelServer) -> None:
    model.script = [saying("<quote>none</quote>", " But I remember: seven times.")]
    events = ask(engine)
    assert text_of(events) == "The documents do not say."
    assert events[-1] == Done()
    model.script = [saying("<quote>none</quote> Das weiß ich: siebenmal.")]
    assert text_of(ask(engine, "Wie oft wird eine Anfrage noch einmal versucht, wenn sie nicht gelingt?")) == (
        "Das steht nicht in den Dokumenten."
    )


def test_where_the_answer_is_probably_not_here_a_guess_is_not_shown(engine: Engine, model: ModelServer) -> None:
    question = "Which three wines go with the previous course of a long dinner?"
    model.script = [saying("A Riesling", " of 1997 [1].")]
    assert text_of(ask(engine, question)) == "The documents do not say."
    model.script = [saying("Which dinner ", "do you mean?")]
    assert text_of(ask(engine, question)) == "Which dinner do you mean?"


def test_a_quote_that_no_source_holds_is_no_evidence(engine: Engine, model: ModelServer) -> None:
    model.script = [saying("<quote>Every request is tried seven times a day.</quote> Seven times [1].")]
    events = ask(engine)
    assert text_of(events) == "The documents do not say."
    assert [notice.message for notice in notices_of(events)] == [
        "The model rested its answer on words that no source holds, so it was left out."
    ]


def test_a_refusal_ends_the_request_to_the_model(engine: Engine, model: ModelServer) -> None:
    def refusing(exchange: object, request: object) -> None:
        model.script = []
        exchange.start()  # type: ignore[attr-defined]
        exchange.frame({"content": "<quote>none</quote> "})  # type: ignore[attr-defined]
        exchange.wait_until_gone()  # type: ignore[attr-defined]

    model.script = [refusing]
    assert isinstance(ask(engine)[-1], Done)
    assert model.hung_up.is_set() or model.hung_up.wait(60)


def test_what_no_cited_source_holds_is_told(engine: Engine, model: ModelServer) -> None:
    model.script = [saying(HELD, " Three times, or 17 with `--retry-harder` [1].")]
    events = ask(engine)
    done = events[-1]
    assert isinstance(done, Done)
    assert done.unsupported == ("17", "--retry-harder")
    assert [notice.message for notice in notices_of(events)] == [
        "Not in the sources that the answer cites: 17, --retry-harder. Check it before you rely on it."
    ]


def test_an_answer_that_cites_nothing_gets_the_source_that_holds_its_words(
    engine: Engine, model: ModelServer
) -> None:
    model.script = [saying("A failed request is retried three times.")]
    events = ask(engine)
    assert text_of(events) == "A failed request is retried three times. [1]"
    assert (events[-1], notices_of(events)) == (Done(citations=(1,)), [])
    model.script = [saying("A failed request is retried 4 times.")]
    assert events[-1] != ask(engine)[-1] == Done(unsupported=("4",))


def test_an_answer_that_cites_the_wrong_source_gets_the_one_that_holds_it_too(
    engine: Engine, model: ModelServer
) -> None:
    question = "How often is a failed request retried, and how do I roll back a release?"
    model.script = [saying("Run the deploy script with the previous tag [1].")]
    events = ask(engine, question)
    assert [source.path for source in sources_of(events)][:2] == ["retries.md", "rollback.md"]
    assert text_of(events) == "Run the deploy script with the previous tag [1]. [2]"
    assert (events[-1], notices_of(events)) == (Done(citations=(1, 2)), [])


def test_an_answer_that_cites_nothing_is_told(engine: Engine, model: ModelServer) -> None:
    model.script = [saying("I think it is often.")]
    assert [notice.message for notice in notices_of(ask(engine))] == [
        "The answer cites no source, so it may not come from your documents."
    ]


def test_without_sources_a_quote_is_not_asked_for(engine: Engine, model: ModelServer) -> None:
    model.script = [saying("<quote>some words</quote> Hello!")]
    assert text_of(ask(engine, "zzyzx qwfpgj?")) == "Hello!"
    model.script = [saying("<quote>Use this tag.</quote>")]
    assert text_of(ask(engine, mode="off")) == "<quote>Use this tag.</quote>"


def test_stopping_while_the_quote_is_held_back_ends_the_answer(engine: Engine, model: ModelServer) -> None:
    model.script = [speak_and_hang]
    events = open_chat(engine).ask(
        [Message("user", "How often is a failed request retried?")], stopped=lambda: bool(model.requests)
    )
    assert list(events)[-1] == Done(stopped=True)


@pytest.mark.parametrize(
    ("quote", "number"),
    [
        ("The gate shuts at nine", 1),
        ("the gate  shuts\nat `nine`", 1),
        ("gate", 1),
        ("The window shuts at ten every day", 2),
        ("The gate shuts at noon, and it will be open on all days but one", None),
        ("", None),
        ("…", None),
    ],
)
def test_a_quote_is_found_in_the_source_that_holds_most_of_it(quote: str, number: int | None) -> None:
    sources = [source(1, "The **gate** shuts at nine."), source(2, "The window shuts at ten, every day.")]
    found = find_quote(quote, sources)
    assert (found.number if found else None) == number


@pytest.mark.parametrize(
    ("answer", "unsupported"),
    [
        ("It waits 30 seconds [1].", ()),
        ("It waits 31 seconds [1].", ("31",)),
        ("Use `--worker-tmp-dir` or --worker-dir.", ("--worker-dir",)),
        ("Set limit_request_fields or limit_fields.", ("limit_fields",)),
        ("At most 32,768 or 32768, never 3276.", ("3276",)),
        ("Two tries, that is 2.", ()),
        ("1. First [1]\n2. Second [2]", ()),
        ("See https://example.org/a, not https://example.org/b.", ("https://example.org/b",)),
        ("A well-known thing - really.", ()),
    ],
)
def test_what_can_be_looked_up_is(answer: str, unsupported: tuple[str, ...]) -> None:
    held = source(
        1,
        "Waits 30s. ``--worker-tmp-dir``: see https://example.org/a. ``limit_request_fields``: 32768, two tries.",
    )
    assert find_unsupported(answer, [held]) == unsupported


def test_the_gap_is_the_share_of_a_question_that_no_source_holds() -> None:
    held = [source(1, "Workers are restarted."), source(2, "All of gzip.")]
    question = "How do I restart the worker with gzip?"
    assert find_gap("How do I restart the worker?", held, Terms(), None) == 0.0
    assert find_gap(question, held, Terms(), None) == pytest.approx(1 / 3)
    heavy = find_gap(question, held, Terms(), lambda words: [2.0 if word == "gzip" else 1.0 for word in words])
    assert heavy == pytest.approx(2 / 6)  # the second source holds what tells most
    assert find_gap("Wo steht das mit dem Neustart der Arbeiter?", held, Terms(), None) == 0.0
    assert find_gap("error " + " ".join(f"word{number}" for number in range(40)), held, Terms(), None) == 0.0
    assert find_gap(question, [], Terms(), None) == 0.0


def test_a_model_that_says_it_is_not_stated_gives_no_answer(engine: Engine, model: ModelServer) -> None:
    for pieces in (("Not", " stated", "."), ("Not stated.", " But seven times."), ("not stated",)):
        model.script = [saying(*pieces)]
        events = ask(engine)
        assert (text_of(events), events[-1]) == ("The documents do not say.", Done())
    model.script = [saying("Not stated limits ", "are three [1].")]
    assert text_of(ask(engine)) == "Not stated limits are three [1]."


@pytest.mark.parametrize(
    ("question", "chance", "shown"),
    [
        ("When is a failed request retried?", 0.01, True),
        ("When is a failed request retried?", 0.3, True),
        ("When is a failed request retried?", 0.6, False),
        ("When is a failed request retried by the espresso calendar?", 0.01, True),
        ("When is a failed request retried by the espresso calendar?", 0.3, False),
    ],
)
def test_the_chance_of_a_refusal_decides_with_what_no_source_holds(
    engine: Engine, model: ModelServer, question: str, chance: float, shown: bool
) -> None:
    model.script = [saying("Three times [1].", chances={" Not": chance / 2, "not": chance / 2, "Three": 0.2})]
    assert (text_of(ask(engine, question)) == "Three times [1].") == shown


def test_a_server_that_refuses_a_wish_is_asked_without(engine: Engine, model: ModelServer) -> None:
    chat = open_chat(engine)
    question = [Message("user", "How often is a failed request retried?")]
    model.script = [failing(400, "logprobs is not supported"), saying("Three times [1].")]
    assert text_of(chat.ask(question)) == "Three times [1]."
    assert ["logprobs" in request for request in model.requests] == [True, False]
    list(chat.ask(question))
    assert ["logprobs" in request for request in model.requests] == [True, False, False]


def test_a_server_that_refuses_more_than_wishes_is_told_of(engine: Engine, model: ModelServer) -> None:
    model.script = [failing(400, "too long"), failing(400, "too long")]
    failed = ask(engine)[-1]
    assert isinstance(failed, Failed)
    assert "too long" in failed.message


@pytest.mark.parametrize(
    "logprobs", [None, [], {"content": []}, {"content": [{}]}, {"content": [{"top_logprobs": [{"token": 1}]}]}]
)
def test_chances_in_another_form_are_none(logprobs: object) -> None:
    reading = Reading()
    frame = {"choices": [{"delta": {"content": "Three"}, "logprobs": logprobs}]}
    assert reading.take(json.dumps(frame).encode()) == "Three"
    assert reading.chances == {}
