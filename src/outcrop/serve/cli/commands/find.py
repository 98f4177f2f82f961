"""search, context: what gets passages out of the index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from outcrop.serve.cli.options import common_options, many, read_rerank, search_options
from outcrop.serve.cli.session import Session, pass_session
from outcrop.serve.cli.terminal import clean

if TYPE_CHECKING:
    from outcrop.engine import Engine
    from outcrop.records import Message


@click.command("search")
@click.argument("query", nargs=-1, required=True, metavar="QUERY...")
@click.option("-n", "--limit", type=click.IntRange(min=1), help="Hits at most; 10 unless configured otherwise.")
@click.option("--offset", type=click.IntRange(min=0), default=0, help="Skip the hits of earlier pages.")
@search_options
@click.option(
    "--cutoff", type=click.FloatRange(0, 1), default=0.0, help="Drop hits below this share of the best score."
)
@click.option(
    "--follow",
    type=click.FloatRange(0, 10),
    default=1.0,
    metavar="WEIGHT",
    help="How strongly code that the best hits use is lifted: 0 not at all, 1 unless said.",
)
@click.option(
    "--explain", is_flag=True, help="Show why each hit stands where it stands, and what was left out."
)
@click.option("--full", is_flag=True, help="Show whole passages, not only the best lines.")
@common_options
@pass_session
def search_command(
    session: Session,
    /,
    query: tuple[str, ...],
    limit: int | None,
    offset: int,
    cutoff: float,
    follow: float,
    explain: bool,
    full: bool,
    **filters: Any,
) -> None:
    """Find the passages that answer a query.

    The words of the QUERY need no quotes; quoted phrases ('"exact phrase"') must occur word for word, in a short query,
    if they do anywhere. Exits with 1 when there are no hits, as grep does.
    """
    with session.open_existing() as kb:
        answer = kb.search(
            " ".join(query),
            limit=limit,
            offset=offset,
            cutoff=cutoff,
            reference_follow=follow,
            explain=explain,
            **_options(kb, filters),
        )
        if session.as_json:
            session.print_json(answer)
        else:
            from outcrop.serve.cli.render import print_answer

            print_answer(session.out, answer, full=full, explain=explain, verbose=session.verbose > 0)
    if not answer.hits:
        click.get_current_context().exit(4 if answer.reason == "error" else 1)


@click.command("context")
@click.argument("query", nargs=-1, metavar="[QUERY]...")
@click.option(
    "-b",
    "--budget",
    type=click.IntRange(min=1),
    metavar="TOKENS",
    help="Tokens at most; 1200 unless configured.",
)
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), help="Chunks to choose from; 40, of code at least 60."
)
@click.option(
    "--code", is_flag=True, help="Source code, as XML. Implied by --must, --prefer, --follow and --messages."
)
@many("--must", metavar="NAME", help="This file, folder/ or declaration must be in it.")
@many("--prefer", metavar="NAME", help="This file, folder/ or declaration should come early.")
@click.option(
    "--follow",
    type=click.FloatRange(min=0),
    metavar="WEIGHT",
    help="How strongly code that the hits use is drawn in: 0 not at all, 1 unless said.",
)
@click.option(
    "--messages",
    metavar="FILE",
    help="A conversation to take the question from, - for standard input; JSON: [{role, content}, …].",
)
@search_options
@click.option(
    "--cutoff",
    type=click.FloatRange(0, 1),
    help="Leave out hits below this share of the best score; 0.5, of code 0.",
)
@common_options
@pass_session
def context_command(
    session: Session,
    /,
    query: tuple[str, ...],
    budget: int | None,
    code: bool,
    must: tuple[str, ...],
    prefer: tuple[str, ...],
    follow: float | None,
    messages: str | None,
    **filters: Any,
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
    with session.open_existing() as kb:
        # Without a limit and a cutoff the engine's own hold, which differ for code.
        options = {name: value for name, value in _options(kb, filters).items() if value is not None}
        if code or must or prefer or follow is not None or not isinstance(request, str):
            context = kb.code_context(
                request,
                budget_tokens=budget,
                reference_follow=1.0 if follow is None else follow,
                must=must,
                prefer=prefer,
                **options,
            )
        else:
            context = kb.context(request, budget_tokens=budget, **options)
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


def _options(kb: Engine, filters: dict[str, Any]) -> dict[str, Any]:
    """What the command line has, in the words of `Engine.search`."""
    references: Sequence[str] = filters.pop("documents")
    merge = not filters.pop("no_merge")
    rerank = read_rerank(filters.pop("rerank"), filters.pop("rerank_seconds"))
    documents = [kb.get(reference).id for reference in references]
    return {**filters, **rerank, "documents": documents, "merge": merge}
