"""search, context: what gets passages out of the index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from outcrop.records.asked import CONTEXT_OPTIONS, SEARCH_OPTIONS
from outcrop.serve.cli.options import common_options, make_options, many, read_given
from outcrop.serve.cli.session import Session, pass_session
from outcrop.serve.terminal import clean

if TYPE_CHECKING:
    from outcrop.records import Message


@click.command("search")
@click.argument("query", nargs=-1, required=True, metavar="QUERY...")
@make_options(SEARCH_OPTIONS, "limit", "offset")
@click.option("--full", is_flag=True, help="Show whole passages, not only the best lines.")
@common_options
@pass_session
def search_command(session: Session, /, query: tuple[str, ...], full: bool, **given: Any) -> None:
    """Find the passages that answer a query.

    The words of the QUERY need no quotes; quoted phrases ('"exact phrase"') must occur word for word, in a short query,
    if they do anywhere. Exits with 1 when there are no hits, as grep does.
    """
    with session.open_existing() as index:
        answer = index.search(" ".join(query), **read_given(given, index))
        if session.as_json:
            session.print_json(answer)
        else:
            from outcrop.serve.cli.render import print_answer

            print_answer(session.out, answer, full=full, explain=given["explain"], verbose=session.verbose > 0)
    if not answer.hits:
        click.get_current_context().exit(4 if answer.reason == "error" else 1)


@click.command("context")
@click.argument("query", nargs=-1, metavar="[QUERY]...")
@make_options({name: option for name, option in CONTEXT_OPTIONS.items() if name != "explain"}, "limit")
@click.option(
    "--code", is_flag=True, help="Source code, as XML. Implied by --must, --prefer, --follow and --messages."
)
@many("--must", metavar="NAME", help="This file, folder/ or declaration must be in it.")
@many("--prefer", metavar="NAME", help="This file, folder/ or declaration should come early.")
@click.option(
    "--messages",
    metavar="FILE",
    help="A conversation to take the question from, - for standard input; JSON: [{role, content}, …].",
)
@common_options
@pass_session
def context_command(
    session: Session,
    /,
    query: tuple[str, ...],
    code: bool,
    must: tuple[str, ...],
    prefer: tuple[str, ...],
    messages: str | None,
    **given: Any,
) -> None:
    """Pack the best passages into one text for a prompt.

    Never over the budget; each passage has its source. The text goes to standard output, a summary of the sources to
    standard error. With --code the text is XML made for source code. A QUERY beside --messages is the latest message.
    Exits with 1 when there is nothing to pack.
    """
    asked = " ".join(query)
    if not query and messages is None:
        raise click.UsageError("Nothing to look for: give a QUERY, or a conversation with --messages FILE.")
    request = asked if messages is None else _conversation(messages, asked)
    with session.open_existing() as index:
        options = read_given(given, index)
        if code or must or prefer or "reference_follow" in options or not isinstance(request, str):
            context = index.code_context(request, must=must, prefer=prefer, **options)
        else:
            context = index.context(request, **options)
        if session.as_json:
            session.print_json(context)
        else:
            from outcrop.serve.cli.render import print_sources

            if context.text:
                click.echo(clean(context.text))
            print_sources(session.err, context)
    if not context.sources:
        click.get_current_context().exit(4 if context.reason == "error" else 1)


def _conversation(source: str, asked: str) -> list[Message]:
    from outcrop.records import Message
    from outcrop.serve.cli.messages import read_messages

    return [*read_messages(source), *([Message("user", asked)] if asked else [])]
