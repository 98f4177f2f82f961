"""Grounded chat: a model answers a question from what the index holds.

`context` puts sources before the question, `tool` lets the model search by itself, `off` does neither. Retrieval never
ends a chat: a failure is a notice, and the model is told that it has no sources.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Generator, Iterator, Sequence
from typing import Any, Final, Literal

from outcrop.chat.answer import Answer
from outcrop.chat.endpoint import Begun, ChatEndpoint, Ended, Limits, ToolsRefused
from outcrop.chat.events import Event, Failed, Notice, Sources, ToolCall
from outcrop.chat.evidence import Reply, find_gap
from outcrop.chat.fence import fence
from outcrop.chat.prompt import MESSAGE_TOKENS, Conversation, Prompt, read_messages, write_prompt
from outcrop.chat.reading import Call
from outcrop.chat.rules import RULES, SEARCH_RULES, nothing_found
from outcrop.config import Config
from outcrop.engine import Engine
from outcrop.errors import Cancelled, ChatError, OutcropError, QueryError
from outcrop.records import Context, Message, Reason
from outcrop.system.dataclass import dataclass
from outcrop.system.exchange import Stop
from outcrop.text.terms import Terms
from outcrop.text.tokens.estimate import estimate_tokens

_log = logging.getLogger(__name__)

Mode = Literal["context", "tool", "off"]
MODES: Final[tuple[Mode, ...]] = ("context", "tool", "off")

MAX_ROUNDS: Final = 5
"""Rounds of searching before a model has to answer; questions that need more are rare, models in a loop are not."""
_CALLS_PER_ROUND: Final = 4
_DEFAULT_HITS: Final = 8
_MAX_HITS: Final = 20
_MIN_ROOM_TOKENS: Final = 150
"""A source needs at least this much room."""
_WINDOW_SHARE: Final = 16
"""What a search may take of the window: of 24 questions 22 found their passage within 500 tokens, and 23 within 680
(`benchmarks.chat`, those on which prompts were chosen). A small model reads 50 tokens a CPU second."""
_QUERY_CHARACTERS: Final = 2000
"""How much of a query that the model writes is used."""

_WISHES: Final = {"temperature": 0, "logprobs": True, "top_logprobs": 5}
"""The likeliest words, and the chances of the first: it tells whether the model finds an answer in the sources."""

_SEARCH: Final[dict[str, Any]] = {
    "type": "function",
    "function": {
        "name": "search",
        "description": (
            "Search the user's documents by words and by meaning. Returns numbered sources to cite. Search before you "
            "answer a question about what they may hold; search again, in other words, when the first search does not "
            "tell."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "What to look for: a question, names, or exact words.",
                },
                "limit": {"type": "integer", "minimum": 1, "maximum": _MAX_HITS, "default": _DEFAULT_HITS},
            },
            "required": ["query"],
        },
    },
}


@dataclass(frozen=True, slots=True)
class _Request:
    """What one call of `ask` is about."""

    messages: tuple[Message, ...]
    conversation: Conversation
    collections: tuple[str, ...]
    budget_tokens: int
    stopped: Stop | None


class ReopenedIndex:
    """An index that may be unreachable when a chat begins: it is opened at the first search that can."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self._engine: Engine | None = None
        self._lock = threading.Lock()

    def context(self, query: str, **options: Any) -> Context:
        """As `Engine.context`; raises what opening the index raises."""
        return self.opened().context(query, **options)

    def opened(self) -> Engine:
        """The index itself; raises what opening it raises."""
        with self._lock:
            if self._engine is None:
                self._engine = Engine(self.config, create=False)
            return self._engine

    def close(self) -> None:
        """Close the index if it was opened."""
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()


