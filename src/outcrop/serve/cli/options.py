"""Options that several commands share, each written once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from outcrop.serve.cli.session import Session

if TYPE_CHECKING:
    from outcrop.records import Filter

F = TypeVar("F", bound=Callable[..., Any])

LOG_LEVELS: Final = ("debug", "info", "warning", "error")


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Note a common option in the session; given twice (before and after the command's name), the later one holds."""
    if value is None or value is False or value == 0:
        return
    session = ctx.ensure_object(Session)
    assert param.name is not None  # noqa: S101 - click names every option
    setattr(session, param.name, session.verbose + value if param.name == "verbose" else value)


def _common(*names: str, **attributes: Any) -> Callable[[F], F]:
    return click.option(*names, expose_value=False, is_eager=True, callback=_remember, **attributes)


def common_options(command: F) -> F:
    """What every command takes, before or after its name."""
    for option in reversed(
        (
            _common(
                "--db",
                type=click.Path(dir_okay=False),
                metavar="FILE|URL",
                help="The index to use: a file, or a Postgres database as postgresql://user@host/database.",
            ),
            _common("--json", "as_json", is_flag=True, help="One JSON document on standard output."),
            _common("-v", "--verbose", count=True, help="Say more; twice shows tracebacks."),
            _common("--no-color", is_flag=True, help="Plain output; NO_COLOR does the same."),
            _common("--log-level", type=click.Choice(LOG_LEVELS), help="JSON log lines on standard error."),
        )
    ):
        command = option(command)
    return command


def stack(options: Sequence[Callable[[F], F]]) -> Callable[[F], F]:
    """Several options as one decorator, shown in the order given."""

    def apply(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return apply


def complete_collections(
    ctx: click.Context,
    param: click.Parameter,  # noqa: ARG001 - click hands it over
    incomplete: str,
) -> list[click.shell_completion.CompletionItem]:
    """Names of collections for the shell."""
    from outcrop.errors import OutcropError

    try:
        with ctx.ensure_object(Session).open_existing() as kb:
            names = [info.name for info in kb.collections()]
    except OutcropError:
        return []  # completion has no place to complain
    return [click.shell_completion.CompletionItem(name) for name in names if name.startswith(incomplete)]


def collection_option(help: str) -> Callable[[F], F]:
    """`-c NAME`, once."""
    return click.option("-c", "--collection", metavar="NAME", shell_complete=complete_collections, help=help)


def many(*names: str, help: str, **attributes: Any) -> Callable[[F], F]:
    """An option that can be given several times."""
    return click.option(*names, multiple=True, help=help + " Repeatable.", **attributes)


document_filters: Final = stack(
    (
        many(
            "-c",
            "--collection",
            "collections",
            metavar="NAME",
            shell_complete=complete_collections,
            help="Only this collection.",
        ),
        many("--path", "paths", metavar="GLOB", help="Only paths like this; ** crosses folders."),
        many(
            "--kind",
            "kinds",
            metavar="KIND",
            help="Only this format or language: markdown, pdf, code, python, go …",
        ),
        many("--tag", "tags", metavar="TAG", help="Only documents with this tag; all that are given."),
        click.option("--since", metavar="DATE", help="Only documents of this date or later: 2026-01-31."),
        click.option("--until", metavar="DATE", help="Only documents before this date."),
    )
)
"""Which documents: what `ls`, `search`, `context` and `map` have in common."""


def read_filters(*, since: str | None, until: str | None, **filters: Any) -> Filter:
    """The values of `document_filters` as a filter."""
    from outcrop.engine import as_timestamp
    from outcrop.records import Filter

    return Filter(since=as_timestamp(since), until=as_timestamp(until), **filters)


rerank_options: Final = stack(
    (
        click.option("--rerank", is_flag=True, help="Let a cross-encoder look at the best candidates again."),
        click.option(
            "--rerank-seconds",
            type=click.FloatRange(min=0, min_open=True),
            metavar="SECONDS",
            help="Time that may take, beside loading it; 0.5 unless said. Implies --rerank.",
        ),
    )
)
"""A second opinion, and how long it may take."""


def read_rerank(rerank: bool, rerank_seconds: float | None) -> dict[str, Any]:
    """The values of `rerank_options` in the words of `SearchOptions`."""
    if rerank_seconds is None:
        return {"rerank": rerank}
    return {"rerank": True, "rerank_seconds": rerank_seconds}


balance_option: Final = click.option(
    "--balance",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="How much meaning counts against words: 0 words only, 1 meaning only; by the query unless said.",
)

search_options: Final = stack(
    (
        document_filters,
        many("--doc", "documents", metavar="REF", help="Only this document: id, path or URL."),
        click.option(
            "--mode",
            type=click.Choice(("hybrid", "keyword", "semantic")),
            default="hybrid",
            show_default=True,
            help="Words and meaning, or one of them.",
        ),
        click.option(
            "--type",
            "query_type",
            type=click.Choice(("exact", "semantic", "mixed")),
            help="What the query is, instead of guessing it.",
        ),
        click.option(
            "--fusion",
            type=click.Choice(("weighted", "rrf")),
            default="weighted",
            show_default=True,
            help="How the two rankings become one.",
        ),
        click.option(
            "--floor", type=click.FloatRange(0, 1), help="Least similarity of a hit without a shared word."
        ),
        click.option("--max-distance", type=click.FloatRange(0, 2), help="Largest cosine distance of a hit."),
        balance_option,
        rerank_options,
        click.option("--no-merge", is_flag=True, help="Do not join neighbouring chunks into one hit."),
    )
)
"""Everything a search can be told, beside how many hits and what to do with them."""
