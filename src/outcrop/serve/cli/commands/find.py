"""search, context: what gets passages out of the index, for a query or a conversation."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from outcrop.records import Message
from outcrop.records.asked import CONTEXT_OPTIONS, HERE, SEARCH_OPTIONS, SHOW, WHERE
from outcrop.serve.cli.options import command, make_options, many, option, read_given
from outcrop.serve.cli.render import print_answer, print_sources
from outcrop.serve.cli.session import Session
from outcrop.serve.terminal import clean

STDIN: Final = "-"
CODE: Final = "Source code"
_SEND: Final = 'send [{"role": "user", "content": "the question"}, …], or an object that holds it as "messages"'


_everything: Final = option(
    "-a",
    "--all",
    "everything",
    is_flag=True,
    group=WHERE,
    help="Search all projects, not only the one the current folder is in.",
)


@command(
    "search",
    "outcrop search how are retries configured",
    "outcrop search -n 3 --full rotate the signing keys -c notes",
    "outcrop search '\"connection reset\"' --kind python --since 1w",
)
@click.argument("query", nargs=-1, required=True, metavar="QUERY...")
@make_options(SEARCH_OPTIONS, "limit", "offset")
@option("--full", is_flag=True, group=SHOW, help="Show whole passages, not only the best lines.")
@_everything
def search_command(
    session: Session, /, query: tuple[str, ...], full: bool, everything: bool, **given: Any
) -> int:
    """Find the passages that answer a query.

    The QUERY needs no quotes. In a short one a quoted phrase ('"exact phrase"') must occur word for word, if any
    document has it. Inside a folder you added, only its project is searched, and others are named if they answer
    clearly better; --all searches everything. Exits with 1 when there are no hits, as grep does.
    """
    with session.open_existing() as index:
        given["here"] = _scope(given["here"], everything)
        answer = index.search(" ".join(query), **read_given(given, index))
        if session.as_json:
            session.print_json(answer)
        else:
            told = {"explain": given["explain"], "verbose": session.verbose > 0, "quiet": session.quiet}
            print_answer(session.out, answer, full=full, **told)
    return exit_code(answer.hits, answer.reason)


@command(
    "context",
    "outcrop context -b 2000 how do we rotate the signing keys",
    "outcrop context --code -b 8000 why does acquire time out --must pool.py",
    "outcrop context --messages conversation.json",
)
@click.argument("query", nargs=-1, metavar="[QUERY]...")
@make_options({name: one for name, one in CONTEXT_OPTIONS.items() if name != "explain"}, "budget_tokens")
@_everything
@option(
    "--code",
    is_flag=True,
    group=CODE,
    help="Pack source code, as XML. Implied by --must, --prefer, --follow and --messages.",
)
@many("--must", metavar="NAME", group=CODE, help="This file, folder/ or declaration must be in it.")
@many("--prefer", metavar="NAME", group=CODE, help="This file, folder/ or declaration should come early.")
@option(
    "--messages",
    metavar="FILE",
    group=CODE,
    help="A conversation to take the question from, as JSON: [{role, content}, …]; - for standard input.",
)
def context_command(
    session: Session,
    /,
    query: tuple[str, ...],
    code: bool,
    must: tuple[str, ...],
    prefer: tuple[str, ...],
    messages: str | None,
    everything: bool,
    **given: Any,
) -> int:
    """Pack the best passages into one text for a prompt.

    The text never exceeds the budget, and each passage names its source. It goes to standard output, a summary of the
    sources to standard error. With --code it is XML made for source code. A QUERY given with --messages is the latest
    message. Inside a folder you added, only its project is used, unless --all is given. Exits with 1 when there is
    nothing to pack.
    """
    asked = " ".join(query)
    if not query and messages is None:
        raise click.UsageError("Nothing to look for: give a QUERY, or a conversation with --messages FILE.")
    request: str | list[Message] = asked
    if messages is not None:
        request = [*_read_messages(messages), *([Message("user", asked)] if asked else [])]
    given["here"] = _scope(given["here"], everything)
    with session.open_existing() as index:
        options = read_given(given, index)
        if code or must or prefer or "reference_follow" in options or not isinstance(request, str):
            context = index.code_context(request, must=must, prefer=prefer, **options)
        else:
            context = index.context(request, **options)
        if session.as_json:
            session.print_json(context)
        else:
            if context.text:
                click.echo(clean(context.text))
            print_sources(session.err, context)
    return exit_code(context.sources, context.reason)


def _scope(here: str | None, everything: bool) -> str | None:
    return None if everything else here or HERE


def exit_code(found: Sequence[object], reason: str | None) -> int:
    """As grep has it: 1 where nothing was found, more where that is an error."""
    return 0 if found else 4 if reason == "error" else 1


def _read_messages(source: str) -> list[Message]:
    """The messages of a JSON file, `-` for standard input; a malformed one is a usage error."""
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