class Chat:
    """Answers from one index by one model. Safe to use from any thread."""

    def __init__(
        self, engine: Engine | ReopenedIndex, endpoint: ChatEndpoint, *, window_tokens: int | None = None
    ) -> None:
        self._engine = engine
        self._endpoint = endpoint
        self._window = engine.config.chat_window_tokens if window_tokens is None else window_tokens
        self._terms = Terms()

    @property
    def model(self) -> str:
        """The model's name."""
        return self._endpoint.model

    def ask(
        self,
        messages: Sequence[Message],
        mode: Mode = "context",
        collections: Sequence[str] = (),
        budget_tokens: int | None = None,
        stopped: Stop | None = None,
    ) -> Generator[Event, None, None]:
        """Answer the last message; the last event is Done or Failed.

        `budget_tokens` bounds the sources of one search, which otherwise take a sixteenth of the window, and no more
        than is configured; `stopped` is polled throughout, and the answer ends soon after it returns True. Closing the
        iterator ends the request as well. Raises QueryError at once, before anything is sent, when the messages do not
        end with a question.
        """
        if mode not in MODES:
            raise QueryError(f"there is no chat mode {mode!r}; choose one of {', '.join(MODES)}")
        budget = min(self._engine.config.budget_tokens, max(1, self._window // _WINDOW_SHARE))
        budget = budget if budget_tokens is None else budget_tokens
        if budget < 1:
            raise QueryError(f"budget_tokens must be 1 or more, not {budget}")
        request = _Request(tuple(messages), read_messages(messages), tuple(collections), budget, stopped)
        return self._run(request, mode)

    def _run(self, request: _Request, mode: Mode) -> Generator[Event, None, None]:
        answer = Answer(mode != "off", self._terms)
        try:
            yield from {"off": self._plain, "context": self._in_front, "tool": self._by_tool}[mode](
                request, answer
            )
            if not "".join(answer.text).strip() and answer.quoted is None:
                raise ChatError(
                    f"{self.model} gave an empty answer: ask again in other words, or give it a larger context window"
                )
            yield from answer.close()
        except Cancelled:
            yield answer.stop()
        except ChatError as error:
            _log.info("chat failed", extra={"reason": str(error)})
            yield Failed(str(error))

    # -- the three modes

    def _plain(self, request: _Request, answer: Answer) -> Generator[Event, None, None]:
        prompt = write_prompt(request.conversation, self._window)
        yield from _tell_left_out(prompt)
        yield from self._speak(prompt.messages, request, answer)

    def _in_front(self, request: _Request, answer: Answer) -> Generator[Event, None, None]:
        """Search for what the conversation asks, and put what was found before the question."""
        try:
            query = Engine.query_of(request.messages)
        except QueryError as error:
            yield Notice(f"Nothing was searched for: {error}.", "empty_query")
            before = nothing_found("the message holds no words to search for.")
        else:
            before = yield from self._find(query, request, answer, request.budget_tokens)
        prompt = write_prompt(request.conversation, self._window, rules=RULES, before=before)
        yield from _tell_left_out(prompt)
        yield from self._speak(prompt.messages, request, answer, wishes=_WISHES)

    def _by_tool(self, request: _Request, answer: Answer) -> Generator[Event, None, None]:
        """Let the model search, round after round, until it answers."""
        # Room for two searches is worth more than old turns.
        reserve = min(2 * request.budget_tokens, self._window // 2)
        prompt = write_prompt(request.conversation, self._window, rules=SEARCH_RULES, reserve=reserve)
        messages: list[dict[str, Any]] = [*prompt.messages]
        room = self._window - prompt.tokens
        yield from _tell_left_out(prompt)
        for number in range(MAX_ROUNDS + 1):
            choice = "auto" if number < MAX_ROUNDS else "none"
            options = {"tools": [_SEARCH], "tool_choice": choice}
            try:
                ended = yield from self._speak(messages, request, answer, options=options)
            except ToolsRefused as refused:
                if number:
                    raise
                _log.info("chat without tools", extra={"reason": str(refused)})
                yield Notice(
                    f"{self.model} cannot search by itself here, so the sources were put before the question."
                )
                yield from self._in_front(request, answer)
                return
            if not ended.calls or choice == "none":
                return
            messages.append(_calling(ended.calls))
            for at, call in enumerate(ended.calls):
                result = yield from self._call(call, at, request, answer, room)
                room -= estimate_tokens(result) + MESSAGE_TOKENS
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

    # -- their parts

    def _speak(
        self,
        messages: Sequence[dict[str, Any]],
        request: _Request,
        answer: Answer,
        options: dict[str, Any] | None = None,
        wishes: dict[str, Any] | None = None,
    ) -> Generator[Event, None, Ended]:
        """Stream one message of the model as events; return how it ended."""
        said_before = "".join(answer.text[-1:])
        gap = "\n\n" if said_before and not said_before.endswith("\n") else ""
        reply = Reply(quoting=answer.grounded)
        checked, held = False, ""
        stream = self._endpoint.stream(messages, options=options, wishes=wishes, stopped=request.stopped)
        try:
            for piece in stream:
                if isinstance(piece, Begun):
                    if answer.is_denied(piece.chances):
                        yield from answer.refuse(request.conversation.question.content, None, gap)
                        return Ended("stop", ())
                    continue
                text = reply.end() if isinstance(piece, Ended) else reply.feed(piece)
                if reply.is_open and not checked:
                    checked = True
                    if not answer.rests_on(reply.quote):
                        yield from answer.refuse(request.conversation.question.content, reply.quote, gap)
                        return Ended("stop", ())
                if answer.doubted and answer.quoted is None:  # shown when it is known to be no guess
                    held += text
                    text = held if isinstance(piece, Ended) else ""
                    if answer.is_guess(text):
                        yield from answer.refuse(request.conversation.question.content, None, gap)
                        return Ended("stop", ())
                if text:
                    yield answer.say(gap + text)
                    gap = ""
                if isinstance(piece, Ended):
                    if piece.finish in _CUT:
                        yield Notice(_CUT[piece.finish])
                    return piece
        finally:
            stream.close()
        raise AssertionError("a stream ends with how it ended")

    def _find(
        self, query: str, request: _Request, answer: Answer, budget: int, limit: int | None = None
    ) -> Generator[Event, None, str]:
        """Search, and return what the model is to read. A failure is a notice."""
        found: dict[str, Any] = {} if limit is None else {"limit": limit}
        try:
            context = self._engine.context(
                query, budget_tokens=budget, collections=request.collections, stopped=request.stopped, **found
            )
        except Cancelled:
            raise
        except OutcropError as error:
            _log.warning("retrieval for a chat failed", extra={"reason": str(error)})
            yield Notice(
                f"The documents could not be searched ({error}), so the answer has no sources.", "error"
            )
            return nothing_found("the search failed.")
        before = len(answer.sources)
        shown = answer.number(context)
        if len(answer.sources) > before:
            yield Sources(tuple(answer.sources.values()))
        if shown:
            answer.doubted = context.is_doubtful
            answer.warned = context.reason is not None or context.is_doubtful
            if context.reason is not None:
                yield Notice(
                    f"The search was not complete: {context.detail or context.reason}.", context.reason
                )
            elif context.unmatched_phrases or context.is_doubtful:
                yield Notice(f"{context.detail[:1].upper()}{context.detail[1:]}.")
            engine = self._engine.opened() if isinstance(self._engine, ReopenedIndex) else self._engine
            weigh = getattr(engine.parts.embedder, "weigh", None)
            answer.gap = find_gap(request.conversation.question.content, shown, self._terms, weigh)
            return fence(shown)
        reason: Reason = context.reason or "no_hits"
        yield Notice(_why_empty(reason, context.detail), reason)
        return nothing_found(_TOLD.get(reason, "the search found nothing."))

    def _call(
        self, call: Call, at: int, request: _Request, answer: Answer, room: int
    ) -> Generator[Event, None, str]:
        """Run a tool call; return sources, or what is wrong with the call."""
        if call.name != "search":
            return "There is no such tool; there is only `search`."
        if at >= _CALLS_PER_ROUND:
            return f"Not searched: at most {_CALLS_PER_ROUND} searches at a time."
        if room < _MIN_ROOM_TOKENS:
            return "Not searched: there is no room for more sources. Answer from those you have."
        try:
            arguments = json.loads(call.arguments or "{}")
            query = str(arguments["query"]).strip()[:_QUERY_CHARACTERS]
            limit = min(_MAX_HITS, max(1, int(arguments.get("limit") or _DEFAULT_HITS)))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            return 'Not searched: the arguments must be JSON such as {"query": "what to look for", "limit": 8}.'
        yield ToolCall("search", query)
        # The model's tokenizer may need half as many tokens again as the one that counts the sources.
        return (yield from self._find(query, request, answer, min(request.budget_tokens, 2 * room // 3), limit))


def open_chat(engine: Engine | ReopenedIndex, limits: Limits | None = None) -> Chat:
    """Open a chat as the engine's configuration says; ConfigError, which says how to set one, where no model is named.

    Where an index may be damaged or its server down, pass a `ReopenedIndex`: the chat goes on without sources.
    """
    config = engine.config
    return Chat(engine, ChatEndpoint(config.chat_model, config.chat_url, config.chat_key, limits))


_CUT: Final = {
    "length": "The answer was cut at the model's limit.",
    "content_filter": "The endpoint's filter cut the answer.",
}
_TOLD: Final[dict[Reason, str]] = {
    "empty_index": "the index is empty.",
    "error": "the search failed.",
    "model_mismatch": "the search failed.",
}


def _why_empty(reason: Reason, detail: str) -> str:
    said = f" ({detail.rstrip('.')})" if detail else ""
    if reason == "empty_index":
        return f"The index is empty{said}, so the answer has no sources: `outcrop add FOLDER` fills it."
    if reason == "model_mismatch":
        return (
            f"The vectors of the index are of another model{said}, so nothing was found: run `outcrop reembed`."
        )
    if reason == "error":
        return f"The documents could not be searched{said}, so the answer has no sources."
    return f"Nothing in the documents matches{said}, so the answer has no sources."


def _tell_left_out(prompt: Prompt) -> Iterator[Event]:
    if prompt.left_out:
        turns = "the oldest turn was" if prompt.left_out == 1 else f"the {prompt.left_out} oldest turns were"
        yield Notice(f"The conversation is longer than the model's window: {turns} left out.")


def _calling(calls: Sequence[Call]) -> dict[str, Any]:
    """The model's own message, which must precede the results."""
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments or "{}"},
            }
            for call in calls
        ],
    }
