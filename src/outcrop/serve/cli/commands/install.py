"""install, instructions, completion: what others need to use Outcrop: clients, agents and shells."""

from __future__ import annotations

import contextlib
import difflib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import get_completion_class

from outcrop.errors import ConfigError
from outcrop.records.database_url import DatabaseUrl
from outcrop.serve.cli.options import command, option
from outcrop.serve.cli.session import Session
from outcrop.serve.mcp import clients
from outcrop.serve.mcp.clients import CLIENTS
from outcrop.serve.mcp.hooks import HOOK_FILES, find_hook, hook_file, make_hook, with_hook, without_hook
from outcrop.serve.terminal import clean
from outcrop.system.dataclass import dataclass
from outcrop.system.disk import replace_file
from outcrop.workers.process import python_command

if TYPE_CHECKING:
    from outcrop.config import Config
    from outcrop.serve.mcp.clients import Client

BACKUP_SUFFIX = ".before-outcrop"
_BEGIN, _END = "<!-- outcrop: begin -->", "<!-- outcrop: end -->"
_CURSOR: Final = """\
---
description: How to search, read and write the Outcrop index and its notes
alwaysApply: true
---

"""


@command(
    "install", "outcrop install claude", "outcrop install claude --hooks", "outcrop install cursor --print"
)
@click.argument("client", metavar="CLIENT", type=click.Choice(tuple(CLIENTS)))
@option(
    "--project",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Only for this project, in its own folder.",
)
@option("--read-only", is_flag=True, help="Allow the client only to read.")
@option(
    "--tools", metavar="NAMES", help="The tools to offer: lean (five of them), all, or a comma-separated list."
)
@option(
    "--hooks",
    is_flag=True,
    help="Also add Outcrop's hits to the agent's own searches, through a hook of the client.",
)
@option("--print", "only_print", is_flag=True, help="Print what to add; change nothing.")
@option("--remove", is_flag=True, help="Take it out again.")
@option("-y", "--yes", is_flag=True, help="Do not ask.")
def install_command(
    session: Session,
    client: str,
    project: Path | None,
    read_only: bool,
    tools: str | None,
    hooks: bool,
    only_print: bool,
    remove: bool,
    yes: bool,
) -> None:
    """Connect a coding agent or another client to Outcrop.

    CLIENT is claude (Code), claude-desktop, cursor, vscode, codex, windsurf, zed or gemini. Shows what would change in
    its configuration and asks first; the file as it was before is kept beside it. --hooks (claude, codex, cursor,
    gemini) adds Outcrop's hits to the agent's own grep when that searched for several words or found nothing. --remove
    takes both out again, with --hooks only the hook, and leaves the file as it was.
    """
    from outcrop.config import user_folders

    chosen = CLIENTS[client]
    home, config_home = user_folders()
    settings = clients.settings_folder(home, config_home)
    base = project and project.absolute()
    path = chosen.path(home, settings, base).resolve()
    options = [*(["--read-only"] if read_only else ()), *(["--tools", tools] if tools else ())]
    db, secret = _index_name(session.config())
    entry = clients.make_entry(chosen, [*own_command(), "mcp", "--db", db, *options])
    changes: list[_Change] = []
    if not (remove and hooks):
        changes.append(_server_change(chosen, path, entry))
    if hooks or (remove and client in HOOK_FILES):
        place = hook_file(client, chosen.title).path(home, base).resolve()
        changes.append(_hook_change(client, place, make_hook(client, db)))
    if secret and not remove:
        click.echo(
            "The password was left out: give it to the client's environment as PGPASSWORD, or put it into ~/.pgpass.",
            err=True,
        )
    if only_print:
        _print(session, client, changes)
        return
    changed = _change_files(session, changes, remove=remove, yes=yes)
    _tell(session, chosen, path, changed, remove=remove)


@dataclass(frozen=True, slots=True)
class _Change:
    """A file, how ours is put into its text and taken out, and what that is: its name, its value, and a text that holds
    only that. `repeat` puts what is ours in one text into another."""

    path: Path
    put: Callable[[str], str]
    take: Callable[[str], str]
    repeat: Callable[[str, str], str]
    name: str
    value: dict[str, Any]
    snippet: str


def _server_change(client: Client, path: Path, entry: dict[str, Any]) -> _Change:
    def put(text: str) -> str:
        return clients.with_entry(client, path, text, entry)

    def take(text: str) -> str:
        return clients.without_entry(client, path, text)

    def repeat(source: str, target: str) -> str:
        ours = clients.find_entry(client, path, source)
        return target if ours is None else clients.with_entry(client, path, target, ours)

    return _Change(path, put, take, repeat, "entry", entry, clients.snippet(client, path, entry))


def _hook_change(client: str, path: Path, hook: dict[str, Any]) -> _Change:
    def repeat(source: str, target: str) -> str:
        ours = find_hook(client, source)
        return target if ours is None else with_hook(client, target, ours)

    put = partial(with_hook, client, hook=hook)
    return _Change(path, put, partial(without_hook, client), repeat, "hook", hook, put(""))


