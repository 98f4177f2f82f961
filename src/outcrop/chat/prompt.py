"""The conversation as the model gets it: rules, the older turns that fit, the sources, the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from outcrop.chat.rules import EXAMPLES
from outcrop.errors import QueryError
from outcrop.records import Message
from outcrop.system.dataclass import dataclass
from outcrop.text.tokens.estimate import estimate_tokens

ROLES: Final = ("system", "user", "assistant")
MESSAGE_TOKENS: Final = 8
"""The cost of a message beside its text: its role and the marks around it; a little high for common templates."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation in parts. `turns` are the earlier ones, oldest first: what the user said and what came back."""

    system: str
    turns: tuple[tuple[Message, ...], ...]
    question: Message


def read_messages(messages: Sequence[Message]) -> Conversation:
    """Split a conversation into its parts; QueryError where it does not end with a question."""
    for message in messages:
        if message.role not in ROLES:
            raise QueryError(f"a message cannot have the role {message.role!r}: use {', '.join(ROLES)}")
    said = [message for message in messages if message.role != "system"]
    if not said or said[-1].role != "user" or not said[-1].content.strip():
        raise QueryError("the last message must be the user's, with text: the question to answer")
    turns: list[list[Message]] = []
    for message in said[:-1]:
        if message.role == "user" or not turns:
            turns.append([])
        turns[-1].append(message)
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    return Conversation(system, tuple(tuple(turn) for turn in turns), said[-1])


@dataclass(frozen=True, slots=True)
class Prompt:
    """Messages for the model, their estimated tokens, and how many of the oldest turns were left out."""

    messages: list[dict[str, str]]
    tokens: int
    left_out: int


def write_prompt(
    conversation: Conversation, window_tokens: int, *, rules: str = "", before: str = "", reserve: int = 0
) -> Prompt:
    """The messages to send: always the system's and the last, and the latest turns that fit into the window with
    `reserve` kept free. `before` goes in front of the question; where it is given, examples stand before the turns."""
    system = "\n\n".join(part for part in (rules, conversation.system) if part)
    question = conversation.question.content
    last = _message("user", f"{before}\n\nQuestion: {question}" if before else question)
    always = [_message("system", system)] if system else []
    for asked, answered in EXAMPLES if before else ():
        always += [_message("user", asked), _message("assistant", answered)]
    tokens = sum(map(_cost, (*always, last)))
    kept: list[dict[str, str]] = []
    left_out = len(conversation.turns)
    for turn in reversed(conversation.turns):
        messages = [_message(message.role, message.content) for message in turn]
        cost = sum(map(_cost, messages))
        if tokens + cost + reserve > window_tokens:
            break
        tokens += cost
        kept = messages + kept
        left_out -= 1
    return Prompt(_alternate([*always, *kept, last]), tokens, left_out)


def _alternate(messages: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Join consecutive messages of one role: an unanswered question leaves such, and many models refuse them."""
    joined: list[dict[str, str]] = []
    for message in messages:
        if joined and joined[-1]["role"] == message["role"]:
            joined[-1] = _message(message["role"], f"{joined[-1]['content']}\n\n{message['content']}")
        else:
            joined.append(message)
    return joined


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _cost(message: dict[str, str]) -> int:
    return estimate_tokens(message["content"]) + MESSAGE_TOKENS
