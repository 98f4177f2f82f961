"""install: tell a client how to start the server."""

from __future__ import annotations

import contextlib
import difflib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from outcrop.errors import ConfigError
from outcrop.records.database_url import DatabaseUrl
from outcrop.serve.cli.options import common_options
from outcrop.serve.cli.session import Session, pass_session
from outcrop.serve.mcp.clients import (
    CLIENTS,
    make_entry,
    settings_folder,
    snippet,
    with_entry,
    without_entry,
)
from outcrop.serve.terminal import clean
from outcrop.workers.process import python_command

if TYPE_CHECKING:
    from outcrop.config import Config
    from outcrop.serve.mcp.clients import Client

BACKUP_SUFFIX = ".before-outcrop"


@click.command("install")
@click.argument("client", metavar="CLIENT", type=click.Choice(tuple(CLIENTS)))
@click.option(
    "--project",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Only for this project, in its own folder.",
)
@click.option("--read-only", is_flag=True, help="Let the client only read.")
@click.option("--print", "only_print", is_flag=True, help="Print what to add; change nothing.")
@click.option("--remove", is_flag=True, help="Take it out again.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@common_options
@pass_session
def install_command(
    session: Session,
    client: str,
    project: Path | None,
    read_only: bool,
    only_print: bool,
    remove: bool,
    yes: bool,
) -> None:
    """Let an agent's client start Outcrop.

    CLIENT is claude (Code), claude-desktop, cursor, vscode, codex, windsurf, zed or gemini. Shows what would change in
    its configuration and asks; the file as it was is kept beside it.
    """
    from outcrop.config import user_folders

    chosen = CLIENTS[client]
    home, config_home = user_folders()
    path = chosen.path(home, settings_folder(home, config_home), project and project.absolute()).resolve()
    options = ["--read-only"] if read_only else []
    db, secret = _index_name(session.config())
    entry = make_entry(chosen, [*own_command(), "mcp", "--db", db, *options])
    if secret and not remove:
        click.echo(
            "The password was left out: give it to the client's environment as PGPASSWORD, or put it into ~/.pgpass.",
            err=True,
        )
    if only_print:
        if session.as_json:
            session.print_json({"client": client, "file": str(path), "entry": entry})
        else:
            click.echo(f"Add to {clean(str(path))}:", err=True)
            click.echo(clean(snippet(chosen, path, entry)), nl=False)
        return
    before = _read(path)
    try:
        after = without_entry(chosen, path, before) if remove else with_entry(chosen, path, before, entry)
    except ConfigError as error:
        todo = "take the entry out" if remove else f"add this yourself:\n{snippet(chosen, path, entry)}"
        raise ConfigError(f"{path} was left as it is: {error}; {todo}") from error
    changed = after != before
    if changed:
        _agree(session, path, before, after, yes=yes)
        _write(path, before, after)
    _tell(session, chosen, path, changed=changed, remove=remove)


def _index_name(config: Config) -> tuple[str, bool]:
    """How the client's file names the index, and whether a password was left out: others may read that file."""
    if isinstance(config.db, DatabaseUrl):
        return config.db.without_password().whole(), config.db.has_password()
    return str(config.db), False


def own_command() -> list[str]:
    """What starts this very Outcrop, wherever a client starts it from."""
    program = Path(sys.argv[0])
    if program.name in ("outcrop", "outcrop.exe") and program.is_file():
        return [str(program.absolute())]
    return [*python_command(), "-m", "outcrop"]  # clients start it in project folders, whose code must not run


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}; use --print and add it yourself") from error


def _agree(session: Session, path: Path, before: str, after: str, *, yes: bool) -> None:
    """Show the difference, and ask."""
    name = str(path)
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), name, name + " (new)", lineterm="", n=2
    )
    if not session.as_json:
        click.echo(clean("\n".join(lines)), err=True)
    if yes:
        return
    if not session.on_terminal or session.as_json:
        raise click.UsageError(f"Change {name}? Say --yes; there is nobody to ask.")
    if not click.confirm(f"Change {name}?", err=True):
        click.echo("Nothing was changed.", err=True)
        click.get_current_context().exit(1)


def _write(path: Path, before: str, after: str) -> None:
    """Replace the file in one step, with its permissions; what was there is kept beside it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if _read(path) != before:
            raise ConfigError(f"{path} was changed by another program meanwhile; run this again")
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(after.encode("utf-8"))
                file.flush()
                os.fsync(file.fileno())
            if path.exists():
                shutil.copymode(path, name)
                shutil.copy2(path, path.with_name(path.name + BACKUP_SUFFIX))
            Path(name).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written: {error.strerror}; use --print and add it yourself"
        ) from error


def _tell(session: Session, client: Client, path: Path, *, changed: bool, remove: bool) -> None:
    if session.as_json:
        session.print_json({"client": client.title, "file": str(path), "changed": changed})
    elif not changed:
        click.echo(f"{client.title} " + ("did not know Outcrop." if remove else "knows Outcrop already."))
    else:
        done = "Outcrop was taken out of" if remove else "Outcrop was added to"
        click.echo(clean(f"{done} {path}. Restart {client.title} to pick it up."))