def _print(session: Session, client: str, changes: Sequence[_Change]) -> None:
    if session.as_json:
        first, *others = changes
        told = {"client": client, "file": str(first.path), first.name: first.value}
        for change in others:
            told |= {f"{change.name}_file": str(change.path), change.name: change.value}
        session.print_json(told)
        return
    for change in changes:
        click.echo(f"Add to {clean(str(change.path))}:", err=True)
        click.echo(clean(change.snippet), nl=False)


def _change_files(session: Session, changes: Sequence[_Change], *, remove: bool, yes: bool) -> list[Path]:
    """Show, ask and write; the files that changed. Nothing is written before all of it is known to be possible."""
    before: dict[Path, str] = {}
    after: dict[Path, str] = {}
    for change in changes:
        if change.path not in before:
            before[change.path] = after[change.path] = _read(change.path)
        try:
            after[change.path] = (change.take if remove else change.put)(after[change.path])
        except ConfigError as error:
            todo = f"take the {change.name} out" if remove else f"add this yourself:\n{change.snippet}"
            raise ConfigError(f"{change.path} was left as it is: {error}; {todo}") from error
    changed = [path for path in before if after[path] != before[path]]
    is_new = {}
    for path in changed:
        ours = [change for change in changes if change.path == path]
        is_new[path] = all(change.take(before[path]) == before[path] for change in ours)
        if remove and (original := _find_original(path, before[path], ours)) is not None:
            after[path] = original
    for path in changed:
        _agree(session, path, before[path], after[path], yes=yes)
    for path in changed:
        _write(path, before[path], after[path], keep=is_new[path])
    return changed


def _find_original(path: Path, now: str, changes: Sequence[_Change]) -> str | None:
    """What the file held before Outcrop was added, if that is kept and nothing else has changed since."""
    backup = _backup_of(path)
    if not backup.is_file():
        return None
    original = again = _read(backup)
    try:
        for change in changes:
            if change.take(original) != original:
                return None
            again = change.repeat(now, again)
    except ConfigError:
        return None
    return original if again == now else None


def _backup_of(path: Path) -> Path:
    return path.with_name(path.name + BACKUP_SUFFIX)


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
    if not yes:
        session.confirm(f"Change {name}?", "Nothing was changed.")


def _write(path: Path, before: str, after: str, *, keep: bool) -> None:
    """Replace the file in one step, with its permissions, and `keep` beside it what was there; when that is back, it is
    not kept any more. A file that holds nothing but ours goes."""
    backup = _backup_of(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if _read(path) != before:
            raise ConfigError(f"{path} was changed by another program meanwhile; run this again")
        is_original = not keep and backup.is_file() and _read(backup) == after
        if keep and path.exists():
            shutil.copy2(path, backup)
        if after or is_original:
            _replace(path, after)
        else:
            path.unlink()
        if is_original:
            backup.unlink()
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written: {error.strerror}; use --print and add it yourself"
        ) from error


def _replace(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, name)
        replace_file(Path(name), path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _tell(session: Session, client: Client, path: Path, changed: Sequence[Path], *, remove: bool) -> None:
    if changed:
        done = "taken out of" if remove else "added to"
        line = f"Outcrop was {done} {' and '.join(map(str, changed))}. Restart {client.title} to pick it up."
    else:
        line = f"{client.title} " + ("did not know Outcrop." if remove else "knows Outcrop already.")
    told = {"client": client.title, "file": str(path), "changed": bool(changed), "files": [*map(str, changed)]}
    session.tell(told, clean(line))


@command("instructions")
@option(
    "--for",
    "reader",
    type=click.Choice(("claude", "agents", "cursor")),
    help="Format them for a file: claude (CLAUDE.md), agents (AGENTS.md) or cursor (a rule, .mdc).",
)
def instructions_command(session: Session, reader: str | None) -> None:
    """Print instructions that teach an agent to search, read and write notes.

    \b
    outcrop instructions --for claude >> CLAUDE.md
    outcrop instructions --for agents >> AGENTS.md
    outcrop instructions --for cursor > .cursor/rules/outcrop.mdc
    """
    from outcrop.notes import instructions

    text = wrap(instructions(), reader)
    session.tell({"for": reader, "text": text}, text.removesuffix("\n"))


def wrap(text: str, reader: str | None) -> str:
    """The instructions as they go into a file: marked where they begin and end, so that they can be replaced."""
    if reader is None:
        return text
    if reader == "cursor":
        return _CURSOR + text
    # One level down: the file has a title of its own.
    lines = [f"#{line}" if line.startswith("#") else line for line in text.splitlines()]
    return "\n".join((_BEGIN, *lines, _END)) + "\n"


@command("completion")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
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
    session.tell({"shell": shell, "script": script}, script)
