"""mcp: the server that an agent starts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from outcrop.serve.cli.options import common_options, many
from outcrop.serve.cli.session import Session, open_index, pass_session
from outcrop.system.machine import install_command

if TYPE_CHECKING:
    from outcrop.serve.state import State


@click.command("mcp")
@click.option("--read-only", is_flag=True, help="Only the tools that read; nothing is written or refreshed.")
@click.option(
    "--kb",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="The folder of the agent's notes; by default `kb` beside the index.",
)
@many("--root", "roots", metavar="DIR", help="A folder the agent may have indexed.")
@common_options
@pass_session
def mcp_command(session: Session, read_only: bool, kb: Path | None, roots: tuple[str, ...]) -> None:
    """Serve an agent over standard input and output.

    Clients start this themselves: `outcrop install CLIENT` tells them how. The protocol is on standard output, logs on
    standard error. It ends when the client closes standard input.
    """
    try:
        from outcrop.serve.mcp.server import serve_stdio
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"Agents need a package that is missing ({error.name}): {install_command('serve')}"
        ) from error
    from outcrop.serve.mcp.desk import Desk

    absolute = tuple(str(Path(root).expanduser().absolute()) for root in roots)
    config = session.config(kb=kb, roots=absolute or None)

    def open_state() -> State:
        from outcrop.engine import Engine
        from outcrop.serve.state import make_state

        return make_state(open_index(config) if read_only else Engine(config), read_only=read_only)

    serve_stdio(Desk(open_state, read_only=read_only, background=True))
