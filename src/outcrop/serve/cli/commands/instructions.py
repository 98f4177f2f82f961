"""instructions: the text that teaches an agent to use the index."""

from __future__ import annotations

from typing import Final

import click

from outcrop.serve.cli.options import common_options
from outcrop.serve.cli.session import Session, pass_session

_BEGIN, _END = "<!-- outcrop: begin -->", "<!-- outcrop: end -->"
_CURSOR: Final = """\
---
description: How to search, read and write the Outcrop index and its notes
alwaysApply: true
---

"""


@click.command("instructions")
@click.option(
    "--for",
    "reader",
    type=click.Choice(("claude", "agents", "cursor")),
    help="Wrap it for a file: claude (CLAUDE.md), agents (AGENTS.md) or cursor (a rule, .mdc).",
)
@common_options
@pass_session
def instructions_command(session: Session, reader: str | None) -> None:
    """Print what teaches an agent to search, read and write notes.

    \b
    outcrop instructions --for claude >> CLAUDE.md
    outcrop instructions --for agents >> AGENTS.md
    outcrop instructions --for cursor > .cursor/rules/outcrop.mdc
    """
    from outcrop.notes import instructions

    text = wrap(instructions(), reader)
    if session.as_json:
        session.print_json({"for": reader, "text": text})
    else:
        click.echo(text, nl=False)


def wrap(text: str, reader: str | None) -> str:
    """The instructions as they go into a file: marked where they begin and end, so that they can be replaced."""
    if reader is None:
        return text
    if reader == "cursor":
        return _CURSOR + text
    # One level down: the file has a title of its own.
    lines = [f"#{line}" if line.startswith("#") else line for line in text.splitlines()]
    return "\n".join((_BEGIN, *lines, _END)) + "\n"
