"""A conversation as programs write it: JSON, from a file or from standard input."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from outcrop.records import Message

STDIN: Final = "-"
_SEND: Final = 'send [{"role": "user", "content": "the question"}, …], or an object that holds it as "messages"'


def read_messages(source: str) -> list[Message]:
    """The messages of a JSON file, `-` for standard input; a malformed one is a usage error."""
    from outcrop.records import Message

    name = "standard input" if source == STDIN else source
    data = _load(source, name)
    listed = data.get("messages") if isinstance(data, dict) else data
    if not isinstance(listed, list) or not listed:
        raise _wrong(f"{name} holds no list of messages; {_SEND}")
    messages = []
    for number, item in enumerate(listed, 1):
        content = _content(item.get("content", "")) if isinstance(item, dict) else None
        if content is None or not isinstance(item.get("role"), str):
            raise _wrong(f"message {number} of {name} has no role and content that are text; {_SEND}")
        messages.append(Message(item["role"], content))
    return messages


def _load(source: str, name: str) -> object:
    try:
        data = sys.stdin.buffer.read() if source == STDIN else Path(source).expanduser().read_bytes()
    except OSError as error:
        raise _wrong(f"{name} cannot be read: {error.strerror}") from error
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise _wrong(f"{name} is not UTF-8 text; {_SEND}") from error
    except (json.JSONDecodeError, RecursionError) as error:
        where = f", line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else ""
        raise _wrong(f"{name} is not JSON{where}; {_SEND}") from error


def _content(value: object) -> str | None:
    """The text of a message. Assistants that only call a tool say null; others send parts, of which the text counts."""
    if value is None or isinstance(value, str):
        return value or ""
    if not isinstance(value, list):
        return None
    texts = [part.get("text") if isinstance(part, dict) else part for part in value]
    return "\n".join(text for text in texts if isinstance(text, str))


def _wrong(message: str) -> click.BadParameter:
    return click.BadParameter(message, param_hint="--messages")
