"""related, map: what is asked of source code."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from outcrop.errors import Ambiguous, NotFound
from outcrop.serve.cli.options import (
    budget_option,
    collection_option,
    command,
    document_filters,
    many,
    option,
    read_filters,
)
from outcrop.serve.cli.render_code import RELATIONS, print_map_summary, print_related
from outcrop.serve.cli.session import Session
from outcrop.serve.terminal import clean

if TYPE_CHECKING:
    from outcrop.engine import Engine
    from outcrop.records import Related


@command("related", "outcrop related ConnectionPool.acquire", "outcrop related src/pool.py:42")
@click.argument("target", metavar="TARGET")
@option(
    "-n", "--limit", type=click.IntRange(min=1), default=10, show_default=True, help="Maximum of each kind."
)
@collection_option("Where to look for TARGET, when it is in several.")
def related_command(session: Session, target: str, limit: int, collection: str | None) -> int:
    """Show the callers, callees, tests and docs of a piece of code.

    TARGET is FILE:LINE, a file, or a declaration's name (Pool.acquire). Exits with 1 when nothing is related to it.
    """
    with session.open_existing() as index:
        found = _find(index, target, limit + 1, collection)  # one more tells whether there are more
    if session.as_json:
        session.print_json(_first(found, limit))
    else:
        print_related(session.out, found, target, limit)
    return 0 if found.relatives else 1


def _find(index: Engine, target: str, limit: int, collection: str | None) -> Related:
    """As the engine finds it; a file that is there but not in the index is the likeliest reason for not finding it."""
    try:
        return index.related(target, limit=limit, collection=collection)
    except Ambiguous:
        raise
    except NotFound as error:
        file = Path(re.sub(r"(:\d+(-\d+)?){1,2}$", "", target)).expanduser()
        if file.is_file():
            raise NotFound(f"{file} is not in the index; `outcrop add {file}` puts it there") from error
        raise


def _first(related: Related, limit: int) -> Related:
    return replace(related, relatives=tuple(item for kind in RELATIONS for item in related.of(kind)[:limit]))


@command("map", "outcrop map -b 2000", "outcrop map --focus pool.py")
@budget_option
@many("--focus", "focus", metavar="TARGET", help="Centre the map on this FILE:LINE, file or declaration.")
@document_filters
def map_command(session: Session, /, budget_tokens: int | None, focus: tuple[str, ...], **filters: Any) -> int:
    """Outline the most central code, within a token budget.

    The outline goes to standard output, ready for a prompt; a summary to standard error. Exits with 1 when there is no
    code to show.
    """
    where = read_filters(**filters)
    with session.open_existing() as index:
        drawn = index.map(budget_tokens=budget_tokens, focus=focus, where=where)
    if session.as_json:
        session.print_json(drawn)
    else:
        if drawn.text:
            click.echo(clean(drawn.text))
        print_map_summary(session.err, drawn, filtered=not where.is_empty())
    return 0 if drawn.entries else 1
