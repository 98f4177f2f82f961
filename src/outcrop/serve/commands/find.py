"""search, context: what gets passages out of the index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from outcrop.serve.options import common_options, search_options
from outcrop.serve.session import Session, pass_session
from outcrop.serve.terminal import clean

if TYPE_CHECKING:
    from outcrop.engine import Engine


@click.command("search")
@click.argument("query", nargs=-1, required=True, metavar="QUERY...")
@click.option("-n", "--limit", type=click.IntRange(min=1), help="Hits at most; 10 unless configured otherwise.")
@click.option("--offset", type=click.IntRange(min=0), default=0, help="Skip the hits of earlier pages.")
@search_options
@click.option(
    "--cutoff", type=click.FloatRange(0, 1), default=0.0, help="Drop hits below this share of the best score."
)
@click.option("--explain", is_flag=True, help="Show why each hit stands where it stands.")
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
    explain: bool,
    full: bool,
    **filters: Any,
) -> None:
    """Find the passages that answer a query.

    The words of the QUERY need no quotes; quoted phrases ('"exact phrase"') must occur word for word. Exits with 1
    when there are no hits, as grep does.
    """
    with session.open_existing() as kb:
        answer = kb.search(" ".join(query), limit=limit, offset=offset, cutoff=cutoff, **_options(kb, filters))
        if session.as_json:
            session.print_json(answer)
        else:
            from outcrop.serve.render import print_answer

            print_answer(session.out, answer, full=full, explain=explain)
    if not answer.hits:
        click.get_current_context().exit(4 if answer.reason == "error" else 1)


@click.command("context")
@click.argument("query", nargs=-1, required=True, metavar="QUERY...")
@click.option(
    "-b",
    "--budget",
    type=click.IntRange(min=1),
    metavar="TOKENS",
    help="Tokens at most; 1200 unless configured.",
)
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), default=40, show_default=True, help="Chunks to choose from."
)
@search_options
@click.option(
    "--cutoff",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Leave out hits below this share of the best score.",
)
@common_options
@pass_session
def context_command(
    session: Session, /, query: tuple[str, ...], budget: int | None, limit: int, cutoff: float, **filters: Any
) -> None:
    """Pack the best passages into one text for a prompt.

    Never over the budget; each passage has a numbered source line. The text goes to standard output, a summary of
    the sources to standard error. Exits with 1 when there is nothing to pack.
    """
    with session.open_existing() as kb:
        context = kb.context(
            " ".join(query), budget_tokens=budget, limit=limit, cutoff=cutoff, **_options(kb, filters)
        )
        if session.as_json:
            session.print_json(context)
        else:
            from outcrop.serve.render import print_sources

            if context.text:
                click.echo(clean(context.text))
            print_sources(session.err, context)
    if not context.sources:
        click.get_current_context().exit(4 if context.reason == "error" else 1)


def _options(kb: Engine, filters: dict[str, Any]) -> dict[str, Any]:
    """What the command line has, in the words of `Engine.search`."""
    references: Sequence[str] = filters.pop("documents")
    merge = not filters.pop("no_merge")
    return {**filters, "documents": [kb.get(reference).id for reference in references], "merge": merge}
