"""completion: the script for a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from outcrop.serve.cli.options import common_options
from outcrop.serve.cli.session import Session, pass_session


@click.command("completion")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@common_options
@pass_session
def completion_command(session: Session, shell: str) -> None:
    """Print the script that completes commands in your shell.

    \b
    bash: outcrop completion bash >> ~/.bashrc
    zsh:  outcrop completion zsh >> ~/.zshrc
    fish: outcrop completion fish > ~/.config/fish/completions/outcrop.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - the choices above are click's own
    root = click.get_current_context().find_root().command
    script = kind(root, {}, "outcrop", "_OUTCROP_COMPLETE").source()
    if session.as_json:
        session.print_json({"shell": shell, "script": script})
    else:
        click.echo(script)
