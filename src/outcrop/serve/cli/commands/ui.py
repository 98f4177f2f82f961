"""ui: search in the terminal, as one types."""

from __future__ import annotations

import sys
from typing import Any

import click

from outcrop.errors import ConfigError
from outcrop.serve.cli.options import command, document_filters, read_given
from outcrop.serve.cli.session import Session
from outcrop.system.machine import need_extra


@command("ui", "outcrop ui", "outcrop ui -c notes signing keys")
@click.argument("query", nargs=-1, metavar="[QUERY]...")
@document_filters
def ui_command(session: Session, /, query: tuple[str, ...], **filters: Any) -> None:
    """Search as you type, with a preview.

    Enter opens the file in $VISUAL or $EDITOR at the line, Ctrl-Y copies the passage and Ctrl-T its place, by the
    terminal's own clipboard. Needs the extra `ui`.
    """
    try:
        from outcrop.serve.cli.finder import Finder
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "prompt_toolkit":
            raise
        raise need_extra(ConfigError, "outcrop ui", "ui") from error
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("outcrop ui needs a terminal; `outcrop search` works without one.")
    from outcrop.config import find_editor

    with session.open_existing() as index:
        given = read_given(filters, index)
        Finder(lambda asked: index.search(asked, **given), session.out, find_editor()).run(" ".join(query))
